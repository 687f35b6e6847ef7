"""Prefix sharing: every sequence finds its own tokens, each prefix is read once, and the plan of
prefixes saves as much as the best of all cuts."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given, settings, strategies as st

from xgl.lm import prefix_sharing as sharing

Ids = tuple[int, ...]
Sequences = list[sharing.ScoredSequence]

PREFIXES = st.sampled_from(
    [(), (7,) * sharing.MIN_SHARED, (7,) * (sharing.MIN_SHARED + 3), tuple(range(20))]
)
IDS = st.builds(
    lambda start, rest: start + tuple(rest),
    PREFIXES,
    st.lists(st.integers(0, 2), min_size=2, max_size=9),
)
SEQUENCES = st.lists(
    IDS.flatmap(
        lambda ids: st.builds(sharing.ScoredSequence, st.just(ids), st.integers(1, len(ids) - 1))
    ),
    min_size=1,
    max_size=12,
    unique=True,
)
MAX_TOKENS = st.sampled_from([0, 20, 1000])


def path(tree: sharing.PrefixTree, node: int) -> list[int]:
    nodes = []
    while node >= 0:
        nodes.append(node)
        node = tree.parents[node]
    return nodes[::-1]


@settings(max_examples=50)
@given(SEQUENCES, MAX_TOKENS)
def test_every_sequence_reads_its_own_tokens_each_prefix_once_within_the_bound(
    sequences: Sequences, max_tokens: int
) -> None:
    trees = sharing.prefix_trees(sequences, max_tokens=max_tokens)
    assert sorted(index for tree in trees for index in tree.members) == list(range(len(sequences)))
    for tree in trees:
        for index, positions, targets in zip(
            tree.members, tree.positions, tree.targets, strict=True
        ):
            sequence = sequences[index]
            nodes = path(tree, positions[-1])
            assert tuple(tree.tokens[node] for node in nodes) == sequence.ids[:-1]
            assert tuple(nodes[-sequence.target_count :]) == positions
            assert targets == sequence.ids[-sequence.target_count :]
        whole = max(len(sequences[index].ids) - 1 for index in tree.members)
        assert len(tree.tokens) <= max(max_tokens, whole)
        prefixes = {tuple(path(tree, node)) for node in range(len(tree.tokens))}
        spelled = {tuple(tree.tokens[node] for node in nodes) for nodes in prefixes}
        assert len(spelled) == len(tree.tokens), "a prefix stands once"


@settings(max_examples=40)
@given(SEQUENCES, MAX_TOKENS, st.integers(1, 60))
def test_batches_hold_every_tree_once_within_their_bound(
    sequences: Sequences, max_tokens: int, bound: int
) -> None:
    trees = sharing.prefix_trees(sequences, max_tokens=max_tokens)
    groups = list(sharing.tree_batches(trees, lambda width: max(1, bound // width)))
    assert sorted(map(id, (tree for batch in groups for tree in batch))) == sorted(map(id, trees))
    for batch in groups:
        padded_tokens = len(batch) * max(len(tree.tokens) for tree in batch)
        assert len(batch) == 1 or padded_tokens <= bound
        assert len({tree.is_chain for tree in batch}) == 1


PROMPTS = st.lists(
    st.lists(st.integers(0, 2), min_size=2, max_size=7).map(tuple),
    min_size=1,
    max_size=6,
    unique=True,
)


def shared_by(run: list[Ids]) -> int:
    """Tokens that all of a run share, short of the whole of any."""
    length = min(len(prompt) for prompt in run) - 1
    while len({prompt[:length] for prompt in run}) > 1:
        length -= 1
    return length


def largest_saving(prompts: list[Ids]) -> int:
    """Over every cut of the sorted prompts into runs, the most tokens that prefixes save."""
    sorted_prompts, best = sorted(prompts), 0
    for count in range(len(sorted_prompts)):
        for cuts in combinations(range(1, len(sorted_prompts)), count):
            edges = [0, *cuts, len(sorted_prompts)]
            runs = [sorted_prompts[a:b] for a, b in pairwise(edges)]
            best = max(best, sum((len(run) - 1) * shared_by(run) for run in runs))
    return best


@given(PROMPTS)
def test_prompts_begin_with_their_prefix_and_all_or_none_have_suffixes(prompts: list[Ids]) -> None:
    prefixes, owner = sharing.common_prefixes(prompts)
    suffixes = []
    for prompt, index in zip(prompts, owner, strict=True):
        assert prompt[: len(prefixes[index])] == prefixes[index]
        suffixes.append(len(prompt) - len(prefixes[index]))
    assert all(suffixes) or not any(suffixes)
    assert min(map(len, prefixes)) >= 1
    assert set(owner) == set(range(len(prefixes)))


@given(PROMPTS)
def test_as_much_is_saved_as_can_be_or_nothing_where_it_is_little(prompts: list[Ids]) -> None:
    prefixes, owner = sharing.common_prefixes(prompts)
    total = sum(map(len, prompts))
    lengths = [len(prefixes[index]) for index in owner]
    read_count = sum(map(len, prefixes)) + total - sum(lengths)
    saving = largest_saving(prompts)
    assert total - read_count == (saving if saving >= sharing.MIN_SAVED_SHARE * total else 0)
