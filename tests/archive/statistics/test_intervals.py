"""Coverage and limits of the intervals, by simulation and by exact cases."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from archive.plays import Plays, on_common_seeds
from archive.schema import GainKind
from archive.statistics import intervals as stat


def paired_sample(
    rng: np.random.Generator, n: int, ratio: float, mean: float
) -> tuple[np.ndarray, ...]:
    noise = rng.normal(size=(2, n))
    denominator = mean + noise[0]
    return ratio * mean + 0.6 * noise[0] + 0.8 * noise[1], denominator


def test_mean_interval_is_students() -> None:
    sample = np.array([1.0, 2.0, 4.0, 7.0])
    low, high = stats.t.interval(0.9, 3, sample.mean(), stats.sem(sample))
    for each in (sample, np.tile(sample[:, None], 5)):  # plays, or training seeds alone
        bounds = stat.mean_interval(each, 0.9)
        assert (bounds.value, bounds.low, bounds.high) == pytest.approx((3.5, low, high))


@given(scale=st.floats(0.01, 100), seed=st.integers(0, 99))
def test_ratios_have_no_unit(scale: float, seed: int) -> None:
    top, bottom = paired_sample(np.random.default_rng(seed), 40, 0.5, 2.0)
    plain, scaled = (stat.ratio_interval(by * top, by * bottom, 0.9) for by in (1, scale))
    assert (scaled.low, scaled.high) == pytest.approx((plain.low, plain.high))


@given(seed=st.integers(0, 999))
def test_of_two_plays_the_ratio_has_bounds_too(seed: int) -> None:
    """Two plays are collinear, up to rounding."""
    top, bottom = np.random.default_rng(seed).normal(9, 0.1, (2, 2))
    bounds = stat.ratio_interval(top, bottom, 0.9)
    assert bounds.value is None or bounds.low <= bounds.value <= bounds.high


def crossed_gains(rng: np.random.Generator, seeds: int, plays: int, mean: float) -> np.ndarray:
    """Gains (seeds, plays) that depend on the training seed, on the map, and on chance."""
    training, maps = rng.normal(0, 1, (seeds, 1)), rng.normal(0, 2, (1, plays))
    return mean + training + maps + rng.normal(0, 3, (seeds, plays))


def paired(rng: np.random.Generator) -> stat.Interval:
    return stat.ratio_interval(*paired_sample(rng, 60, 0.7, 1.5), 0.95)


def unpaired(rng: np.random.Generator) -> stat.Interval:
    return stat.ratio_interval(rng.normal(1.4, 1, 80), rng.normal(2, 1, 50), 0.95, paired=False)


def over_seeds(rng: np.random.Generator) -> stat.Interval:
    own, cross = crossed_gains(rng, 4, 64, 10.0), crossed_gains(rng, 4, 64, 7.0)
    return stat.ratio_interval(cross, own, 0.95)


@pytest.mark.parametrize("draw", [paired, unpaired, over_seeds])
def test_fieller_covers_as_often_as_it_says(draw: Callable[..., stat.Interval]) -> None:
    rng = np.random.default_rng(0)
    share = np.mean([_holds(draw(rng), 0.7) for _ in range(1000)])
    assert 0.93 <= share <= (1 if draw is over_seeds else 0.97)


@pytest.mark.parametrize("seeds", [2, 3, 6])
def test_over_training_seeds_intervals_cover_what_other_seeds_would_give(seeds: int) -> None:
    rng = np.random.default_rng(seeds)
    several, one, wrong = [], [], []
    for _ in range(1000):
        sample = crossed_gains(rng, seeds, 64, 5.0)
        several.append(_holds(stat.mean_interval(sample, 0.95), 5.0))
        wrong.append(stat.mean_interval(sample, 0.99).low > 5.0)
        one.append(_holds(stat.mean_interval(sample[0], 0.95), 5.0))
    assert np.mean(several) >= 0.93
    assert np.mean(wrong) < 0.012, "a few seeds that are alike by chance are no proof"
    assert np.mean(one) < 0.8, "one training seed cannot speak of others"


@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(2, 40))
def test_no_interval_over_training_seeds_is_a_point(seed: int, seeds: int, plays: int) -> None:
    rng = np.random.default_rng(seed)
    own, cross = crossed_gains(rng, seeds, plays, 20.0), crossed_gains(rng, seeds, plays, 14.0)
    bounds = stat.ratio_interval(cross + rng.normal(0, 3, plays), own, 0.95)
    assert bounds.value is None or bounds.low < bounds.value < bounds.high


def _holds(interval: stat.Interval, truth: float) -> bool:
    return interval.low <= truth <= interval.high


def test_a_gain_just_clear_is_bounded_over_itself() -> None:
    sample = np.random.default_rng(5).normal(0.0, 1.0, (3, 200))
    error = stat.mean_interval(sample, 0.95)
    sample += 1.5 * (error.high - error.low) / 2 - sample.mean()
    assert stat.mean_interval(sample, 0.95).low > 0
    bounds = stat.ratio_interval(sample, sample, 0.95)
    assert bounds.value == pytest.approx(1.0)
    assert -math.inf < bounds.low <= 1 + 1e-9
    assert math.inf > bounds.high >= 1 - 1e-9


def sample(own: list[float], permuted_scores: list[float]) -> Plays:
    seeds = np.array([(index, index) for index in range(len(own))])
    return Plays(seeds, np.array(own), np.array(permuted_scores))


def test_gains_pair_seeds() -> None:
    base, policy = sample([1, 2], [0, 0]), sample([3, 5], [1, 1])
    assert stat.gains(policy, base).tolist() == [2, 3]
    assert stat.gains(policy, base, GainKind.SPECIFIC).tolist() == [1, 2]
    with pytest.raises(ValueError, match="of different ones"):
        stat.gains(policy, Plays(np.array([(7, 7), (8, 8)]), base.own, base.permuted_scores))
    short, nothing = policy.at(slice(1)), policy.at(slice(0))
    assert [each.own.tolist() for each in on_common_seeds([base, short])] == [[1], [3]]
    assert [each.own.tolist() for each in on_common_seeds([base, nothing])] == [[], []]


def samples_around(seed: int, *means: float) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [mean + rng.normal(0, 1.0, 192) for mean in means]


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("other", [0.5, 1.0])
def test_what_scales_a_fine_tune_cancels_in_the_cross_ratio(share: float, other: float) -> None:
    """A copy has 1 however badly either fine-tune was trained."""
    ratio = stat.cross_ratio(samples_around(1, 9 * other, 9 * share, 9 * share, 9 * other), 0.99)
    assert ratio.low <= 1 <= ratio.high
    assert ratio.value == pytest.approx(1, abs=0.2)


def test_the_cross_ratio_is_the_product_of_both_values_by_either_definition() -> None:
    there, there_own, back, back_own = samples = samples_around(2, 4.0, 8.0, 3.0, 9.0)
    pairs = (there, there_own), (back, back_own)
    one, other = (stat.transfer_values(*pair, None, 0.95).captured.value or 0.0 for pair in pairs)
    assert stat.cross_ratio(samples, 0.95).value == pytest.approx(one * other)
    def37 = stat.transfer_values(there, there_own, back_own[:9], 0.95).def37
    assert def37 == stat.ratio_interval(there, back_own[:9], 0.95, paired=False)
    of_two = stat.ratio_interval(there, np.full(2, 8.0), 0.95, paired=False)
    reach = stats.t.ppf(0.975, 1) * stats.sem(there)
    assert of_two.high - of_two.low == pytest.approx(2 * reach / 8), "Student's of the fewer plays"


@pytest.mark.parametrize(
    ("there", "there_own", "back", "back_own", "value"),
    [
        (5, 10, 10, 10, 0.5),
        (-5, 10, 10, 10, -0.5),
        (-5, 10, -10, 10, -0.5),  # both play the other game worse: no copies
        (5, -10, 10, -10, None),
        (5, 10, 10, 0, None),
    ],
)
def test_the_cross_ratio_has_a_sign_and_needs_two_own_gains(
    there: float, there_own: float, back: float, back_own: float, value: float | None
) -> None:
    means = there, there_own, back, back_own
    assert stat.cross_ratio([np.full(3, float(mean)) for mean in means], 0.95).value == value


def test_a_stricter_bound_is_open_where_the_value_stays_defined() -> None:
    """2 ± 1.69 bits at 90 %, 2 ± 5.73 at 99 %."""
    own = np.array([1.0, 2.0, 3.0])
    assert stat.ratio_interval(own, own, 0.99) == stat.UNDEFINED
    open_bounds = stat.Interval(1.0, -math.inf, math.inf)
    assert stat.ratio_interval(own, own, 0.99, defined_at=0.9) == open_bounds
    assert stat.transfer_values(own, own, own, 0.99, 0.9)[1:] == (open_bounds, open_bounds)
