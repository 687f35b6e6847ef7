"""Edit distance of trees: against all mappings of small trees, and on programs."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.parents import EVERY

from xgl import Program
from xgl.analysis.tree_distance import (
    Tree,
    bound,
    distance,
    edits,
    nearest,
    tree,
    tree_of,
)

PROGRAMS = [each.program for each in EVERY]
trees = st.recursive(
    st.sampled_from("abc").map(lambda label: (label, ())),
    lambda below: st.tuples(st.sampled_from("abc"), st.lists(below, max_size=3).map(tuple)),
    max_leaves=3,
).filter(lambda shape: size(shape) <= 5)


def size(root: tuple) -> int:  # type: ignore[type-arg]
    return 1 + sum(map(size, root[1]))


def cheapest_mapping(a: Tree, b: Tree) -> int:
    """By definition: the best one-to-one mapping that keeps ancestors and the order of nodes."""

    def above(t: Tree, i: int, j: int) -> bool:
        return t.leftmost[i] <= j < i

    best = len(a) + len(b)
    for k in range(1, min(len(a), len(b)) + 1):
        for first in combinations(range(len(a)), k):
            for second in combinations(range(len(b)), k):
                # both in postorder: only the ancestors are left to compare
                pairs = list(zip(first, second, strict=True))
                if all(above(a, i, u) == above(b, j, v) for i, j in pairs for u, v in pairs):
                    relabels = sum(a.labels[i] != b.labels[j] for i, j in pairs)
                    best = min(best, len(a) + len(b) - 2 * k + relabels)
    return best


@given(trees, trees)
@settings(max_examples=40)
def test_it_is_the_cheapest_mapping(first: tuple, second: tuple) -> None:  # type: ignore[type-arg]
    a, b = tree_of(first), tree_of(second)
    assert edits(a, b) == cheapest_mapping(a, b)


@given(*[st.sampled_from(PROGRAMS)] * 3)
@settings(max_examples=20)
def test_it_is_a_metric_and_bounded_from_below(a: Program, b: Program, c: Program) -> None:
    assert distance(a, b) == distance(b, a)
    assert (distance(a, b) == 0) == (a.instructions == b.instructions)
    assert distance(a, c) <= distance(a, b) + distance(b, c)
    assert bound(tree(a), tree(b)) <= distance(a, b)


def test_nearest_is_the_closest_whatever_the_order() -> None:
    program, *others = [each for each in EVERY if each.dialect == "xent"]
    candidates = [(each.game_id, each.program) for each in others]
    least = min(distance(program.program, each) for _, each in candidates)
    for order in (candidates, candidates[::-1]):
        name, cost = nearest(program.program, order)
        assert cost == least == distance(program.program, dict(candidates)[name])
    assert nearest(program.program, [*candidates, ("itself", program.program)]) == ("itself", 0)
    with pytest.raises(ValueError, match="at least one"):
        nearest(program.program, [])
