"""Figures of docs/findings.md that no command draws, from finished runs.

python benchmarks/finding_figures.py curricula RUN -o FILE.svg      # gains on held-out programs
python benchmarks/finding_figures.py universality RUN -o FILE.svg   # agreement between measures
python benchmarks/finding_figures.py ceilings RUN -o FILE.svg       # how far players have come
python benchmarks/finding_figures.py judges RUN… -o FILE.svg        # gains that survive
python benchmarks/finding_figures.py searches FOLDER -o FILE.svg    # what searches keep

Each row of the first four is an estimate with its 95 % interval. FOLDER is the ``--root`` of
``search_baselines.py``. ``python -m archive held-out RUN --figure FILE.svg``
draws the figure of held-out programs.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from archive import Archive
from archive.charts.document import document
from archive.charts.plot import Plot, canvas, circle, line, mark, rect, text
from archive.query import find_run, run_config
from archive.schema import GainKind
from archive.statistics.decisions.second_judge import read_survivals
from archive.statistics.measures.ceilings import read_ceilings
from archive.statistics.studies.curricula import ALL, curriculum_gains
from archive.statistics.values.intervals import Interval
from evo.config.compose import from_archive
from evo.config.schema import RunConfig
from evo.experiments.curriculum import library_tasks
from xgl.diagram.shapes import Point
from xgl.diagram.svg import Element

Row = dict[str, Any]
CONFIDENCE = 0.95
LEFT, TOP, WIDTH, ROW = 330, 20, 430, 27
AGREEMENTS = {
    "grown": "two grown measures",
    "random": "two measures of random playable games",
    "content": "a grown measure and the share of content words",
    "split": "half of the maps of one, half of another",
    "ceiling": "two halves of the maps of one (noise ceiling)",
    "beyond_random": "grown minus random",
    "beyond_content": "grown minus content words",
}
"""What is compared, by its name in ``universality.json``."""
KEPT_WIDTH, GAP = 260, 40
KEPT = {
    "new": ("accepted by the full rule", "s0"),
    "open": ("undecided or of no help", "s3"),
    "covered": ("covered by the scope", "s1"),
}
"""The parts of a bar of kept games: their meaning, and the class of their colour."""


@dataclass(frozen=True)
class Estimate:
    """A row of a figure."""

    name: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def intervals_figure(title: str, label: str, estimates: Sequence[Estimate]) -> Element:
    """A point with its interval for each estimate, one below the other, and a line at 0."""
    lows, highs = [each.low for each in estimates], [each.high for each in estimates]
    low, high = min(*lows, 0.0), max(*highs, 0.0)
    room, height = 0.03 * (high - low), ROW * len(estimates)
    plot = Plot.box((LEFT, TOP), (WIDTH, height), (low - room, high + room), (0.0, 1.0))
    shapes = [*plot.x_axis(label), line(plot.x(0), TOP, plot.x(0), TOP + height, "rule")]
    for number, each in enumerate(estimates):
        shapes += _row(plot, TOP + ROW * (number + 0.5), each)
    return canvas((LEFT + WIDTH + 30, TOP + height + 50), title, *shapes)


def _row(plot: Plot, y: float, estimate: Estimate) -> Iterator[Element]:
    yield text(LEFT - 12, y + 4, estimate.name, "", "end")
    interval = line(plot.x(estimate.low), y, plot.x(estimate.high), y, "smooth")
    yield mark(str(estimate), interval, circle(plot.x(estimate.value), y, 5, "spot"))


def curricula(runs: Sequence[Path]) -> Element:
    """Mean gain over held-out programs of the players of each curriculum, and the cover's leads."""
    with Archive.open(runs[0]) as archive:
        run_id = find_run(archive).run_id
        config = from_archive(RunConfig, run_config(archive, run_id))
        programs = library_tasks(config, "curriculum.held_out", config.curriculum.held_out)
        gains = curriculum_gains(archive, run_id, [task.id for task in programs.values()])
    estimates = []
    for kind, what in ((GainKind.TOTAL, "total"), (GainKind.SPECIFIC, "about the map")):
        for name in gains.curricula:
            estimates += _estimate(f"{name}, {what}", gains.gains[kind][name][ALL])
        for (one, other), lead in gains.leads[kind].items():
            if one == "cover":
                estimates += _estimate(f"{one} beyond {other}, {what}", lead)
    label = f"bits a play, mean over {len(programs)} programs, 95 % over plays and training seeds"
    return intervals_figure("Gains of curricula on programs that no growth saw", label, estimates)


def universality(runs: Sequence[Path]) -> Element:
    """Agreement between measures, and the differences that the claim is about."""
    answers = json.loads((runs[0] / "universality.json").read_text(encoding="utf-8"))
    estimates = [
        Estimate(name, **answers[key])
        for key, name in AGREEMENTS.items()
        if None not in answers[key].values()
    ]
    label = "Kendall's τ over models, 95 % over models and growths"
    return intervals_figure("Agreement between measures", label, estimates)


