"""A full disk, two runs at once, signals: a run goes on to its end, or says what is wrong."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.driver import GROWING

pytestmark = pytest.mark.long

ASKED = ("+experiment=scope_growth", "growth.initial_scope=[game.xent]", *GROWING)
DRIVER = "support.driver"


@pytest.fixture
def whole(commands: Any) -> Any:
    """The tables of the undisturbed run."""
    ended = commands(DRIVER, *ASKED, "archive.root=runs", "name=whole")
    assert ended.returncode == 0, ended.stderr
    return commands.science("whole")


def start(commands: Any, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        commands.arguments(DRIVER, *arguments),
        cwd=commands.folder,
        env=commands.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def small_disk(commands: Any) -> Iterator[Path]:
    """``runs/small`` on a disk of its own, of 400 KiB."""
    place: Path = commands.folder / "runs" / "small"
    place.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting a disk needs the rights of root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk(commands: Any, whole: Any, small_disk: Path) -> None:
    ended = commands(DRIVER, *ASKED, "archive.root=runs/small", "name=run")
    for size in (800, 1200, 64000):
        assert ended.returncode == 2, ended.stdout
        assert "No space left on device'; what was committed stays\n" in ended.stderr
        assert ended.stderr.count("\n") == 1
        assert "python -m evo.run resume=runs/small/run" in ended.stdout
        resize = ["mount", "-o", f"remount,size={size}k", str(small_disk)]
        subprocess.run(resize, check=True)
        ended = commands(DRIVER, "resume=runs/small/run")
    assert ended.returncode == 0, ended.stderr
    assert commands.science("small/run") == whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminated"])
def test_a_signal(commands: Any, whole: Any, number: signal.Signals) -> None:
    commits: Path = commands.folder / "runs" / "run" / "archive" / "commits"
    arguments = [*ASKED, "archive.root=runs", "name=run"]
    for wanted in (4, 15, 30):
        driver = start(commands, *arguments)
        while len(list(commits.glob("*.json"))) < wanted:
            assert driver.poll() is None, "the run ended before the signal"
            time.sleep(0.005)
        driver.send_signal(number)
        out, err = driver.communicate()
        assert driver.returncode == 130, err
        assert "ended    interrupted; what was committed stays" in out
        assert "python -m evo.run resume=runs/run" in out
        assert err == ""
        arguments = ["resume=runs/run"]
    assert commands(DRIVER, *arguments).returncode == 0
    assert commands.science("run") == whole


def test_of_runs_started_at_once_on_one_folder_one_is_done(commands: Any, whole: Any) -> None:
    arguments = [*ASKED, "archive.root=runs", "name=run"]
    drivers = [start(commands, *arguments) for _ in range(3)]
    told = {driver: driver.communicate() for driver in drivers}
    done = [driver for driver in drivers if driver.returncode == 0]
    assert len(done) == 1
    for driver in set(drivers) - set(done):
        assert driver.returncode == 2
        out, err = told[driver]
        assert out == ""
        assert err.startswith("error: ")
        assert "is locked" in err or "exists already" in err or "is in use" in err
        assert err.count("\n") == 1
    assert commands.science("run") == whole
