"""Results of a measure: the base player's levels and normalised scores, from rounds; their rows, a
table with the models side by side, a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from archive.charts import Plot, canvas, document, key, line, polyline, rect, series, text
from archive.schema import PlayOutcome
from archive.statistics.intervals import Interval, Scores, percentile_bounds
from archive.statistics.measure import XentMeasure, common_edges, xent_measure
from archive.statistics.rounds import (
    Playability,
    ScoreLevels,
    above_control,
    arms,
    crosses_surely,
    narms,
    narms_draws,
    thresholds,
)
from archive.store.disk import writing
from archive.text import interval, number, percent
from archive.views.tables import add, labels, show_labels, table
from evo.jobs import evaluation
from evo.jobs.evaluation import Row, Series
from evo.measure.folder import MeasureGame
from xgl.diagram.svg import Element
from xgl.files import write_whole

MOVE_COUNTS = ("failed_ensures", "format_failures", "cut_moves", "cut_tokens")
"""Columns of ``rounds`` and ``measures`` that say how moves were made."""
EPSILON = 0.05
"""ε of (N, ε, θ, m); the bounds on the probability are archived, so another ε can be tried."""


Levels = tuple[ScoreLevels, str, Playability | None]
"""Normalisation of one game: its base player's levels, the base's name, and whether the game is
(N, ε, θ, m)-playable by it (None: its plays are not at hand)."""


def levels_of(rows: Sequence[Row], base: str, m: int) -> Levels | None:
    """Levels from the base player's rounds; None if its arms never rose."""
    own = evaluation.series(rows).own
    levels = thresholds(own, m)
    if levels is None:
        return None
    return levels, base, crosses_surely(own, levels.b, levels.theta, m, EPSILON)


@dataclass(frozen=True)
class GameResult:
    """One player on one game after ``at_round`` rounds, ℓ; ``draws`` (resamples,) of its narms
    over maps."""

    policy: str
    member: MeasureGame
    levels: ScoreLevels
    series: Series
    at_round: int
    narms: float
    draws: Scores
    control: float | None

    def bounds(self, confidence: float) -> tuple[float, float]:
        """Bounds of narms over maps, given the levels."""
        return percentile_bounds(self.draws, confidence)


def result(
    policy: str, member: MeasureGame, levels: ScoreLevels, rows: Sequence[Row]
) -> GameResult:
    """The normalised score of one player's rounds on one game."""
    plays = evaluation.series(rows)
    at = min(levels.k_m, plays.own.shape[1])
    control = None if plays.control is None else narms(arms(plays.control), levels, at)
    score, draws = narms(arms(plays.own), levels, at), narms_draws(plays.own, levels, at)
    return GameResult(policy, member, levels, plays, at, score, draws, control)


def measures_row(
    result: GameResult,
    levels: Levels,
    rows: Sequence[Row],
    confidence: float,
    dollars: float | None,
) -> dict[str, Any]:
    """Row of the table ``measures``, but for the run's id."""
    (own, base, crosses), at, above = levels, result.at_round, None
    low, high = result.bounds(confidence)
    if (control := result.series.control) is not None:
        above = above_control(result.series.own[:, :at], control[:, :at], confidence)
    return {
        "policy_id": result.policy,
        "game_id": result.member.task.game_id,
        "role": result.member.task.role,
        "exported_game_id": result.member.origin,
        "base": base,
        **{name: getattr(own, name) for name in ("b", "theta", "m", "rounds", "k_m")},
        "maps": own.samples,
        "crosses_low": crosses.low if crosses else None,
        "crosses_high": crosses.high if crosses else None,
        "at_round": result.at_round,
        "floor": result.member.task.floor,
        "narms": result.narms,
        "narms_low": low,
        "narms_high": high,
        "confidence": confidence,
        "control_narms": result.control,
        "above_control": above.value if above else None,
        "above_control_low": above.low if above else None,
        "above_control_high": above.high if above else None,
        "forfeits": sum(row["outcome"] == PlayOutcome.FORFEIT for row in rows),
        **{name: sum(row[name] for row in rows) for name in MOVE_COUNTS},
        "tokens": sum(row["tokens"] for row in rows),
        "dollars": dollars,
        "seconds": sum(row["seconds"] for row in rows),
    }


