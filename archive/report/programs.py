"""A page about games that are programs: who wins, how opponents were found, rules beside code.

Texts of games are not trusted: they are escaped, and never become markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from archive.charts.plot import (
    LinearScale,
    canvas,
    html_table,
    line,
    plain,
    rect,
    series,
    sheet,
    text,
)
from archive.statistics.programs import Row, Rows, program_tables
from archive.text import cell
from xgl.diagram.svg import Element, render
from xgl.escaping import visible, visible_lines

LEFT, WIDE, STEP = 170.0, 560.0, 30.0
FIGURES: Mapping[str, Sequence[int]] = {
    "Win rates": (2, 3, 4),
    "Histogram of similarities": (1,),
    "Categories before and after filtering": (2, 4),
}
"""Tables that are also drawn: a column of lengths, and for win rates those of the interval; of the
categories, both shares."""


def html(rows: Mapping[str, Rows], run_id: str) -> str:
    """The page; ``rows`` of the tables ``gg_games`` … ``gg_plays`` of one run."""
    parts = [f"<p>Run {_safe(run_id)}."]
    for part in program_tables(rows):
        parts.append(f"<h2>{_safe(part.title)}</h2><p>{_safe(part.note)}")
        if part.title in FIGURES:
            parts.append(render(bars(part.title, part.rows, FIGURES[part.title])))
        parts.append(_table(part.columns, part.rows))
    parts.append("<h2>Each game</h2>")
    for game in sorted(rows["gg_games"], key=lambda row: row["place"]):
        parts += _game(rows, game)
    return sheet(f"Games that are programs: {visible(run_id)}", *parts)


def _safe(words: object) -> str:
    return escape(visible_lines(str(words)))


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return html_table(columns, ([visible_lines(cell(each)) for each in row] for row in rows))


def bars(title: str, rows: Sequence[Sequence[Any]], columns: Sequence[int]) -> Element:
    """A bar for each row; of three columns the last two are an interval, of two each is a bar."""
    top = max(1.0, *(float(row[columns[0]]) for row in rows))
    scale = LinearScale(0.0, top, LEFT, LEFT + WIDE)
    bottom = 20 + STEP * len(rows)
    shapes: list[Element] = []
    for tick in scale.ticks(4):
        shapes += [line(scale(tick), 14, scale(tick), bottom, "grid")]
        shapes += [text(scale(tick), bottom + 17, plain(tick), "tick", "middle")]
    lengths = columns[:1] if len(columns) == 3 else columns
    height = (STEP - 12) / len(lengths)
    for index, row in enumerate(rows):
        y = 20 + STEP * index
        shapes.append(text(LEFT - 10, y + 15, visible(str(row[0]))[:24], "name", "end"))
        for place, column in enumerate(lengths):
            size = scale(float(row[column])) - LEFT
            colour = f"solid {series(place)}"
            shapes.append(rect(LEFT, y + 2 + place * height, size, height, colour))
        if len(columns) == 3:
            ends = (scale(float(row[column])) for column in columns[1:])
            shapes.append(line(next(ends), y + 11, next(ends), y + 11, "rule"))
    return canvas((LEFT + WIDE + 30, bottom + 30), title, *shapes)


def _game(rows: Mapping[str, Rows], game: Row) -> Iterator[str]:
    """Rules and code side by side, the filters, the pairs, and one play of each player."""
    filters, pairs, plays = (
        [row for row in rows[name] if row["program_id"] == game["program_id"]]
        for name in ("gg_filters", "gg_pairs", "gg_plays")
    )
    yield f"<details><summary>{_safe(game['title'])}</summary><div class=beside>"
    yield f"<pre>{_safe(game['rules'])}\n\n{_safe(game['moves'])}</pre>"
    yield f"<pre>{_safe(game['source'])}</pre></div>"
    verdicts = ((r["stage"], "yes" if r["passed"] else "no", r["reason"]) for r in filters)
    yield _table(("filter", "passed", "seen"), verdicts)
    names = ("winner", "simulations", "loser", "purpose", "games", "wins", "draws", "passed")
    yield _table(names, (tuple(row[name] for name in names) for row in pairs))
    firsts = {row["player"]: row for row in reversed(plays)}
    first_plays = (
        (name, row["seat"] + 1, row["outcome"], " ".join(map(str, row["moves"])))
        for name, row in firsts.items()
    )
    yield _table(("one play of", "seat", "outcome", "moves of both, in order"), first_plays)
    yield "</details>"
