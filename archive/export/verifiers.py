"""Games as an installable environment of `verifiers`, several players and retries included."""

from __future__ import annotations

import re
from pathlib import Path

from archive.export.folder import Files, Options, json_lines, template
from archive.export.judge import reference_of
from archive.export.rows import SPLITS, TaskRow, counts_text, require_judge_alone, task_rows
from archive.run import Run
from archive.text import plural
from xgl.environments.outcomes import METRICS
from xgl.escaping import code_span, python_string
from xgl.language.syntax import PLAYERS

VERIFIERS = "0.4"
"""The oldest release whose interface the package is written for."""


def contents(run: Run, folder: Path, options: Options) -> tuple[Files, list[str]]:
    """A package named after `folder`, with rows of every game of the scope or cover.

    Raises ExportError if no map is archived, and for a game that needs models under the judge.
    """
    rows = task_rows(run, options)
    require_judge_alone(rows)
    name, judge = package_name(folder), reference_of(run, options.judge)
    facts = {
        "name": name,
        "run_id": code_span(run.run_id),
        "judge": python_string(judge),
        "judge_name": code_span(judge),
        "games": plural(len({task_row.task_id for task_row in rows}), "game"),
        "seats": "\n".join(f"    {player}: vf.AgentConfig = seat()" for player in PLAYERS),
        "metrics": "\n".join(f"| `{key}` | {meaning} |" for key, meaning in METRICS.items()),
        "verifiers": VERIFIERS,
    }
    templates = {
        "pyproject.toml": "verifiers_pyproject.toml",
        "README.md": "verifiers_readme.md",
        f"{name}/__init__.py": "verifiers_environment.py",
    }
    files: Files = {path: template(source).format(**facts) for path, source in templates.items()}
    for split in SPLITS:
        its = [_record(task_row) for task_row in rows if task_row.split == split]
        files[f"{name}/rows/{split}.jsonl"] = json_lines(its)
    counts = counts_text(task_row.split for task_row in rows)
    return files, [f"{counts} tasks written to {{folder}} as {name}; see its README.md"]


def package_name(folder: Path) -> str:
    """The name of a module that no other package has, from the folder's name."""
    stem = re.sub(r"\W+", "_", folder.resolve().name.lower(), flags=re.ASCII).strip("_")
    return f"xent_{stem.removeprefix('xent_') or 'games'}"


def _record(task_row: TaskRow) -> dict[str, str]:
    """A row as the package's task data."""
    return {
        "id": task_row.id,
        "name": f"{task_row.row.game.game_id[:12]}-{task_row.row.role}",
        "role": task_row.row.role,
        "info": task_row.info,
    }
