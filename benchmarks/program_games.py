"""How strong self-play and search are on the games that ship. See docs/ggbench.md.

    python benchmarks/program_games.py FOLDER [--games purse ford] [--cells greedy search]
                                       [--seeds 0] [--plays 400] [--tables]

Trains each game once per training seed at the default settings, then plays the cells:

    greedy   the last checkpoint's best moves against random moves
    search   a search of 100 simulations with the last checkpoint's policy against random moves
    prior    the same search against one with random roll-outs
    optimal  perfect play from the seat that wins, against random moves and against the search
    quiz     whether 2,000 simulations take a winning move, in positions with winning and other ones
    opponent pairs and confirmation as a run does them
    null     the same tests between copies of one checkpoint: drawn moves, and 25 simulations

Rows go to FOLDER/rows.jsonl as they are done, weights beside them; a benchmark that was cut goes on
where it was, and several may share a folder. ``--tables`` prints what is there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from machine import describe_machine
from scipy.stats import binomtest

from evo.config.ggbench import QUARTERS, GGBenchConfig
from evo.ggbench.box import Agent, Box
from evo.ggbench.game import ProgramGame, packaged_game, packaged_names
from evo.ggbench.guest_process import LIMITS
from evo.ggbench.jobs import give_policies
from evo.ggbench.opponents import contest, find_opponent, null_trial, searching
from evo.ggbench.selfplay import agent_name, train
from xgl.random_streams import seed

SETTINGS = GGBenchConfig()
LAST = agent_name(QUARTERS)
RANDOM: Agent = {"kind": "random"}
GREEDY: Agent = {"kind": "greedy", "policy": LAST}
SEARCH = searching(LAST, 100)
UNIFORM: Agent = {"kind": "search", "policy": None, "simulations": 100}
DEEP: Agent = {"kind": "search", "policy": None, "simulations": 2000}
CONTESTS: Mapping[str, tuple[Agent, Agent]] = {
    "greedy": (GREEDY, RANDOM),
    "search": (SEARCH, RANDOM),
    "prior": (SEARCH, UNIFORM),
}
CELLS = ("greedy", "opponent", "null", "search", "prior", "optimal", "quiz")
PART = 100
"""Games of one row."""
QUIZ = 50
"""Positions of one row."""
SECONDS = 7200.0
Row = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """A game trained under one seed, and how much of it is measured."""

    game: ProgramGame
    seed: int
    plays: int
    trials: int
    weights: Mapping[int, bytes]


class Rows:
    """What has been measured, in a file that several processes may append to."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path = folder, folder / "rows.jsonl"

    def all(self) -> list[Row]:
        """Of the games as they are now."""
        current = {packaged_game(name).game_id for name in packaged_names()}
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [row for row in map(json.loads, lines) if row["game_id"] in current]

    def has(self, key: Row) -> bool:
        """Whether the row is there."""
        return any(key.items() <= row.items() for row in self.all())

    def add(self, row: Row) -> None:
        """One line, at once."""
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def weights(self, game: ProgramGame, run_seed: int) -> dict[int, bytes]:
        """Of the four checkpoints; trained where they are not there."""
        stem = f"{game.name}-{game.game_id[:12]}-{SETTINGS.train.steps}-{run_seed}"
        paths = {q: self.folder / f"{stem}-{q}.safetensors" for q in range(1, QUARTERS + 1)}
        if not all(path.exists() for path in paths.values()):
            with Box(game, _limits()) as box:
                for checkpoint in train(box, SETTINGS.train, run_seed):
                    paths[checkpoint.quarter].write_bytes(checkpoint.weights)
        return {quarter: path.read_bytes() for quarter, path in paths.items()}


def _limits() -> Any:
    return replace(LIMITS, total=SECONDS, cpu=int(SECONDS))


def measure(rows: Rows, subject: Subject, cell: str) -> None:
    """Add the rows of a cell that are not there yet."""
    for key, result in _parts(subject, cell):
        whole: Row = {"game": subject.game.name, "game_id": subject.game.game_id, "cell": cell}
        whole |= {"seed": subject.seed, "steps": SETTINGS.train.steps, **key}
        if not rows.has(whole):
            with Box(subject.game, _limits()) as box:
                give_policies(box, subject.weights)
                began = monotonic()
                for row in result(box):
                    rows.add(whole | row | {"seconds": round(monotonic() - began, 1)})


