"""The same seed, the same science: killed and resumed, on one worker or two."""

from __future__ import annotations

import os
import re
import signal
import time
from functools import partial
from typing import Any

import psutil
import pytest

from archive import Archive

pytestmark = pytest.mark.long


def test_a_killed_run_is_resumed_to_the_same_end(commands: Any, whole: dict[str, Any]) -> None:
    """Killed after the first decision, on the real models; ``test_random_kills`` kills at any
    moment. And two workers find what one finds."""
    driver = commands.start("killed", "cluster.workers=2", start_new_session=True)
    try:
        commands.wait_for_files(driver, "killed", 8)
    finally:  # children first: Ray's daemons live in sessions of their own
        for process in [*_descendants(driver.pid), psutil.Process(driver.pid)]:
            process.kill()
        driver.communicate()
    with Archive.open(commands.folder / "runs" / "killed" / "archive") as archive:
        assert [row["event"] for row in archive.rows("runs")] == ["created"]
        assert archive.count("scores") < len(whole["scores"])
    process = commands("evo.run", "resume=runs/killed")
    assert process.returncode == 0, process.stderr
    assert commands.science("killed") == whole
    assert "resumed" in commands("archive", "inspect", "runs/killed").stdout


def _descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def test_a_worker_killed_mid_task_and_then_ctrl_c(commands: Any, whole: dict[str, Any]) -> None:
    """Of two workers, the first that fine-tunes is killed."""
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # ignored in the background
    driver = commands.start("hurt", "cluster.workers=2", start_new_session=True, preexec_fn=heed)
    while not (at_work := [each for each in _descendants(driver.pid) if _trains(each)]):
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.1)
    at_work[0].kill()
    commands.wait_for_files(driver, "hurt", 5)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does
    out, err = driver.communicate()
    assert driver.returncode == 130, err
    assert re.search(r"a worker died during the fine-tune of game", err)
    assert "is done again (1 of 3)" in err
    assert "Traceback" not in out + err
    process = commands("evo.run", "resume=runs/hurt", "cluster.workers=1")
    assert process.returncode == 0, process.stderr
    assert commands.science("hurt") == whole


def _trains(process: psutil.Process) -> bool:
    """Whether it is a worker in the midst of a fine-tune."""
    try:
        return " ".join(process.cmdline()).startswith("ray::_Worker.train")
    except psutil.NoSuchProcess:
        return False
