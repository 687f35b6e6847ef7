"""Xent Measures: the normalised scores of measured players, over the newest scope and by scope
number, drawn as histograms one above the other on one scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from archive.charts import Plot, canvas, line, mark, rect, text
from archive.run import Row, Run
from archive.schema import ScopeRow, TaskId
from archive.statistics.measure import XentMeasure, xent_measure
from archive.store.archive import Archive
from archive.text import bounds, plural
from xgl.diagram.svg import Element, el


class Histogram(NamedTuple):
    """The scores behind one histogram, with its name; ``shift`` is the distance to the scope
    before (1-Wasserstein, in normalised scores), None for the first."""

    name: str
    values: tuple[float, ...]
    shift: float | None = None


class PlayerMeasure(NamedTuple):
    """One player: μ over all its measured games of the scope, and μ_k for each scope Σ_k.

    ``of_covers``: the games are those of the scope's cover; else all of the scope.
    """

    player: str
    base: str
    m: int
    whole: Histogram
    scopes: tuple[Histogram, ...]
    of_covers: bool


def gather_measures(
    run: Run, measured_archives: Sequence[Archive] = ()
) -> tuple[PlayerMeasure, ...]:
    """Players in the order in which they were measured; none where none was.

    ``measured_archives``: runs of ``+experiment=measure`` on what this run exported.
    """
    scope_ids = {member.task_id for members in run.scopes.values() for member in members}
    columns = ["policy_id", "exported_game_id", "role", "base", "m", "narms"]
    rows = run.rows("measures", columns)
    rows += [row for source in measured_archives for row in source.rows("measures", columns)]
    by_player: dict[str, list[Row]] = {}
    for row in rows:
        if TaskId(row["exported_game_id"], row["role"]) in scope_ids:
            by_player.setdefault(row["policy_id"], []).append(row)
    covers = _covers(run)
    return tuple(_measure(player, rows, run.scopes, covers) for player, rows in by_player.items())


def _covers(run: Run) -> dict[int, set[TaskId]]:
    """Members of each scope's cover, the one at the largest η."""
    members: dict[int, dict[float, set[TaskId]]] = {}
    for row in run.rows("covers", ["scope", "eta", "game_id", "role"]):
        members.setdefault(row["scope"], {}).setdefault(row["eta"], set()).add(TaskId.of(row))
    return {scope: by_eta[max(by_eta)] for scope, by_eta in members.items()}


def _measure(
    player: str,
    rows: Sequence[Row],
    scopes: Mapping[int, Sequence[ScopeRow]],
    covers: Mapping[int, set[TaskId]],
) -> PlayerMeasure:
    """The newest score of each game counts."""
    scores = {TaskId(row["exported_game_id"], row["role"]): row["narms"] for row in rows}
    histograms: list[Histogram] = []
    for number, members in scopes.items():
        task_ids = covers.get(number) or {member.task_id for member in members}
        values = tuple(scores[task_id] for task_id in sorted(task_ids) if task_id in scores)
        if values:
            shift = None
            if histograms:
                from scipy.stats import wasserstein_distance  # slow to load

                shift = float(wasserstein_distance(histograms[-1].values, values))
            histograms.append(Histogram(f"scope {number}", values, shift))
    last = rows[-1]
    return PlayerMeasure(
        player,
        last["base"],
        last["m"],
        Histogram(player, tuple(scores.values())),
        tuple(histograms),
        bool(covers),
    )


ROW = 76.0
"""Height of a histogram."""
LEFT, WIDTH, TOP = 150.0, 380.0, 14.0
BINS = 24


def share_bar(share: float, class_: str = "") -> Element:
    """A bar as long as a share (0 to 1) of its cell; the number beside it says the same."""
    return el(
        "svg",
        rect(0, 0, 100, 10, "track"),
        rect(0, 0, max(0.0, min(1.0, share)) * 100, 10, f"fill {class_}".strip()),
        class_="bar",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def histograms(samples: Sequence[Histogram], label: str, earlier: bool = False) -> Element:
    """A row for each sample: its bars, its median as a line, and its numbers beside it.

    ``earlier``: all but the last row are in the quiet colour. ``samples`` must not be empty.
    """
    values = [value for sample in samples for value in sample.values]
    ends = min([0.0, *values]), max([1.0, *values])
    edges = np.linspace(*ends, BINS + 1)
    most = max(int(np.histogram(sample.values, edges)[0].max()) for sample in samples)
    height = ROW * len(samples)
    shapes = [*Plot.box((LEFT, TOP), (WIDTH, height), ends, (0, 1)).x_axis(label)]
    titles = []
    for row, sample in enumerate(samples):
        plot = Plot.box((LEFT, TOP + ROW * row + 26), (WIDTH, ROW - 26), ends, (0, most))
        quiet = earlier and row < len(samples) - 1
        measure, games = xent_measure(np.array(sample.values)), plural(len(sample.values), "game")
        shapes += _bars(sample, edges, plot, "column earlier" if quiet else "column")
        shapes += _numbers(sample, measure, games, plot)
        titles.append(f"{sample.name}, median {measure.quantiles[0.5].value:.2f} over {games}")
    title = f"{label}: " + "; ".join(titles)
    return canvas((700, TOP + height + 46), title, *shapes, class_="histograms")


def _bars(sample: Histogram, edges: np.ndarray, plot: Plot, class_: str) -> Iterator[Element]:
    counts, _ = np.histogram(sample.values, edges)
    base = plot.y(0)
    yield line(plot.x.start, base, plot.x.end, base, "grid")
    for count, low, high in zip(counts.tolist(), edges[:-1], edges[1:], strict=True):
        if count:
            (left, top), right = plot.place(low, count), plot.x(high)
            bar = rect(left + 0.5, top, right - left - 1, base - top, class_)
            games = f"{plural(count, 'game')} from {low:.2f} to {high:.2f}"
            yield mark(f"{sample.name}: {games}", bar)


def _numbers(sample: Histogram, measure: XentMeasure, games: str, plot: Plot) -> Iterator[Element]:
    """The median as a line; name and size on the left; mean and median with their bounds,
    quantiles, and how far the sample moved on the right."""
    base, middle = plot.y(0), plot.x(measure.quantiles[0.5].value or 0.0)
    yield line(middle, base - ROW + 22, middle, base, "rule")
    yield text(LEFT - 12, base - 16, _short(sample.name), "name", "end")
    yield text(LEFT - 12, base, games, "tick", "end")
    low, high = (measure.quantiles[level].value or 0.0 for level in (0.1, 0.9))
    lines = [] if sample.shift is None else [f"moved by {sample.shift:.2f}"]
    lines += [
        f"10–90 %: {low:.2f} to {high:.2f}",
        f"median {bounds(measure.quantiles[0.5])}",
        f"mean {bounds(measure.mean)}",
    ]
    for index, words in enumerate(lines):
        yield text(plot.x.end + 12, base - 15 * index, words, "tick")


def _short(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:9]}…{name[-10:]}"
