"""Rank agreement of two families: against SciPy, under ties, and its interval and null."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from archive.statistics.rank_agreement import rank_agreement, spearman


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=9))
def test_rho_is_scipys_ties_included(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, float).T
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(spearman(x, y))
    else:
        assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic)


def families(models: int, games: int, seed: int, skill_weight: float) -> tuple[np.ndarray, ...]:
    """Scores of one family and wins of 30 plays of the other, with a skill in common."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(size=models)
    scores = skill_weight * skill[:, None] + rng.normal(size=(models, games))
    logits = skill_weight * skill[:, None] + rng.normal(size=(models, games))
    wins = rng.binomial(30, 1 / (1 + np.exp(-logits)))
    return scores, wins, np.full_like(wins, 30)


def test_the_same_skill_is_seen_and_none_is_not() -> None:
    same = rank_agreement(*families(7, 12, 0, 3.0))
    assert same.rho > 0.8
    assert same.low > 0.3
    assert same.p_value < 0.05
    p_values = [rank_agreement(*families(5, 6, seed, 0.0)).p_value for seed in range(8)]
    assert sum(p < 0.05 for p in p_values) <= 2


def test_four_models_in_the_same_order_prove_little() -> None:
    scores = np.arange(4.0)[:, None].repeat(3, 1)
    wins = np.arange(4)[:, None].repeat(3, 1) * 10
    agreement = rank_agreement(scores, wins, np.full_like(wins, 30))
    assert agreement.rho == pytest.approx(1)
    assert agreement.p_value == pytest.approx(2 / 24)


def test_one_family_without_an_order_gives_no_number() -> None:
    wins = np.zeros((3, 2), int)
    agreement = rank_agreement(np.arange(6.0).reshape(3, 2), wins, np.full_like(wins, 5))
    assert math.isnan(agreement.rho)
    assert agreement.undefined_share == 1


def test_two_models_have_no_rank_correlation() -> None:
    wins = np.zeros((2, 2), int)
    with pytest.raises(ValueError, match="found 2 models"):
        rank_agreement(np.zeros((2, 2)), wins, wins + 1)
