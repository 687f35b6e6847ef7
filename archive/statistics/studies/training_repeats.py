"""Agreement of candidates' values between training seeds, and their dependence on the gradient
steps that the tokens paid for (docs/held_out.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from archive.statistics.studies.choice_tests import ListChoice
from archive.statistics.studies.rank_agreement import spearman
from archive.statistics.values.intervals import (
    CONFIDENCE,
    Interval,
    Scores,
    bonferroni,
    percentile_bounds,
    two_sided,
)
from xgl.random_streams import stream


@dataclass(frozen=True)
class SeedAgreement:
    """Agreement between training seeds, mean over pairs of them: rank correlation of candidates'
    values, and Cohen's κ of "surely helps a program"; bounds over candidates (percentile
    bootstrap). ``helping``: share of candidates that surely help, under each seed."""

    rank_correlation: Interval
    kappa: Interval
    helping: tuple[float, ...]


@dataclass(frozen=True)
class StepSlope:
    """Least squares within lists of a candidate's value on its gradient steps: value per step, with
    Student's interval over candidates; undefined if steps do not vary. ``fewest`` and ``most``:
    range of the steps."""

    fewest: float
    most: float
    slope: Interval


def seed_agreement(
    values: Scores, helps: NDArray[np.bool_], resamples: int
) -> SeedAgreement | None:
    """Agreement of ``values`` and ``helps`` (training seeds, candidates); None with one training
    seed, or fewer than 3 candidates."""
    if len(values) < 2 or values.shape[1] < 3:
        return None
    rng = stream("held-out agreement")
    candidates = values.shape[1]
    draws = rng.integers(0, candidates, (resamples, candidates))
    everyone = np.arange(candidates)
    ranks = np.array([_over_pairs(values[:, columns], spearman) for columns in (everyone, *draws)])
    kappas = np.array([_over_pairs(helps[:, columns], kappa) for columns in (everyone, *draws)])
    return SeedAgreement(_interval(ranks), _interval(kappas), tuple(map(float, helps.mean(1))))


def _interval(values: Scores) -> Interval:
    """The interval of a value from the value and its draws (1 + B,)."""
    value = None if np.isnan(values[0]) else float(values[0])
    return Interval(value, *percentile_bounds(values[1:], CONFIDENCE))


def surely_helps(gains: Scores) -> NDArray[np.bool_]:
    """Whether each gain has a lower bound above 0 (training seeds, candidates, programs), at 95 %
    for all programs of a candidate together; over maps, given the fine-tune. ``gains`` (training
    seeds, candidates, programs, maps)."""
    maps = gains.shape[-1]
    level = bonferroni(CONFIDENCE, gains.shape[2])
    reach = float(stats.t.ppf(0.5 + two_sided(level) / 2, maps - 1)) / np.sqrt(maps)
    means, spreads = gains.mean(-1), gains.std(-1, ddof=1)
    return np.asarray(means > reach * spreads)


def _over_pairs(rows: NDArray[Any], of: Callable[[NDArray[Any], NDArray[Any]], float]) -> float:
    """Mean of ``of`` over pairs of rows."""
    agreements = [of(rows[one], rows[other]) for one, other in combinations(range(len(rows)), 2)]
    return float(np.mean(agreements))


def kappa(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """Cohen's κ of two yes-or-no ratings (n,) of the same items; NaN if the chance agreement is 1.
    Cohen, J. (1960), Educational and Psychological Measurement 20(1)."""
    agreement = float((one == other).mean())
    p, q = float(one.mean()), float(other.mean())
    chance = p * q + (1 - p) * (1 - q)
    return (agreement - chance) / (1 - chance) if chance < 1 else float("nan")


def step_slope(values: Scores, steps: Scores, choice: ListChoice) -> StepSlope:
    """The slope of ``values`` on ``steps``, both (candidates,), within the lists of ``choice``."""
    lists = [np.flatnonzero(choice.lists == number) for number in np.unique(choice.lists)]
    x, y = (
        np.concatenate([part[games] - part[games].mean() for games in lists])
        for part in (steps, values)
    )
    fewest, most, freedom = float(steps.min()), float(steps.max()), len(x) - len(lists) - 1
    if freedom < 1 or not float(x @ x) > 0:
        return StepSlope(fewest, most, Interval(None, -np.inf, np.inf))
    slope = float(x @ y) / float(x @ x)
    rest = y - slope * x
    error = np.sqrt(float(rest @ rest) / freedom / float(x @ x))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * float(error)
    return StepSlope(fewest, most, Interval(slope, slope - reach, slope + reach))
