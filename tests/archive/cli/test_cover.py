"""``python -m archive cover`` on archives that have no answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from archive import Archive
from archive.__main__ import main


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["cover", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    return printed.err


def test_an_empty_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Archive.create(tmp_path / "a"):
        pass
    assert "is empty: found no run" in refused(capsys, str(tmp_path / "a"))


def test_a_run_without_a_scope(
    tmp_path: Path, make_row: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with Archive.create(tmp_path / "a") as archive:
        archive.commit({"runs": [make_row("runs")]})
    assert "found no scope of run r1" in refused(capsys, str(tmp_path / "a"))


def test_games_whose_values_are_unknown(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, str(run_folder))
    assert "game aaaa11110000ffff (black), and 1 more like it: its values are unknown" in message
    assert "unknown" in refused(capsys, str(run_folder), "--skip-unplayable")
