"""What accepted and refused candidates teach held-out programs (benchmarks/held_out.py): values and
tests on numbers made up here, candidates of a growth in a small world."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from held_out import captured, compare, counts, playable_candidates, read_growths
from support.search import Listed, Nature, Search, code, of_limits

import evo
from evo.jobs.evaluation import Task
from xgl.errors import ConfigError


def test_the_p_value_is_the_share_of_choices_that_are_at_least_as_good() -> None:
    """Two lists, all choices of as many games of each enumerated."""
    values = np.array([3.0, 1.0, 0.0, 2.0, 5.0, 4.0, 4.5])
    accepted = np.array([True, False, False, False, True, False, True])
    lists = np.array([0, 0, 0, 0, 1, 1, 1])
    sums = [
        values[first] + values[list(second)].sum()
        for first in range(4)
        for second in combinations((4, 5, 6), 2)
    ]
    observed = values[accepted].sum()
    result = compare(values, accepted, lists, 200_000)
    share = np.mean([each >= observed - 1e-9 for each in sums])
    assert result.p_value == pytest.approx(share, abs=0.005)
    assert result.lists == 2
    assert result.accepted - result.refused == pytest.approx((0.75 * 2 + 2 / 3 * 0.75) / (17 / 12))


def test_a_list_of_one_kind_says_nothing() -> None:
    values, accepted = np.array([3.0, 1.0, 90.0, 80.0]), np.array([True, False, True, True])
    assert compare(values, accepted, np.array([0, 0, 1, 1])).accepted == 3.0
    with pytest.raises(ValueError, match="found no list"):
        compare(values, accepted, np.array([0, 1, 2, 2]))


def test_a_constant_added_to_a_list_changes_no_difference() -> None:
    rng = np.random.default_rng(0)
    values, accepted, lists = rng.normal(size=12), rng.random(12) < 0.4, np.repeat([0, 1], 6)
    one, other = (compare(each, accepted, lists) for each in (values, values + 9.0 * lists))
    assert other.p_value == one.p_value
    assert other.accepted - other.refused == pytest.approx(one.accepted - one.refused)


def test_captured_gains_are_paid_and_about_the_map() -> None:
    gains, own = np.array([[[4.0, 1.0]], [[-2.0, 6.0]]]), np.array([[8.0, 2.0]])
    assert captured(gains, own).tolist() == [[0.5], [-1.0]]


def test_a_program_counts_by_both_gains_and_by_what_is_about_the_map() -> None:
    rng = np.random.default_rng(0)
    good = 5.0 + rng.normal(size=(3, 200, 2))
    nothing_about_the_map = good * [1.0, 0.0]
    assert counts(good, good)
    assert not counts(good * [1.0, 0.1] - [0.0, 0.5], good)
    assert not counts(good, nothing_about_the_map)


def test_candidates_are_those_that_were_surely_learned(tmp_path: Path) -> None:
    search = Search(tmp_path)
    world = of_limits(l7=Nature(covered=0.1), l6=Nature(covered=0.95), l5=Nature(own=0.0))
    ends = ("growth.list_size=3", "growth.max_candidates=3", "growth.examined_share=1.0")
    assert search.run(world, *ends, sampler=Listed([code(7), code(6), code(5)])) == 0
    folder = str(tmp_path / "run")
    candidates = playable_candidates(evo.Run.open(folder, backend="pyarrow"))
    verdicts = {each.task.game.code: each.accepted for each in candidates}
    assert verdicts == {code(7).strip(): True, code(6).strip(): False}
    assert len(read_growths([folder, folder], [])) == 2, "each game once"
    [met, *_] = read_growths([folder], [])
    with pytest.raises(ConfigError, match="found a program that it met"):
        read_growths([folder], [Task(met.task.game, "black")])