# -- tables ----------------------------------------------------------------------------------------


def policies(results: Sequence[GameResult]) -> dict[str, list[GameResult]]:
    """Results by measured player, in the order given."""
    names = dict.fromkeys(each.policy for each in results)
    return {name: [r for r in results if r.policy == name] for name in names}


def measures(results: Sequence[GameResult], confidence: float) -> dict[str, XentMeasure]:
    """μ of each player, on common histogram edges."""
    by_player = policies(results)
    values = {name: np.array([r.narms for r in results]) for name, results in by_player.items()}
    edges = common_edges(list(values.values()))
    return {
        name: xent_measure(
            values[name], edges, confidence, over_maps=np.stack([r.draws for r in results])
        )
        for name, results in by_player.items()
    }


def show(console: Console, results: Sequence[GameResult], confidence: float) -> None:
    """Two tables: normalised scores by game, and the statistics of each player's measure."""
    by_player = policies(results)
    names = labels(list(by_player))
    view = table(
        f"narms after ℓ rounds, {percent(confidence)} over maps; of the control in parentheses",
        *("game", "ℓ", *(names[name] for name in by_player)),
        numbers=True,
    )
    for game in dict.fromkeys(each.member.name for each in results):
        row = {r.policy: r for r in results if r.member.name == game}
        at = next(iter(row.values())).at_round
        cells = [_cell(row[name], confidence) if name in row else "" for name in by_player]
        add(view, game, at, *cells)
    columns = ("games", "mean", "median", "lower quartile", "upper quartile")
    title = f"The Xent Measure, {percent(confidence)} over games and maps"
    summary = table(title, "player", *columns, numbers=True)
    for name, mu in measures(results, confidence).items():
        estimates = (mu.mean, mu.median, mu.quantiles[0.25], mu.quantiles[0.75])
        add(summary, names[name], mu.games, *map(interval, estimates))
    console.print(view)
    console.print(summary)
    show_labels(names, console)


def show_scores(
    console: Console, scores: Mapping[str, Mapping[str, Interval]], confidence: float
) -> None:
    """A table of mean scores of single plays, by player and game."""
    names = labels(list(scores))
    title = f"mean score of one play, bits, {percent(confidence)} over maps"
    view = table(title, "game", *(names[name] for name in scores), numbers=True)
    for game in dict.fromkeys(game for by_game in scores.values() for game in by_game):
        cells = [interval(by[game]) if game in by else "" for by in scores.values()]
        add(view, game, *cells)
    console.print(view)
    show_labels(names, console)


def _cell(result: GameResult, confidence: float) -> str:
    low, high = result.bounds(confidence)
    control = "" if result.control is None else f" ({number(result.control)})"
    return f"{interval(Interval(result.narms, low, high))}{control}"


def show_rounds(console: Console, results: Sequence[GameResult]) -> None:
    """Mean score and arms by round, bits, and arms of the control (Fig. 4.1)."""
    longest = max(each.series.own.shape[1] for each in results)
    rounds = sorted({*(2**k for k in range(longest.bit_length())), longest})
    maps = results[0].series.own.shape[0]
    title = f"Bits by round over {maps} maps; maps and moves are random"
    view = table(title, "game", "player", "of", *map(str, rounds))
    for each in results:
        control = each.series.control
        curves = {name: curve(each.series.own) for name, curve in CURVES.items()}
        curves |= {} if control is None else {"arms, control": arms(control)}
        for name, curve in curves.items():
            cells = [number(float(curve[k - 1])) if k <= len(curve) else "" for k in rounds]
            add(view, each.member.name, each.policy, name, *cells)
    console.print(view)


# -- the figure ------------------------------------------------------------------------------------

FIGURE = "measure.svg"
WIDE, HIGH, LEFT = 300.0, 240.0, 48.0
"""Width and height of one panel, and the distance from its left edge to its plot."""
ACROSS = 3
"""Panels in a row."""
CURVES: Mapping[str, Callable[[Scores], Scores]] = {
    "mean": lambda scores: np.asarray(scores.mean(axis=0)),
    "arms": arms,
}
"""By round, from scores (maps, rounds)."""


