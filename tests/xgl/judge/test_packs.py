"""Packs: every row finds its own tokens on its path, and beginnings stand once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from xgl.judge.prefix_tree import WORTH, Pack, Row, batches, common, packs

Ids = tuple[int, ...]

BEGINNINGS = st.sampled_from([(), (7,) * WORTH, (7,) * (WORTH + 3), tuple(range(20))])
IDS = st.builds(
    lambda start, rest: start + tuple(rest),
    BEGINNINGS,
    st.lists(st.integers(0, 2), min_size=2, max_size=9),
)
ROWS = st.lists(
    IDS.flatmap(lambda ids: st.builds(Row, st.just(ids), st.integers(1, len(ids) - 1))),
    min_size=1,
    max_size=12,
    unique=True,
)
LONGEST = st.sampled_from([0, 20, 1000])


def path(pack: Pack, node: int) -> list[int]:
    found = []
    while node >= 0:
        found.append(node)
        node = pack.parents[node]
    return found[::-1]


@given(ROWS, LONGEST)
def test_every_row_reads_its_own_tokens_and_wants_those_before_its_targets(
    rows: list[Row], longest: int
) -> None:
    made = packs(rows, longest=longest)
    assert sorted(index for pack in made for index in pack.rows) == list(range(len(rows)))
    for pack in made:
        for index, wanted, targets in zip(pack.rows, pack.wanted, pack.targets, strict=True):
            row = rows[index]
            nodes = path(pack, wanted[-1])
            assert tuple(pack.tokens[node] for node in nodes) == row.ids[:-1]
            assert tuple(nodes[-row.counted :]) == wanted
            assert targets == row.ids[-row.counted :]


@given(ROWS, st.integers(0, 20))
def test_below_a_root_a_row_reads_what_comes_after_it(rows: list[Row], root: int) -> None:
    fitting = [row for row in rows if len(row.ids) - 1 - row.counted >= root]
    for pack in packs(fitting, root):
        for index, wanted in zip(pack.rows, pack.wanted, strict=True):
            read = tuple(pack.tokens[node] for node in path(pack, wanted[-1]))
            assert read == fitting[index].ids[root:-1]


@given(ROWS)
def test_in_a_pack_no_beginning_stands_twice(rows: list[Row]) -> None:
    for pack in packs(rows):
        nodes = range(len(pack.tokens))
        begun = {tuple(pack.tokens[n] for n in path(pack, node)) for node in nodes}
        assert len(begun) == len(pack.tokens)


@given(ROWS, LONGEST)
def test_packs_of_several_rows_keep_their_bound(rows: list[Row], longest: int) -> None:
    for pack in packs(rows, longest=longest):
        whole = max(len(rows[index].ids) - 1 for index in pack.rows)
        assert len(pack.tokens) <= max(longest, whole)


def test_rows_that_differ_in_their_last_token_only_are_read_once() -> None:
    [pack] = packs([Row((1, 2, 3), 1), Row((1, 2, 4), 1)])
    assert pack.tokens == (1, 2)
    assert pack.plain
    assert pack.targets == ((3,), (4,))
    assert pack.wanted == ((1,), (1,))


def test_ancestry_and_depths_are_those_of_the_paths() -> None:
    start = (7,) * WORTH
    [pack] = packs([Row((*start, 1, 1, 0), 1), Row((*start, 2, 0), 1)])
    reach, depths = pack.ancestry(), pack.depths()
    for node in range(len(pack.tokens)):
        nodes = path(pack, node)
        assert depths[node] == len(nodes) - 1
        assert [place for place in range(len(pack.tokens)) if reach[node, place]] == nodes


@given(ROWS, LONGEST, st.integers(1, 60))
def test_batches_hold_every_pack_once_within_their_bound(
    rows: list[Row], longest: int, bound: int
) -> None:
    made = packs(rows, longest=longest)
    found = list(batches(made, lambda width: max(1, bound // width)))
    assert sorted(map(id, (pack for batch in found for pack in batch))) == sorted(map(id, made))
    for batch in found:
        padded = len(batch) * max(len(pack.tokens) for pack in batch)
        assert len(batch) == 1 or padded <= bound
        assert len({pack.plain for pack in batch}) == 1


@given(IDS, IDS)
def test_common_counts_the_tokens_before_the_first_difference(one: Ids, other: Ids) -> None:
    shared = common(one, other)
    assert one[:shared] == other[:shared]
    assert shared in (len(one), len(other)) or one[shared] != other[shared]
