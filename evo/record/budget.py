"""Whether a budget is spent."""

from __future__ import annotations

from evo.config.schema import PaidBudget
from evo.record.cost import Cost, amount
from meta_sampler import BudgetReachedError
from xgl.chat.accounting import Budget


def exhausted_budget(budget: PaidBudget, cost: Cost) -> str:
    """The key of the first budget that is spent; empty while none is."""
    for name, limit in _limits(budget).items():
        if getattr(cost, name) >= limit:
            return name
    return ""


def shares_spent(budget: PaidBudget, cost: Cost) -> dict[str, float]:
    """Share spent of each budget that is set."""
    return {
        f"budget.{name}": getattr(cost, name) / limit for name, limit in _limits(budget).items()
    }


def _limits(budget: PaidBudget) -> dict[str, float]:
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
