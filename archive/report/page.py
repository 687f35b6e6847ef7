"""The page: facts and figures into one file that needs nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from archive.charts.plot import plain, style_sheet
from archive.errors import WriteError
from archive.report import programs
from archive.report.figures.curves import cover_curve, learning_curve, spark
from archive.report.figures.growth import growth, lineage, thresholds
from archive.report.figures.heat_map import heat_map, token_legend, token_shade, value_legend
from archive.report.figures.players import histograms, leaderboard, share_bar
from archive.report.gathering import RunReport, gather_report
from archive.report.measures import RatingsSection, ratings_section
from archive.report.summary import kept_reason, summary
from archive.run import Run, read_settings
from archive.schema import SCHEMA_VERSION, Definition
from archive.statistics.matrix import TransferMatrix
from archive.statistics.programs import gather as gather_programs
from archive.statistics.ratings import MeasureRatings
from archive.store.archive import Archive
from archive.store.disk import require_ending, writing
from archive.text import bounds, duration, interval, listed, number, percent, plural, signed
from xgl.escaping import visible_lines
from xgl.files import user_path, write_whole

MOST_TABLE_GAMES = 30
"""Most games for which the matrix is also shown as a table."""
INLINE = 1_500_000
"""Most characters of game diagrams that the page contains as they are; above, all diagrams are
packed and a script unpacks each when its card is opened."""


def write_report(
    run: Run,
    path: str | Path,
    *,
    force: bool = False,
    measured_archives: Sequence[Archive] = (),
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
        text = programs.html(program_rows, run.run_id)
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
            packed=_pack(drawings) if is_packed else "",
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
        "thresholds": None,
        "covers": None,
        "players": None,
        "leaderboard": None,
        "scopes": [],
    }
    names = [game.name for game in games]
    if limits is not None and report.candidates:
        figures["thresholds"] = thresholds(report.candidates, limits, names)
    if report.covers:
        figures["covers"] = cover_curve(report.covers, names, len(games))
    if report.measures:
        wholes = [measure.whole for measure in report.measures]
        figures["players"] = histograms(wholes, "normalised score")
        figures["scopes"] = [
            (measure, histograms(measure.scopes, "normalised score", earlier=True))
            for measure in report.measures
            if len(measure.scopes) > 1
        ]
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
        "drawing": drawing,
        "duration": duration,
        "shade": token_shade,
        "signed_text": signed,
        "number_text": number,
        "short": lambda text: str(text)[:12],
    }
    return environment


def drawing(svg: str) -> Markup:
    """A game diagram, which xgl.diagram has escaped."""
    return Markup(svg)


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


def _pack(drawings: Sequence[str]) -> str:
    """Diagrams as JSON, gzip, base64."""
    return base64.b64encode(gzip.compress(json.dumps(drawings).encode(), mtime=0)).decode()
