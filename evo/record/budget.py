"""What a run has spent, and the budgets that end it at a commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evo.config.schema import BudgetConfig
from meta_sampler import BudgetReached

SPENDING = ("finetunes", "scores", "proposals")
"""The tables whose rows say what something cost."""


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
        """What a row of a table of ``SPENDING`` says; only what is paid for has dollars."""
        return cls(row["tokens"], row["seconds"], row.get("dollars") or 0.0)


def reached(budget: BudgetConfig, spent: Cost) -> str:
    """The key of the first budget that is spent; empty while none is."""
    for name in ("tokens", "seconds", "dollars"):
        limit = getattr(budget, name)
        if limit is not None and getattr(spent, name) >= limit:
            return name
    return ""


def check(budget: BudgetConfig, spent: Cost) -> None:
    """Raises :class:`BudgetReached` naming the budget that is spent."""
    if name := reached(budget, spent):
        raise BudgetReached(f"budget.{name}={getattr(budget, name):g} is reached: {amount(spent)}")


def amount(spent: Cost) -> str:
    """Such as: 1,200 tokens, 3.5 seconds spent."""
    dollars = f", {spent.dollars:.4g} dollars" if spent.dollars else ""
    return f"{spent.tokens:,} tokens, {spent.seconds:,.1f} seconds{dollars} spent"
