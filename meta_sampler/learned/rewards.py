"""What a verdict is worth to a sampler: how far a candidate came on its way
(docs/specification.md, "The decision rule")."""

from __future__ import annotations

from meta_sampler.base import Outcome

ACCEPTED = 1.0
REWARDS = {
    "another of its list was newer": 0.7,
    "others of its list looked newer": 0.7,
    "coverage not settled": 0.5,
    "help to its parent not settled": 0.5,
    "covered by the scope": 0.4,
    "does not help its parent": 0.2,
    "own gain not confirmed": 0.1,
    "its gain is not about the map": 0.0,
    "not playable": 0.0,
}
"""By reason: what could have been accepted, what was open, what failed one of the two demands of
a game that can be learned, and what could not be learned."""
UNFIT = -0.3
"""Of a game that the base player cannot play or that is too dear: any reason not named above."""
UNTOLD = 0.0
"""Of a refusal without a reason."""


def reward(outcome: Outcome) -> float:
    """Between ``UNFIT`` and ``ACCEPTED``."""
    if outcome.accepted:
        return ACCEPTED
    return REWARDS.get(outcome.reason, UNFIT) if outcome.reason else UNTOLD
