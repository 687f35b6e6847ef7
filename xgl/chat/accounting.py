"""Requests to a remote model, their cost, and the budget for them."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from xgl.errors import BudgetError
from xgl.settings import Natural, NonNegative, settings


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts of requests and tokens, and dollars; usages add up.

    ``retries``: requests sent again after a fault. ``asked_again``: answers without a move that
    were asked again. ``failed_attempts``: moves that were given up as empty. ``unmetered``:
    requests whose tokens the server did not report and may have spent (an answer without usage, a
    time-out, a closed connection); they add no tokens and no dollars.
    """

    requests: int = 0
    retries: int = 0
    asked_again: int = 0
    failed_attempts: int = 0
    unmetered: int = 0
    prompt_tokens: int = 0
    new_tokens: int = 0
    dollars: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers."""
        return self.prompt_tokens + self.new_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@settings(kw_only=False)
class Prices:
    """Dollars per million tokens."""

    prompt: NonNegative = 0.0
    new: NonNegative = 0.0

    def __bool__(self) -> bool:
        """Whether anything costs anything."""
        return self.prompt > 0 or self.new > 0

    def of(self, prompt_tokens: int, new_tokens: int) -> float:
        """Cost in dollars."""
        return (self.prompt * prompt_tokens + self.new * new_tokens) / 1e6


@settings(kw_only=False)
class Budget:
    """What may be spent before the next request is refused; None: no bound."""

    tokens: Natural | None = None
    """Tokens of prompts and answers."""
    dollars: NonNegative | None = None

    def check(self, usage: Usage) -> None:
        """Raises :class:`BudgetError` when ``usage`` reaches it."""
        if self.tokens is not None and usage.tokens >= self.tokens:
            raise BudgetError(f"the budget of {self.tokens} tokens is spent ({usage.tokens} used)")
        if self.dollars is not None and usage.dollars >= self.dollars:
            amount = f"{usage.dollars:.4f} used"
            raise BudgetError(f"the budget of {self.dollars:g} dollars is spent ({amount})")
