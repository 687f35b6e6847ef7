"""What work costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
        """What a row of a table of ``COST_TABLES`` says; only what is paid for has dollars."""
        return cls(row["tokens"], row["seconds"], row.get("dollars") or 0.0)


def amount(spent: Cost) -> str:
    """Such as: 1,200 tokens, 3.5 seconds spent."""
    dollars = f", {spent.dollars:.4g} dollars" if spent.dollars else ""
    return f"{spent.tokens:,} tokens, {spent.seconds:,.1f} seconds{dollars} spent"
