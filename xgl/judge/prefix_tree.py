"""What a forward pass reads: token sequences that begin alike share their beginning.

A *row* asks for the probabilities of its last ``counted`` tokens. Rows are sorted, and runs of
rows with a beginning in common become one *pack*: a tree of tokens in which each beginning stands
once. A token attends to its ancestors and stands at its depth, so a pack gives every row the
numbers that it would get alone. The last token of a row is only predicted, never read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

Ids = tuple[int, ...]

WORTH = 8
"""Tokens that a row must have in common with the row before it to join its pack: attention over
a whole pack costs something too."""
LONGEST = 1024
"""Tokens of a pack of several rows, at most."""
LONGEST_BELOW = 128
"""The same below a root, where any rows share a pack: each takes a copy of the cache."""


@dataclass(frozen=True, slots=True)
class Row:
    """Tokens of one request; the last ``counted`` ≥ 1 of them are scored."""

    ids: Ids
    counted: int

    @property
    def context(self) -> Ids:
        """The tokens before the one that the first score is read from."""
        return self.ids[: len(self.ids) - self.counted - 1]


@dataclass(frozen=True, slots=True)
class Pack:
    """A tree of tokens, parents before children, below a root of ``root`` tokens read before.

    ``parents[i]`` is the node before node ``i``, −1 at the root. For each of ``rows`` (indices
    into the planned rows) ``targets`` are its scored tokens, ``wanted`` the nodes before them.
    """

    tokens: Ids
    parents: Ids
    rows: tuple[int, ...]
    wanted: tuple[Ids, ...]
    targets: tuple[Ids, ...]

    @property
    def plain(self) -> bool:
        """Whether it is a single sequence."""
        return self.parents == tuple(range(-1, len(self.tokens) - 1))

    def depths(self) -> np.ndarray:
        """(T,) int64: how many nodes lie before each on its path, the root not counted."""
        depths = np.zeros(len(self.tokens), np.int64)
        for node, parent in enumerate(self.parents):
            depths[node] = depths[parent] + 1 if parent >= 0 else 0
        return depths

    def ancestry(self) -> np.ndarray:
        """(T, T) bool: whether the column's node is the row's node or an ancestor of it."""
        reach = np.eye(len(self.tokens), dtype=bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                reach[node] |= reach[parent]
        return reach


def packs(rows: Sequence[Row], root: int = 0, longest: int = LONGEST) -> list[Pack]:
    """Every row in one pack; rows with the same tokens before their last share all.

    ``root``: how many first tokens, common to all rows and fewer than any row reads, were read
    before. ``longest`` bounds the tokens of a pack of several rows; 0 keeps every row alone.
    """
    worth, longest = (0, min(longest, LONGEST_BELOW)) if root else (WORTH, longest)
    order = sorted(range(len(rows)), key=lambda index: rows[index].ids)
    made: list[Pack] = []
    growing: _Growing | None = None
    for index in order:
        read = rows[index].ids[root:-1]
        if growing is None or not growing.admits(read, worth, longest):
            made += [growing.pack()] if growing else []
            growing = _Growing()
        growing.add(index, read, rows[index].ids[-rows[index].counted :])
    return made + ([growing.pack()] if growing else [])


class _Growing:
    """A pack that takes rows in sorted order; ``path`` leads to the last row's last node."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.rows: list[int] = []
        self.wanted: list[Ids] = []
        self.targets: list[Ids] = []
        self.path: list[int] = []
        self.last: Ids = ()

    def admits(self, read: Ids, worth: int, longest: int) -> bool:
        shared = common(self.last, read)
        enough = shared >= worth or shared == len(read)
        return enough and len(self.tokens) + len(read) - shared <= longest

    def add(self, index: int, read: Ids, targets: Ids) -> None:
        shared = common(self.last, read)
        del self.path[shared:]
        if len(read) > shared:
            first, end = len(self.tokens), len(self.tokens) + len(read) - shared
            self.parents.append(self.path[-1] if self.path else -1)
            self.parents.extend(range(first, end - 1))
            self.path.extend(range(first, end))
            self.tokens.extend(read[shared:])
        self.last = read
        self.rows.append(index)
        self.wanted.append(tuple(self.path[-len(targets) :]))
        self.targets.append(targets)

    def pack(self) -> Pack:
        return Pack(
            tokens=tuple(self.tokens),
            parents=tuple(self.parents),
            rows=tuple(self.rows),
            wanted=tuple(self.wanted),
            targets=tuple(self.targets),
        )


def batches(made: Sequence[Pack], most: Callable[[int], int]) -> Iterator[list[Pack]]:
    """Packs of like length and kind; of a width of tokens at most ``most(width)`` ≥ 1 at once."""
    for plain in (True, False):
        batch: list[Pack] = []
        for pack in sorted((p for p in made if p.plain is plain), key=lambda p: len(p.tokens)):
            if batch and len(batch) >= most(len(pack.tokens)):
                yield batch
                batch = []
            batch.append(pack)
        if batch:
            yield batch


def common(one: Ids, other: Ids) -> int:
    """Number of leading tokens that two sequences share."""
    shortest = min(len(one), len(other))
    if one[:shortest] == other[:shortest]:
        return shortest
    return next(place for place in range(shortest) if one[place] != other[place])
