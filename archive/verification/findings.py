"""What verification says: findings that each name a place, what was found and what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that does not fit; ``where`` names the file or the row."""

    where: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.where}: found {self.found}, expected {self.expected}"


@dataclass(frozen=True)
class Verification:
    """``faults`` do not fit; ``notes`` are allowed, such as what a killed writer left.

    ``checked`` counts what was looked at; ``unchecked`` counts decisions that were not taken
    again, by the reason why.
    """

    folder: str
    faults: Sequence[Finding]
    notes: Sequence[Finding]
    checked: Mapping[str, int]
    unchecked: Mapping[str, int]
