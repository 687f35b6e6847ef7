"""Covers against brute force, on examples by hand and under renaming."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st

from archive import CoverError
from archive.statistics.covers import (
    best_cover,
    discriminating_games,
    largest_eta,
    missing_for_fewer,
    transfer_cover,
)

NAN = math.nan


def brute_force(values: np.ndarray, eta: float) -> tuple[tuple[int, ...], float]:
    """The optimal cover by looking at all: fewest, then largest Δ."""
    known_values = np.where(np.isnan(values), -math.inf, values)
    for size in range(1, len(values) + 1):
        deltas = {
            family: float(known_values[list(family)].max(axis=0).min())
            for family in combinations(range(len(values)), size)
        }
        best = max(deltas.values())
        if best >= eta:
            return next(family for family, delta in deltas.items() if delta == best), best
    return (), -math.inf


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    """Up to 12 games; coarse values make ties, and some are unknown or undefined."""
    games = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    steps = draw(st.sampled_from([2, 4, 10, 1000]))
    extra = draw(st.integers(0, 12 - games))
    values = rng.integers(-1, steps + 1, (games + extra, games)) / steps
    unknown = draw(st.sampled_from([0.0, 0.2, 0.6]))
    values[rng.random(values.shape) < unknown] = NAN
    values[rng.random(values.shape) < unknown / 4] = -math.inf
    values[np.arange(games), np.arange(games)] = 1.0
    return values


@settings(max_examples=25)
@given(values=matrices(), eta=st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
def test_the_cover_is_the_one_of_brute_force_and_bounds_of_a_greedy_one_hold(
    values: np.ndarray, eta: float
) -> None:
    members, delta = brute_force(values, eta)
    cover = best_cover(values, eta)
    assert (len(cover.members), cover.delta) == (len(members), delta)
    assert transfer_cover(values, cover.members) == delta
    assert cover.exact
    assert (cover.least, cover.delta_bound) == (len(members), delta)
    greedy = best_cover(values, eta, exact_up_to=0)
    assert transfer_cover(values, greedy.members) == greedy.delta >= eta
    assert greedy.least <= len(members) <= len(greedy.members)
    assert greedy.gap == len(greedy.members) - greedy.least
    best = max(
        transfer_cover(values, family)
        for family in combinations(range(len(values)), len(greedy.members))
    )
    assert greedy.delta <= best <= greedy.delta_bound
    assert delta <= greedy.delta_bound


@settings(max_examples=25)
@given(values=matrices(), eta=st.sampled_from([0.3, 0.8]))
def test_missing_values_are_named_if_and_only_if_they_could_make_it_smaller(
    values: np.ndarray, eta: float
) -> None:
    games = len(best_cover(values, eta).members)
    pairs = missing_for_fewer(values, eta, games)
    best_case = np.where(np.isnan(values), math.inf, values)
    assert bool(pairs) == (len(best_cover(best_case, eta).members) < games)
    for pair in pairs:
        assert np.isnan(values[pair])
        values[pair] = 1.0
    assert not pairs or len(best_cover(values, eta).members) < games


def test_an_eta_out_of_reach_names_the_largest_that_works() -> None:
    values = np.array([[0.9, 0.45678], [0.2, 0.3]])
    for eta in (0.5, math.nan):
        with pytest.raises(CoverError, match=rf"found η {eta}, expected at most 0\.4567:"):
            best_cover(values, eta)
    assert best_cover(values, 0.4567).members == (0,)
    assert largest_eta(values) == 0.45678


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.3, 1.0]))
@example(332, 0.3)  # two games have an error of 0.3 but for rounding
@example(226284, 1.0)
def test_no_smaller_subset_keeps_the_measure(seed: int, tolerance: float) -> None:
    scores = np.random.default_rng(seed).normal(size=(3, 5)).round()  # some of them alike
    whole = scores.mean(axis=1)
    above, spread = whole[:, None] > whole[None], np.ptp(whole)
    assume(spread > 0)
    found, *_ = discriminating_games(scores, tolerance)

    def keeps(members: tuple[int, ...]) -> bool:
        part = scores[:, list(members)].mean(axis=1)
        error = np.abs(part - whole).max() / spread
        return bool((part[:, None] > part[None])[above].all() and error <= tolerance + 1e-12)

    assert keeps(found)
    smaller = (each for n in range(1, len(found)) for each in combinations(range(5), n))
    assert not any(map(keeps, smaller))
    with pytest.raises(ValueError, match="no two models"):  # equal but for rounding
        discriminating_games(np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]), tolerance)


DOCS = Path(__file__).parents[3] / "docs" / "explanation" / "covers.md"


def test_the_example_is_true() -> None:
    lines = [line for line in DOCS.read_text().splitlines() if line.startswith("| **")]
    cells = [line.replace("?", "nan").strip("|").split("|")[1:] for line in lines]
    values = np.array(cells, float)
    cover = best_cover(values, 0.5)
    assert (cover.members, cover.delta) == ((0, 2), 0.6)
    assert transfer_cover(values, (0, 3)) == 0.5
    assert best_cover(values, 0.65).members == (0, 1, 2)
    assert largest_eta(values) == 1
    assert best_cover(values, 1.0).members == (0, 1, 2, 3)
