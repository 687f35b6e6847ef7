"""What every candidate teaches of held-out programs, as a figure: a line for each growth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import fmean

from archive.charts.plot import Plot, canvas, circle, line, mark, text
from archive.schema import Verdict
from archive.statistics.studies.held_out import CandidateValue, HeldOut
from archive.views.tables import SHORT
from xgl.diagram.svg import Element

LEFT, TOP, WIDTH, ROW = 120, 56, 560, 34
RADIUS = 5.0
LABEL = "mean C of a candidate over held-out programs, of gains about the map and paid for"


def figure(result: HeldOut) -> Element:
    """A point for each candidate, full where it was accepted, and a stroke at the mean of either
    kind; candidates without a value are left out."""
    with_values = [each for each in result.candidates if each.value is not None]
    rows = [list(group) for _, group in groupby(with_values, key=lambda each: each.growth)]
    values = [_value(each) for each in with_values] or [0.0]
    room = 0.05 * (max(values) - min(values)) or 1.0
    ends = (min(*values, 0.0) - room, max(*values, 0.0) + room)
    height = ROW * max(len(rows), 1)
    plot = Plot.box((LEFT, TOP), (WIDTH, height), ends, (0.0, 1.0))
    shapes = [*plot.x_axis(LABEL), line(plot.x(0), TOP, plot.x(0), TOP + height, "rule")]
    shapes += _key()
    for number, candidates in enumerate(rows):
        shapes += _row(plot, TOP + ROW * (number + 0.5), candidates)
    title = "What candidates of growths teach of programs that no growth saw"
    return canvas((LEFT + WIDTH + 30, TOP + height + 50), title, *shapes)


def _row(plot: Plot, y: float, candidates: Sequence[CandidateValue]) -> Iterator[Element]:
    growth = candidates[0].growth
    yield text(LEFT - 10, y + 4, growth.rpartition("-")[0] or growth, "name", "end")
    for is_accepted in (False, True):
        group = [candidate for candidate in candidates if _is_accepted(candidate) == is_accepted]
        for candidate in group:
            words = f"{candidate.game_id[:SHORT]}: {candidate.reason}, C {_value(candidate):.2f}"
            yield mark(words, circle(plot.x(_value(candidate)), y, RADIUS, _spot(is_accepted)))
        if group:
            x = plot.x(fmean(map(_value, group)))
            reach = ROW / 2 - 3
            yield line(x, y - reach, x, y + reach, "smooth" if is_accepted else "other")


def _key() -> Iterator[Element]:
    for index, (words, is_accepted) in enumerate((("accepted", True), ("refused", False))):
        x = LEFT + 6 + 110 * index
        yield circle(x, TOP - 30, RADIUS, _spot(is_accepted))
        yield text(x + 12, TOP - 26, words)
    yield text(LEFT + 226, TOP - 26, "strokes: their means")


def _spot(is_accepted: bool) -> str:
    return "spot" if is_accepted else "spot open"


def _is_accepted(candidate: CandidateValue) -> bool:
    return candidate.verdict == Verdict.ACCEPTED


def _value(candidate: CandidateValue) -> float:
    assert candidate.value is not None
    return candidate.value
