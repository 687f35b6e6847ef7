"""Players in tables of 80 columns, whatever their names are."""

from __future__ import annotations

from io import StringIO

import pytest

from archive.views.tables import LABEL, add, labels, show_labels, table
from xgl.console import Console

URL = "chat:qwen2.5:7b@http://localhost:11434/v1"
NAMES = {
    "short": ["embedded", "smollm2"],
    "a URL": ["embedded", URL],
    "alike": [URL, f"{URL}/a", "adapter:runs/scope_growth-seed0:0123456789ab*0.5"],
    "a letter": ["A", "B", URL],
    "many": [f"peft:/models/a long name/{n}" for n in range(60)],
    "markup": [f"[red]{URL}[/red]", "日本語" * 10],
}


@pytest.mark.parametrize("kind", NAMES)
def test_a_table_keeps_its_columns_and_each_name_stands_below(kind: str) -> None:
    names, out = labels(NAMES[kind]), StringIO()
    assert list(names) == NAMES[kind]
    assert len({*names.values()}) == len(names)
    assert all(len(label) <= LABEL for label in names.values())
    console = Console(file=out, width=80)
    numbers = table("Models", "rank", "model", *"abcdef")
    for label in names.values():
        add(numbers, "1", label, *["+0.123"] * 6)
    console.print(numbers)
    show_labels(names, console)
    text = out.getvalue()
    assert text.count("+0.123") == 6 * len(names), "no number is broken"
    for name, label in names.items():
        assert (f"{label}: {name}\n" in text) == (label != name)
