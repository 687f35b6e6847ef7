"""The cost of work, and whether a budget is spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from archive.text import number, plural
from evo.config.schema import PaidBudget
from xgl.chat.settings import ChatSettings
from xgl.errors import BudgetError, ConfigError

ChatBudget = dict[str, Any]
"""Settings of a chat model that say what it may still use."""


@dataclass(frozen=True)
class Cost:
    """Tokens, seconds of work, and dollars."""

    tokens: int = 0
    seconds: float = 0.0
    dollars: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.tokens + other.tokens, self.seconds + other.seconds, self.dollars + other.dollars
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


def exhausted_budgets(budget: PaidBudget, cost: Cost) -> dict[str, float]:
    """The budgets that are spent, by name."""
    limits = budget_limits(budget).items()
    return {name: limit for name, limit in limits if getattr(cost, name) >= limit}


def raised(limits: Mapping[str, float], spent: Cost, prefix: str = "budget.") -> tuple[str, ...]:
    """Settings to resume with: each limit doubled until it is above what is spent."""
    overrides = []
    for name, limit in limits.items():
        limit = 2 * (limit or 1)
        while limit <= getattr(spent, name):
            limit *= 2
        overrides.append(f"{prefix}{name}={limit:.15g}")
    return tuple(overrides)


def budget_limits(budget: PaidBudget) -> dict[str, float]:
    """The budgets that are set, by name."""
    limits = {name: getattr(budget, name, None) for name in ("tokens", "seconds", "dollars")}
    return {name: limit for name, limit in limits.items() if limit is not None}


def remaining(budget: PaidBudget, cost: Cost) -> ChatBudget:
    """The tokens and dollars that chat models may still use."""
    limits = {"tokens": budget.tokens, "dollars": budget.dollars}
    return {
        f"budget_{name}": None if limit is None else max(0, limit - getattr(cost, name))
        for name, limit in limits.items()
    }


def check_prices(budget: PaidBudget, models: Iterable[ChatSettings], prices: str) -> None:
    """Raises :class:`ConfigError` for a budget in dollars and a model without a price, whose
    requests it could not bound; ``prices``: the setting that holds them, with its form."""
    unpriced = [each.model for each in models if not each.has_prices]
    if budget.dollars is not None and unpriced:
        raise ConfigError(
            f"budget.dollars: found an amount and no price of {unpriced[0]}, expected {prices}"
        )


def check(budget: PaidBudget, cost: Cost) -> None:
    """Raises :class:`BudgetError` naming the first budget that is spent."""
    for name, limit in exhausted_budgets(budget, cost).items():
        raise BudgetError(f"budget.{name}={limit:.15g} is reached: {amount(cost)}")
