"""Commands whose standard streams are closed, or hold no text."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from xgl.cli import main

ROOT = Path(__file__).parents[3]
GAME = "elicit(x, 5)\nreward(xent(x))\n"
CASES = {
    "check - <&-": (1, ""),
    "check - < bytes": (2, "error: standard input: no UTF-8 text"),
    "diagram ok.xgl >&-": (0, ""),
}


@pytest.mark.parametrize("arguments", CASES)
def test_a_stream_that_is_closed_or_no_text_ends_without_a_traceback(
    arguments: str, tmp_path: Path
) -> None:
    code, begins = CASES[arguments]
    (tmp_path / "ok.xgl").write_text(GAME)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\n")
    process = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m xgl {arguments}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in process.stderr
    assert process.returncode == code, process.stderr
    assert process.stderr.startswith(begins)
    assert process.stderr.count("\n") <= 2


class _Bytes(io.TextIOWrapper):
    """Standard input as Python opens it, on bytes that are no text."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(b"\xff\xfe\n"), encoding="utf-8")


@pytest.mark.parametrize(
    ("stdin", "end"),
    [(lambda: None, "left the game"), (_Bytes, "Score of black")],
    ids=["closed", "no text"],
)
def test_play_ends_where_its_input_does(
    stdin: Callable[[], io.TextIOWrapper | None],
    end: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process, which has a judge at hand: Python makes None of an input that is closed."""
    (tmp_path / "ok.xgl").write_text(GAME)
    monkeypatch.setattr(sys, "stdin", stdin())
    assert main(["play", str(tmp_path / "ok.xgl")]) == 0
    captured = capsys.readouterr()
    assert end in captured.out
    assert captured.err.count("\n") <= 2


# -- Commands that score nothing load no model's libraries: they start in a moment -----------------

HEAVY = (
    *("torch", "transformers", "peft", "ray", "numpy", "scipy", "pyarrow", "hydra", "omegaconf"),
    *("pydantic", "httpx2", "rich", "jinja2"),
)
COMMANDS = (
    *(("check", "censor"), ("check", "censor", "--json")),
    *(("canonical", "censor"), ("diagram", "censor"), ("games",)),
)
CODE = f"""
import sys
from xgl.cli import main
for command in {COMMANDS}:
    assert main(command) == 0, command
print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)
from xgl.models import corpus, resolve
corpus.stories("train"), resolve.resolve("embedded")
print(*(name for name in {HEAVY[:3]} if name in sys.modules), file=sys.stderr)
"""


def test_no_heavy_module_is_loaded() -> None:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert (run.returncode, run.stderr.strip()) == (0, "")
