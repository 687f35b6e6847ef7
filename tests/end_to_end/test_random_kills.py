"""``kill -9`` of the driver at random moments: it grows what it would have grown."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path
from typing import Any

import pytest
from support.driver import GROWING, session

from archive import TABLES, Archive

pytestmark = pytest.mark.long

KILLS = 20
SETTINGS = {
    "scope_growth": ("growth.initial_scope=[parent.xent]", *GROWING),
    "toy_growth": ("toy.seeds=6", "toy.grid=60"),
}
FORKS = multiprocessing.get_context("forkserver")
"""Each driver is a process of its own, forked from one that has imported everything."""
FORKS.set_forkserver_preload(["support.driver"])


@pytest.mark.parametrize("experiment", SETTINGS)
def test_twenty_kills_leave_no_trace(tmp_path: Path, experiment: str) -> None:
    (tmp_path / "parent.xent").write_text("assign(s=story())\nelicit(t, 8)\nreward(xed(t | s))\n")
    asked = [f"+experiment={experiment}", *SETTINGS[experiment], "archive.root=runs"]
    assert _driver(tmp_path, [*asked, "name=whole"]) == 0
    whole, took = science(tmp_path / "runs" / "whole"), _commits(tmp_path, "whole")
    draw, kills, lives = random.Random(20), 0, 0
    while kills < KILLS:
        name = f"killed{lives}"
        fresh = [*asked, f"name={name}"]
        while kills < KILLS:
            # Mostly some commits on, so that a life is of several sessions; sometimes at once.
            more = draw.randint(1, took // 5) if draw.random() < 0.8 else None
            ended = _driver(tmp_path, _way_on(tmp_path, name, fresh), name, more, draw.random())
            if ended is not None:
                assert ended == 0
                break
            kills += 1
        assert _driver(tmp_path, _way_on(tmp_path, name, fresh)) == 0
        assert science(tmp_path / "runs" / name) == whole
        lives += 1


def _driver(
    folder: Path, arguments: list[str], name: str = "", more: int | None = None, share: float = 0
) -> int | None:
    """One session. It is killed, where the run has a ``name``, a little after it has made so many
    more commits (None: a little after it began). None: it was; else its exit code."""
    driver = FORKS.Process(target=session, args=(str(folder), arguments))
    before = _commits(folder, name)
    driver.start()
    if name:
        while more and driver.is_alive() and _commits(folder, name) < before + more:
            time.sleep(0.002)
        driver.join(share * 0.1)
        if driver.is_alive():
            driver.kill()
            driver.join()
            return None
    driver.join()
    return driver.exitcode


def _commits(folder: Path, name: str) -> int:
    return len(list((folder / "runs" / name / "archive" / "commits").glob("*.json")))


def _way_on(folder: Path, name: str, fresh: list[str]) -> list[str]:
    """To resume, once the run has said that it began."""
    archive = folder / "runs" / name / "archive"
    if not (archive / "archive.json").exists():
        return fresh
    with Archive.open(archive) as opened:
        return [f"resume=runs/{name}"] if opened.count("runs") else fresh


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
    left_out = ("seconds",) if files else ("seconds", "run_id")  # a toy growth's id has no name
    rows = {
        table: [{k: v for k, v in row.items() if k not in left_out} for row in found]
        for table, found in tables.items()
    }
    return {"tables": rows, "adapters": adapters, "files": files}
