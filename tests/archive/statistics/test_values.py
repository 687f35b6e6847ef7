"""Gains pair plays of the same seeds; C, V and the specific share by hand."""

from __future__ import annotations

import numpy as np
import pytest

from archive.plays import Plays
from archive.schema import GainKind
from archive.statistics.intervals import (
    CrossGains,
    gains,
    transfer_values,
)


def sample(own: list[float], permuted_scores: list[float]) -> Plays:
    seeds = np.array([(index, index) for index in range(len(own))])
    return Plays(seeds, np.array(own), np.array(permuted_scores))


def test_gains_pair_seeds() -> None:
    base, policy = sample([1, 2], [0, 0]), sample([3, 5], [1, 1])
    assert gains(policy, base).tolist() == [2, 3]
    assert gains(policy, base, GainKind.SPECIFIC).tolist() == [1, 2]
    with pytest.raises(ValueError, match="of different ones"):
        gains(policy, Plays(np.array([(7, 7), (8, 8)]), base.own, base.permuted_scores))


def test_values_of_both_definitions() -> None:
    cross = np.array([1.0, 1.1, 0.9, 1.0])
    values = transfer_values(cross, 2 * cross, 4 * cross, 0.9)
    assert values.captured.value == pytest.approx(0.5)
    assert values.def37.value == pytest.approx(0.25)
    assert not transfer_values(cross, cross, None, 0.9).def37.defined


def samples_around(rng: np.random.Generator, *means: float) -> list[np.ndarray]:
    return [mean + rng.normal(0, 1.0, 192) for mean in means]


@pytest.mark.parametrize("share", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("other", [0.5, 1.0])
def test_what_scales_a_fine_tune_cancels_in_the_cross_ratio(share: float, other: float) -> None:
    """A copy has 1 however badly either fine-tune was trained."""
    rng = np.random.default_rng(1)
    there, there_own, back, back_own = samples_around(
        rng, 9 * other, 9 * share, 9 * share, 9 * other
    )
    ratio = CrossGains(there, there_own, back, back_own).ratio(0.99)
    assert ratio.low <= 1 <= ratio.high
    assert ratio.value == pytest.approx(1, abs=0.2)


def test_the_cross_ratio_is_the_product_of_both_values_by_either_definition() -> None:
    there, there_own, back, back_own = samples_around(np.random.default_rng(2), 4.0, 8.0, 3.0, 9.0)
    ratio = CrossGains(there, there_own, back, back_own).ratio(0.95)
    value_there = transfer_values(there, there_own, None, 0.95).captured.value
    value_back = transfer_values(back, back_own, None, 0.95).captured.value
    assert value_there is not None
    assert value_back is not None
    assert ratio.value == pytest.approx(value_there * value_back)


def test_over_training_seeds_the_cross_ratio_is_wider() -> None:
    rng = np.random.default_rng(3)
    samples = samples_around(rng, 8.0, 9.0, 8.0, 9.0)
    seed_samples = [np.stack([one + shift for shift in rng.normal(0, 2, 3)]) for one in samples]
    narrow, wide = CrossGains(*samples).ratio(0.95), CrossGains(*seed_samples).ratio(0.95)
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)


@pytest.mark.parametrize("own", [-5.0, 0.0])
def test_without_an_own_gain_there_is_no_cross_ratio(own: float) -> None:
    there, there_own, back, back_own = samples_around(np.random.default_rng(4), 4.0, own, 3.0, own)
    assert not CrossGains(there, there_own, back, back_own).ratio(0.95).defined


def test_two_games_that_harm_each_other_share_nothing() -> None:
    samples = samples_around(np.random.default_rng(5), -4.0, 9.0, -4.0, 9.0)
    ratio = CrossGains(*samples).ratio(0.95)
    assert ratio.value is not None
    assert ratio.value < 0
