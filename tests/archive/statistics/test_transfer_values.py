"""Gains pair plays of the same seeds; C, V and the specific share by hand."""

from __future__ import annotations

import numpy as np
import pytest

from archive.schema import GainKind
from archive.statistics.plays import Plays
from archive.statistics.transfer_values import gains, specific_share, transfer_values


def sample(own: list[float], permuted: list[float]) -> Plays:
    seeds = np.array([(index, index) for index in range(len(own))])
    return Plays(seeds, np.array(own), np.array(permuted))


def test_gains_pair_seeds() -> None:
    base, policy = sample([1, 2], [0, 0]), sample([3, 5], [1, 1])
    assert gains(policy, base).tolist() == [2, 3]
    assert gains(policy, base, GainKind.SPECIFIC).tolist() == [1, 2]
    with pytest.raises(ValueError, match="of different ones"):
        gains(policy, Plays(np.array([(7, 7), (8, 8)]), base.own, base.permuted))


def test_specific_share() -> None:
    base, policy = sample([0, 0], [0, 0]), sample([4, 4], [3, 3])
    assert specific_share([policy], base) == pytest.approx(0.25)
    assert specific_share([base], policy) is None


def test_values_of_both_definitions() -> None:
    cross = np.array([1.0, 1.1, 0.9, 1.0])
    values = transfer_values(cross, 2 * cross, 4 * cross, 0.9)
    assert values.captured.value == pytest.approx(0.5)
    assert values.def37.value == pytest.approx(0.25)
    assert not transfer_values(cross, cross, None, 0.9).def37.defined
