"""A disk with no room: each command that writes says so in one sentence that names the file, and
leaves what was there before."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.measured import Given, build

from archive.__main__ import main as archive
from evo.run import main as evolve
from xgl.cli import main as xgl

Capsys = pytest.CaptureFixture[str]

GAME = Given("assign(s=story())\nelicit(x, 4)\nreward(xed(s | x))")
EXPORT = ["export", "archive", "out", "--format"]
COMMANDS: dict[str, tuple[Callable[[Sequence[str]], int], list[str], str]] = {
    **{kind: (archive, [*EXPORT, kind], "out") for kind in ("xgl", "xent", "verifiers", "sft")},
    "report": (archive, ["report", "archive", "-o", "out.html"], "out.html"),
    "diagram": (xgl, ["diagram", "game.xgl", "-o", "out.svg"], "out.svg"),
    "run": (evolve, ["+experiment=toy_growth", "name=out"], "out"),
    "the judge's weights": (
        archive,
        [*EXPORT, "xent", "--with-judge", "--no-scores"],
        "error: out could not be written: found 'model.safetensors: ",
    ),
}
"""Main function and arguments, and what its error names."""


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may grow beyond ``size`` bytes, whoever writes it; Python ignores the signal."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.dont_write_bytecode", True)  # a module cut short would not load again
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with an archive and a game."""
    monkeypatch.chdir(tmp_path)
    build(tmp_path / "archive", [GAME])
    (tmp_path / "game.xgl").write_text(GAME.game.code)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    """All that is there; a folder holds nothing itself."""
    return {str(each): each.read_bytes() if each.is_file() else b"" for each in folder.rglob("*")}


@pytest.mark.parametrize("name", COMMANDS)
def test_one_sentence_and_nothing_half_written(name: str, folder: Path, capsys: Capsys) -> None:
    main, arguments, named = COMMANDS[name]
    before = contents(folder)
    with room_for(1 << 20 if "--with-judge" in arguments else 20):  # all but the weights fits
        code = main(arguments)
    error = capsys.readouterr().err
    assert (code, error.count("\n")) == (2, 1), error
    assert error.startswith("error: ")
    assert "File too large" in error
    assert named in error
    assert {path: text for path, text in contents(folder).items() if path in before} == before
    if name != "run":  # whose folder may be begun again
        assert contents(folder) == before
