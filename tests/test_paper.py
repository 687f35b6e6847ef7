"""Every row of docs/reference/paper.md: its command does what it says, or composes the settings of
what it would train."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

import evo.run
from archive.__main__ import main as archive
from xgl.cli import main as xgl

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "paper.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\|[^|]+\|[^|]+\| `python -m (.+)` \|$", PAGE, re.MULTILINE)
MAINS = {
    "archive": archive,
    "xgl": xgl,
    "evo.run": lambda words: evo.run.main([*words, "--cfg", "job"]),
    "meta_sampler.derivation": lambda words: import_module("meta_sampler.derivation").main(words),
}


def test_the_page_has_its_rows() -> None:
    assert len(COMMANDS) == PAGE.count("`python -m ") >= 25


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    name, *words = shlex.split(command.replace("MEASURE", str(tmp_path / "measure")))
    assert MAINS[name](words) == 0
    output = capsys.readouterr()
    assert output.out.strip()
    assert "error" not in output.err
