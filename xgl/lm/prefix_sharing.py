"""Plans for token sequences that share prefixes, so that a model reads each prefix once.

Both plans sort the sequences and compare neighbours. They differ in what a forward pass returns.

* The judge needs log-probabilities only. :func:`prefix_trees` merges neighbours into trees of
  tokens that one pass reads; a token attends to its ancestors and has its depth as position, so
  every sequence gets the numbers that it would get by itself.
* The policy continues every row, so each row needs a key-value cache of its own, in order.
  :func:`common_prefixes` chooses one prefix for each row; its cache is copied to the rows, which
  then read what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

Ids = tuple[int, ...]

MIN_SHARED = 8
"""Tokens that a sequence must share with its neighbour to join its tree: attention over a whole
tree costs something too."""
MAX_TREE_TOKENS = 1024
"""Tokens of a tree of several sequences, at most."""
MIN_SAVED_SHARE = 1 / 3
"""Least share of all prompt tokens that prefixes must save: a second pass costs something."""


def shared_length(one: Ids, other: Ids) -> int:
    """Number of leading tokens that two sequences have in common."""
    shortest = min(len(one), len(other))
    if one[:shortest] == other[:shortest]:
        return shortest
    return next(index for index in range(shortest) if one[index] != other[index])


# -- trees, for scoring ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScoredSequence:
    """Tokens of one request; the last ``target_count`` ≥ 1 of them get log-probabilities."""

    ids: Ids
    target_count: int


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """A tree of tokens, parents before children, in which each prefix stands once.

    ``parents[i]`` is the node before node ``i``, −1 where nothing is before it.
    For each of ``members`` (indices into the planned sequences) ``targets`` are its scored tokens,
    ``positions`` the nodes that predict them. A sequence's last token is predicted, never read.
    """

    tokens: Ids
    parents: Ids
    members: tuple[int, ...]
    positions: tuple[Ids, ...]
    targets: tuple[Ids, ...]

    @property
    def is_chain(self) -> bool:
        """Whether it is a single sequence."""
        return self.parents == tuple(range(-1, len(self.tokens) - 1))


def prefix_trees(
    sequences: Sequence[ScoredSequence], max_tokens: int = MAX_TREE_TOKENS
) -> list[PrefixTree]:
    """Trees that hold every sequence once; sequences that differ only in their last token share
    all. ``max_tokens`` bounds a tree of several sequences; 0 keeps every sequence separate."""
    # Sorted, a sequence shares its longest prefix with a neighbour, so one pass over neighbours
    # finds every shared prefix.
    groups, last, size = list[list[int]](), Ids(), 0
    for index in sorted(range(len(sequences)), key=lambda index: sequences[index].ids):
        read_ids = sequences[index].ids[:-1]
        shared = shared_length(last, read_ids)
        size += len(read_ids) - shared
        if not groups or size > max_tokens or shared < min(MIN_SHARED, len(read_ids)):
            groups.append([])
            size = len(read_ids)
        groups[-1].append(index)
        last = read_ids
    return [_tree(sequences, members) for members in groups]


def _tree(sequences: Sequence[ScoredSequence], members: Sequence[int]) -> PrefixTree:
    """The tree of ``members`` in sorted order, so that it grows at its last path only."""
    tokens, parents, path = list[int](), list[int](), list[int]()
    positions, last = list[Ids](), Ids()
    for index in members:
        read_ids = sequences[index].ids[:-1]
        shared = shared_length(last, read_ids)
        del path[shared:]
        for token in read_ids[shared:]:
            parents.append(path[-1] if path else -1)
            path.append(len(tokens))
            tokens.append(token)
        positions.append(tuple(path[-sequences[index].target_count :]))
        last = read_ids
    targets = tuple(sequences[i].ids[-sequences[i].target_count :] for i in members)
    return PrefixTree(tuple(tokens), tuple(parents), tuple(members), tuple(positions), targets)


def tree_batches(
    trees: Sequence[PrefixTree], max_rows: Callable[[int], int]
) -> Iterator[list[PrefixTree]]:
    """Batches of trees of similar length and kind, of at most ``max_rows(width)`` ≥ 1 trees."""
    # Chains and branching trees apart: one branching tree would give its whole batch a mask, and a
    # masked pass rounds otherwise than a plain one.
    for chain in (True, False):
        batch: list[PrefixTree] = []
        alike = (tree for tree in trees if tree.is_chain is chain)
        for tree in sorted(alike, key=lambda tree: len(tree.tokens)):
            if batch and len(batch) >= max_rows(len(tree.tokens)):
                yield batch
                batch = []
            batch.append(tree)
        if batch:
            yield batch


# -- one prefix a row, for sampling ------------------------------------------------------------


def common_prefixes(prompts: Sequence[Ids]) -> tuple[list[Ids], list[int]]:
    """Prefixes to encode, and for each of the distinct ``prompts`` the index of its prefix.

    The fewest tokens are encoded that give each prompt one prefix. Either every prompt is its own
    prefix in full, or every prompt is longer than its prefix, so that a caller reads the suffixes
    of all prompts or of none. No prompt may be empty.
    """
    ordered = sorted(prompts)
    groups = _best_groups(ordered)
    saved_tokens = sum((last - first - 1) * common for first, last, common in groups)
    if saved_tokens < MIN_SAVED_SHARE * sum(map(len, prompts)) or min(map(len, prompts)) == 1:
        return list(prompts), list(range(len(prompts)))
    owner = {
        prompt: index
        for index, (first, last, _) in enumerate(groups)
        for prompt in ordered[first:last]
    }
    prefixes = [ordered[first][:common] for first, _, common in groups]
    return prefixes, [owner[prompt] for prompt in prompts]


def _best_groups(ordered: Sequence[Ids]) -> list[tuple[int, int, int]]:
    """The slices of the sorted prompts that save most, and the tokens that each has in common, less
    than the length of any member; it saves (members − 1) times as many."""
    # A dynamic program: some best choice of groups consists of slices of the sorted prompts, since
    # what lies between two of them shares at least what these share. ``best[n]`` is what the first
    # n save, ``group[n]`` the last slice of them; it grows to the left until nothing is shared.
    shared = [shared_length(one, other) for one, other in pairwise(ordered)]
    best, group = [0], [(0, 0, 0)]
    for last, prompt in enumerate(ordered, 1):
        common = len(prompt) - 1
        best.append(best[-1])
        group.append((last - 1, last, common))
        for first in range(last - 2, -1, -1):
            common = min(common, shared[first], len(ordered[first]) - 1)
            if common <= 0:
                break
            saved_tokens = best[first] + (last - first - 1) * common
            if saved_tokens > best[last]:
                best[last], group[last] = saved_tokens, (first, last, common)
    groups, last = list[tuple[int, int, int]](), len(ordered)
    while last:
        groups.append(group[last])
        last = group[last][0]
    return groups[::-1]
