"""What a person sees of a measure: a table with the models side by side, and a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from archive.statistics.intervals import Scores
from archive.statistics.repeated_play import arms
from archive.statistics.xent_measure import XentMeasure, common_edges, xent_measure
from archive.store.disk import write_whole, writing
from evo.measure.results import GameResult
from xgl.diagram.shapes import Box, Drawing, Label, Line, Shape
from xgl.diagram.svg import to_svg

FIGURE = "measure.svg"
COLOURS = ("#3366aa", "#c23b4e", "#2a8f5b", "#d08a1d", "#7b4fa3", "#4a4a4a")
INK, FAINT = "#222", "#8a8f98"
WIDE, HIGH = 300.0, 190.0
"""Of one panel."""
ACROSS = 3
LEFT, TOP, RIGHT, BELOW = 44.0, 30.0, 14.0, 26.0


def policies(results: Sequence[GameResult]) -> dict[str, list[GameResult]]:
    """Results by measured player, in the order given."""
    return {name: [r for r in results if r.policy == name] for name in _names(results)}


def _names(results: Sequence[GameResult]) -> list[str]:
    return list(dict.fromkeys(each.policy for each in results))


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
    table = Table(
        title=f"narms after ℓ rounds, {confidence:.0%} over maps; of the control in brackets",
        title_justify="left",
    )
    table.add_column("game")
    table.add_column("ℓ", justify="right")
    for name in by_player:
        table.add_column(name, justify="right", overflow="fold")
    for game in dict.fromkeys(each.member.name for each in results):
        row = {r.policy: r for r in results if r.member.name == game}
        at = next(iter(row.values())).at_round
        cells = [_cell(row[name], confidence) if name in row else "" for name in by_player]
        table.add_row(game, str(at), *cells)
    console.print(table)
    console.print(_summary(measures(results, confidence), confidence))


def _cell(result: GameResult, confidence: float) -> str:
    low, high = result.bounds(confidence)
    control = "" if result.control is None else f" [{result.control:.2f}]"
    return f"{result.narms:.2f} ({low:.2f} to {high:.2f}){control}".replace("[", "\\[")


def _summary(by_player: dict[str, XentMeasure], confidence: float) -> Table:
    table = Table(
        title=f"The Xent Measure, {confidence:.0%} over games and maps", title_justify="left"
    )
    for column in ("player", "games", "mean", "median", "lower quartile", "upper quartile"):
        table.add_column(column, justify="left" if column == "player" else "right")
    for name, mu in by_player.items():
        estimates = (mu.mean, mu.median, mu.quantiles[0.25], mu.quantiles[0.75])
        cells = (f"{s.value:.2f} ({s.low:.2f} to {s.high:.2f})" for s in estimates)
        table.add_row(name, str(mu.games), *cells)
    return table


# -- the figure --------------------------------------------------------------------------------


def draw(folder: Path, results: Sequence[GameResult], confidence: float) -> Path:
    """Write the figure into the run folder. Raises :class:`archive.WriteError`."""
    path = folder / FIGURE
    with writing(path):
        write_whole(path, to_svg(figure(results, confidence)).encode())
    return path


def figure(results: Sequence[GameResult], confidence: float) -> Drawing:
    """One panel with the histograms, then one a game with arms curves: the control dashed, the
    base's levels b and b + mθ as grey lines. ``results`` must not be empty."""
    by_player = measures(results, confidence)
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(by_player)}
    games = list(dict.fromkeys(each.member.name for each in results))
    shapes = list(_histograms(by_player, colours))
    for place, game in enumerate(games, start=1):
        panel = _Panel(place)
        shapes += panel.curves([r for r in results if r.member.name == game], colours)
    rows = -(-(len(games) + 1) // ACROSS)
    for place, (name, colour) in enumerate(colours.items()):
        shapes.append(Label(LEFT, rows * HIGH + 18 + 17 * place, name, 12, colour, bold=True))
    height = rows * HIGH + 30 + 17 * len(colours)
    title = "Xent Measure: histograms of normalised scores, and arms by round"
    return Drawing(ACROSS * WIDE, height, title, tuple(shapes))


class _Panel:
    """A plot at a place of the grid, with linear axes."""

    def __init__(self, place: int) -> None:
        row, column = divmod(place, ACROSS)
        self.x, self.y = column * WIDE + LEFT, row * HIGH + TOP
        self.wide, self.high = WIDE - LEFT - RIGHT, HIGH - TOP - BELOW

    def span(self, xs: tuple[float, float], ys: tuple[float, float]) -> None:
        self.xs, self.ys = xs, ys if ys[1] > ys[0] else (ys[0], ys[0] + 1)

    def at(self, x: float, y: float) -> tuple[float, float]:
        (left, right), (low, high) = self.xs, self.ys
        return (
            self.x + self.wide * (x - left) / (right - left),
            self.y + self.high * (1 - (y - low) / (high - low)),
        )

    def frame(self, title: str, unit: str, below: str) -> Iterator[Shape]:
        yield Box(self.x, self.y, self.wide, self.high, FAINT, radius=0)
        yield Label(self.x, self.y - 12, title, 12, INK, bold=True)
        yield Label(self.x + self.wide - 58, self.y + self.high + 18, below, 10, FAINT)
        for value in self.ys:
            yield Label(self.x - 40, self.at(self.xs[0], value)[1], f"{value:.3g}", 10, INK)
        for value in self.xs:
            x, y = self.at(value, self.ys[0])
            yield Label(x, y + 14, f"{value:.3g}", 10, INK, centred=True)
        yield Label(self.x - 40, self.y + self.high / 2, unit, 10, FAINT)

    def curves(self, results: Sequence[GameResult], colours: dict[str, str]) -> Iterator[Shape]:
        levels = results[0].levels.levels
        lines: list[tuple[Scores, str, str]] = []
        for each in results:
            lines.append((arms(each.series.own), colours[each.policy], ""))
            if each.series.control is not None:
                lines.append((arms(each.series.control), colours[each.policy], "4 3"))
        every = np.concatenate([*(curve for curve, _, _ in lines), [levels.b, levels.top]])
        longest = max(len(curve) for curve, _, _ in lines)
        self.span((1.0, float(max(longest, 2))), (float(every.min()), float(every.max())))
        yield from self.frame(results[0].member.name, "bits", "round")
        for level in (levels.b, levels.top):
            yield Line((self.at(self.xs[0], level), self.at(self.xs[1], level)), FAINT, width=0.8)
        for curve, colour, dash in lines:
            points = tuple(self.at(k, float(value)) for k, value in enumerate(curve, start=1))
            yield Line(points, colour, dash, width=1.6)


def _histograms(by_player: dict[str, XentMeasure], colours: dict[str, str]) -> Iterator[Shape]:
    panel = _Panel(0)
    edges = next(iter(by_player.values())).histogram.edges
    most = max(float(mu.histogram.counts.max()) for mu in by_player.values())
    panel.span((float(edges[0]), float(edges[-1])), (0.0, most))
    yield from panel.frame("normalised scores of all games", "games", "narms")
    share = 1 / len(by_player)
    for place, (name, mu) in enumerate(by_player.items()):
        for low, high, count in zip(edges[:-1], edges[1:], mu.histogram.counts, strict=True):
            if count:
                left = low + (high - low) * share * place
                x, y = panel.at(float(left), float(count))
                right, floor = panel.at(float(left + (high - low) * share), 0.0)
                yield Box(x, y, right - x, floor - y, colours[name], colours[name], 0)
