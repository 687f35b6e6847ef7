"""Tests whether chosen games are worth more than the others: they compare the choice with random
choices of the same number of games of each list, or of each pool (docs/held_out.md).

Only the choice is random: games, their values and the lists are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from archive.statistics.values.intervals import Scores
from xgl.random_streams import stream

EXACT = 200_000
"""Largest number of choices that are all enumerated; of more, ``DRAWS`` random ones are used."""
DRAWS = 10_000
LEVEL, POWER = 0.05, 0.8
_TINY = 1e-9


@dataclass(frozen=True)
class ListChoice:
    """Which rows were chosen (n,) bool, and the number of the list of each row (n,).

    A row is a game in a list. If a game may be in several lists, ``games`` (n,) numbers the games
    and ``strata`` (n,) the groups within which games may be exchanged; each game is in one group.
    """

    is_chosen: NDArray[np.bool_]
    lists: NDArray[np.int64]
    games: NDArray[np.int64] | None = None
    strata: NDArray[np.int64] | None = None

    @property
    def repeats(self) -> bool:
        """Whether a game is in several lists."""
        return self.games is not None and len(np.unique(self.games)) < len(self.games)

    @property
    def mixed_lists(self) -> list[NDArray[np.int64]]:
        """The rows of each list that has chosen games and others; other lists have no choice."""
        members = [np.flatnonzero(self.lists == number) for number in np.unique(self.lists)]
        return [games for games in members if 0 < self.is_chosen[games].sum() < len(games)]

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Number of games and of chosen games of each mixed list."""
        return [(len(games), int(self.is_chosen[games].sum())) for games in self.mixed_lists]


def differences(values: Scores, choice: ListChoice) -> Scores:
    """Mean value of chosen games minus that of the others of their list, averaged over lists with
    the weights k(n − k)/n for k chosen among n, which minimise its variance.

    ``values`` (n, B) → (B,); NaN if no list has both. A constant added to all games of a list
    changes nothing.
    """
    total = _total_weight(choice)
    return np.asarray(_weights(choice) @ values / (total if total else np.nan))


def _weights(choice: ListChoice) -> Scores:
    """Weight of each row (n,) in the sum that, divided by :func:`_total_weight`, is the difference:
    1 − k/n for chosen rows and −k/n for the others of a mixed list, 0 elsewhere."""
    weights = np.zeros(len(choice.lists))
    for games in choice.mixed_lists:
        is_chosen = choice.is_chosen[games]
        weights[games] = is_chosen - is_chosen.mean()
    return weights


def _total_weight(choice: ListChoice) -> float:
    return sum(k * (n - k) / n for n, k in choice.sizes)


def weighted_means(values: Scores, choice: ListChoice) -> tuple[float, float]:
    """Mean ``values`` (n,) of the chosen games of a list, and of its others, averaged over lists
    with the weights of :func:`differences`; their difference is its result."""
    lists = choice.mixed_lists
    weights = [k * (n - k) / n for n, k in choice.sizes]
    yes = [float(values[games[choice.is_chosen[games]]].mean()) for games in lists]
    no = [float(values[games[~choice.is_chosen[games]]].mean()) for games in lists]
    return float(np.average(yes, weights=weights)), float(np.average(no, weights=weights))


@dataclass(frozen=True)
class ChoiceTest:
    """``p_value``: one-sided, the share of ``choices`` whose value is at least that of the observed
    choice. If ``exact``, these are all possible choices, else random ones and the observed one."""

    p_value: float
    choices: int
    exact: bool


def permutation_test(values: Scores, choice: ListChoice, seed: int = 0) -> ChoiceTest:
    """Whether chosen games are worth more than the others of their lists: verdicts are permuted
    within each list. ``values`` (n,). Raises ValueError if no list has both kinds.

    The sum over chosen games orders choices as :func:`differences` and as the plain difference of
    both means do. A game in several lists has one value, and its verdicts are not independent: then
    games are exchanged within their strata, each with all its verdicts.
    """
    parts = [
        (values[games] - values[games].mean(), choice.is_chosen[games])
        for games in choice.mixed_lists
    ]
    if not parts:
        raise ValueError("found no list with chosen games and others, expected one or more")
    if choice.repeats:
        return _games_exchanged(values, choice, seed)
    observed_sum = sum(float(part[is_chosen].sum()) for part, is_chosen in parts)
    number = math.prod(math.comb(n, k) for n, k in choice.sizes)
    if exact := number <= EXACT:
        sums = [_all_sums(part, int(is_chosen.sum())) for part, is_chosen in parts]
    else:
        rng = stream("permutations", seed)
        sums = [
            part[_subsets(rng, len(part), int(is_chosen.sum()), DRAWS)].sum(1)
            for part, is_chosen in parts
        ]
    return _test(_sum_parts(sums, exact), observed_sum, exact)


