"""The same seed, the same science: killed and resumed, and on one worker or two."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archive import Archive

pytestmark = pytest.mark.long

QUICK = ("finetune.tokens=5000", "finetune.maps=4")
MOMENTS = {"the first fine-tune": 1, "the scores of candidates": 4, "the first decision": 7}
"""Files of scores that the archive holds when the run is killed."""


@pytest.fixture(scope="module")
def whole_tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Filled by the first test that needs it."""
    return {}


def tables(commands: Any, cache: dict[str, Any]) -> Any:
    if "whole" not in cache:
        process = commands("evo.run", *commands.tiny("whole", "cluster.workers=1", *QUICK))
        assert process.returncode == 0, process.stderr
        cache["whole"] = commands.science("whole")
        assert len(cache["whole"]["decisions"]) == 2
    return cache["whole"]


@pytest.mark.parametrize("files", MOMENTS.values(), ids=MOMENTS.keys())
def test_a_killed_run_is_resumed_to_the_same_end(
    commands: Any, whole_tables: dict[str, Any], files: int
) -> None:
    expected = tables(commands, whole_tables)
    _kill_when(commands, "killed", files)
    with Archive.open(commands.folder / "runs" / "killed" / "archive") as archive:
        events = [row["event"] for row in archive.rows("runs")]
        score_count = archive.count("scores")
    assert events == ["created"]
    assert score_count < len(expected["scores"])
    process = commands("evo.run", "resume=runs/killed")
    assert process.returncode == 0, process.stderr
    assert commands.science("killed") == expected
    inspection = commands("archive", "inspect", "runs/killed")
    assert "resumed" in inspection.stdout


def _kill_when(commands: Any, name: str, files: int) -> None:
    """Start a run and kill all its processes once it has so many files of scores."""
    scores: Path = commands.folder / "runs" / name / "archive" / "scores"
    process = subprocess.Popen(
        commands.arguments("evo.run", *commands.tiny(name, "cluster.workers=1", *QUICK)),
        cwd=commands.folder,
        env=commands.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 600
        while len(list(scores.glob("*.parquet"))) <= files:  # one of them is the empty first
            assert process.poll() is None, "the run ended before it was killed"
            assert time.monotonic() < deadline, "the run is too slow for this test"
            time.sleep(0.05)
    finally:
        # Children first: Ray's daemons live in sessions of their own.
        for pid in [*_descendants(process.pid), process.pid]:
            _kill(pid)
        process.wait()


def _descendants(pid: int) -> list[int]:
    """Process ids below ``pid``, from /proc."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(status[1]), []).append(int(entry.name))
    descendants, open_ids = [], [pid]
    while open_ids:
        children = parents.get(open_ids.pop(), [])
        descendants += children
        open_ids += children
    return descendants


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def test_two_workers_find_what_one_finds(commands: Any, whole_tables: dict[str, Any]) -> None:
    expected = tables(commands, whole_tables)
    process = commands("evo.run", *commands.tiny("two", "cluster.workers=2", *QUICK))
    assert process.returncode == 0, process.stderr
    assert commands.science("two") == expected


def test_a_worker_killed_mid_task_and_then_ctrl_c(
    commands: Any, whole_tables: dict[str, Any]
) -> None:
    """On one trainer and one worker; the trainer is killed at its first fine-tune."""
    expected = tables(commands, whole_tables)
    pools = ("cluster.workers=1", "cluster.trainers=1")
    driver = subprocess.Popen(
        commands.arguments("evo.run", *commands.tiny("hurt", *pools, *QUICK)),
        cwd=commands.folder,
        env=commands.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_heed_ctrl_c,
    )
    _kill(_wait_for(driver, lambda: _at_work(driver.pid, "ray::_Worker.train")))
    scores: Path = commands.folder / "runs" / "hurt" / "archive" / "scores"
    _wait_for(driver, lambda: len(list(scores.glob("*.parquet"))) > 4)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does
    out, err = driver.communicate()
    assert driver.returncode == 130, err
    assert re.search(r"a worker on node \w+ died during the fine-tune of game", err)
    assert "is done again (1 of 3)" in err
    assert "Traceback" not in out + err
    process = commands("evo.run", "resume=runs/hurt", "cluster.workers=2", "cluster.trainers=0")
    assert process.returncode == 0, process.stderr
    assert commands.science("hurt") == expected


def _heed_ctrl_c() -> None:
    """A process begun in the background, as tests may be, ignores SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _wait_for(driver: subprocess.Popen[str], look: Callable[[], Any]) -> Any:
    """The first answer that is true, while the driver lives."""
    while driver.poll() is None:
        if answer := look():
            return answer
        time.sleep(0.1)
    raise AssertionError(f"the run ended before: {driver.communicate()}")


def _at_work(driver: int, title: str) -> int:
    """The process id of a worker in the midst of such a job; 0 while there is none."""
    for pid in _descendants(driver):
        try:
            command_line = (Path("/proc") / str(pid) / "cmdline").read_text()
        except OSError:
            continue
        if command_line.startswith(title):
            return pid
    return 0
