"""Whether a budget is spent."""

from __future__ import annotations

from evo.config.schema import BudgetConfig
from evo.record.cost import Cost, amount
from meta_sampler import BudgetReachedError


def exhausted_budget(budget: BudgetConfig, cost: Cost) -> str:
    """The key of the first budget that is spent; empty while none is."""
    for name in ("tokens", "seconds", "dollars"):
        limit = getattr(budget, name)
        if limit is not None and getattr(cost, name) >= limit:
            return name
    return ""


def shares_spent(budget: BudgetConfig, cost: Cost) -> dict[str, float]:
    """Share spent of each budget that is set."""
    limits = {name: getattr(budget, name) for name in ("tokens", "seconds", "dollars")}
    return {f"budget.{name}": getattr(cost, name) / most for name, most in limits.items() if most}


def check(budget: BudgetConfig, cost: Cost) -> None:
    """Raises :class:`BudgetReachedError` naming the budget that is spent."""
    if name := exhausted_budget(budget, cost):
        raise BudgetReachedError(
            f"budget.{name}={getattr(budget, name):g} is reached: {amount(cost)}"
        )
