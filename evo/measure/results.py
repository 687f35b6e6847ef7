"""Results of a measure: the base player's levels and normalised scores, from rounds; their rows, a
table with the models side by side, a figure; and the best known moves."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np
from rich.console import Console
from rich.table import Table

from archive.charts import Panel, panels, series
from archive.schema import PlayOutcome, TaskId
from archive.statistics import intervals, rounds
from archive.statistics.intervals import CONFIDENCE, UNDEFINED, Interval, Scores
from archive.statistics.measure import GameCeiling, xent_measure
from archive.statistics.rounds import Playability, ScoreLevels, arms, narms
from archive.statistics.rule import bounds_columns
from archive.text import interval, number, percent
from archive.views.tables import add, labels, show_labels, table
from evo.jobs.evaluation import Row, Task
from evo.jobs.model_host import ModelHost
from evo.measure.folder import MeasureGame
from xgl.diagram.sheet import shorten
from xgl.diagram.svg import Element
from xgl.runtime.requests import Player, Seeds
from xgl.solvers import Attempt, MapTrials, Solution, Solvers

MOVE_COUNTS = ("failed_ensures", "format_failures", "cut_moves", "cut_tokens")
"""Columns of ``rounds`` and ``measures`` that say how moves were made."""

Levels = tuple[ScoreLevels, str, Playability | None]
"""Normalisation of one game: its base player's levels, the base's name, and how probably the game
is (N, ε, θ, m)-playable by it, at any ε (None: its plays are not at hand)."""


def levels_of(rows: Sequence[Row], base: str, m: int) -> Levels | None:
    """Levels from the base player's rounds; None if its arms never rose."""
    own, _ = rounds.series(rows)
    levels = rounds.thresholds(own, m)
    if levels is None:
        return None
    return levels, base, rounds.crosses_surely(own, levels.b, levels.theta, m)


@dataclass(frozen=True)
class GameResult:
    """One player on one game after ``at_round`` rounds, ℓ; ``narms`` has bounds over maps, given
    the levels, from its ``draws`` (resamples,)."""

    policy: str
    member: MeasureGame
    levels: ScoreLevels
    series: tuple[Scores, Scores | None]
    at_round: int
    narms: Interval
    draws: Scores
    control: float | None


def result(
    policy: str, member: MeasureGame, levels: ScoreLevels, rows: Sequence[Row]
) -> GameResult:
    """The normalised score of one player's rounds on one game."""
    own, other = rounds.series(rows)
    at = min(levels.k_m, own.shape[1])
    control = None if other is None else narms(arms(other), levels, at)
    draws = rounds.narms_draws(own, levels, at)
    score = intervals.bootstrapped(narms(arms(own), levels, at), draws, CONFIDENCE)
    return GameResult(policy, member, levels, (own, other), at, score, draws, control)


def measures_row(
    result: GameResult, levels: Levels, rows: Sequence[Row], dollars: float | None
) -> Row:
    """Row of the table ``measures``, but for the run's id."""
    (own, base, crosses), at, above = levels, result.at_round, UNDEFINED
    scores, control = result.series
    if control is not None:
        above = rounds.above_control(scores[:, :at], control[:, :at], CONFIDENCE)
    return {
        "policy_id": result.policy,
        **result.member.task.id._asdict(),
        "exported_game_id": result.member.origin,
        "base": base,
        **{name: getattr(own, name) for name in ("b", "theta", "m", "rounds", "k_m")},
        "maps": own.samples,
        "crosses_low": crosses.low if crosses else None,
        "crosses_high": crosses.high if crosses else None,
        "at_round": result.at_round,
        "floor": result.member.task.floor,
        **bounds_columns("narms", result.narms),
        "confidence": CONFIDENCE,
        "control_narms": result.control,
        **bounds_columns("above_control", above),
        "forfeits": sum(row["outcome"] == PlayOutcome.FORFEIT for row in rows),
        **{name: sum(row[name] for row in rows) for name in MOVE_COUNTS},
        "tokens": sum(row["tokens"] for row in rows),
        "dollars": dollars,
        "seconds": sum(row["seconds"] for row in rows),
    }


def policies(results: Sequence[GameResult]) -> dict[str, list[GameResult]]:
    """Results by measured player, in the order given."""
    names = dict.fromkeys(each.policy for each in results)
    return {name: [r for r in results if r.policy == name] for name in names}


def show(console: Console, results: Sequence[GameResult]) -> None:
    """Two tables: normalised scores by game, and the statistics of each player's measure."""
    over = f"{percent(CONFIDENCE)} over maps; of the control in parentheses"
    cells = {}
    for each in results:
        control = "" if each.control is None else f" ({number(each.control)})"
        game = f"{each.member.name}, ℓ = {each.at_round}"
        cells[each.policy, game] = f"{interval(each.narms)}{control}"
    _show_by_game(console, f"narms after ℓ rounds, {over}", cells)
    columns = ("games", "mean", "median", "lower quartile", "upper quartile")
    title = f"The Xent Measure, {percent(CONFIDENCE)} over games"
    summary, by_player = table(title, "player", *columns, numbers=True), policies(results)
    names = labels(list(by_player))
    for name, own in by_player.items():
        scores, over_maps = np.array([r.narms.value for r in own]), np.stack([r.draws for r in own])
        mu = xent_measure(scores, over_maps=over_maps)
        estimates = (mu.mean, mu.quantiles[0.5], mu.quantiles[0.25], mu.quantiles[0.75])
        add(summary, names[name], len(own), *map(interval, estimates))
    console.print(summary)


