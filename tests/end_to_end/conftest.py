"""The commands as a user types them, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from support.driver import science

ROOT = Path(__file__).parents[2]
GAME = "assign(s=story())\nelicit(t, 8)\nreward(xed(t | s))\n"
TINY = (
    *("+experiment=scope_growth", "finetune=reinforce", "finetune.tokens=5000", "finetune.maps=4"),
    *("finetune.learning_rate=0.003", "transfer.gain=total", "transfer.calibration_plays=8"),
    *("transfer.selection_plays=[8,32]", "transfer.min_steps=1", "transfer.headroom=null"),
    *("transfer.acceptance_plays=[16]", "growth.alpha1=0.1", "growth.alpha2=0.1"),
    *("growth.generations=1", "growth.list_size=2", "growth.max_candidates=2"),
)


@dataclass(frozen=True)
class Commands:
    """Runs commands in ``folder``, which holds one game file; runs go below ``runs``."""

    folder: Path

    def arguments(self, module: str, *arguments: str) -> list[str]:
        return [sys.executable, "-m", module, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT)}

    def __call__(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.arguments(module, *arguments),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    def tiny(self, name: str, *overrides: str) -> list[str]:
        """Arguments of the smallest run that goes all the way."""
        place = ["archive.root=runs", f"name={name}", "growth.initial_scope=[game.xent]"]
        return [*TINY, *place, *overrides]

    def start(self, name: str, *overrides: str, **options: Any) -> subprocess.Popen[str]:
        """That run, in the background; ``options`` of the process."""
        return subprocess.Popen(
            self.arguments("evo.run", *self.tiny(name, *overrides)),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def wait_for_files(
        self, driver: subprocess.Popen[str], name: str, count: int, table: str = "scores"
    ) -> None:
        """Until the run has so many files of a table, of which the first is empty."""
        folder = self.folder / "runs" / name / "archive" / table
        while len(list(folder.glob("*.parquet"))) < count:
            assert driver.poll() is None, f"the run ended before: {driver.communicate()}"
            time.sleep(0.05)

    def science(self, name: str) -> dict[str, Any]:
        """All rows but those of the table ``runs``, without timings."""
        tables: dict[str, Any] = science(self.folder / "runs" / name)["tables"]
        return tables


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    (tmp_path / "game.xent").write_text(GAME)
    return Commands(tmp_path)


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Commands, str]:
    """The commands in the folder of the finished run ``first``, for tests that only read it, and
    what that run printed; one for all processes of the tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "first"
    commands, said = Commands(folder), folder / "said"
    with FileLock(f"{folder}.lock"):
        if not said.exists():
            folder.mkdir()
            (folder / "game.xent").write_text(GAME)
            process = commands("evo.run", *commands.tiny("first", "cluster.workers=1"))
            assert process.returncode == 0, process.stderr
            said.write_text(process.stdout + process.stderr)
    return commands, said.read_text()


@pytest.fixture(scope="session")
def whole(first: tuple[Commands, str]) -> dict[str, list[dict[str, Any]]]:
    """The science of the undisturbed run."""
    tables = first[0].science("first")
    assert len(tables["decisions"]) == 2
    return tables
