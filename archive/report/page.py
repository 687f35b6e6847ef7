"""The page: facts and figures into one file that needs nothing else.

Another page is about games that are programs: who wins, how opponents were found, rules beside
code. Texts of games are not trusted: they are escaped, and never become markup.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from archive.charts import (
    LinearScale,
    canvas,
    html_table,
    line,
    plain,
    rect,
    series,
    sheet,
    style_sheet,
    text,
)
from archive.errors import WriteError
from archive.report.figures.growth import (
    cover_curve,
    growth,
    learning_curve,
    lineage,
    spark,
    thresholds,
)
from archive.report.figures.heat_map import heat_map, token_legend, token_shade, value_legend
from archive.report.gathering import RunReport, gather_report
from archive.report.measures import (
    RatingsSection,
    histograms,
    leaderboard,
    ratings_section,
    share_bar,
)
from archive.report.summary import kept_reason, summary
from archive.run import Run, read_settings
from archive.schema import SCHEMA_VERSION, Definition
from archive.statistics.matrix import TransferMatrix
from archive.statistics.programs import Row, Rows, program_tables
from archive.statistics.programs import gather as gather_programs
from archive.statistics.ratings import MeasureRatings
from archive.store.archive import Archive
from archive.store.disk import require_ending, writing
from archive.text import bounds, cell, duration, interval, listed, number, percent, plural, signed
from xgl.diagram.svg import Element, render
from xgl.escaping import visible, visible_lines
from xgl.files import user_path, write_whole

MOST_TABLE_GAMES = 30
"""Most games for which the matrix is also shown as a table."""
INLINE = 1_500_000
"""Most characters of game diagrams that the page contains as they are; above, all diagrams are
packed and a script unpacks each when its card is opened."""


def write_report(
    run: Run, path: str | Path, *, force: bool = False, measured_archives: Sequence[Archive] = ()
) -> int:
    """Write the report of a run and return its size in bytes.

    ``force``: replace a file that exists. ``measured_archives``: models measured on what the run
    exported.

    Raises WriteError, LookupFailedError and DamagedError; then nothing is written.
    """
    path = user_path(path)
    require_free(path, force)
    program_rows = gather_programs(run)
    if program_rows["gg_games"]:
        text = program_page(program_rows, run.run_id)
    else:
        text = page(gather_report(run, measured_archives))
    with writing(path):
        write_whole(path, text.encode())
    return len(text.encode())


def require_free(path: Path, force: bool) -> None:
    """Raises WriteError if ``path`` may not be written, before any work is done."""
    require_ending(path, ".html", ".htm")
    if path.is_dir():
        raise WriteError(f"{path} is a folder: expected the name of a file, such as report.html")
    if path.exists() and not force:
        raise WriteError(f"{path} exists: found a file, expected a new name, or --force")
    folder = path.parent
    if not folder.is_dir():
        raise WriteError(f"{path} could not be written: found no folder {folder}")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise WriteError(f"{path} could not be written: found no permission to write there")


def page(report: RunReport) -> str:
    """One HTML document: styles and script inside, no address outside."""
    style = f"{style_sheet()}\n{_static('report.css')}"
    script = _static("report.js")
    drawings = [game.drawing for game in report.games]
    is_packed = sum(map(len, drawings)) > INLINE
    packed = gzip.compress(json.dumps(drawings if is_packed else []).encode(), mtime=0)
    return (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            figures=_figures(report),
            summary=summary(report),
            kept=[game for game in report.games if game.parent is not None],
            reason=lambda game: kept_reason(game, report.games),
            style=Markup(style),
            script=Markup(script),
            policy=_policy(style, script),
            packed=base64.b64encode(packed).decode() if is_packed else "",
            made=datetime.now(UTC),
            schema=SCHEMA_VERSION,
            settings=read_settings(report.run.config_json),
            letter=report.definition.symbol,
        )
    )


def write_ratings(ratings: MeasureRatings, title: str, path: str | Path, *, force: bool) -> None:
    """Write the ratings section of a report as a page of its own. Raises WriteError."""
    path = user_path(path)
    require_free(path, force)
    style = f"{style_sheet()}\n{_static('report.css')}"
    text = (
        _environment()
        .get_template("ratings_page.html")
        .render(
            report={"ratings": ratings_section(ratings, {})},
            figures={"leaderboard": leaderboard(ratings)},
            title=title,
            style=Markup(style),
            policy=_policy(style, ""),
        )
    )
    with writing(path):
        write_whole(path, text.encode())


def _figures(report: RunReport) -> dict[str, Any]:
    limits, games, value = report.limits, report.games, report.definition
    figures: dict[str, Any] = {
        "growth": growth(report.scope_sizes),
        "lineage": lineage(games),
        "matrix": heat_map(report.matrix, games, value),
        "legend": value_legend(value),
        "tabled": table_of(report.matrix, value) if len(games) <= MOST_TABLE_GAMES else [],
        "scopes": [
            (measure, histograms(measure.scopes, "normalised score", earlier=True))
            for measure in report.measures
            if len(measure.scopes) > 1
        ],
        **dict.fromkeys(("thresholds", "covers", "players", "leaderboard")),
    }
    names = [game.name for game in games]
    if limits is not None and report.candidates:
        figures["thresholds"] = thresholds(report.candidates, limits, names)
    if report.covers:
        figures["covers"] = cover_curve(report.covers, names, len(games))
    if wholes := [measure.whole for measure in report.measures]:
        figures["players"] = histograms(wholes, "normalised score")
    if isinstance(report.ratings, RatingsSection):
        figures["leaderboard"] = leaderboard(report.ratings.result)
    return figures


def table_of(matrix: TransferMatrix, value: Definition) -> list[list[str]]:
    """The matrix in words: numbers, – if not measured, ? if not defined."""
    return [
        ["–" if math.isnan(cell) else "?" if math.isinf(cell) else f"{cell:.2f}" for cell in row]
        for row in matrix.values(value)
    ]


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("archive.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "bar": share_bar,
        "curve": learning_curve,
        "spark": spark,
        "token_legend": token_legend,
    }
    environment.filters |= {
        "bounds": bounds,
        "plural": plural,
        "list_text": listed,
        "percent": lambda share: interval(share, percent),
        "plain": plain,
        "drawing": Markup,
        "duration": duration,
        "shade": token_shade,
        "signed_text": signed,
        "number_text": number,
        "short": lambda text: str(text)[:12],
    }
    return environment


def printable(value: object) -> object:
    """A value as templates print it: markup as it is, all other text made visible."""
    if value is None:
        return ""
    return value if hasattr(value, "__html__") else visible_lines(str(value))


def _static(name: str) -> str:
    return (files("archive.report") / "static" / name).read_text(encoding="utf-8").strip()


def _policy(style: str, script: str) -> str:
    """A content policy under which nothing but this style and this script has any effect."""
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


LEFT, WIDE, STEP = 170.0, 560.0, 30.0
FIGURES: Mapping[str, Sequence[int]] = {
    "Win rates": (2, 3, 4),
    "Histogram of similarities": (1,),
    "Categories before and after filtering": (2, 4),
}
"""Tables that are also drawn: a column of lengths, and for win rates those of the interval; of the
categories, both shares."""


def program_page(rows: Mapping[str, Rows], run_id: str) -> str:
    """The page; ``rows`` of the tables ``gg_games`` … ``gg_plays`` of one run."""
    parts = [f"<p>Run {_safe(run_id)}."]
    for part in program_tables(rows):
        parts.append(f"<h2>{_safe(part.title)}</h2><p>{_safe(part.note)}")
        if part.title in FIGURES:
            parts.append(render(bars(part.title, part.rows, FIGURES[part.title])))
        parts.append(_program_table(part.columns, part.rows))
    parts.append("<h2>Each game</h2>")
    for game in sorted(rows["gg_games"], key=lambda row: row["place"]):
        parts += _program(rows, game)
    return sheet(f"Games that are programs: {visible(run_id)}", *parts)


def _safe(words: object) -> str:
    return escape(visible_lines(str(words)))


def _program_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
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


def _program(rows: Mapping[str, Rows], game: Row) -> Iterator[str]:
    """Rules and code side by side, the filters, the pairs, and one play of each player."""
    filters, pairs, plays = (
        [row for row in rows[name] if row["program_id"] == game["program_id"]]
        for name in ("gg_filters", "gg_pairs", "gg_plays")
    )
    yield f"<details><summary>{_safe(game['title'])}</summary><div class=beside>"
    yield f"<pre>{_safe(game['rules'])}\n\n{_safe(game['moves'])}</pre>"
    yield f"<pre>{_safe(game['source'])}</pre></div>"
    verdicts = ((r["stage"], "yes" if r["passed"] else "no", r["reason"]) for r in filters)
    yield _program_table(("filter", "passed", "seen"), verdicts)
    names = ("winner", "simulations", "loser", "purpose", "games", "wins", "draws", "passed")
    yield _program_table(names, (tuple(row[name] for name in names) for row in pairs))
    firsts = {row["player"]: row for row in reversed(plays)}
    first_plays = (
        (name, row["seat"] + 1, row["outcome"], " ".join(map(str, row["moves"])))
        for name, row in firsts.items()
    )
    yield _program_table(("one play of", "seat", "outcome", "moves of both, in order"), first_plays)
    yield "</details>"
