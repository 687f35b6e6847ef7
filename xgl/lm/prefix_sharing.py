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

import numpy as np

Ids = tuple[int, ...]

MIN_SHARED = 8
"""Tokens that a sequence must share with its neighbour to join its tree: attention over a whole
tree costs something too."""
MAX_TREE_TOKENS = 1024
"""Tokens of a tree of several sequences, at most."""
MIN_SAVED_SHARE = 1 / 3
"""Least share of all prompt tokens that common prefixes must save: a second pass costs something
too."""


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

    @property
    def targets(self) -> Ids:
        """The tokens that get log-probabilities."""
        return self.ids[-self.target_count :]


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

    def depths(self) -> np.ndarray:
        """(T,) int64: number of ancestors of each node."""
        depths = np.zeros(len(self.tokens), np.int64)
        for node, parent in enumerate(self.parents):
            depths[node] = depths[parent] + 1 if parent >= 0 else 0
        return depths

    def ancestor_mask(self) -> np.ndarray:
        """(T, T) bool: whether the column's node is the row's node or an ancestor of it."""
        mask = np.eye(len(self.tokens), dtype=bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                mask[node] |= mask[parent]
        return mask


def prefix_trees(
    sequences: Sequence[ScoredSequence], max_tokens: int = MAX_TREE_TOKENS
) -> list[PrefixTree]:
    """Trees that hold every sequence once; sequences that differ only in their last token share
    all.

    ``max_tokens`` bounds a tree of several sequences; 0 keeps every sequence separate.
    """
    # Sorted, a sequence shares its longest prefix with a neighbour, so one pass over neighbours
    # finds every shared prefix, and a tree grows at its last path only.
    order = sorted(range(len(sequences)), key=lambda index: sequences[index].ids)
    trees: list[_TreeBuilder] = []
    for index in order:
        read_ids = sequences[index].ids[:-1]
        if not trees or not trees[-1].accepts(read_ids, max_tokens):
            trees.append(_TreeBuilder())
        trees[-1].add(index, read_ids, sequences[index].targets)
    return [tree.build() for tree in trees]


class _TreeBuilder:
    """A tree that takes sequences in sorted order; ``path`` leads to the last one's last node."""

    def __init__(self) -> None:
        self.tokens, self.parents, self.members, self.path = (list[int]() for _ in range(4))
        self.positions, self.targets = list[Ids](), list[Ids]()
        self.last: Ids = ()

    def accepts(self, read_ids: Ids, max_tokens: int) -> bool:
        """Whether a sequence that reads ``read_ids`` may join."""
        shared = shared_length(self.last, read_ids)
        enough = shared >= MIN_SHARED or shared == len(read_ids)
        return enough and len(self.tokens) + len(read_ids) - shared <= max_tokens

    def add(self, index: int, read_ids: Ids, targets: Ids) -> None:
        """Append what ``read_ids`` does not share with the last sequence."""
        shared = shared_length(self.last, read_ids)
        del self.path[shared:]
        if len(read_ids) > shared:
            first, end = len(self.tokens), len(self.tokens) + len(read_ids) - shared
            self.parents.append(self.path[-1] if self.path else -1)
            self.parents.extend(range(first, end - 1))
            self.path.extend(range(first, end))
            self.tokens.extend(read_ids[shared:])
        self.last = read_ids
        self.members.append(index)
        self.positions.append(tuple(self.path[-len(targets) :]))
        self.targets.append(targets)

    def build(self) -> PrefixTree:
        """The tree of all sequences added."""
        lists = (self.tokens, self.parents, self.members, self.positions, self.targets)
        return PrefixTree(*map(tuple, lists))  # type: ignore[arg-type]


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
    sorted_prompts = sorted(prompts)
    groups = _best_groups(sorted_prompts)
    saved_tokens = sum(
        (last - first - 1) * _prefix_length(sorted_prompts[first:last]) for first, last in groups
    )
    if saved_tokens < MIN_SAVED_SHARE * sum(map(len, prompts)) or min(map(len, prompts)) == 1:
        return list(prompts), list(range(len(prompts)))
    prefixes: list[Ids] = []
    owner: dict[Ids, int] = {}
    for first, last in groups:
        owner |= dict.fromkeys(sorted_prompts[first:last], len(prefixes))
        prefixes.append(sorted_prompts[first][: _prefix_length(sorted_prompts[first:last])])
    return prefixes, [owner[prompt] for prompt in prompts]


def _prefix_length(group: Sequence[Ids]) -> int:
    """Number of tokens that a sorted group shares, less than the length of any member."""
    return min(shared_length(group[0], group[-1]), min(map(len, group)) - 1)


def _best_groups(sorted_prompts: Sequence[Ids]) -> list[tuple[int, int]]:
    """The slices of the prompts that save most; each saves (members − 1) · common tokens."""
    # A dynamic program: some best choice of groups consists of slices of the sorted prompts, since
    # what lies between two of them shares at least what these share. ``best[n]`` is what the first
    # n save; a slice grows to the left until nothing is shared.
    size = len(sorted_prompts)
    shared = [shared_length(one, other) for one, other in pairwise(sorted_prompts)]
    best, start = [0] * (size + 1), list(range(-1, size))
    for last in range(1, size + 1):
        best[last], start[last] = best[last - 1], last - 1
        common = len(sorted_prompts[last - 1]) - 1
        for first in range(last - 2, -1, -1):
            common = min(common, shared[first], len(sorted_prompts[first]) - 1)
            if common <= 0:
                break
            saved_tokens = best[first] + (last - first - 1) * common
            if saved_tokens > best[last]:
                best[last], start[last] = saved_tokens, first
    groups, last = [], size
    while last:
        groups.append((start[last], last))
        last = start[last]
    return groups[::-1]
