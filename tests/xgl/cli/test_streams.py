"""Commands whose standard streams are closed, or hold no text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GAME = "elicit(x, 5)\nreward(xent(x))\n"
CASES = {
    "check of a closed input": ("check - <&-", 1, ""),
    "play with a closed input": ("play ok.xgl <&-", None, ""),
    "check to a closed output": ("check ok.xgl >&-", 0, ""),
    "diagram to a closed output": ("diagram ok.xgl >&-", 0, ""),
    "play with an input that is no text": ("play ok.xgl < bytes", None, ""),
}


@pytest.mark.parametrize("case", CASES)
def test_a_stream_that_is_closed_or_no_text_ends_without_a_traceback(
    case: str, tmp_path: Path
) -> None:
    arguments, code, begins = CASES[case]
    (tmp_path / "ok.xgl").write_text(GAME)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\n")
    ended = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m xgl {arguments}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ended.stderr
    assert ended.returncode in ((0, 2) if code is None else (code,)), ended.stderr
    assert ended.stderr.startswith(begins)
    assert ended.stderr.count("\n") <= 2
