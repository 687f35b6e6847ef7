"""The tour in docs/xgl.md is true: its programs, its picture, what its commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xgl import game, parse
from xgl.cli import main
from xgl.diagram import draw
from xgl.library import find

DOCS = Path(__file__).parents[2] / "docs"
TOUR = (DOCS / "xgl.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TOUR, re.MULTILINE | re.DOTALL)


def test_its_programs_are_the_librarys() -> None:
    single, dex = blocks("xgl")
    for code, name in ((single, "single_text"), (dex, "dex_texts")):
        assert game(parse(code)) == game(parse(find(name).text))


def test_its_picture_is_what_diagram_draws() -> None:
    dex = find("dex_texts")
    picture = (DOCS / "dex_texts.svg").read_text(encoding="utf-8")
    assert picture == draw(parse(dex.text), dex.title)


def test_its_check_prints_what_check_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "censor"]) == 0
    _, *facts = capsys.readouterr().out.splitlines()
    assert "\n".join(facts) in TOUR


def test_its_instructions_are_valid() -> None:
    [table] = re.findall(r"\| instruction \| \|\n\| --- \| --- \|\n((?:\|.*\n)+)", TOUR)
    forms = [form for row in table.splitlines() for form in re.findall(r"`([a-z]+\(.*?\))`", row)]
    lines = [form.replace("\\|", "|").replace(", …)", ")") for form in forms if form != "story()"]
    assert len(parse("\n".join(lines)).instructions) == 7


def test_its_python_runs() -> None:
    [code] = blocks("python")
    names: dict[str, object] = {}
    exec(code, names)
    assert str(names["svg"]).startswith("<svg")
