"""The finished run under docs/example: today's code reads it, and it is what its page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from archive import Archive
from archive.__main__ import main
from archive.verification import verify

FOLDER = Path(__file__).parents[2] / "docs" / "example"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^python -m archive (\S+ docs/example/run[^#\n]*)", PAGE, re.MULTILINE)


def test_every_decision_follows_from_its_scores() -> None:
    with Archive.open(FOLDER / "run") as archive:
        assert verify(archive).faults == []


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_answer(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(FOLDER.parents[1])
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out.strip()


def test_its_report_has_the_bits_of_its_best_plays(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert main(["report", str(FOLDER / "run"), "-o", str(page)]) == 0
    assert page.read_text(encoding="utf-8").count('class="tokens"') == 18


def test_it_is_small() -> None:
    """A clone carries it."""
    size = sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file())
    assert size < 6e6