def show_scores(console: Console, rows: Mapping[tuple[str, str], Sequence[Row]]) -> None:
    """A table of mean scores of single plays, from the rows of each player on each game."""
    title = f"mean score of one play, bits, {percent(CONFIDENCE)} over maps"
    cells = {
        key: interval(intervals.mean_interval(rounds.series(own)[0][:, 0], CONFIDENCE))
        for key, own in rows.items()
    }
    _show_by_game(console, title, cells)


def _show_by_game(console: Console, title: str, cells: Mapping[tuple[str, str], str]) -> None:
    names = labels(list(dict.fromkeys(player for player, _ in cells)))
    view = table(title, "game", *names.values(), numbers=True)
    for game in dict.fromkeys(game for _, game in cells):
        add(view, game, *(cells.get((name, game), "") for name in names))
    console.print(view)
    show_labels(names, console)


FIGURE = "measure.svg"
CURVES: Mapping[str, Callable[[Scores], Scores]] = {
    "mean": lambda scores: np.asarray(scores.mean(axis=0)),
    "arms": arms,
}
"""By round, from scores (maps, rounds)."""


def figure(results: Sequence[GameResult]) -> Element:
    """Two panels a game: the mean score by round and arms, as in Fig. 4.1, the control dashed, the
    base's levels b and b + mθ as lines across."""
    colours = {name: series(index) for index, name in enumerate(policies(results))}
    every = []
    for game, name in product(dict.fromkeys(each.member.name for each in results), CURVES):
        own, curves = [each for each in results if each.member.name == game], []
        for each in own:
            for dash, values in zip(("", "dashed "), each.series, strict=True):
                if values is not None:
                    curve = CURVES[name](values).tolist()
                    class_ = f"series {dash}{colours[each.policy]}"
                    curves.append((range(1, len(curve) + 1), curve, class_))
        levels = own[0].levels.b, own[0].levels.top
        every.append(Panel(f"{shorten(game, 36)}: {name}", ("round", "bits"), curves, levels))
    legend = {name: f"series {colour}" for name, colour in colours.items()}
    if any(each.series[1] is not None for each in results):
        legend["the control"] = f"series dashed {series(0)}"
    legend["b and b + mθ, the base's levels"] = "rule"
    return panels("Mean and arms by round", every, legend, len(CURVES))


# -- ceilings: the best known moves (docs/how-to/measuring.md, "Ceilings") -------------------------


def known_rows(member: MeasureGame, maps: int | None) -> list[Row]:
    """The folder's best known scores, as solutions of solvers that made no judge call."""
    return [
        _row(member.task, seeds, Solution(best.found_by, Attempt(best.moves, best.score), 0, ()))
        for seeds in member.seeds(maps)
        if (best := member.best_known.get(seeds.map_seed))
    ]


def solution_rows(
    host: ModelHost, player: Player, member: MeasureGame, maps: int | None, calls: int
) -> list[Row]:
    """Rows of ``ceilings``: the best that each solver found on each map."""
    task, solvers, rows = member.task, Solvers(host.judge, calls, player), []
    for seeds in member.seeds(maps):
        start = time.perf_counter()
        solutions = solvers.solve(MapTrials(task.game, task.role, seeds, host.cast(task)))
        seconds = (time.perf_counter() - start) / max(1, len(solutions))
        rows += [_row(task, seeds, each, calls, seconds) for each in solutions]
    return rows


def _row(
    task: Task, seeds: Seeds, solution: Solution, budget: int = 0, seconds: float = 0.0
) -> Row:
    return {
        "solver": solution.solver,
        **task.id._asdict(),
        **asdict(seeds),
        "score": solution.best.score,
        "moves": list(solution.best.moves),
        "budget": budget,
        "calls": solution.calls,
        "curve_calls": [calls for calls, _ in solution.curve],
        "curve": [score for _, score in solution.curve],
        "seconds": seconds,
    }


def ceilings_table(games: Sequence[GameCeiling], names: Mapping[TaskId, str]) -> Table:
    """Shares of the distance from the base's score to the best known one, by game and player."""
    players = list(dict.fromkeys(name for game in games for name in game.one_play))
    view = table(
        f"Share of the way from the base's mean b to the best known, {percent(CONFIDENCE)} over "
        "maps; after ℓ rounds in parentheses; bits left a play",
        *("game", "best known", "found by", *players),
    )
    for game in games:
        cells = dict.fromkeys(players, "")
        for name, one in game.one_play.items():
            after = game.after_rounds[name].share.value
            share = "no better is known"
            if one.share.value is not None and after is not None:
                share = f"{interval(one.share, percent)} ({percent(after)})"
            cells[name] = f"{share}; {number(one.bits, 1)} bits"
        best = f"{number(game.best, 1)} bits"
        add(view, names[game.task_id], best, game.finders, *cells.values())
    return view
