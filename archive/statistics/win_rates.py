"""Win rates of players over games, and the rules by which one agent surely beats another.

A draw is a win for neither player. The gg-bench paper prints wins / (games − faults), but its text
defines wins / games. Both are computed here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from archive.schema.enums import PairPurpose
from archive.statistics.intervals import CONFIDENCE, Scores

NEEDED: Mapping[PairPurpose, Fraction] = MappingProxyType(
    {
        PairPurpose.BASELINE: Fraction(9, 10),
        PairPurpose.SELECTION: Fraction(4, 5),
        PairPurpose.CONFIRMATION: Fraction(4, 5),
    }
)
"""Share of games that a pair's winner must win: at least this, for a selection more than this."""
RESAMPLES = 2_000


class Tally(NamedTuple):
    """One player's plays of one game, counted. ``faults``: the player gave no legal move."""

    wins: int
    plays: int
    faults: int = 0


def mean_over_games(rates: Sequence[float]) -> tuple[float, float]:
    """Mean and half-width 1.96 · SD / √n with SD over n − 1; no width for a single game."""
    spread = float(np.std(rates, ddof=1)) if len(rates) > 1 else 0.0
    return float(np.mean(rates)), 1.96 * spread / math.sqrt(len(rates))


def over_plays(tallies: Sequence[Tally]) -> tuple[float, float]:
    """Win rate and half-width, from wins / plays of each game."""
    return mean_over_games([tally.wins / tally.plays for tally in tallies])


def over_answers(tallies: Sequence[Tally]) -> tuple[float, float] | None:
    """Win rate and half-width from wins / (plays − faults), as the paper prints them; games with
    only faults are left out. None if no game is left."""
    answered = [tally for tally in tallies if tally.plays > tally.faults]
    rates = [tally.wins / (tally.plays - tally.faults) for tally in answered]
    return mean_over_games(rates) if rates else None


def bootstrap(tallies: Sequence[Tally], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Bootstrap bounds of the mean win rate, over games and the plays of each game."""
    rng = np.random.default_rng(len(tallies))
    games = rng.integers(len(tallies), size=(RESAMPLES, len(tallies)))
    wins = np.array([tally.wins for tally in tallies])[games]
    plays = np.array([tally.plays for tally in tallies])[games]
    means: Scores = (rng.binomial(plays, wins / plays) / plays).mean(axis=1)
    low, high = np.quantile(means, ((1 - confidence) / 2, (1 + confidence) / 2))
    return float(low), float(high)


def passes(purpose: PairPurpose, wins: int, games: int) -> bool:
    """Whether wins are enough: in a selection for the paper's rule (§ 2.4), a win rate above 80 %,
    which means five of six games; in fresh games for at least 80 %; against random moves for 90 %.
    """
    needed = NEEDED[purpose] * games
    return wins > needed if purpose is PairPurpose.SELECTION else wins >= needed


def null_rates(pairs: int = 6, games: int = 6, fresh: int = 30) -> tuple[float, float]:
    """Probabilities that the best of so many pairs of equal agents is selected, and that a pair of
    them wins fresh games, if neither seats nor draws matter.

    >>> [round(rate, 4) for rate in null_rates()]
    [0.7726, 0.0007]
    """

    def tail(purpose: PairPurpose, count: int) -> float:
        ways = sum(
            math.comb(count, wins) for wins in range(count + 1) if passes(purpose, wins, count)
        )
        return ways / 2**count

    one = 2 * tail(PairPurpose.SELECTION, games)
    return 1 - (1 - one) ** pairs, tail(PairPurpose.CONFIRMATION, fresh)


def score(tallies: Sequence[Tally]) -> tuple[float | None, ...]:
    """Of a player: games, win rate, its bounds, half-width, the paper's rate and its half-width."""
    rate, half_width = over_plays(tallies)
    paper = over_answers(tallies) or (None, None)
    return len(tallies), rate, *bootstrap(tallies), half_width, *paper


def tallies_of(rows: Iterable[Mapping[str, Any]], player: str) -> list[Tally]:
    """The tallies of a player's rows of ``gg_plays``, by game, in the order of their first play."""
    by_game: dict[str, list[str]] = {}
    for row in rows:
        if row["player"] == player:
            by_game.setdefault(row["program_id"], []).append(row["outcome"])
    return [
        Tally(outcomes.count("win"), len(outcomes), outcomes.count("fault"))
        for outcomes in by_game.values()
    ]
