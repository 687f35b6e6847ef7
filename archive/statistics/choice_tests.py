"""Is what was chosen worth more than what was passed over? Tests that choose again, at random, as
many games of each list, or of each pool (docs/held_out.md).

What is random in them is the choice alone: games, their values and the lists are as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from archive.statistics.intervals import Scores
from xgl.random_streams import stream

EXACT = 200_000
"""Choices that are all gone through; where there are more, ``DRAWS`` of them are drawn."""
DRAWS = 10_000
LEVEL, POWER = 0.05, 0.8
_TINY = 1e-9


@dataclass(frozen=True)
class Choice:
    """Which rows were chosen (n,) bool, and the number of the list that each was in (n,).

    A row is a game in a list. Where a game may be in several lists, ``games`` (n,) numbers the
    games and ``strata`` (n,) the groups within which games may be exchanged; each game is in one.
    """

    chosen: NDArray[np.bool_]
    lists: NDArray[np.int64]
    games: NDArray[np.int64] | None = None
    strata: NDArray[np.int64] | None = None

    @property
    def repeats(self) -> bool:
        """Whether a game is in several lists."""
        return self.games is not None and len(np.unique(self.games)) < len(self.games)

    @property
    def mixed_lists(self) -> list[NDArray[np.int64]]:
        """The games of each list that holds chosen ones and others: only there is a choice."""
        members = [np.flatnonzero(self.lists == each) for each in np.unique(self.lists)]
        return [games for games in members if 0 < self.chosen[games].sum() < len(games)]

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """(games, chosen ones) of each such list."""
        return [(len(games), int(self.chosen[games].sum())) for games in self.mixed_lists]


def differences(values: Scores, choice: Choice) -> Scores:
    """Mean value of chosen games minus that of the others of their list, averaged over lists with
    the weights k(n − k)/n of k chosen among n, which make its variance the smallest.

    ``values`` (n, B) → (B,); NaN where no list has both. A constant added to all games of a list
    changes nothing.
    """
    total = _total_weight(choice)
    return np.asarray(_weights(choice) @ values / (total if total else np.nan))


def _weights(choice: Choice) -> Scores:
    """(n,): that of each row in the sum that, divided by :func:`_total_weight`, is the difference;
    chosen − k/n in lists that hold both kinds."""
    weights = np.zeros(len(choice.lists))
    for games in choice.mixed_lists:
        chosen = choice.chosen[games]
        weights[games] = chosen - chosen.mean()
    return weights


def _total_weight(choice: Choice) -> float:
    return sum(k * (n - k) / n for n, k in choice.sizes)


def weighted_means(values: Scores, choice: Choice) -> tuple[float, float]:
    """Mean ``values`` (n,) of the chosen games of a list, and of its others, averaged over lists
    with the weights of :func:`differences`, whose difference theirs is."""
    lists = choice.mixed_lists
    weights = [k * (n - k) / n for n, k in choice.sizes]
    yes = [float(values[games[choice.chosen[games]]].mean()) for games in lists]
    no = [float(values[games[~choice.chosen[games]]].mean()) for games in lists]
    return float(np.average(yes, weights=weights)), float(np.average(no, weights=weights))


@dataclass(frozen=True)
class ChoiceTest:
    """``p_value``: one-sided, the share of ``choices`` whose value is at least that of the observed
    choice. If ``exact``, these are all possible choices, else random ones and the observed one."""

    p_value: float
    choices: int
    exact: bool


def permutation_test(values: Scores, choice: Choice, seed: int = 0) -> ChoiceTest:
    """Whether chosen games are worth more than the others of their lists: verdicts are permuted
    within each list. ``values`` (n,). Raises ValueError where no list has both kinds.

    The sum over chosen games orders choices as :func:`differences` does, and as the plain
    difference of both means does. Where a game is in several lists it has one value, and its
    verdicts are not independent: then games are exchanged within their strata, each with all its
    verdicts.
    """
    parts = [
        (values[games] - values[games].mean(), choice.chosen[games]) for games in choice.mixed_lists
    ]
    if not parts:
        raise ValueError("found no list with chosen games and others, expected one or more")
    if choice.repeats:
        return _games_exchanged(values, choice, seed)
    observed = sum(float(part[chosen].sum()) for part, chosen in parts)
    number = math.prod(math.comb(n, k) for n, k in choice.sizes)
    if exact := number <= EXACT:
        sums = [_all_sums(part, int(chosen.sum())) for part, chosen in parts]
    else:
        rng = stream("permutations", seed)
        sums = [
            part[_subsets(rng, len(part), int(chosen.sum()), DRAWS)].sum(1)
            for part, chosen in parts
        ]
    return _test(_added(sums, exact), observed, exact)


def _games_exchanged(values: Scores, choice: Choice, seed: int) -> ChoiceTest:
    rng, drawn, observed = stream("exchanged games", seed), np.zeros(DRAWS), 0.0
    for weights, each in _by_stratum(choice, values):
        observed += float(weights @ each)
        drawn += rng.permuted(np.tile(weights, (DRAWS, 1)), axis=1) @ each
    return _test(drawn, observed, False)


def _by_stratum(choice: Choice, values: Scores) -> list[tuple[Scores, Scores]]:
    """Of each stratum the weights of its games in the difference, over all of their lists, and
    their values (games,); of games in lists that hold both kinds alone."""
    kept = np.concatenate(choice.mixed_lists)
    numbers = np.arange(len(choice.lists)) if choice.games is None else choice.games
    _, first, game = np.unique(numbers[kept], return_index=True, return_inverse=True)
    weights = np.bincount(game, _weights(choice)[kept])
    strata = choice.lists if choice.strata is None or not choice.repeats else choice.strata
    groups, own = strata[kept][first], values[kept][first]
    return [(weights[groups == each], own[groups == each]) for each in np.unique(groups)]


def standard_error(choice: Choice) -> float:
    """Of the difference, in spreads of values within lists and verdicts."""
    parts = _by_stratum(choice, np.zeros(len(choice.lists)))
    square = sum(float(((weights - weights.mean()) ** 2).sum()) for weights, _ in parts)
    return math.sqrt(square) / _total_weight(choice)


def _all_sums(values: Scores, size: int) -> Scores:
    chosen = np.array(list(combinations(range(len(values)), size)))
    return np.asarray(values[chosen].sum(1))


def _subsets(rng: np.random.Generator, n: int, k: int, draws: int) -> NDArray[np.int64]:
    """(draws, k): subsets of n."""
    return np.argsort(rng.random((draws, n)), axis=1)[:, :k]


def _added(parts: Sequence[Scores], exact: bool) -> Scores:
    """Of independent parts: every sum, or draw by draw."""
    total = parts[0]
    for part in parts[1:]:
        total = np.add.outer(total, part).ravel() if exact else total + part
    return total


def _test(drawn: Scores, observed: float, exact: bool) -> ChoiceTest:
    tolerance = _TINY * (1 + abs(observed))
    reached = int((drawn >= observed - tolerance).sum())
    if exact:
        return ChoiceTest(reached / len(drawn), len(drawn), True)
    return ChoiceTest((1 + reached) / (1 + len(drawn)), len(drawn), False)


# -- coverage --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CoverageTest:
    """Coverage by the chosen games, mean over pools, beside ``expected`` (and the middle 95 %,
    ``low`` to ``high``) of as many games of each pool drawn at random."""

    observed: float
    expected: float
    low: float
    high: float
    test: ChoiceTest


def coverage(captured: Scores) -> float:
    """Of a set of games: the mean over programs of the largest value, ``captured`` (games,
    programs)."""
    return float(captured.max(0).mean())


def coverage_test(captured: Scores, choice: Choice, seed: int = 0) -> CoverageTest:
    """Whether chosen games cover programs better than random subsets of the pools that they were
    chosen from (the lists of ``choice``). ``captured`` (n, programs). Raises ValueError where no
    pool has both kinds."""
    pools = choice.mixed_lists
    if not pools:
        raise ValueError("found no pool with chosen games and others, expected one or more")
    observed = float(np.mean([coverage(captured[games[choice.chosen[games]]]) for games in pools]))
    exact = math.prod(math.comb(n, k) for n, k in choice.sizes) <= EXACT
    rng = stream("subsets", seed)
    parts = []
    for games, (n, k) in zip(pools, choice.sizes, strict=True):
        chosen = np.array(list(combinations(range(n), k))) if exact else _subsets(rng, n, k, DRAWS)
        parts.append(captured[games][chosen].max(1).mean(1) / len(pools))
    drawn = _added(parts, exact)
    low, high = np.quantile(drawn, (0.025, 0.975))
    test = _test(drawn, observed, exact)
    return CoverageTest(observed, float(drawn.mean()), float(low), float(high), test)


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
    lacking = own.sum() - labels @ own
    same = lacking == 0
    may_reach = math.floor(LEVEL * (draws + 1)) - 1 - int(same.sum())
    if may_reach < 0:
        return np.full(trials, math.inf)
    ahead = ((labels @ noise - own @ noise)[~same]) / lacking[~same, None]
    return np.asarray(-np.sort(-ahead, axis=0)[may_reach])


def _labels(rng: np.random.Generator, n: int, k: int, draws: int) -> Scores:
    """(draws, n): 1 for chosen games."""
    labels = np.zeros((draws, n))
    np.put_along_axis(labels, _subsets(rng, n, k, draws), 1.0, axis=1)
    return labels


def detectable(
    sizes: Sequence[tuple[int, int]], power: float = POWER, trials: int = 2000, seed: int = 0
) -> float:
    """The difference, in spreads within lists, that is found at 5 % with this power; infinite where
    there are too few choices for any."""
    return float(
        np.quantile(detection_thresholds(sizes, trials, seed=seed), power, method="higher")
    )


def detectable_by(choice: Choice) -> float:
    """The same for a choice that was made; by the normal approximation where a game is in several
    lists."""
    if not choice.repeats:
        return detectable(choice.sizes)
    reach = float(stats.norm.ppf(1 - LEVEL) + stats.norm.ppf(POWER))
    return reach * standard_error(choice)
