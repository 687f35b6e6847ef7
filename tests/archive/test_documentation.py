"""docs/reference/archive.md, followed to the letter by somebody who has DuckDB and none of our
code."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import duckdb
import pytest
from support.example import EXAMPLE

import archive.schema
from archive.schema import Reason

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "archive.md"
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
FOUND = "bbbb22220000ffff"
INITIAL = "aaaa11110000ffff"
EXPECTED = [
    [("accepted", "helps and is new", 1, 100), ("refused", "covered by the scope", 2, 200)],
    [
        (1, FOUND, "black", 0.125, "reward(xed(s | t))\n"),
        (1, INITIAL, "black", None, "elicit(s, 9)"),
    ],
    [(FOUND, "f1", 0.0, INITIAL, "black", "acceptance", 2.5, 0.5, 1.5, 2)],
    [],
    [(INITIAL,), (FOUND,)],
    [(4,)],
]


@pytest.mark.parametrize(("query", "expected"), [*zip(QUERIES, EXPECTED, strict=True)])
def test_the_queries_of_the_page_run(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, query: str, expected: list[object]
) -> None:
    monkeypatch.chdir(run_folder.parents[1])
    assert duckdb.sql(query.replace("NAME", run_folder.name)).fetchall() == expected


def test_on_a_grown_run_the_queries_find_every_captured_fraction_again_and_no_damage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(EXAMPLE.parents[1])
    *_, again, damaged, _ = [each.replace("runs/NAME", f"*/{EXAMPLE.name}") for each in QUERIES]
    found = duckdb.sql(again).fetchall()
    assert found
    assert [value for *_, value in found] == pytest.approx([each[1] for each in found])
    assert duckdb.sql(damaged).fetchall() == []


TABLES_PAGE = (files("archive.schema") / "tables.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted({*re.findall(r"\| ([A-Z]\w+) \| enum \|", TABLES_PAGE)}))
def test_the_page_of_the_tables_lists_the_words_of_its_enumerations(name: str) -> None:
    enum = getattr(archive.schema, name)
    if enum is Reason:
        explained = TABLES_PAGE.partition("`Reason`")[2].partition("\n## ")[0]
        assert re.findall(r"^\| (.+?) \| \w+ \| .+ \|$", explained, re.MULTILINE)[1:] == list(enum)
    else:
        assert f"| {name} | {', '.join(enum)} |" in TABLES_PAGE
