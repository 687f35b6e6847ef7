"""Games as an installable environment of `verifiers`, several players and retries included."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from archive.errors import ExportError
from archive.export.judge import reference_of
from archive.export.readme import games_text
from archive.export.rows import MAPS, SPLITS, TaskRow, task_rows
from archive.export.selection import choose
from archive.run import Run
from archive.store.disk import require_free, write_folder
from xgl.environments.outcomes import METRICS
from xgl.escaping import code_span, json_text, python_string
from xgl.language.syntax import PLAYERS
from xgl.paths import user_path

VERIFIERS = "0.4"
"""The oldest release whose interface the package is written for."""
_TEMPLATES = files("archive.export").joinpath("templates")


@dataclass(frozen=True)
class Environment:
    """What was written: the package's name, and its rows by split."""

    name: str
    rows: dict[str, int]


def export_verifiers(
    run: Run,
    folder: str | Path,
    eta: float | None = None,
    count: int = MAPS,
    judge: str | None = None,
) -> Environment:
    """Writes a package named after `folder`; at most `count` maps of a game in each split;
    ``judge``: the run's judge, to be named where another user began the run.

    Raises what :func:`archive.export.xent.export_xent` raises of folder, run and η; ExportError
    if no map is archived.
    """
    folder = user_path(folder)
    require_free(folder)
    rows = list(task_rows(run, choose(run, eta), count))
    if not rows:
        raise ExportError("found no map whose texts are archived, expected a run that played")
    name, judge = package_name(folder), reference_of(run, judge)
    facts = {
        "name": name,
        "run_id": code_span(run.run_id),
        "judge": python_string(judge),
        "judge_name": code_span(judge),
        "games": games_text(len({task_row.task_id for task_row in rows})),
        "seats": "\n".join(f"    {player}: vf.AgentConfig = seat()" for player in PLAYERS),
        "metrics": "\n".join(f"| `{key}` | {meaning} |" for key, meaning in METRICS.items()),
        "verifiers": VERIFIERS,
    }

    def fill(aside: Path) -> None:
        package = aside / name
        (package / "rows").mkdir(parents=True)
        _write(aside / "pyproject.toml", "verifiers_pyproject.toml.txt", facts)
        _write(aside / "README.md", "verifiers_readme.md.txt", facts)
        _write(package / "__init__.py", "verifiers_environment.py.txt", facts)
        for split in SPLITS:
            text = _lines([task_row for task_row in rows if task_row.split == split])
            (package / "rows" / f"{split}.jsonl").write_text(text, encoding="utf-8")

    write_folder(folder, fill)
    counts = Counter(task_row.split for task_row in rows)
    return Environment(name, {split: counts[split] for split in SPLITS})


def package_name(folder: Path) -> str:
    """The name of a module that no other package has, from the folder's name."""
    stem = re.sub(r"\W+", "_", folder.resolve().name.lower(), flags=re.ASCII).strip("_")
    return f"xent_{stem.removeprefix('xent_') or 'games'}"


def _write(path: Path, template: str, facts: dict[str, str]) -> None:
    text = _TEMPLATES.joinpath(template).read_text("utf-8")
    path.write_text(text.format(**facts), encoding="utf-8")


def _lines(rows: Sequence[TaskRow]) -> str:
    """The rows as the package's task data."""
    records = (
        {
            "id": task_row.id,
            "name": f"{task_row.row.game.game_id[:12]}-{task_row.row.role}",
            "role": task_row.row.role,
            "info": task_row.info,
        }
        for task_row in rows
    )
    return "".join(f"{json_text(record)}\n" for record in records)
