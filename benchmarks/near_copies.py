"""Copies of the leader's worst game on fresh maps, on a real measure. See docs/ratings.md.

``write RUN FOLDER``: the games that a run fine-tuned as a measure of so many maps; ``--only GAME``:
one of them. Then ``python -m evo.run +experiment=measure`` plays both. ``ranks MEASURED MORE``: in
each trial the worst game and its copies get different maps of MORE; ranks of the leader under the
mean, Elo and equilibria, as a table and a figure.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_machine

from archive import Archive
from archive.charts.document import document
from archive.charts.plot import Plot, canvas, key, line, polyline, series, text
from archive.errors import RatingError
from archive.query import games
from archive.ratings.bradley_terry import elo
from archive.ratings.leaderboard import copy_rule, leaderboard
from archive.ratings.near_copies import Copies
from archive.ratings.normal_form import Array
from archive.ratings.preferences import mean_preferences, wins
from archive.ratings.rating import EquilibriumKind, ranks
from archive.statistics.measures.paired_scores import GameScores, PairedScores, read_paired_scores
from xgl.cli.session import bench
from xgl.diagram.svg import Element
from xgl.language.canonical import Game, Metadata, game
from xgl.language.parser import parse
from xgl.language.syntax import MAIN_PLAYER
from xgl.lowering import lower
from xgl.lowering.texts import stories
from xgl.runtime.requests import StoryRequest, StorySource

COLOURS = (5, 1, 0, 0, 2, 2, 3, 3)
"""Of the systems, in their order; the CCE of a rule is dashed."""
SYSTEMS = ("mean", "Elo", *(f"{s.upper()}, {c}" for c in Copies for s in EquilibriumKind))


# -- the measure ---------------------------------------------------------------------------------


def write(arguments: argparse.Namespace) -> None:
    """A folder as docs/measure.md describes it, without levels: the base plays first."""
    with Archive.open(Path(arguments.run) / "archive") as archive:
        learned_ids = [row["game_id"] for row in archive.rows("finetunes", ["game_id"])]
        rows = games(archive, learned_ids).values()
    exported_games = [_game(row) for row in rows if row["game_id"].startswith(arguments.only)]
    source = bench("embedded").stories
    folder = Path(arguments.folder)
    folder.mkdir(parents=True)
    members = []
    seeds = range(1, 2 * arguments.maps, 2)  # odd seeds evaluate
    for each in exported_games:
        lowered = lower(each)
        name = f"game_{each.game_id[:8]}"
        (folder / f"{name}.xent").write_text(lowered.text)
        sites = len(stories(lowered.program))
        members.append(
            {
                "game_id": each.game_id,
                "role": MAIN_PLAYER,
                "name": name,
                "file": f"{name}.xent",
                "metadata": asdict(lowered.metadata),
                "code_sha256": hashlib.sha256(lowered.text.encode()).hexdigest(),
                "thresholds": None,
                "maps": [_map(source, seed, sites, each.metadata.story_tokens) for seed in seeds],
            }
        )
    facts = {
        "format": "xent-measure",
        "version": 1,
        "judge": {"model": "embedded", "folder": None, "dtype": "float32", "sha256": None},
        "members": members,
    }
    (folder / "measure.json").write_text(json.dumps(facts))
    print(f"{len(members)} games on {arguments.maps} maps")


def _game(row: Mapping[str, Any]) -> Game:
    program = parse(row["code"], row["dialect"])
    return game(program, Metadata(**json.loads(row["metadata_json"])))


def _map(source: StorySource, seed: int, sites: int, tokens: int) -> dict[str, Any]:
    requests = [(seed, StoryRequest(site, tokens)) for site in range(sites)]
    texts = source.story_texts(requests)
    story_rows = [{"site": site, "text": words} for site, words in enumerate(texts)]
    return {"map_seed": seed, "stories": story_rows}


# -- ranks ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """Best scores (models, maps) of the games of a measure but one, whose scores are ``many``;
    ``steps``: θ·m of each, bits, NaN without levels, that one last. ``leader``: by the mean."""

    models: tuple[str, ...]
    others: tuple[Array, ...]
    many: Array
    steps: Array
    leader: int

    def tables(self, copies: int, maps: int, random: np.random.Generator) -> list[Array]:
        """Of each game, the leader's worst and its copies last, each on maps of its own."""
        order = random.permutation(self.many.shape[1])[: (copies + 1) * maps]
        fresh = [self.many[:, each] for each in np.split(order, copies + 1)]
        return [*(each[:, :maps] for each in self.others), *fresh]


def mean_scores(tables: Sequence[Array], steps: Array) -> Array:
    """Mean normalised score of each model (models,) over games with levels, in units of mθ. The
    base's level b is left out: it is the same for all."""
    normalised_scores = [
        t.mean(axis=1) / s for t, s in zip(tables, steps, strict=True) if np.isfinite(s)
    ]
    return np.asarray(np.mean(normalised_scores, axis=0))


def steps_of(game_scores: Sequence[GameScores]) -> Array:
    """mθ of each, NaN without levels."""
    return np.array([np.nan if each.step is None else each.step for each in game_scores])


def leader_and_worst(scores: PairedScores) -> tuple[int, GameScores]:
    """Who leads by the mean, and the game on which it loses most to the others."""
    tables = [each.best for each in scores.games]
    leader = int(np.argmax(mean_scores(tables, steps_of(scores.games))))
    preferences = mean_preferences([wins(each) for each in tables])
    return leader, scores.games[int(np.argmin(preferences[:, leader].sum(axis=1)))]


