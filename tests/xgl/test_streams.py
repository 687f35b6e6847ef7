"""What is printed reaches a terminal as text: on every stream, every console and every command;
also where streams are closed, or hold no text."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from support.example import EXAMPLE

import archive.__main__
import evo.run
import xgl.cli
from xgl.console import Console
from xgl.errors import JudgeError
from xgl.streams import VisibleStream, exit_code

HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u2066\r\x08\ud800[red]a[/red]\u200b\0:smile:"
SAFE = frozenset("\n\t\xa0\u3000")


def is_text(shown: str) -> bool:
    return all(c.isprintable() or c in SAFE for c in shown)


@given(st.text(st.characters(categories=("C", "Z", "L", "S")), max_size=30))
def test_streams_show_every_character(text: str) -> None:
    shown = io.StringIO()
    print(text, file=VisibleStream(shown), end="")
    assert all(c.isprintable() or c in "\n\t" or c.isspace() for c in shown.getvalue())
    assert not set(shown.getvalue()) & set("\r\x0b\x0c\x1b\x85\u2028\u2029\u202e\x1c\x1d\x1e\x1f")


def test_consoles_show_every_character() -> None:
    shown = io.StringIO()
    console, table = Console(file=shown, width=60), Table(HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE)
    console.print(HOSTILE)
    console.print(HOSTILE, style="bold red", soft_wrap=True)
    console.print(Group(Panel(HOSTILE, title=HOSTILE), Panel(Group(HOSTILE))))
    console.rule(HOSTILE)
    console.log(HOSTILE)
    console.print(table)
    assert is_text(shown.getvalue())
    assert shown.getvalue().replace("\n", "").count("\\x1b[2J") >= 5


ARGUMENTS = {
    xgl.cli.main: (["check", HOSTILE], [HOSTILE]),
    archive.__main__.main: (["inspect", HOSTILE], [HOSTILE]),
    evo.run.main: ([HOSTILE], [f"resume={HOSTILE}"]),
}


@pytest.mark.parametrize(
    ("main", "arguments"), [(main, each) for main, some in ARGUMENTS.items() for each in some]
)
def test_no_command_lets_an_argument_act(
    main: Callable[[list[str]], int],
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = main(arguments)
    except SystemExit as end:
        code = int(str(end.code))
    streams = capsys.readouterr()
    assert code == 2
    assert streams.err
    assert is_text(streams.out + streams.err)


ENDS = (
    (KeyboardInterrupt(), 130, "\n"),
    (JudgeError("a\nb\x1b"), 2, "error: a\\nb\\x1b\n"),
    (PermissionError(13, "Permission denied", "x.svg"), 2, "error: x.svg: Permission denied\n"),
    (ModuleNotFoundError(name="torch"), 2, "error: torch is not installed, expected it: "),
)


@pytest.mark.parametrize(("error", "code", "said"), ENDS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("command", [["xgl", "games"], ["archive", "inspect", "runs"]], ids=str)
def test_no_command_ends_in_a_traceback(
    command: list[str],
    error: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise error

    package, *arguments = command
    main = {"xgl": xgl.cli.main, "archive": archive.__main__.main}[package]
    for module in (archive.__main__, xgl.cli):
        monkeypatch.setattr(module, "_run", fail)
    assert main(arguments) == code
    assert capsys.readouterr().err.startswith(said)


def test_a_fault_of_ours_is_no_error_of_a_user() -> None:
    def fail() -> int:
        raise ModuleNotFoundError("no such thing", name="xgl.nothing")

    with pytest.raises(ModuleNotFoundError):
        exit_code(fail)


ROOT = Path(__file__).parents[2]
GAME = "elicit(x, 5)\nreward(xent(x))\n"
CASES = {
    "xgl check - <&-": (1, ""),
    "xgl check - < bytes": (2, "error: standard input: no UTF-8 text"),
    "xgl diagram ok.xgl >&-": (0, ""),
    "archive inspect EXAMPLE | true; exit ${PIPESTATUS[0]}": (0, ""),
}


@pytest.mark.parametrize("arguments", CASES)
def test_a_stream_that_is_closed_or_no_text_or_unread_ends_without_a_traceback(
    arguments: str, tmp_path: Path
) -> None:
    code, begins = CASES[arguments]
    arguments = arguments.replace("EXAMPLE", str(EXAMPLE))
    (tmp_path / "ok.xgl").write_text(GAME)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\n")
    process = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m {arguments}"],
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
