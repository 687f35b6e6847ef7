"""``python -m archive cover`` on archives that have no answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from archive import Archive
from archive.__main__ import main


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["cover", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    return output.err


def test_an_empty_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Archive.create(tmp_path / "a"):
        pass
    assert "is empty: found no run" in error_of(capsys, str(tmp_path / "a"))


def test_games_whose_values_are_unknown(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = error_of(capsys, str(run_folder))
    assert "game aaaa11110000ffff (black), and 1 more like it: its values are unknown" in message
    assert "unknown" in error_of(capsys, str(run_folder), "--skip-unplayable")
