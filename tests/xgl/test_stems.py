"""The plan of common beginnings: exact cover, and never dearer than the best of all cuts."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from xgl.lm.prefix_plan import WORTH, plan

Ids = tuple[int, ...]

PROMPTS = st.lists(
    st.lists(st.integers(0, 2), min_size=2, max_size=7).map(tuple),
    min_size=1,
    max_size=6,
    unique=True,
)


def common(run: list[Ids]) -> int:
    """Tokens that all of a run share, short of the whole of any."""
    length = min(len(prompt) for prompt in run) - 1
    while len({prompt[:length] for prompt in run}) > 1:
        length -= 1
    return length


def most_saved(prompts: list[Ids]) -> int:
    """Over every cut of the sorted prompts into runs, the most tokens that stems save."""
    ordered, best = sorted(prompts), 0
    for count in range(len(ordered)):
        for cuts in combinations(range(1, len(ordered)), count):
            edges = [0, *cuts, len(ordered)]
            runs = [ordered[a:b] for a, b in pairwise(edges)]
            best = max(best, sum((len(run) - 1) * common(run) for run in runs))
    return best


@given(PROMPTS)
def test_stems_begin_their_prompts_and_all_or_none_have_rests(prompts: list[Ids]) -> None:
    stems, owner = plan(prompts)
    rests = []
    for prompt, stem in zip(prompts, owner, strict=True):
        assert prompt[: len(stems[stem])] == stems[stem]
        rests.append(len(prompt) - len(stems[stem]))
    assert all(rests) or not any(rests)
    assert min(map(len, stems)) >= 1
    assert set(owner) == set(range(len(stems)))


@given(PROMPTS)
def test_as_much_is_saved_as_can_be_or_nothing_where_it_is_little(prompts: list[Ids]) -> None:
    stems, owner = plan(prompts)
    total = sum(map(len, prompts))
    lengths = [len(stems[stem]) for stem in owner]
    read = sum(map(len, stems)) + total - sum(lengths)
    saving = most_saved(prompts)
    assert total - read == (saving if saving >= WORTH * total else 0)


def test_two_groups_with_second_turns_have_a_stem_each() -> None:
    one, two = tuple(range(40)), (*range(20), *range(60, 80))
    prompts = [(*one, 1, 2), (*two, 3), (*one, 4), (*two, 5, 6, 7), (*one, 8, 9)]
    stems, owner = plan(prompts)
    assert stems == [one, two]
    assert owner == [0, 1, 0, 1, 0]


def test_a_prompt_of_one_token_is_read_as_it_is() -> None:
    prompts = [(1,), (1, 2), (1, 2, 3)]
    assert plan(prompts) == (prompts, [0, 1, 2])
