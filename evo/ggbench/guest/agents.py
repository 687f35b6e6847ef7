"""Agents that move at random, by a policy, by search, or by the solution."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np

from evo.ggbench.guest.policy import Policy
from evo.ggbench.guest.position import Position
from evo.ggbench.guest.search import most_visited, search
from evo.ggbench.guest.solve import Solution

Agent = Callable[[Position, Random], int]


class Agents:
    """What agents need: the policies that were sent, the solution, the longest game."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.policies: dict[str, Policy] = {}
        self.solution: Solution | None = None

    def agent(self, wanted: Mapping[str, Any]) -> Agent:
        """By ``kind``: random; greedy or sampled (of ``policy``); search (``simulations``, with
        ``policy`` or null); optimal. Raises KeyError for a policy that was not sent before."""
        policy = self.policies[wanted["policy"]] if wanted.get("policy") else None
        match wanted["kind"]:
            case "random":
                return _random
            case "greedy" if policy:
                return lambda position, rng: policy.greedy(position)
            case "sampled" if policy:
                return policy.sample
            case "search":
                return self._searcher(policy, wanted["simulations"])
            case "optimal" if self.solution:
                return self.solution.best
        raise KeyError(wanted["kind"])

    def visits(
        self, position: Position, policy: Policy | None, simulations: int, rng: Random
    ) -> dict[int, int]:
        """Of a search, which leaves the chance of the game as it was."""
        before = random.getstate(), np.random.get_state()
        random.seed(rng.getrandbits(32))
        np.random.seed(rng.getrandbits(32))
        try:
            return search(position, simulations, policy, rng, self.most)
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])

    def _searcher(self, policy: Policy | None, simulations: int) -> Agent:
        def choose(position: Position, rng: Random) -> int:
            if len(position.legal) == 1:
                return position.legal[0]
            return most_visited(self.visits(position, policy, simulations, rng))

        return choose


def _random(position: Position, rng: Random) -> int:
    return position.legal[int(rng.random() * len(position.legal))]
