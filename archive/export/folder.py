"""What may be exported, how it is asked for, and one writer of folders for all formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from archive.run import Run
from archive.schema import Definition
from archive.store.disk import require_free, write_folder
from xgl.escaping import json_text
from xgl.files import user_path

FORMATS: Mapping[str, str] = {
    "xgl": "games.files",
    "xent": "xent.contents",
    "inspect": "xent.contents",
    "dataset": "training.prompts",
    "verifiers": "training.environment",
    "sft": "training.prompts",
    "dpo": "training.prompts",
    "peft": "games.adapters",
}
"""Module and function of each format, in the order of the choices of ``--format``. The function,
of ``(run, folder, options)``, gives the :data:`Files` and what to tell the user."""
ROWS = 256
"""Most maps of a game in each split of rows to train on, by default."""

Files = dict[str, str | bytes | Callable[[Path], object]]
"""Text, bytes or what writes them, by the path in the folder, in the order of writing."""


@dataclass(frozen=True)
class Options:
    """``eta``: of the cover (None: the whole scope); ``maps``: most maps of a game (None: as usual
    for the format); ``judge``: the run's judge, to be named where another user began the run.

    Of a measure: ``with_judge``: weights in the folder (None: where they are small); ``scores``:
    load the judge and score the best known moves; ``playable``: number of games drawn from all
    playable ones, in the draw ``draw``, instead of a cover; ``discriminating``: the tolerance of
    the fewest games that tell a measured run's players apart (None: all its games).
    """

    format: str = "xgl"
    eta: float | None = None
    maps: int | None = None
    judge: str | None = None
    definition: Definition | None = None
    skip_unplayable: bool = False
    allow_inexact: bool = False
    with_judge: bool | None = None
    scores: bool = True
    playable: int | None = None
    draw: int = 0
    discriminating: float | None = None


def export(run: Run, folder: str | Path, options: Options) -> list[str]:
    """Writes `folder`, complete or not at all; returns what to tell the user, in lines.

    Raises WriteError when `folder` is in use or cannot be written, LookupFailedError when run,
    scope or game is not archived, ExportError for what the format cannot hold: an η out of reach,
    a game that the authors' engine cannot play, a judge that is not to be had, no rows.
    """
    path = user_path(folder)
    require_free(path)
    module, name = FORMATS[options.format].split(".")
    contents = getattr(import_module(f"archive.export.{module}"), name)
    parts, (first, *more) = contents(run, path, options)
    write_folder(path, lambda aside: _write(aside, parts))
    return [first.format(folder=folder), *more]


def _write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line of JSON for each row."""
    return "".join(f"{json_text(row)}\n" for row in rows)


def template(name: str) -> str:
    """The text of a file of an export, with its facts in braces."""
    return files("archive.export").joinpath("templates", f"{name}.txt").read_text("utf-8")
