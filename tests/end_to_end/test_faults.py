"""A full disk, two runs at once, signals: a run goes on to its end, or says what is wrong."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.driver import GROWING, Driver, commits, run, science
from support.faulty_weights import faulty_folder

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The tables of the undisturbed run."""
    folder = tmp_path_factory.mktemp("undisturbed")
    outcome = run(folder, *GROWING, "name=whole")
    assert outcome.returncode == 0, outcome.err
    return science(folder / "runs" / "whole")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """``small`` on a disk of its own, of 400 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mount.returncode:
        pytest.skip("mounting a disk needs the rights of root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk(tmp_path: Path, whole: Any, small_disk: Path) -> None:
    outcome = run(tmp_path, *GROWING, "archive.root=small", "name=run")
    for size in (800, 1200, 64000):
        assert outcome.returncode == 2, outcome.out
        assert "No space left on device'; what was committed stays\n" in outcome.err
        assert outcome.err.count("\n") == 1
        assert "python -m evo.run resume=small/run" in outcome.out
        resize = ["mount", "-o", f"remount,size={size}k", str(small_disk)]
        subprocess.run(resize, check=True)
        outcome = run(tmp_path, "resume=small/run")
    assert outcome.returncode == 0, outcome.err
    assert science(small_disk / "run") == whole


def test_a_signal(tmp_path: Path, whole: Any) -> None:
    arguments = [*GROWING, "name=run"]
    signals = {2: signal.SIGTERM, 6: signal.SIGINT, 20: signal.SIGTERM, 50: signal.SIGINT}
    for commit_count, number in signals.items():  # the first before anything is done
        driver = Driver(tmp_path, *arguments)
        while commits(tmp_path / "runs" / "run") < commit_count:
            assert driver.alive, "the run ended before the signal"
            time.sleep(0.002)
        driver.send(number)
        outcome = driver.wait()
        assert outcome.returncode == 130, outcome.err
        assert "ended    interrupted; what was committed stays" in outcome.out
        assert "python -m evo.run resume=runs/run" in outcome.out
        assert outcome.err == ""
        arguments = ["resume=runs/run"]
    assert run(tmp_path, *arguments).returncode == 0
    assert science(tmp_path / "runs" / "run") == whole


def test_of_runs_started_at_once_on_one_folder_one_is_done(tmp_path: Path, whole: Any) -> None:
    drivers = [Driver(tmp_path, *GROWING, "name=run") for _ in range(3)]
    outcomes = sorted((driver.wait() for driver in drivers), key=lambda each: each.returncode)
    assert [each.returncode for each in outcomes] == [0, 2, 2]
    for refusal in outcomes[1:]:
        assert refusal.out == ""
        assert refusal.err.startswith("error: ")
        assert any(
            message in refusal.err for message in ("is locked", "exists already", "is in use")
        )
        assert refusal.err.count("\n") == 1
    assert science(tmp_path / "runs" / "run") == whole


WAITING = "no worker is ready yet"
"""How a line begins that a busy machine adds."""


def test_an_error_that_would_come_again_ends_the_run_at_once(commands: Any) -> None:
    named = faulty_folder(commands.folder / "bad", "NaN")
    done = commands("evo.run", *commands.tiny("run", "judge.model=bad", "cluster.workers=1"))
    assert done.returncode == 2
    lines = [each for each in done.stderr.splitlines() if not each.startswith(WAITING)]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert re.search(rf"model '\S*bad': \S*bad does not load.*{named}", lines[0])
