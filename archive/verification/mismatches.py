"""Results of verification: each mismatch names a file or row, what was found and expected there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mismatch:
    """One inconsistency; ``where`` names the file or the row."""

    where: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.where}: found {self.found}, expected {self.expected}"


@dataclass(frozen=True)
class Verification:
    """``faults`` are inconsistencies; ``notes`` are allowed, such as files that a killed writer
    left. ``checked``: number of checked rows and files, by table or kind; ``unchecked``: number of
    decisions that were not recomputed, by their reason.
    """

    folder: str
    faults: Sequence[Mismatch]
    notes: Sequence[Mismatch]
    checked: Mapping[str, int]
    unchecked: Mapping[str, int]


def same(actual: object, expected: object, absolute: float = 1e-9) -> bool:
    """Equality; of floats up to a millionth of them, or ``absolute``: they are computed again."""
    if isinstance(actual, float) and isinstance(expected, float):
        return math.isclose(actual, expected, rel_tol=1e-6, abs_tol=absolute)
    return bool(actual == expected)