def _games_exchanged(values: Scores, choice: ListChoice, seed: int) -> ChoiceTest:
    rng, random_sums, observed_sum = stream("exchanged games", seed), np.zeros(DRAWS), 0.0
    for weights, part in _by_stratum(choice, values):
        observed_sum += float(weights @ part)
        random_sums += rng.permuted(np.tile(weights, (DRAWS, 1)), axis=1) @ part
    return _test(random_sums, observed_sum, False)


def _by_stratum(choice: ListChoice, values: Scores) -> list[tuple[Scores, Scores]]:
    """For each stratum the weights of its games in the difference, summed over their mixed lists,
    and their values (games,). Games of other lists are left out."""
    game = _pooled_games(choice)
    weights = np.bincount(game.index, _weights(choice)[game.rows])
    own = values[game.rows[game.first]]
    return [
        (weights[game.strata == group], own[game.strata == group])
        for group in np.unique(game.strata)
    ]


@dataclass(frozen=True)
class _PooledGames:
    """The different games of the mixed lists. ``rows`` (m,): of these lists; ``index`` (m,): the
    game of each; ``first`` (games,): the place in ``rows`` where each game is first; ``strata``
    (games,): of each game."""

    rows: NDArray[np.int64]
    index: NDArray[np.int64]
    first: NDArray[np.int64]
    strata: NDArray[np.int64]


def _pooled_games(choice: ListChoice) -> _PooledGames:
    rows = np.concatenate(choice.mixed_lists)
    numbers = np.arange(len(choice.lists)) if choice.games is None else choice.games
    _, first, index = np.unique(numbers[rows], return_index=True, return_inverse=True)
    strata = choice.lists if choice.strata is None or not choice.repeats else choice.strata
    return _PooledGames(rows, index, first, strata[rows][first])


def standard_error(choice: ListChoice) -> float:
    """Standard error of the difference, in standard deviations within lists and verdicts."""
    parts = _by_stratum(choice, np.zeros(len(choice.lists)))
    square = sum(float(((weights - weights.mean()) ** 2).sum()) for weights, _ in parts)
    return math.sqrt(square) / _total_weight(choice)


def _all_sums(values: Scores, size: int) -> Scores:
    subsets = np.array(list(combinations(range(len(values)), size)))
    return np.asarray(values[subsets].sum(1))


def _subsets(rng: np.random.Generator, n: int, k: int, draws: int) -> NDArray[np.int64]:
    """Random subsets of size k of range(n), (draws, k)."""
    return np.argsort(rng.random((draws, n)), axis=1)[:, :k]


def _sum_parts(parts: Sequence[Scores], exact: bool) -> Scores:
    """Sums of independent parts: all combinations if ``exact``, else draw by draw."""
    total = parts[0]
    for part in parts[1:]:
        total = np.add.outer(total, part).ravel() if exact else total + part
    return total


def _test(random_sums: Scores, observed_sum: float, exact: bool) -> ChoiceTest:
    tolerance = _TINY * (1 + abs(observed_sum))
    hits = int((random_sums >= observed_sum - tolerance).sum())
    if exact:
        return ChoiceTest(hits / len(random_sums), len(random_sums), True)
    return ChoiceTest((1 + hits) / (1 + len(random_sums)), len(random_sums), False)


# -- coverage --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CoverageTest:
    """Coverage by the chosen games, mean over pools. ``expected``, and the middle 95 % from ``low``
    to ``high``: coverage by the same number of random games of each pool."""

    observed: float
    expected: float
    low: float
    high: float
    test: ChoiceTest


def coverage(shares: Scores) -> float:
    """Coverage by a set of games: the mean over programs of the largest of ``shares`` (games,
    programs)."""
    return float(shares.max(0).mean())


