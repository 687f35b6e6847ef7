"""``kill -9`` of the driver at random moments: it grows what it would have grown."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest
from support.driver import GROWING, Driver, commits, run, science

from archive import Archive

pytestmark = pytest.mark.long

KILLS = 5
SETTINGS = {
    "scope_growth": (*GROWING, "growth.max_candidates=8"),
    "toy_growth": ("+experiment=toy_growth", "toy.seeds=10", "archive.root=runs"),
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_kills_leave_no_trace(tmp_path: Path, settings: tuple[str, ...]) -> None:
    assert run(tmp_path, *settings, "name=whole").returncode == 0
    whole, commit_count = science(tmp_path / "runs" / "whole"), commits(tmp_path / "runs" / "whole")
    draw, kills, lives = random.Random(20), 0, 0
    while kills < KILLS:
        fresh, folder = [*settings, f"name=life{lives}"], tmp_path / "runs" / f"life{lives}"
        while kills < KILLS:
            driver = Driver(tmp_path, *_way_on(folder, fresh))
            if not _kill(driver, folder, commit_count, draw):
                break
            kills += 1
        outcome = run(tmp_path, *_way_on(folder, fresh))
        assert outcome.returncode == 0, outcome.err
        assert science(folder) == whole
        lives += 1


def _kill(driver: Driver, folder: Path, commit_count: int, draw: random.Random) -> bool:
    """Kill a session: mostly some commits on, so that a life is of several; sometimes at once.
    False where it came to its end before."""
    enough = commits(folder) + (draw.randint(1, commit_count // 5) if draw.random() < 0.8 else 0)
    while driver.alive and commits(folder) < enough:
        time.sleep(0.002)
    time.sleep(draw.random() * 0.1)
    if driver.alive:
        driver.send(signal.SIGKILL)
    outcome = driver.wait()
    assert outcome.returncode in (0, -signal.SIGKILL), outcome.err
    return outcome.returncode != 0


def _way_on(folder: Path, fresh: list[str]) -> list[str]:
    """To resume, once the run has said that it began."""
    if not (folder / "archive" / "archive.json").exists():
        return fresh
    with Archive.open(folder / "archive") as archive:
        return [f"resume=runs/{folder.name}"] if archive.count("runs") else fresh
