"""The declarations: complete, documented, and the same after a round trip through Parquet."""

from __future__ import annotations

from enum import StrEnum
from importlib.resources import files

import pytest

from archive import TABLES

PAGE = (files("archive.schema") / "tables.md").read_text(encoding="utf-8")


def test_every_column_has_unit_meaning_and_null_meaning() -> None:
    for table in TABLES.values():
        assert len(set(table.names)) == len(table.columns)
        for column in table.columns:
            assert column.unit
            assert column.meaning
            assert column.null != ""
            assert "|" not in column.meaning, "it would end the cell of a Markdown table"


@pytest.mark.parametrize("enum", [*StrEnum.__subclasses__()], ids=lambda enum: enum.__name__)
def test_the_page_lists_the_words_of_its_enumerations(enum: type[StrEnum]) -> None:
    name, words = enum.__name__, ", ".join(enum)
    if enum.__module__ == "archive.schema" and f"| {name} | enum |" in PAGE:
        assert f"| {name} | {words} |" in PAGE
