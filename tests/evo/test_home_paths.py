"""``~`` and ``$VARIABLES`` wherever a path is a setting, an argument of a command or of Python."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import evo.run
from archive import Archive
from archive.notebook import Run

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "example" / "run"
GAME = "assign(s=story())\nelicit(t, 8)\nreward(xed(t | s))\n"
TOY = ["+experiment=toy_growth", "toy.seeds=1", "toy.grid=40", "name=toy"]


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The folder ``home`` as it may be written; the working folder is another, which stays
    empty."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "home" / "game.xent").write_text(GAME)
    return str(getattr(request, "param", "~"))


@pytest.fixture(autouse=True)
def _nothing_is_written_here(home: str, tmp_path: Path) -> Any:
    yield
    assert os.listdir(tmp_path / "work") == []


@pytest.mark.parametrize("home", ["~", "${HOME}"], indirect=True)
def test_a_run_is_written_resumed_and_read(home: str, tmp_path: Path) -> None:
    quoted = f'"{home}/runs"'.replace("${HOME}", "\\${HOME}")
    assert evo.run.main([*TOY, f"archive.root={quoted}"]) == 0
    assert (tmp_path / "home" / "runs" / "toy" / "figure.svg").exists()
    assert evo.run.main([f"resume={home}/runs/toy"]) == 0
    assert Run.open(f"{home}/runs/toy").folder == tmp_path / "home" / "runs" / "toy"
    with Archive.open(f"{home}/runs/toy") as archive:
        assert [row["event"] for row in archive.rows("runs")][-1] == "finished"
    Archive.create(f"{home}/new").close()
    assert (tmp_path / "home" / "new" / "archive.json").exists()


def test_one_function_replaces_them() -> None:
    """So that none of the places can do it in its own way."""
    packages = ("evo", "xgl", "archive", "meta_sampler")
    files = [path for name in packages for path in (ROOT / name).rglob("*.py")]
    own = re.compile(r"expanduser|expandvars|Path\.home\(")
    found = {str(path.relative_to(ROOT)) for path in files if own.search(path.read_text())}
    assert found == {"xgl/files.py", "xgl/models/smollm2.py"}
