"""``python -m evo.config``: the tables of docs/reference/configuration.md are those of the
declarations."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo.config.__main__ import BEGIN, END, main, with_tables

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "configuration.md"


def test_the_page_has_the_tables_of_today() -> None:
    """Every field needs a meaning; to mend: ``python -m evo.config
    docs/reference/configuration.md``."""
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page


def test_a_row_says_default_bounds_and_meaning() -> None:
    row = "| `growth.alpha1` | `0.3` | number, more than 0 | A candidate must give its parent"
    assert row in with_tables(BEGIN + END)


def test_the_command_keeps_what_stands_around_the_tables(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n{END}after\n", encoding="utf-8")
    assert main([str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert (text.startswith("before\n"), text.endswith("after\n")) == (True, True)
    assert "old\n" not in text


def test_without_a_page_it_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: python -m evo.config docs/reference/configuration.md" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file or directory"), ("mine\n", "expected the page that holds it")],
)
def test_another_page_is_left_as_it_is(
    content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    if content is not None:
        page.write_text(content)
    assert main([str(page)]) == 2
    assert message in capsys.readouterr().err
    assert (page.read_text() if content else page.exists()) == (content or False)
