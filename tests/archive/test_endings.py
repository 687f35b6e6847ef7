"""A file is what its ending says: each command and method that writes one refuses others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import xgl.cli
from archive.__main__ import main as archive_main
from archive.cli import COMMANDS
from archive.errors import WriteError
from archive.notebook import Run

RUN = str(Path(__file__).parents[2] / "docs" / "example" / "run")
Write = Callable[[str], int]
FIGURES: dict[str, Write] = {
    "diagram": lambda path: xgl.cli.main(["diagram", "dex_texts", "-o", path]),
}
PAGES: dict[str, Write] = {
    "report": lambda path: archive_main(["report", RUN, "-o", path]),
    "ratings": lambda path: archive_main(["ratings", "--table", "absent.csv", "-o", path]),
}
"""Of a table that is not there: the page is refused before anything is read."""
ENDINGS = ("png", "PNG", "pdf", "jpg", "svgz", "eps", "txt", "svg.png", "tar.gz")


@pytest.mark.parametrize("ending", [*ENDINGS, "html"])
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_svg_or_refused(
    name: str, ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert FIGURES[name](str(tmp_path / f"a.{ending}")) == 2
    message = capsys.readouterr().err
    assert f"found the ending .{ending.rpartition('.')[2]}, expected .svg" in message
    assert message.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [*ENDINGS, "svg"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_html_or_refused(
    name: str, ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert PAGES[name](str(tmp_path / f"a.{ending}")) == 2
    assert "expected .html or .htm" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_figures_and_pages_in_python_too(ending: str, tmp_path: Path) -> None:
    run, path = Run.open(RUN, backend="pyarrow"), tmp_path / f"a.{ending}"
    for figure in (run.plot_transfer_matrix(), run.plot_cover()):
        with pytest.raises(WriteError, match=r"expected \.svg"):
            figure.save(path)
    with pytest.raises(WriteError, match=r"expected \.html"):
        run.report(path)
    assert not list(tmp_path.iterdir())


def test_no_other_command_writes_one_file() -> None:
    """Else it belongs to the tables above."""
    of_files = {
        command.run.__name__
        for command in COMMANDS
        for argument in command.arguments
        if str(argument.options.get("metavar", "")).startswith("FILE")
    }
    assert of_files == {"report", "ratings"}
