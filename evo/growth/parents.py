"""Which game of the scope gets the next list of candidates: a bandit.

Thompson sampling (Thompson 1933, On the likelihood that one unknown probability exceeds another,
Biometrika 25; for verdicts that come late Chapelle and Li 2011, An empirical evaluation of Thompson
sampling, NeurIPS): a parent's chance that a candidate of its lists joins the scope has a Beta
posterior, one draw is taken for each parent, and the largest draw gets the list.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xgl.random_streams import stream

GameT = TypeVar("GameT", bound=Hashable)
STRENGTH = 10.0
"""Weight of the prior, in candidates at the common rate: about one list."""
FIRST_GUESS = 0.1
"""The common rate before anything was judged, with the weight of ``STRENGTH`` candidates."""


@dataclass(frozen=True)
class ParentTally:
    """Numbers of accepted and of decided candidates of a parent's lists so far."""

    accepted_count: int = 0
    verdict_count: int = 0

    def __add__(self, other: ParentTally) -> ParentTally:
        return ParentTally(
            self.accepted_count + other.accepted_count, self.verdict_count + other.verdict_count
        )


def posterior(own: ParentTally, common: ParentTally) -> tuple[float, float]:
    """Parameters (a, b) of the Beta law of a parent's rate, whose prior mean is the run's rate."""
    rate = (common.accepted_count + STRENGTH * FIRST_GUESS) / (common.verdict_count + STRENGTH)
    return STRENGTH * rate + own.accepted_count, STRENGTH * (
        1 - rate
    ) + own.verdict_count - own.accepted_count


def draw_parent(
    parents: Sequence[GameT], tallies: Mapping[GameT, ParentTally], *key: int | str
) -> GameT:
    """The parent with the largest draw; ``key`` names the draw. ``parents`` must not be empty."""
    common = sum((tallies[parent] for parent in parents if parent in tallies), ParentTally())
    chance = stream("parent", *key)
    draws = [
        chance.beta(*posterior(tallies.get(parent, ParentTally()), common)) for parent in parents
    ]
    return parents[max(range(len(parents)), key=draws.__getitem__)]