def ceilings(runs: Sequence[Path]) -> Element:
    """Share of the way from the base player to the best known moves, by player and game."""
    estimates = []
    with Archive.open(runs[0]) as archive:
        for game in read_ceilings(archive, CONFIDENCE):
            for player, gap in game.one_play.items():
                name = f"{player.rpartition(':')[2]} on {game.exported_game_id[:8]}"
                estimates += _estimate(name, gap.share)
    label = "share of the way from the base player's mean to the best known, 95 % over maps"
    return intervals_figure("How much of the way players have come", label, estimates)


def judges(runs: Sequence[Path]) -> Element:
    """Share of the gain about the map of each accepted game that a second judge sees too."""
    estimates = []
    for run in runs:
        with Archive.open(run) as archive:
            for each in read_survivals(archive, find_run(archive).run_id):
                name = f"{run.name.rpartition('-')[2]}, {each.task_id.game_id[:8]}"
                estimates += _estimate(name, each.specific)
    label = "second judge's gain about the map over the first judge's, 95 % over plays"
    return intervals_figure("What another judge sees of the gains", label, estimates)


def searches(runs: Sequence[Path]) -> Element:
    """Games that each search of ``search_baselines.py`` keeps, by verdict, all seeds together, and
    the held-out coverage of each seed's."""
    lines = (runs[0] / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in map(json.loads, lines):
        groups[row["search"]].append({**row, "kept": len(row["kept"])})
    seeds, left, top = max(map(len, groups.values())), LEFT // 2, TOP + ROW
    kept = _kept_plot(groups.values(), (left, top))
    coverage = _coverage_plot(groups.values(), (left + KEPT_WIDTH + GAP, top))
    bottom = kept.y.start
    shapes = [
        *kept.x_axis(f"games kept, {seeds} seeds together"),
        *coverage.x_axis("held-out coverage, one point for each seed"),
        line(coverage.x(0), top, coverage.x(0), bottom, "rule"),
        *_legend(left, TOP),
    ]
    for number, (name, rows) in enumerate(groups.items()):
        y = top + ROW * (number + 0.5)
        shapes += [text(left - 12, y + 4, name, "", "end"), *_bar(kept, y, rows)]
        shapes += _spots(coverage, y, rows)
    return canvas((coverage.x.end + 30, bottom + 50), "What searches keep", *shapes)


def _kept_plot(groups: Collection[Sequence[Row]], corner: Point) -> Plot:
    most = max(sum(row["kept"] for row in rows) for rows in groups)
    return Plot.box(corner, (KEPT_WIDTH, ROW * len(groups)), (0, most), (0, 1), "x")


def _coverage_plot(groups: Collection[Sequence[Row]], corner: Point) -> Plot:
    values = [0.0, *(row["coverage"] for rows in groups for row in rows)]
    low, high = np.nanmin(values), np.nanmax(values)
    room = 0.03 * (high - low)
    size = (WIDTH - GAP, ROW * len(groups))
    return Plot.box(corner, size, (low - room, high + room), (0, 1))


def _spots(plot: Plot, y: float, rows: Sequence[Row]) -> Iterator[Element]:
    for row in rows:
        if not math.isnan(row["coverage"]):
            title = f"{row['search']}, seed {row['seed']}: {row['coverage']:.2f}"
            yield mark(title, circle(plot.x(row["coverage"]), y, 5, "spot"))


def _legend(x: float, y: float) -> Iterator[Element]:
    for meaning, class_ in KEPT.values():
        yield mark(meaning, rect(x, y - 10, 12, 12, "solid"), class_=class_)
        yield text(x + 18, y, meaning)
        x += 200


def _bar(plot: Plot, y: float, rows: Sequence[Row]) -> Iterator[Element]:
    sums = {part: sum(row[part] for row in rows) for part in ("kept", "new", "covered")}
    sums["open"] = sums["kept"] - sums["new"] - sums["covered"]
    start = 0
    for part, (meaning, class_) in KEPT.items():
        left, right = plot.x(start), plot.x(start + sums[part])
        bar = rect(left, y - 8, right - left, 16, "solid")
        yield mark(f"{sums[part]} {meaning}", bar, class_=class_)
        start += sums[part]


def _estimate(name: str, interval: Interval) -> list[Estimate]:
    """The row of an interval; none where the estimate is undefined."""
    if interval.value is None:
        return []
    return [Estimate(name, interval.value, interval.low, interval.high)]


FIGURES = {
    "curricula": curricula,
    "universality": universality,
    "ceilings": ceilings,
    "judges": judges,
    "searches": searches,
}


def main() -> None:
    """Draw one figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", choices=FIGURES)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.svg")
    arguments = parser.parse_args()
    drawing = document(FIGURES[arguments.figure](arguments.runs))
    arguments.output.write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main()
