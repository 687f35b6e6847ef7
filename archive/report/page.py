"""The page: facts and figures into one file that needs nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from archive.charts.document import style_sheet
from archive.charts.plot import plain
from archive.report.facts import GameFacts
from archive.report.figures.curves import cover_curve, learning_curve, spark
from archive.report.figures.descent import growth, lineage
from archive.report.figures.heat_map import heat_map
from archive.report.figures.histograms import histograms, share_bar
from archive.report.figures.shades import token_legend, token_shade, value_legend
from archive.report.figures.thresholds import thresholds
from archive.report.gathering import Report, definition
from archive.report.summary import summary
from archive.report.words import bounds, counted, listed
from archive.schema import Definition
from archive.statistics.transfer_matrix import TransferMatrix
from xgl.diagram.svg import visible

TABLED = 30
"""Games up to which the matrix stands as a table too."""
INLINE = 1_500_000
"""Characters of game diagrams that stand in the page as they are; beyond, all of them are packed
and a script unpacks each when its card is opened."""


def page(report: Report) -> str:
    """One HTML document: styles and script inside, no address outside."""
    style = f"{style_sheet()}\n{_static('report.css')}"
    script = _static("report.js")
    packed = sum(len(game.drawing) for game in report.games) > INLINE
    first, second = summary(report)
    return (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            figures=_figures(report),
            summary=(first, second),
            style=Markup(style),
            script=Markup(script),
            policy=_policy(style, script),
            packed=_packed(report.games) if packed else "",
            made=datetime.now(UTC),
            letter=_letter(report),
        )
    )


def _letter(report: Report) -> str:
    return definition(report.thresholds).symbol


def _figures(report: Report) -> dict[str, Any]:
    held, games = report.thresholds, report.games
    value = definition(held)
    drawn: dict[str, Any] = {
        "growth": growth(report.generations),
        "lineage": lineage(games),
        "matrix": heat_map(report.matrix, games, value),
        "legend": value_legend(value),
        "tabled": table_of(report.matrix, value) if len(games) <= TABLED else [],
        "thresholds": None,
        "covers": None,
        "players": None,
        "generations": [],
    }
    names = [game.name for game in games]
    if held is not None and report.candidates:
        drawn["thresholds"] = thresholds(report.candidates, held, names)
    if report.covers.steps:
        drawn["covers"] = cover_curve(report.covers.steps, names, len(games))
    if report.measures:
        wholes = [measure.whole for measure in report.measures]
        drawn["players"] = histograms(wholes, "normalised score")
        drawn["generations"] = [
            (measure, histograms(measure.generations, "normalised score", earlier=True))
            for measure in report.measures
            if len(measure.generations) > 1
        ]
    return drawn


def table_of(matrix: TransferMatrix, value: Definition) -> list[list[str]]:
    """The matrix in words: numbers, – where not measured, ? where not defined."""
    return [
        ["–" if math.isnan(cell) else "?" if math.isinf(cell) else f"{cell:.2f}" for cell in row]
        for row in matrix.values(value)
    ]


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("archive.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
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
        "counted": counted,
        "listed": listed,
        "plain": plain,
        "drawing": drawing,
        "duration": duration,
        "shade": token_shade,
        "signed": signed,
        "short": lambda text: str(text)[:12],
    }
    return environment


def drawing(svg: str) -> Markup:
    """A game diagram, which xgl.diagram has escaped."""
    return Markup(svg)


def signed(value: float, digits: int = 1) -> str:
    """With its sign, a real minus; what rounds to nothing is +0."""
    return f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", "−")


def duration(seconds: float) -> str:
    """``42 s``, ``12 min``, ``3.4 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def shown(value: object) -> object:
    """What a template prints of a value: markup as it is, all other text made visible."""
    if value is None:
        return ""
    return value if hasattr(value, "__html__") else visible(str(value))


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


def _packed(games: Sequence[GameFacts]) -> str:
    """The diagrams of all games in their order: JSON, gzip, base64."""
    listing = json.dumps([game.drawing for game in games])
    return base64.b64encode(gzip.compress(listing.encode(), mtime=0)).decode()
