"""The examples of docs/reference/dialects.md: lines that only one of the two engines plays."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "dialects.md"


def examples(column: str) -> list[str]:
    """The lines of code in the first column of the table that begins with ``column``."""
    text = PAGE.read_text(encoding="utf-8")
    head = rf"^\| {column} \| (?:reason|as) \|\n\| --- .*\n"
    [table] = re.findall(rf"{head}((?:\|.*\n)+)", text, re.MULTILINE)
    cells = [re.split(r"(?<!\\) \| ", row)[0] for row in table.splitlines()]
    spans = [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]
    return [code.replace("\\|", "|") for code in spans if code.rstrip(";").endswith(")")]
