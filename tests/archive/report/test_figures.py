"""What the figures promise: orders, shades, scales, descent."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from archive.names import names_by_descent, parents
from archive.report.figures.curves import downsample, learning_curve, spark
from archive.report.figures.growth import growth
from archive.report.figures.heat_map import similar_order, token_shade, value_shade
from archive.report.figures.players import histograms
from archive.report.measures import HistogramScores
from archive.schema import ScopeRow
from archive.statistics.covers import best_cover, largest_eta, smallest_covers
from xgl.diagram.svg import render


def _member(game_id: str, parent: str | None = None, role: str = "black") -> ScopeRow:
    return ScopeRow(game_id, role, parent, None, 0 if parent is None else 1)


def test_families_stand_together() -> None:
    family = np.array([k % 3 for k in range(12)])
    values = np.where(family[:, None] == family[None, :], 0.9, 0.05)
    families = [int(family[place]) for place in similar_order(values)]
    assert sum(a != b for a, b in pairwise(families)) == 2


@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_an_order_names_every_game_once(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0.5, 1.0, (count, count))
    values[rng.random((count, count)) < 0.5] = math.nan
    values[rng.random((count, count)) < 0.1] = -math.inf
    assert sorted(similar_order(values)) == list(range(count))


def test_shades_rise_with_the_value() -> None:
    assert [value_shade(value) for value in (-1.0, -0.01, 0.0, 0.39, 0.95, 7.0)] == [
        "neg",
        "q0",
        "q0",
        "q3",
        "q9",
        "q9",
    ]
    assert [token_shade(bits) for bits in (-6.0, -0.3, 0.0, 0.3, 3.0)] == [
        "l5",
        "l1",
        "",
        "g1",
        "g4",
    ]


def test_a_curve_of_two_steps_is_drawn() -> None:
    svgs = [render(figure([1.0, 3.0])) for figure in (learning_curve, spark)]
    assert all("from 1.0 to 3.0 bits" in each for each in svgs)


def test_a_long_curve_is_thinned_to_means() -> None:
    steps, values = downsample(np.arange(100.0).tolist(), 10)
    assert steps.tolist() == [10 * k + 5.5 for k in range(10)]
    assert values.tolist() == [10 * k + 4.5 for k in range(10)]
    assert learning_curve([1.0]) is None


def test_names_show_descent_and_titles() -> None:
    members = [_member("a"), _member("b"), _member("c", "a"), _member("d", "a"), _member("e", "c")]
    assert parents(members) == [None, None, 0, 0, 2]
    assert names_by_descent(members, ["Rival", "", "Echo", "", ""]) == [
        "Rival",
        "Game A",
        "Rival.1",
        "Rival.2",
        "Rival.1.1",
    ]


def test_a_parent_outside_the_scope_is_no_parent() -> None:
    members = [_member("a", "gone"), _member("b", "b")]
    assert parents(members) == [None, None]
    assert names_by_descent(members, ["", ""]) == ["Game A", "Game B"]


def test_roles_tell_twins_apart() -> None:
    members = [_member("a"), _member("a", role="white")]
    assert names_by_descent(members, ["Duel", "Duel"]) == ["Duel (black)", "Duel (white)"]


def test_the_growth_figure_says_what_it_shows() -> None:
    svg = render(growth([(1, 1), (3, 2)]))
    assert "scope 0, 1 game; scope 1, 3 games" in svg
    assert "Scope 1: 3 games, 2 new" in svg


def test_histograms_count_every_value() -> None:
    svg = render(histograms([HistogramScores("m", (0.1, 0.1, 3.0))], "normalised score"))
    assert "m: 2 games from" in svg
    assert "m: 1 game from" in svg
    assert "median 0.10 [0.10, 3.00]" in svg


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_covers_by_eta_are_the_best_at_each(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random((count, count)).round(1)
    values[rng.random((count, count)) < 0.2] = math.nan
    np.fill_diagonal(values, 1.0)
    etas = [step / 10 for step in range(1, 11)]
    reach = largest_eta(values)
    best = [best_cover(values, eta) if eta <= reach else None for eta in etas]
    for (_, found), cover in zip(smallest_covers(values, etas), best, strict=True):
        assert (found is None) == (cover is None)
        if found is not None and cover is not None:
            parts = (cover.members, cover.delta, cover.least)
            assert (found.members, found.delta, found.least) == parts
