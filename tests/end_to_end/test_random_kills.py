"""``kill -9`` of the driver at random moments: it grows what it would have grown."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from support.driver import GROWING

from archive import TABLES, Archive

pytestmark = pytest.mark.long

KILLS = 20
SETTINGS = {
    "support.driver": ("+experiment=scope_growth", "growth.initial_scope=[parent.xent]", *GROWING),
    "evo.run": ("+experiment=toy_growth", "toy.seeds=12", "toy.grid=60"),
}


@pytest.mark.parametrize("module", SETTINGS)
def test_twenty_kills_leave_no_trace(commands: Any, module: str) -> None:
    (commands.folder / "parent.xent").write_text(
        "assign(s=story())\nelicit(t, 8)\nreward(xed(t | s))\n"
    )
    asked = [*SETTINGS[module], "archive.root=runs"]
    ended = commands(module, *asked, "name=whole")
    assert ended.returncode == 0, ended.stderr
    whole = science(commands.folder / "runs" / "whole")
    draw, kills, lives = random.Random(20), 0, 0
    while kills < KILLS:
        name = f"killed{lives}"
        arguments = [*asked, f"name={name}"]
        while kills < KILLS and _killed(commands, module, arguments, name, draw):
            kills += 1
            if (commands.folder / "runs" / name / "archive" / "runs").is_dir():
                arguments = _way_on(commands, name, arguments)
        ended = commands(module, *_way_on(commands, name, arguments))
        assert ended.returncode == 0, ended.stderr
        assert science(commands.folder / "runs" / name) == whole
        lives += 1


def _way_on(commands: Any, name: str, otherwise: list[str]) -> list[str]:
    """To resume, once the run has said that it began."""
    folder = commands.folder / "runs" / name / "archive"
    if not (folder / "archive.json").exists():
        return otherwise
    with Archive.open(folder) as archive:
        return [f"resume=runs/{name}"] if archive.count("runs") else otherwise


def _killed(
    commands: Any, module: str, arguments: list[str], name: str, draw: random.Random
) -> bool:
    """Start a session and kill its driver: sometimes at any moment from its first breath on, mostly
    a little after its first commits. False where it came to its end before."""
    commits: Path = commands.folder / "runs" / name / "archive" / "commits"
    before = len(list(commits.glob("*.json")))
    driver = subprocess.Popen(
        commands.arguments(module, *arguments),
        cwd=commands.folder,
        env=commands.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    if draw.random() < 0.8:
        wanted = before + draw.randint(1, 8)
        while len(list(commits.glob("*.json"))) < wanted and driver.poll() is None:
            time.sleep(0.001)
    time.sleep(draw.random() * 0.2)
    if driver.poll() is not None:
        assert driver.returncode == 0
        return False
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    return True


def science(folder: Path) -> dict[str, Any]:
    """All tables without events and timings, and the bytes of what lies beside the archive."""
    files = {
        path.name: path.read_bytes()
        for path in folder.glob("*")
        if path.suffix in (".parquet", ".svg")
    }
    with Archive.open(folder / "archive") as archive:
        tables = {table: archive.rows(table) for table in TABLES if table != "runs"}
        adapters = archive.adapters()
    left_out = ("run_id", "seconds") if not files else ("seconds",)
    rows = {
        table: [{k: v for k, v in row.items() if k not in left_out} for row in found]
        for table, found in tables.items()
    }
    return {"tables": rows, "adapters": adapters, "files": files}
