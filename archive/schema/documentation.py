"""The tables of docs/archive.md, from the schemas: `python -m archive.schema.documentation FILE`
rewrites the text between the two markers of FILE."""

from __future__ import annotations

import sys
from pathlib import Path

from archive.schema import TABLES
from archive.schema.column import FLOATS, INSTANT, INTS, STRINGS, Column, Table

BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->\n"
_TYPES = {
    STRINGS: "list<string>",
    INTS: "list<int64>",
    FLOATS: "list<double>",
    INSTANT: "timestamp[us, UTC]",
}


def document() -> str:
    """Every table as a Markdown section with one line for each column."""
    return "\n".join(_section(table) for table in TABLES.values())


def refresh(text: str) -> str:
    """`text` with the tables between its markers rewritten."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{document()}{END}{rest.split(END)[1]}"


def _section(table: Table) -> str:
    lines = [f"### {table.name}", "", table.meaning, ""]
    lines += ["| column | type | unit | meaning | null means |", "| --- | --- | --- | --- | --- |"]
    lines += [_line(column) for column in table.columns]
    return "\n".join(lines) + "\n"


def _line(column: Column) -> str:
    kind = _TYPES.get(column.type, str(column.type))
    values = f": {', '.join(column.values)}" if column.values else ""
    null = column.null or "never null"
    return f"| `{column.name}` | `{kind}` | {column.unit} | {column.meaning}{values} | {null} |"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(refresh(page.read_text(encoding="utf-8")), encoding="utf-8")
