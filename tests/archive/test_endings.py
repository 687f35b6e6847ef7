"""A file is what its ending says: each command and method that writes one refuses others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import xgl.cli
from archive.__main__ import main as archive_main

RUN = str(Path(__file__).parents[2] / "docs" / "example" / "run")
Write = Callable[[str], int]
WRITES: dict[str, tuple[Write, str]] = {
    "diagram": (lambda path: xgl.cli.main(["diagram", "dex_texts", "-o", path]), ".svg"),
    "report": (lambda path: archive_main(["report", RUN, "-o", path]), ".html or .htm"),
    "ratings": (
        lambda path: archive_main(["ratings", "--table", "absent.csv", "-o", path]),
        ".html or .htm",
    ),
}
"""Of a table that is not there: the page is refused before anything is read."""
ENDINGS = ("png", "PNG", "pdf", "jpg", "svgz", "eps", "txt", "svg.png", "tar.gz")


@pytest.mark.parametrize("name", WRITES)
def test_a_file_is_what_its_ending_says_or_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write, expected = WRITES[name]
    for ending in (*ENDINGS, "html" if expected == ".svg" else "svg"):
        assert write(str(tmp_path / f"a.{ending}")) == 2
        message = capsys.readouterr().err
        assert f"the ending .{ending.rpartition('.')[2]}, expected {expected}" in message
        assert message.count("\n") == 1
    assert not list(tmp_path.iterdir())
