"""Figures of a run that notebooks show and files hold: SVG, drawn with the report's own kit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from archive.charts.document import document
from archive.charts.plot import stack
from archive.errors import LookupFailedError
from archive.report.figures.curves import cover_curve, learning_curves
from archive.report.figures.heat_map import heat_map
from archive.report.figures.shades import value_legend
from archive.report.figures.thresholds import thresholds
from archive.report.from_archive import RunReport, definition
from archive.run import GROWTH
from archive.schema import Definition
from archive.store.disk import require_ending, writing
from xgl.diagram.svg import Element
from xgl.paths import user_path
from xgl.writing import write_whole


@dataclass(frozen=True)
class Figure:
    """A drawing for light and dark screens. ``svg`` is a whole SVG document."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the SVG document to a file. Raises WriteError, also for a name such as a.png."""
        path = user_path(path)
        require_ending(path, ".svg")
        with writing(path):
            write_whole(path, self.svg.encode())


def matrix_figure(report: RunReport, value: Definition | None = None) -> Figure:
    """Transfer values between the games of the newest scope as a heat map."""
    value = value or definition(report.thresholds)
    parts = [heat_map(report.matrix, report.games, value), value_legend(value)]
    return _figure(stack(str(parts[0].attributes["aria_label"]), *parts))


def decisions_figure(report: RunReport) -> Figure:
    """Candidates that have both values, by their value on the parent and by γ, with the two
    thresholds. Raises LookupFailedError if nothing was decided."""
    if report.thresholds is None:
        raise LookupFailedError(
            f"run {report.run.run_id}: found no decision, expected at least one"
        )
    names = [game.name for game in report.games]
    return _figure(thresholds(report.candidates, report.thresholds, names))


def cover_figure(report: RunReport) -> Figure:
    """Games of the smallest cover by η. Raises LookupFailedError if no game can be covered."""
    if not report.covers.steps:
        raise LookupFailedError(
            f"run {report.run.run_id}: found no game with a known value, expected at least one"
        )
    names = [game.name for game in report.games]
    return _figure(cover_curve(report.covers.steps, names, len(report.games)))


def curves_figure(
    named_curves: Mapping[str, Sequence[Sequence[float]]], others: Sequence[Sequence[float]]
) -> Figure:
    """Learning curves of games by name, in front of ``others``. Raises LookupFailedError for
    none."""
    drawing = learning_curves(named_curves, others)
    if drawing is None:
        raise LookupFailedError(
            "found no fine-tune of two steps, expected a run that trains, such as one of "
            f"+experiment={GROWTH}"
        )
    return _figure(drawing)


def _figure(drawing: Element) -> Figure:
    return Figure(document(drawing))
