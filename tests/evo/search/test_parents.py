"""Thompson sampling of parents."""

from __future__ import annotations

from collections import Counter

import pytest

from evo.search.parents import ParentTally, draw_by_mass, draw_parent, posterior


def test_before_anything_was_judged_every_parent_is_as_likely() -> None:
    counts = Counter(draw_parent("abcd", {}, 0, number) for number in range(2000))
    assert all(count == pytest.approx(500, abs=80) for count in counts.values())


def test_the_parent_that_yielded_more_is_drawn_more_often_and_no_other_dies_out() -> None:
    tallies = {"a": ParentTally(8, 22), "b": ParentTally(0, 22)}
    counts = Counter(draw_parent("abc", tallies, 0, number) for number in range(1000))
    assert counts["a"] > counts["c"] > counts["b"] > 0


def test_a_draw_is_named_by_its_key() -> None:
    names = [draw_parent("abcdefgh", {}, 7, number) for number in range(50)]
    assert names == [draw_parent("abcdefgh", {}, 7, number) for number in range(50)]
    assert names != [draw_parent("abcdefgh", {}, 8, number) for number in range(50)]


def test_the_prior_mean_is_the_rate_of_the_run() -> None:
    for common, mean in ((ParentTally(), 0.1), (ParentTally(45, 90), 0.46)):
        a, b = posterior(ParentTally(), common)
        assert a / (a + b) == pytest.approx(mean)


def test_by_mass_a_parent_is_drawn_in_proportion_with_the_chance_that_was_given() -> None:
    masses = {"a": 0.3, "b": 0.1, "z": 0.6}
    counts = Counter(draw_by_mass("abc", masses, 0.4, 0, number) for number in range(4000))
    assert counts[None] == pytest.approx(2400, abs=120)
    assert counts["a"] == pytest.approx(1200, abs=120)
    assert counts["b"] == pytest.approx(400, abs=80)
    assert counts["c"] == 0, "no mass"


def test_without_any_mass_nothing_is_drawn_by_it() -> None:
    assert draw_by_mass("ab", {}, 1.0, 0) is None
    assert draw_by_mass("ab", {"z": 1.0}, 1.0, 0) is None
