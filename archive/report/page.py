"""The page: facts and figures into one file that needs nothing else.

Another page is about games that are programs: who wins, how opponents were found, rules beside
code. Texts of games are not trusted: they are escaped, and never become markup.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from archive.charts import plain, style_sheet
from archive.errors import WriteError
from archive.report.figures import cell_in_words, lineage, token_shade, value_shade
from archive.report.measures import histograms
from archive.report.summary import RunReport, gather_report, kept_reason, summary
from archive.run import Run, read_settings, stored_game
from archive.schema import SCHEMA_VERSION
from archive.statistics.programs import NAMES, program_tables
from archive.statistics.rule import bounds_of
from archive.store.archive import Archive
from archive.store.files import save_text
from archive.text import bounds, cell, duration, number, plural, signed
from xgl.diagram import draw
from xgl.errors import wrong_ending
from xgl.escaping import visible_lines
from xgl.files import user_path


def write_report(
    run: Run, path: str | Path, *, force: bool = False, measured_archives: Sequence[Archive] = ()
) -> int:
    """Write the report of a run and return its size in bytes.

    ``force``: replace a file that exists. ``measured_archives``: models measured on what the run
    exported.

    Raises WriteError, LookupFailedError and DamagedError; then nothing is written.
    """
    path = user_path(path)
    if problem := wrong_ending(path, ".html", ".htm"):
        raise WriteError(problem)
    if path.is_dir():
        raise WriteError(f"{path}: found a folder, expected a file's name")
    if path.exists() and not force:
        raise WriteError(f"{path} exists: found a file, expected a new name, or --force")
    rows = {name: run.rows(name) for name in NAMES}
    if rows["gg_games"]:
        text = rendered("programs.html", rows=rows, tables=program_tables(rows), run_id=run.run_id)
    else:
        text = page(gather_report(run, measured_archives))
    save_text(path, text)
    return len(text.encode())


def page(report: RunReport) -> str:
    """One HTML document: styles and script inside, no address outside."""
    measures = report.measures
    moved = [(each, histograms(each.scopes)) for each in measures if len(each.scopes) > 1]
    players = histograms([each.whole for each in measures]) if measures else None
    return rendered(
        "report.html",
        _static("report.js"),
        report=report,
        figures={"lineage": lineage(report.games), "scopes": moved, "players": players},
        summary=summary(report),
        kept=[game for game in report.games if game.parent is not None],
        reason=lambda game: kept_reason(game, report.games),
        places={game.task_id: game.place for game in report.games},
        diagram=lambda game: Markup(draw(stored_game(game.row).program, game.name)),
        made=datetime.now(UTC),
        schema=SCHEMA_VERSION,
        settings=read_settings(report.run.config_json),
        letter=report.definition.symbol,
    )


def rendered(template: str, script: str = "", **facts: Any) -> str:
    """A template with its facts, the styles and the script, under a content policy by which nothing
    else has any effect."""
    style = f"{style_sheet()}\n{_static('report.css')}"
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    policy = (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    facts |= {"style": Markup(style), "script": Markup(script), "policy": policy}
    environment = Environment(
        loader=PackageLoader("archive.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own = bounds, bounds_of, cell, plural, plain, duration, value_shade, cell_in_words
    environment.filters |= {each.__name__: each for each in own}
    environment.filters |= {"shade": token_shade, "signed_text": signed, "number_text": number}
    return environment.get_template(template).render(**facts)


def printable(value: object) -> object:
    """A value as templates print it: markup as it is, all other text made visible."""
    if value is None:
        return ""
    return value if hasattr(value, "__html__") else visible_lines(str(value))


def _static(name: str) -> str:
    return (files("archive.report") / "static" / name).read_text(encoding="utf-8").strip()
