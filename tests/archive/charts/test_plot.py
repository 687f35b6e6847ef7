"""Scales, ticks, stairs and running means."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.charts.plot import LinearScale, Plot, running_mean


@given(
    st.floats(-1e4, 1e4),
    st.floats(1e-3, 1e4),
    st.integers(2, 8),
)
def test_ticks_are_even_and_within_the_scale(low: float, span: float, count: int) -> None:
    scale = LinearScale(low, low + span, 0, 100)
    ticks = scale.ticks(count)
    assert all(low - 1e-6 * span <= tick <= low + span + 1e-6 * span for tick in ticks)
    steps = {round((b - a) / span, 6) for a, b in pairwise(ticks)}
    assert len(steps) <= 1
    assert len(ticks) <= count + 1


def test_values_beyond_a_scale_stand_at_its_edge() -> None:
    assert LinearScale(0, 1, 10, 20)(7) == 20
    assert LinearScale(0, 1, 10, 20)(-7) == 10
    assert LinearScale(3, 3, 10, 20)(3) == 15


def test_a_running_mean_of_a_constant_is_the_constant() -> None:
    assert running_mean(np.full(9, 2.5), 4) == pytest.approx(np.full(9, 2.5))
    assert running_mean([3.0], 9) == pytest.approx([3.0])
    assert running_mean([0.0, 3.0, 0.0], 9) == pytest.approx([1.0, 1.0, 1.0])
    straight = np.arange(30.0)
    assert running_mean(straight, 9)[4:-4] == pytest.approx(straight[4:-4])
    assert running_mean(straight, 9)[0] == pytest.approx(2.0)


def test_stairs_keep_the_later_value_between_two_places() -> None:
    plot = Plot.box((0, 0), (10, 10), (0, 1), (0, 10))
    assert plot.stairs([(0.0, 1.0), (0.5, 1.0), (1.0, 4.0)]) == [
        (0, 9),
        (0, 9),
        (5, 9),
        (5, 6),
        (10, 6),
    ]
