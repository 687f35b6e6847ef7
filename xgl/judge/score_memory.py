"""Bounded memories of the scoring engine: scores by row, and caches of common beginnings."""

from __future__ import annotations

import sys
from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Generic, TypeVar

from xgl.judge.prefix_tree import Ids, Row

Kept = TypeVar("Kept")

SLOT_BYTES = 160
"""What an entry of an ordered dictionary takes beside its key and value, about."""
KNOWN_BYTES = 64 << 20
"""Of texts whose tokens a judge or a player keeps."""
TOKEN_BYTES = 36
"""Of a token in a tuple: a pointer and a number."""


class Bounded(Generic[Kept]):
    """The values used last, of at most ``limit`` bytes together; ``weigh`` tells a value's."""

    def __init__(self, limit: int, weigh: Callable[[Kept], int]) -> None:
        self.limit = limit
        self.bytes = 0
        self._weigh = weigh
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> Kept | None:
        value = self._kept.get(key)
        if value is not None:
            self._kept.move_to_end(key)
        return value

    def put(self, key: Hashable, value: Kept) -> None:
        """Keep a value; drops those unused for longest, or itself where it is too large."""
        self.drop(key)
        self._kept[key] = value
        self.bytes += self._size(key, value)
        while self.bytes > self.limit:
            self.drop(next(iter(self._kept)))

    def drop(self, key: Hashable) -> None:
        value = self._kept.pop(key, None)
        if value is not None:
            self.bytes -= self._size(key, value)

    def clear(self) -> None:
        self._kept.clear()
        self.bytes = 0

    def held(self) -> list[Hashable]:
        """The keys, unused for longest first."""
        return list(self._kept)

    def _size(self, key: Hashable, value: Kept) -> int:
        return SLOT_BYTES + sys.getsizeof(key) + self._weigh(value)


class ScoreMemory:
    """Bits of rows scored before, float32 as the model gave them."""

    def __init__(self, limit: int) -> None:
        self._kept: Bounded[array[float]] = Bounded(limit, sys.getsizeof)

    def get(self, row: Row) -> tuple[float, ...] | None:
        found = self._kept.get(digest((*row.ids, row.counted)))
        return None if found is None else tuple(found)

    def put(self, row: Row, bits: tuple[float, ...]) -> None:
        self._kept.put(digest((*row.ids, row.counted)), array("f", bits))

    def clear(self) -> None:
        self._kept.clear()

    @property
    def bytes(self) -> int:
        return self._kept.bytes


def digest(ids: Ids) -> bytes:
    """16 bytes in place of tokens; two sequences share them once in 10^38 pairs."""
    return blake2b(array("q", ids).tobytes(), digest_size=16).digest()
