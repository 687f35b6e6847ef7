"""Whether a budget is spent."""

from __future__ import annotations

from collections.abc import Mapping

from evo.config.schema import PaidBudget
from evo.record.cost import Cost, amount
from meta_sampler.base import BudgetReachedError
from xgl.chat.settings import Budget


def exhausted_budget(budget: PaidBudget, cost: Cost) -> str:
    """The key of the first budget that is spent; empty while none is."""
    return next(iter(exhausted_budgets(budget, cost)), "")


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


def shares_spent(budget: PaidBudget, cost: Cost) -> dict[str, float]:
    """Share spent of each budget that is set."""
    return {
        f"budget.{name}": getattr(cost, name) / limit
        for name, limit in budget_limits(budget).items()
    }


def budget_limits(budget: PaidBudget) -> dict[str, float]:
    """The budgets that are set, by name."""
    limits = {name: getattr(budget, name, None) for name in ("tokens", "seconds", "dollars")}
    return {name: limit for name, limit in limits.items() if limit is not None}


def remaining(budget: PaidBudget, cost: Cost) -> Budget:
    """The tokens and dollars that chat models may still use."""
    return Budget(
        None if budget.tokens is None else max(0, budget.tokens - cost.tokens),
        None if budget.dollars is None else max(0.0, budget.dollars - cost.dollars),
    )


def check(budget: PaidBudget, cost: Cost) -> None:
    """Raises :class:`BudgetReachedError` naming the budget that is spent."""
    if name := exhausted_budget(budget, cost):
        raise BudgetReachedError(
            f"budget.{name}={getattr(budget, name):.15g} is reached: {amount(cost)}"
        )
