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
