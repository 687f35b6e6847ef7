"""The best known scores of maps, and how far players are from them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from archive.statistics.measure import best_known, ceiling_gap

BITS = st.floats(-100, 100, allow_nan=False)


def play(policy: str, map_seed: int, score: float, outcome: str = "finished") -> dict[str, Any]:
    return {
        "policy_id": policy,
        "map_seed": map_seed,
        "play_seed": 0,
        "score": score,
        "moves": [policy],
        "outcome": outcome,
    }


def test_the_best_of_solvers_and_finished_plays_counts() -> None:
    ceilings = [{**play("", 1, 3.0), "solver": "beam"}, {**play("", 1, 5.0), "solver": "gradient"}]
    plays = [play("base", 1, 4.0), play("base", 2, 4.0), play("ft", 2, 9.0, "forfeit")]
    best = best_known(ceilings, plays)
    assert {key: (each.score, each.found_by) for key, each in best.items()} == {
        (1, 0): (5.0, "gradient"),
        (2, 0): (4.0, "base"),
    }
    again = best_known(ceilings, [play("someone", 1, 6.0)])
    assert again[1, 0].found_by == "someone", "who plays better raises the ceiling"


def test_shares_are_of_the_way_from_the_base() -> None:
    best = np.array([10.0, 20.0])
    assert ceiling_gap(np.array([2.0, 4.0]), best, 3.0, 0.9).share.value == 0.0
    half = ceiling_gap(np.array([6.5, 11.5]), best, 3.0, 0.9)
    assert half.share.value == pytest.approx(0.5)
    assert half.bits.value == pytest.approx(6.0)
    assert half.best == 15.0
    assert ceiling_gap(best, best, 3.0, 0.9).share.value == 1.0
    assert ceiling_gap(best, best, 15.0, 0.9).share.value is None, "there is no way"


@given(st.lists(st.tuples(BITS, BITS), min_size=2, max_size=12), BITS)
@example([(0.0, 1.0), (2.2250738585e-313, -1.0)], 0.0)
def test_bounds_hold_the_share_wherever_it_is_defined(
    pairs: list[tuple[float, float]], b: float
) -> None:
    scores = np.array([min(pair) for pair in pairs])
    best = np.array([max(pair) for pair in pairs])
    gap = ceiling_gap(scores, best, b, 0.95)
    assert gap.bits.value is not None
    assert gap.bits.value >= 0
    if gap.share.value is not None:
        assert gap.share.value <= 1 + 1e-9
        assert gap.share.low <= gap.share.high or math.isinf(gap.share.low)


def test_scores_and_ceilings_are_of_the_same_maps() -> None:
    with pytest.raises(ValueError, match="maps"):
        ceiling_gap(np.zeros(2), np.zeros(3), 0.0, 0.95)
