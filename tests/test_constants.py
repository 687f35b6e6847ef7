"""A name at the top of a module has one value: of two, all functions would see the second."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("archive", "evo", "meta_sampler", "xgl")


@pytest.mark.parametrize("package", PACKAGES)
def test_no_constant_is_set_twice(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        names: Counter[str] = Counter()
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Assign):
                parts = (part for target in node.targets for part in ast.walk(target))
                names.update(part.id for part in parts if isinstance(part, ast.Name))
        assert {n for n, count in names.items() if count > 1 and n.isupper()} == set(), path