def coverage_test(shares: Scores, choice: ListChoice, seed: int = 0) -> CoverageTest:
    """Whether chosen games cover programs better than random subsets of the pools that they were
    chosen from (the lists of ``choice``). ``shares`` (n, programs): captured values. Raises
    ValueError if no pool has both kinds.

    If a game is in several pools, games are exchanged as in :func:`permutation_test`.
    """
    pools = choice.mixed_lists
    if not pools:
        raise ValueError("found no pool with chosen games and others, expected one or more")
    observed_coverage = float(
        np.mean([coverage(shares[games[choice.is_chosen[games]]]) for games in pools])
    )
    exact = not choice.repeats and math.prod(math.comb(*size) for size in choice.sizes) <= EXACT
    if choice.repeats:
        random = _coverages_exchanged(shares, choice, seed)
    else:
        random = _coverages_of_subsets(shares, choice, exact, seed)
    low, high = np.quantile(random, (0.025, 0.975))
    test = _test(random, observed_coverage, exact)
    return CoverageTest(observed_coverage, float(random.mean()), float(low), float(high), test)


def _coverages_of_subsets(shares: Scores, choice: ListChoice, exact: bool, seed: int) -> Scores:
    """Mean coverage over pools of subsets drawn from each by itself; of all if ``exact``."""
    rng, parts = stream("subsets", seed), []
    for games, (n, k) in zip(choice.mixed_lists, choice.sizes, strict=True):
        subsets = np.array(list(combinations(range(n), k))) if exact else _subsets(rng, n, k, DRAWS)
        parts.append(shares[games][subsets].max(1).mean(1) / len(choice.sizes))
    return _sum_parts(parts, exact)


def _coverages_exchanged(shares: Scores, choice: ListChoice, seed: int) -> Scores:
    """Mean coverage over pools where the games of each stratum have exchanged their ``shares``, and
    each place has kept all its verdicts (DRAWS,)."""
    pools, rng = choice.mixed_lists, stream("exchanged subsets", seed)
    game = _pooled_games(choice)
    own = shares[game.rows[game.first]]
    order = np.tile(np.arange(len(own)), (DRAWS, 1))
    for group in np.unique(game.strata):
        places = np.flatnonzero(game.strata == group)
        order[:, places] = rng.permuted(order[:, places], axis=1)
    place = np.zeros(len(choice.lists), np.int64)
    place[game.rows] = game.index
    chosen_places = [place[games[choice.is_chosen[games]]] for games in pools]
    coverages = [own[order[:, places]].max(1).mean(1) for places in chosen_places]
    return np.asarray(np.mean(coverages, axis=0))


# -- power -----------------------------------------------------------------------------------------


def detection_thresholds(
    sizes: Sequence[tuple[int, int]], trials: int = 2000, draws: int = 2000, seed: int = 0
) -> Scores:
    """Smallest difference that :func:`permutation_test` detects at 5 %, in each of ``trials``
    simulated data sets (trials,): lists of ``sizes`` (games, chosen), normal values with standard
    deviation 1 within lists.

    For each permutation there is a difference from which on its sum is below the observed one, so
    one draw of noise serves all differences: the power at a difference is the share of trials whose
    result lies below it.
    """
    rng = stream("power", seed)
    labels = np.concatenate([_labels(rng, n, k, draws) for n, k in sizes], axis=1)
    own = np.concatenate([np.arange(n) < k for n, k in sizes]).astype(float)
    noise = rng.normal(size=(len(own), trials))
    missing_count = own.sum() - labels @ own
    same = missing_count == 0
    may_reach = math.floor(LEVEL * (draws + 1)) - 1 - int(same.sum())
    if may_reach < 0:
        return np.full(trials, math.inf)
    ahead = ((labels @ noise - own @ noise)[~same]) / missing_count[~same, None]
    return np.asarray(-np.sort(-ahead, axis=0)[may_reach])


def _labels(rng: np.random.Generator, n: int, k: int, draws: int) -> Scores:
    """Random choices of k of n games (draws, n): 1 for chosen games, else 0."""
    labels = np.zeros((draws, n))
    np.put_along_axis(labels, _subsets(rng, n, k, draws), 1.0, axis=1)
    return labels


@cache
def detectable(
    sizes: tuple[tuple[int, int], ...], power: float = POWER, trials: int = 2000, seed: int = 0
) -> float:
    """The difference, in standard deviations within lists, that is detected at 5 % with this power;
    infinite if there are too few choices."""
    return float(
        np.quantile(detection_thresholds(sizes, trials, seed=seed), power, method="higher")
    )


def detectable_by(choice: ListChoice) -> float:
    """:func:`detectable` for a given choice; by the normal approximation if a game is in several
    lists."""
    if not choice.repeats:
        return detectable(tuple(choice.sizes))
    reach = float(stats.norm.ppf(1 - LEVEL) + stats.norm.ppf(POWER))
    return reach * standard_error(choice)
