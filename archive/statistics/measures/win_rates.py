"""Win rates of players over games, and the rules by which one agent surely beats another.

A draw is a win for neither player. The gg-bench paper prints wins / (games − faults), but its text
defines wins / games. Both are computed here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from archive.schema.enums import PairPurpose
from archive.statistics.values.intervals import CONFIDENCE, Scores

NEEDED: Mapping[PairPurpose, Fraction] = MappingProxyType(
    {
        PairPurpose.BASELINE: Fraction(9, 10),
        PairPurpose.SELECTION: Fraction(4, 5),
        PairPurpose.CONFIRMATION: Fraction(4, 5),
    }
)
"""Share of games that a pair's winner must win: at least this, for a selection more than this."""
RESAMPLES = 2_000


@dataclass(frozen=True)
class Tally:
    """One player's plays of one game, counted. ``faults``: the player gave no legal move."""

    wins: int
    plays: int
    faults: int = 0

    @property
    def rate(self) -> float:
        """wins / plays."""
        return self.wins / self.plays

    @property
    def paper_rate(self) -> float | None:
        """wins / (plays − faults); None if every play was a fault."""
        answers = self.plays - self.faults
        return self.wins / answers if answers else None


@dataclass(frozen=True)
class WinRate:
    """A mean over games; ``half_width`` is 1.96 standard errors over games."""

    games: int
    mean: float
    half_width: float


def win_rate(rates: Sequence[float]) -> WinRate:
    """Mean and half-width 1.96 · SD / √n with SD over n − 1; no width for a single game.

    Raises ValueError without games.
    """
    if not rates:
        raise ValueError("found no game, expected at least one")
    spread = float(np.std(rates, ddof=1)) if len(rates) > 1 else 0.0
    return WinRate(len(rates), float(np.mean(rates)), 1.96 * spread / math.sqrt(len(rates)))


def over_plays(tallies: Sequence[Tally]) -> WinRate:
    """The win rate from wins / plays of each game."""
    return win_rate([tally.rate for tally in tallies])


def over_answers(tallies: Sequence[Tally]) -> WinRate | None:
    """The win rate from wins / (plays − faults), as the paper prints it; games with only faults are
    left out. None if no game is left."""
    rates = [rate for tally in tallies if (rate := tally.paper_rate) is not None]
    return win_rate(rates) if rates else None


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


def score(tallies: Sequence[Tally]) -> dict[str, Any]:
    """The row of ``gg_scores`` of a player, but for run and player."""
    rate, paper, (low, high) = over_plays(tallies), over_answers(tallies), bootstrap(tallies)
    return {
        "games": rate.games,
        "win_rate": rate.mean,
        "low": low,
        "high": high,
        "half_width": rate.half_width,
        "paper_rate": paper.mean if paper else None,
        "paper_half_width": paper.half_width if paper else None,
    }


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
