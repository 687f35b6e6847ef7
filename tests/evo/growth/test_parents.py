"""Thompson sampling of parents."""

from __future__ import annotations

from collections import Counter

import pytest

from evo.growth.open_ended import ParentTally, draw_parent, posterior


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
