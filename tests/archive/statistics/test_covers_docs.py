"""The worked example of docs/explanation/covers.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from archive.statistics.covers import best_cover, largest_eta, transfer_cover

DOCS = Path(__file__).parents[3] / "docs" / "explanation" / "covers.md"


def example() -> np.ndarray:
    lines = [line for line in DOCS.read_text().splitlines() if line.startswith("| **")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")[1:]] for line in lines]
    return np.array([[np.nan if cell == "?" else float(cell) for cell in row] for row in cells])


def names(members: tuple[int, ...]) -> str:
    return "".join("ABCD"[member] for member in members)


def test_the_example_is_true() -> None:
    values = example()
    cover = best_cover(values, 0.5)
    assert (names(cover.members), cover.delta) == ("AC", 0.6)
    assert transfer_cover(values, (0, 3)) == 0.5
    assert names(best_cover(values, 0.65).members) == "ABC"
    assert largest_eta(values) == 1
    assert names(best_cover(values, 1.0).members) == "ABCD"
