"""The cost of work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from archive.text import number, plural


@dataclass(frozen=True)
class Cost:
    """Tokens, seconds of work, and dollars."""

    tokens: int = 0
    seconds: float = 0.0
    dollars: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.tokens + other.tokens,
            self.seconds + other.seconds,
            self.dollars + other.dollars,
        )

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Cost:
        """Cost that a row of a table of ``COST_TABLES`` holds; few tables have dollars."""
        return cls(row["tokens"], row["seconds"], row.get("dollars") or 0.0)


def amount(cost: Cost) -> str:
    """Text of a cost, such as: 1,200 tokens, 3.5 seconds spent."""
    seconds = f", {number(cost.seconds, 1)} seconds" if cost.seconds else ""
    dollars = f", {cost.dollars:.4g} dollars" if cost.dollars else ""
    return f"{plural(cost.tokens, 'token')}{seconds}{dollars} spent"
