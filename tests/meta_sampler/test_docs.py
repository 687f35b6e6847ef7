"""The example in docs/meta_samplers.md runs and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "meta_samplers.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    block = r"^```python\n(.*?)^```\n\n```\n(.*?)^```"
    [(code, shown)] = re.findall(block, PAGE, re.MULTILINE | re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == shown
