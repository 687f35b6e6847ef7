"""How often each operator is drawn, gently led by what was accepted lately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meta_sampler.base import Outcome, SamplerError

SPREAD = 2.0
"""A weight stays within this factor of its table entry, so that no operator dies out."""

PRIOR = 8.0
"""Outcomes at the common rate that every operator is taken to have seen already."""


class AdaptiveWeights:
    """Table weights times the ratio of an operator's acceptance rate to the common one."""

    def __init__(self, table: Mapping[str, float], memory: float) -> None:
        self._table = dict(table)
        self._memory = memory
        self._tried = dict.fromkeys(self._table, 0.0)
        self._accepted = dict.fromkeys(self._table, 0.0)

    def __getitem__(self, name: str) -> float:
        tried, accepted = sum(self._tried.values()), sum(self._accepted.values())
        if not accepted:
            return self._table[name]
        common = accepted / tried
        rate = (self._accepted[name] + PRIOR * common) / (self._tried[name] + PRIOR)
        return self._table[name] * min(SPREAD, max(1 / SPREAD, rate / common))

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Count each outcome for every operator that had a part in it; earlier ones fade."""
        for outcome in outcomes:
            for counts in (self._tried, self._accepted):
                for name in counts:
                    counts[name] *= self._memory
            for name in dict.fromkeys(outcome.operators):
                if name in self._table:
                    self._tried[name] += 1.0
                    self._accepted[name] += float(outcome.accepted)

    def state(self) -> dict[str, Any]:
        return {"tried": dict(self._tried), "accepted": dict(self._accepted)}

    def restore(self, state: Mapping[str, Any]) -> None:
        for key in ("tried", "accepted"):
            if not isinstance(state.get(key), Mapping) or set(state[key]) != set(self._table):
                raise SamplerError(f"the state's {key!r} does not name this sampler's operators")
        self._tried = {name: float(state["tried"][name]) for name in self._table}
        self._accepted = {name: float(state["accepted"][name]) for name in self._table}