def _parts(subject: Subject, cell: str) -> Iterator[tuple[Row, Callable[[Box], list[Row]]]]:
    """The keys of a cell's rows, and what computes each."""
    if cell in CONTESTS:
        for part in range(subject.plays // PART):
            yield {"part": part}, partial(_contest, subject, cell, part)
    elif cell == "optimal":
        for name, agent in (("random", RANDOM), ("search", SEARCH)):
            yield {"against": name}, partial(_optimal, subject, name, agent)
    elif cell == "quiz":
        for part in range(subject.plays // QUIZ):
            yield {"part": part}, partial(_quiz, subject, part)
    elif cell == "opponent":
        yield {}, partial(_opponent, subject)
    else:
        for rung, trials in ((0, subject.trials), (25, subject.trials // 5)):
            yield {"simulations": rung}, partial(_null, subject, rung, trials)


def _seeds(subject: Subject, *key: int | str) -> list[int]:
    base = ("program games", subject.seed, subject.game.game_id, *key)
    return [seed(*base, number, bits=32) for number in range(PART)]


def _contest(subject: Subject, cell: str, part: int, box: Box) -> list[Row]:
    wins, draws = contest(box, CONTESTS[cell], _seeds(subject, cell, part), SECONDS)
    return [{"games": PART, "wins": wins, "draws": draws}]


def _solve(box: Box) -> tuple[int, int] | None:
    solution = box.solve(SETTINGS.opponent.most_positions, SECONDS)
    return None if isinstance(solution, str) else solution


def _optimal(subject: Subject, against: str, agent: Agent, box: Box) -> list[Row]:
    """Losses of perfect play from the seat that the solution says wins."""
    solution = _solve(box)
    if solution is None or not solution[1]:
        return [{"games": 0, "losses": 0, "positions": None, "value": None}]
    positions, value = solution
    perfect: Agent = {"kind": "optimal"}
    seats = (perfect, agent) if value == 1 else (agent, perfect)
    results = [box.match(seats, each, SECONDS).result for each in _seeds(subject, against)]
    losses = sum(result != value for result in results)
    return [{"games": len(results), "losses": losses, "positions": positions, "value": value}]


def _quiz(subject: Subject, part: int, box: Box) -> list[Row]:
    solution = _solve(box)
    if solution is None:
        return [{"asked": 0, "right": 0, "positions": None}]
    number = seed("program games", "quiz", subject.seed, subject.game.game_id, part, bits=32)
    questions, right = box.quiz(DEEP, QUIZ, number, SECONDS)
    return [{"asked": questions, "right": right, "positions": solution[0]}]


def _opponent(subject: Subject, box: Box) -> list[Row]:
    pairs = find_opponent(box, SETTINGS.opponent, subject.seed, _solve(box) is not None)
    columns = ("rung", "winner", "loser", "purpose", "games", "wins", "draws", "passed")
    return [{key: asdict(pair)[key] for key in columns} for pair in pairs]


def _null(subject: Subject, rung: int, count: int, box: Box) -> list[Row]:
    copy = searching(LAST, rung)
    trials = [
        null_trial(box, SETTINGS.opponent, copy, trial, subject.seed) for trial in range(count)
    ]
    selected = sum(first.passed for first, _ in trials)
    confirmed = sum(second.passed for _, second in trials)
    return [{"trials": len(trials), "selected": selected, "confirmed": confirmed}]


# -- tables --------------------------------------------------------------------------------------


HEADS = {
    "greedy": "policy, random moves",
    "search": "search with the policy, random moves",
    "prior": "search with the policy, search with random roll-outs",
}


def strength(rows: Sequence[Row]) -> Iterator[str]:
    """Win rates by game, cell and training seed, with Wilson intervals; then the means over
    games."""
    present_columns = {(row["cell"], row["seed"]) for row in rows}
    columns = [(cell, each) for cell in CONTESTS for each in _training_seeds(rows)]
    columns = [column for column in columns if column in present_columns]
    yield f"| game | {' | '.join(f'{HEADS[cell]}, seed {each}' for cell, each in columns)} |"
    yield "| --- |" + " --- |" * len(columns)
    shares: dict[tuple[str, int], list[float]] = {column: [] for column in columns}
    for name in packaged_names():
        cells = []
        for column in columns:
            games, wins = _games_and_wins(rows, (name, *column))
            if not games:
                cells.append("")
                continue
            low, high = binomtest(wins, games).proportion_ci(method="wilson")
            shares[column].append(wins / games)
            cells.append(f"{wins / games:.2f} ({low:.2f} to {high:.2f}) of {games}")
        yield f"| {name} | {' | '.join(cells)} |"
    means = [f"{sum(each) / len(each):.2f}" if each else "" for each in shares.values()]
    yield f"| mean | {' | '.join(means)} |"


def _training_seeds(rows: Sequence[Row]) -> list[int]:
    return sorted({row["seed"] for row in rows})


def _games_and_wins(rows: Sequence[Row], key: tuple[str, str, int]) -> tuple[int, int]:
    """Games and wins of a cell; a part that two processes played at once counts once."""
    parts = {row["part"]: row for row in rows if (row["game"], row["cell"], row["seed"]) == key}
    return sum(row["games"] for row in parts.values()), sum(row["wins"] for row in parts.values())


def solutions(rows: Sequence[Row]) -> Iterator[str]:
    """Perfect play from the winning seat, and what deep searches find."""
    yield "| game | positions | winning seat | losses to random | to search | quiz |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name in packaged_names():
        own = [row for row in rows if row["game"] == name and row.get("positions")]
        if not own:
            continue
        losses = {r["against"]: f"{r['losses']} of {r['games']}" for r in own if "against" in r}
        seat = next((1 if row["value"] == 1 else 2 for row in own if "value" in row), "")
        questions, right = (sum(row.get(key, 0) for row in own) for key in ("asked", "right"))
        share = f"{right} of {questions} ({right / questions:.1%})" if questions else ""
        loss_cells = f"{losses.get('random', '')} | {losses.get('search', '')}"
        yield f"| {name} | {own[0]['positions']} | {seat} | {loss_cells} | {share} |"


def opponents(rows: Sequence[Row]) -> Iterator[str]:
    """The confirmed opponent of each game under each training seed, and the null control."""
    seeds = sorted({row["seed"] for row in rows if row["cell"] == "opponent"})
    yield f"| game | {' | '.join(f'seed {each}' for each in seeds)} |"
    yield "| --- |" + " --- |" * len(seeds)
    for name in packaged_names():
        own = [row for row in rows if (row["game"], row["cell"]) == (name, "opponent")]
        texts = [_opponent_text([row for row in own if row["seed"] == each]) for each in seeds]
        yield f"| {name} | {' | '.join(texts)} |"
    for rung in (0, 25):
        own = [r for r in rows if r["cell"] == "null" and r["simulations"] == rung]
        trials, selected, confirmed = (
            sum(row[key] for row in own) for key in ("trials", "selected", "confirmed")
        )
        if trials:
            yield (
                f"\nNull control, copies with {rung} simulations: {selected} of {trials} pass the "
                f"literal rule ({selected / trials:.0%}), {confirmed} are confirmed."
            )


def _opponent_text(rows: Sequence[Row]) -> str:
    for row in rows:
        if row["purpose"] == "confirmation" and row["passed"]:
            return (
                f"{row['loser']}@{row['rung']}, {row['wins']} of {row['games']} to {row['winner']}"
            )
    return "none" if rows else ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--games", nargs="+", default=packaged_names(), choices=packaged_names())
    parser.add_argument("--cells", nargs="+", default=CELLS, choices=CELLS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--plays", type=int, default=400)
    parser.add_argument("--trials", type=int, default=10, help="null trials a game, seed and kind")
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args()
    rows = Rows(options.folder)
    if not options.tables:
        for cell in options.cells:
            for name in options.games:
                for each in options.seeds:
                    game = packaged_game(name)
                    trained = rows.weights(game, each)
                    subject = Subject(game, each, options.plays, options.trials, trained)
                    measure(rows, subject, cell)
    for part in (strength, solutions, opponents):
        print("\n".join(part(rows.all())), end="\n\n")
    print(describe_machine())


if __name__ == "__main__":
    main()
