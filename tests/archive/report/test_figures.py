"""What the figures promise: orders, shades, scales, descent."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from archive.report.figures.heat_map import similar_order
from archive.run import names_by_descent
from archive.schema import ScopeRow
from archive.statistics.covers import best_cover, largest_eta, smallest_covers


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


def test_roles_tell_twins_apart() -> None:
    members = [_member("a"), _member("a", role="white")]
    assert names_by_descent(members, ["Duel", "Duel"]) == ["Duel (black)", "Duel (white)"]


@settings(max_examples=30, deadline=None)
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