def worst(arguments: argparse.Namespace) -> None:
    """Who leads, and on which game it does worst."""
    scores = scores_of(arguments.measured)
    leader, worst_game = leader_and_worst(scores)
    print(f"leader {scores.models[leader]}, worst on {worst_game.exported_id}")


def scores_of(run: str) -> PairedScores:
    """Of a measured run."""
    with Archive.open(Path(run) / "archive") as archive:
        return read_paired_scores([archive])


def compare(arguments: argparse.Namespace) -> None:
    """The leader's rank by number of copies, trial by trial: table and figure."""
    scores, more = scores_of(arguments.measured), scores_of(arguments.more)
    leader, worst_game = leader_and_worst(scores)
    assert more.models == scores.models, "both must be played by the same models"
    assert more.games[0].exported_id == worst_game.exported_id, (
        "MORE must be the leader's worst game"
    )
    others = [each for each in scores.games if each is not worst_game]
    steps = np.append(steps_of(others), steps_of([more.games[0]]))
    case = Measured(scores.models, tuple(e.best for e in others), more.games[0].best, steps, leader)
    most = case.many.shape[1] // arguments.maps - 1
    counts = [count for count in (0, 1, 5, 20) if count <= most]
    ranks_by_count: dict[int, dict[str, list[int]]] = {}
    for count in counts:
        ranks_by_count[count] = {name: [] for name in SYSTEMS}
        for trial in range(arguments.trials):
            random = np.random.default_rng(trial)
            for name, rank in leader_ranks(case, count, arguments.maps, random).items():
                ranks_by_count[count][name].append(rank)
    print(describe_machine() + "\n")
    print(f"{len(others) + 1} games, {len(case.models)} models, {arguments.maps} maps a game; ")
    print(f"leader {case.models[leader]}, worst on {worst_game.exported_id}\n")
    print(f"| copies | {' | '.join(SYSTEMS)} |\n{'| --- ' * (1 + len(SYSTEMS))}|")
    for count, by_system in ranks_by_count.items():
        print(f"| {count} | {' | '.join(summary(each) for each in by_system.values())} |")
    Path(arguments.output).write_text(document(figure(ranks_by_count, len(case.models))))


def summary(places: Sequence[int]) -> str:
    """Median rank, and its range over trials."""
    return f"{np.median(places):.3g} ({min(places)}–{max(places)})" if places else "–"


def leader_ranks(
    case: Measured, copies: int, maps: int, random: np.random.Generator
) -> dict[str, int]:
    """The leader's rank under each system; without those that reach no equilibrium."""
    tables = case.tables(copies, maps, random)
    steps = np.append(case.steps, np.full(copies, case.steps[-1]))
    outcomes = [wins(each) for each in tables]
    system_ranks = {
        "mean": ranks(mean_scores(tables, steps)),
        "Elo": ranks(elo(mean_preferences(outcomes), 1.0)),
    }
    for rule in Copies:
        fitted_rule = copy_rule(outcomes, rule)
        for solution in EquilibriumKind:
            try:
                ratings = leaderboard(outcomes, solution, fitted_rule).models
            except RatingError as error:
                print(f"{copies} copies, {solution}, {rule}: {error}")
                continue
            system_ranks[f"{solution.upper()}, {rule}"] = ranks(ratings)
    return {name: int(each[case.leader]) for name, each in system_ranks.items()}


def figure(ranks_by_count: dict[int, dict[str, list[int]]], models: int) -> Element:
    """Mean number of models above the leader, by copies; copies are spaced evenly."""
    plot = Plot.box(
        (56, 44), (420, 240), (0, max(len(ranks_by_count) - 1, 1)), (0, models - 1), "xy"
    )
    shapes = [text(56, 18, "Models above the measure's leader", "heading")]
    for tick in plot.y.ticks(models - 1):
        shapes += [line(plot.x.start, plot.y(tick), plot.x.end, plot.y(tick), "grid")]
        shapes += [text(plot.x.start - 8, plot.y(tick) + 4, f"{tick:.0f}", "tick", "end")]
    for place, count in enumerate(ranks_by_count):
        shapes += [text(plot.x(place), 302, str(count), "tick", "middle")]
    shapes += [text(266, 322, "copies of its worst game on fresh maps", "axis", "middle")]
    for number, name in enumerate(SYSTEMS):
        above = [float(np.mean(each[name])) - 1 for each in ranks_by_count.values()]
        dashed = " dashed" if name.startswith("CCE") else ""
        colour = f"series{dashed} {series(COLOURS[number])}"
        at = [(x, y + 2.0 * (number - 3.5)) for x, y in plot.places(range(len(above)), above)]
        shapes += [polyline(at, colour)]
        shapes += key(510, 52 + 22 * number, name, colour)
    title = "Models rated above the leader by the number of copies of its worst game"
    return canvas((660, 340), title, *shapes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    writing = commands.add_parser("write")
    writing.add_argument("run")
    writing.add_argument("folder")
    writing.add_argument("--maps", type=int, default=24)
    writing.add_argument("--only", default="", help="beginning of a game's id")
    writing.set_defaults(run_command=write)
    finding = commands.add_parser("worst")
    finding.add_argument("measured")
    finding.set_defaults(run_command=worst)
    comparing = commands.add_parser("ranks")
    comparing.add_argument("measured")
    comparing.add_argument("more")
    comparing.add_argument("--maps", type=int, default=24)
    comparing.add_argument("--trials", type=int, default=20)
    comparing.add_argument("-o", "--output", default="near_copies.svg")
    comparing.set_defaults(run_command=compare)
    arguments = parser.parse_args()
    arguments.run_command(arguments)


if __name__ == "__main__":
    main()
