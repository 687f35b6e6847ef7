"""A full disk, two runs at once, signals: a run goes on to its end, or says what is wrong."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.driver import GROWING, Driver, commits, run, science

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The tables of the undisturbed run."""
    folder = tmp_path_factory.mktemp("undisturbed")
    ended = run(folder, *GROWING, "name=whole")
    assert ended.returncode == 0, ended.err
    return science(folder / "runs" / "whole")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """``small`` on a disk of its own, of 400 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting a disk needs the rights of root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk(tmp_path: Path, whole: Any, small_disk: Path) -> None:
    ended = run(tmp_path, *GROWING, "archive.root=small", "name=run")
    for size in (800, 1200, 64000):
        assert ended.returncode == 2, ended.out
        assert "No space left on device'; what was committed stays\n" in ended.err
        assert ended.err.count("\n") == 1
        assert "python -m evo.run resume=small/run" in ended.out
        resize = ["mount", "-o", f"remount,size={size}k", str(small_disk)]
        subprocess.run(resize, check=True)
        ended = run(tmp_path, "resume=small/run")
    assert ended.returncode == 0, ended.err
    assert science(small_disk / "run") == whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminated"])
def test_a_signal(tmp_path: Path, whole: Any, number: signal.Signals) -> None:
    arguments = [*GROWING, "name=run"]
    for wanted in (6, 20, 50):
        driver = Driver(tmp_path, *arguments)
        while commits(tmp_path / "runs" / "run") < wanted:
            assert driver.alive, "the run ended before the signal"
            time.sleep(0.002)
        driver.send(number)
        ended = driver.wait()
        assert ended.returncode == 130, ended.err
        assert "ended    interrupted; what was committed stays" in ended.out
        assert "python -m evo.run resume=runs/run" in ended.out
        assert ended.err == ""
        arguments = ["resume=runs/run"]
    assert run(tmp_path, *arguments).returncode == 0
    assert science(tmp_path / "runs" / "run") == whole


def test_of_runs_started_at_once_on_one_folder_one_is_done(tmp_path: Path, whole: Any) -> None:
    drivers = [Driver(tmp_path, *GROWING, "name=run") for _ in range(3)]
    ended = sorted((driver.wait() for driver in drivers), key=lambda each: each.returncode)
    assert [each.returncode for each in ended] == [0, 2, 2]
    for refused in ended[1:]:
        assert refused.out == ""
        assert refused.err.startswith("error: ")
        assert any(told in refused.err for told in ("is locked", "exists already", "is in use"))
        assert refused.err.count("\n") == 1
    assert science(tmp_path / "runs" / "run") == whole