def draw(folder: Path, results: Sequence[GameResult], confidence: float) -> Path:
    """Write the figure into the run folder. Raises :class:`archive.WriteError`."""
    path = folder / FIGURE
    with writing(path):
        write_whole(path, document(figure(results, confidence)).encode())
    return path


def figure(results: Sequence[GameResult], confidence: float) -> Element:
    """One panel with the histograms, then two a game: the mean score by round and arms, as in
    Fig. 4.1, the control dashed, the base's levels b and b + mθ as grey lines. ``results`` must not
    be empty."""
    by_player = measures(results, confidence)
    colours = {name: series(index) for index, name in enumerate(by_player)}
    games = list(dict.fromkeys(each.member.name for each in results))
    shapes = list(_histograms(by_player, colours))
    for index, (game, name) in enumerate(product(games, CURVES), start=1):
        shapes += _curves(index, [r for r in results if r.member.name == game], colours, name)
    rows = -(-(2 * len(games) + 1) // ACROSS)
    for index, (name, colour) in enumerate(colours.items()):
        shapes += key(LEFT, rows * HIGH + 16 + 18 * index, name, f"series {colour}")
    title = "Xent Measure: histograms of normalised scores; mean and arms by round"
    size = ACROSS * WIDE, rows * HIGH + 26 + 18 * len(colours)
    return canvas(size, title, *shapes, class_="measure")


def _panel(
    place: int,
    title: str,
    labels: tuple[str, str],
    xs: tuple[float, float],
    ys: tuple[float, float],
    counts: str,
) -> tuple[Plot, list[Element]]:
    """The plot at a place of the grid, and its axes."""
    row, column = divmod(place, ACROSS)
    left, top = column * WIDE + LEFT, row * HIGH
    ends = ys if ys[1] > ys[0] else (ys[0], ys[0] + 1)
    plot = Plot.box((left, top + 52), (WIDE - LEFT - 18, HIGH - 112), xs, ends, counts)
    return plot, [text(left, top + 18, title, "heading"), *plot.grid(*labels, 4, 4)]


def _curves(
    place: int,
    results: Sequence[GameResult],
    colours: dict[str, str],
    name: str,
) -> Iterator[Element]:
    levels, curve_of = results[0].levels, CURVES[name]
    lines: list[tuple[Scores, str]] = []
    for each in results:
        lines.append((curve_of(each.series.own), f"series {colours[each.policy]}"))
        if each.series.control is not None:
            lines.append((curve_of(each.series.control), f"series dashed {colours[each.policy]}"))
    every = np.concatenate([*(curve for curve, _ in lines), [levels.b, levels.top]])
    longest = max(len(curve) for curve, _ in lines)
    ends = float(every.min()), float(every.max())
    title = f"{results[0].member.name}: {name}"
    plot, axes = _panel(place, title, ("round", "bits"), (1.0, float(max(longest, 2))), ends, "x")
    yield from axes
    for level in (levels.b, levels.top):
        y = plot.y(level)
        yield line(plot.x.start, y, plot.x.end, y, "rule")
    for curve, class_ in lines:
        yield polyline(plot.places(range(1, len(curve) + 1), curve.tolist()), class_)


def _histograms(by_player: dict[str, XentMeasure], colours: dict[str, str]) -> Iterator[Element]:
    edges = next(iter(by_player.values())).histogram.edges.tolist()
    most = max(float(measure.histogram.counts.max()) for measure in by_player.values())
    title = "normalised scores of all games"
    plot, axes = _panel(0, title, ("narms", "games"), (edges[0], edges[-1]), (0.0, most), "y")
    yield from axes
    for index, (name, measure) in enumerate(by_player.items()):
        for low, high, count in zip(edges, edges[1:], measure.histogram.counts, strict=False):
            if count:
                width = (high - low) / len(by_player)
                left, top = plot.place(low + width * index, float(count))
                right, bottom = plot.place(low + width * (index + 1), 0.0)
                class_ = f"solid {colours[name]}"
                yield rect(left, top, right - left, bottom - top, class_)
