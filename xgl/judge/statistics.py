"""Counters of a scoring engine; this module needs no model."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Statistics:
    """Counts of requests and of the work for them. Only tokens that a model reads count: the last
    one of a sequence is only predicted."""

    requested: int = 0
    """Sequences requested."""
    duplicates: int = 0
    """Requested sequences that equal another one of the same call."""
    cached: int = 0
    """Requested sequences answered from the score cache."""
    requested_tokens: int = 0
    """Tokens of the sequences requested, each by itself."""
    new_tokens: int = 0
    """Tokens of the sequences that were neither duplicates nor cached."""
    read_tokens: int = 0
    """Tokens that the model read: common prefixes once, padding not counted."""
    padded_tokens: int = 0
    """Tokens that the model read, padding included."""
    scored_tokens: int = 0
    """Tokens whose bits were computed."""
    trees: int = 0
    """Rows of the batches."""
    forwards: int = 0

    @property
    def hit_rate(self) -> float:
        """Share of a call's distinct sequences that the score cache answered."""
        distinct = self.requested - self.duplicates
        return self.cached / distinct if distinct else 0.0

    def __add__(self, other: Statistics) -> Statistics:
        names = [field.name for field in fields(self)]
        return Statistics(**{name: getattr(self, name) + getattr(other, name) for name in names})
