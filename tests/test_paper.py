"""Every row of docs/reference/paper.md: its command does what it says, or all that a run does
before it writes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from archive.__main__ import main as archive
from evo.config import BY_NAME
from evo.runner import Services
from xgl.cli import main as xgl

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "paper.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\|[^|]+\|[^|]+\| `python -m (.+)` \|$", PAGE, re.MULTILINE)


def planned(words: list[str]) -> int:
    """Compose the settings of a run, and check them against what they name."""
    [[experiment]] = [re.findall(r"^\+experiment=(\w+)$", word) for word in words[:1]]
    entry = BY_NAME[experiment]
    print(entry.plan(entry.load(words), Services(), False))
    return 0


MAINS = {"archive": archive, "xgl": xgl, "evo.run": planned}


FORMAT = ("--format", "xent", "--no-scores")


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
    measure = tmp_path / "measure"
    if "measure=MEASURE" in command:
        assert archive(["export", "docs/example/run", str(measure), *FORMAT]) == 0
    command = command.replace("smollm2", "embedded")  # whose weights are here
    name, *words = shlex.split(command.replace("MEASURE", str(measure)))
    assert MAINS[name](words) == 0
    output = capsys.readouterr()
    assert output.out.strip()
    assert "error" not in output.err
