"""Looks of a racing test, and how its error is spent on them (docs/specification.md, "Looks").

A test that may end at any of several numbers of plays is evaluated at each of these looks; its
total error is the sum of the errors of the looks, however dependent they are (union bound). The
error is spent in proportion to the plays: the power family α·t with exponent 1 of Kim and DeMets
(1987), Design and analysis of group sequential tests, Biometrika 74(1), after Lan and DeMets
(1983), Biometrika 70(3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class Looks:
    """The looks of a test. ``plays``: cumulative number of plays at each look, increasing;
    ``error``: error probability of a one-sided bound, summed over all looks."""

    plays: tuple[int, ...]
    error: float

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise(self.plays))
        if not self.plays or not rising or self.plays[0] < 2 or not 0 < self.error < 1:
            raise ValueError(f"found {self}, expected rising numbers of plays from 2, an error")

    def confidence(self, plays: int, questions: int = 1) -> float:
        """Confidence of a one-sided bound at the look after ``plays`` plays, when ``questions``
        bounds share the error of that look.

        Raises ``ValueError`` if there is no look after ``plays`` plays.
        """
        before = (0, *self.plays)[self.plays.index(plays)]
        return 1 - self.error * (plays - before) / self.plays[-1] / max(1, questions)


def error_per_test(error: float, tests: int) -> float:
    """Error of each of several tests whose total error probability is at most ``error``."""
    return error / max(1, tests)


def chunks(items: Sequence[ItemT], first: int) -> list[tuple[ItemT, ...]]:
    """``items`` in order, in chunks of ``first``, 2·``first``, 4·``first``, … items."""
    parts, start, size = [], 0, first
    while start < len(items):
        parts.append(tuple(items[start : start + size]))
        start, size = start + size, 2 * size
    return parts
