"""What is expected of a candidate, by what scripted players and the scope's fine-tunes earn before
anything is trained on it (docs/specification.md, "The open-ended schedule")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LIKELY_HELP = 0.7
"""Share of what scripts earn on a game of the scope that a candidate's best script must earn there,
for the candidate to be expected to help it."""
LIKELY_COVERED = 0.6
"""Share of what a candidate holds that a fine-tune of the scope earns already, from which on it is
expected to be covered."""
LEAST_WORTH = 1.0
"""Bits a play that every game is taken to hold, where shares of what it holds are expected."""


@dataclass(frozen=True)
class Foresight:
    """What is expected of a candidate: the share of what scripts earn on a game of the scope that
    the candidate's best script earns there, on the game where that is most; and the share of what
    the candidate holds that a fine-tune of the scope earns already."""

    help: float = 1.0
    coverage: float = 0.0

    @property
    def promising(self) -> bool:
        """Whether a fine-tune on it is worth its price."""
        return self.help >= LIKELY_HELP and self.coverage < LIKELY_COVERED

    @property
    def order(self) -> tuple[bool, float]:
        """The least is examined first: of those that seem to help the least covered."""
        return self.help < LIKELY_HELP, self.coverage

    def __str__(self) -> str:
        return f"expected help {self.help:.2f}, expected coverage {self.coverage:.2f}"


def expected_help(leads: Sequence[float], on_scope: Sequence[Sequence[float]]) -> float:
    """What a candidate's best script earns on a game of the scope as a share of what the best one
    earns there, on the game where that is most: a player that learns the candidate learns what its
    best script does. ``leads``: each script's mean gain on the candidate over the base player, bits
    a play; ``on_scope``: the same scripts' on each of these games."""
    best = max(range(len(leads)), key=leads.__getitem__)
    return max(each[best] / max(*each, LEAST_WORTH) for each in on_scope)


def expected_coverage(leads: Sequence[float], taught: Sequence[float]) -> float:
    """What fine-tunes of the scope gain on a candidate, ``taught``, as a share of what there is to
    gain as far as that shows before a fine-tune: the best script's lead, or the best of these where
    that is larger. Bits a play."""
    return max(taught) / max(*leads, *taught, LEAST_WORTH)
