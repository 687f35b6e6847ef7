"""The games of a scope rated together with the policies that were learned on them, as a cheap
measure for the schedule (docs/ratings.md). No game is accepted or refused by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from archive.errors import RatingError
from archive.ratings.leaderboard import Leaderboard, copy_rule, leaderboard, worth
from archive.ratings.near_copies import Copies
from archive.ratings.normal_form import Array
from archive.ratings.preferences import mean_preferences, wins
from archive.ratings.rating import EquilibriumKind

NEGLIGIBLE = 1e-6
"""Mass of a policy below which it need not play a new game for the game's regret."""


@dataclass(frozen=True)
class ScopeEquilibrium:
    """``board``: games of a scope rated together with ``policies``, in their orders."""

    policies: tuple[str, ...]
    board: Leaderboard

    @property
    def masses(self) -> Array:
        """Masses of the games of the scope (games,), summing to 1."""
        return self.board.task_masses

    @property
    def support(self) -> tuple[str, ...]:
        """The policies that are played at the equilibrium, as king or rebel."""
        opponents = self.board.opponents
        is_played = np.maximum(opponents.sum(axis=0), opponents.sum(axis=1)) > NEGLIGIBLE
        return tuple(each for each, there in zip(self.policies, is_played, strict=True) if there)

    def regret(self, scores: Mapping[str, Array]) -> float:
        """Regret of a new game: by how much it separates the policies of the equilibrium better
        than the scope does, in units of preference; above 0 it would enter the equilibrium.

        ``scores`` (plays,) bits on the new game, on equal seeds, of all policies of ``support``.
        """
        indices = [self.policies.index(name) for name in self.support]
        preferences = np.zeros((1, len(self.policies), len(self.policies)))
        score_matrix = np.stack([scores[name] for name in self.support])
        preferences[0][np.ix_(indices, indices)] = mean_preferences([wins(score_matrix)])[0]
        return float(worth(preferences, self.board)[0])


def scope_equilibrium(policies: Sequence[str], scores: Sequence[Array]) -> ScopeEquilibrium | None:
    """The limiting logit equilibrium; None if it is not reached. ``scores`` (policies, plays)
    bits of each game, all policies of a game on equal seeds."""
    outcomes = [wins(each) for each in scores]
    try:
        board = leaderboard(outcomes, EquilibriumKind.NE, copy_rule(outcomes, Copies.EXACT))
    except RatingError:
        return None
    return ScopeEquilibrium(tuple(policies), board)
