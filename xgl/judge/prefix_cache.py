"""Beginnings that are read once and kept as key-value caches, and the rows that begin with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xgl.judge.forward import Root, read_root
from xgl.judge.prefix_tree import LONGEST, Ids, Row
from xgl.judge.score_memory import Bounded, digest
from xgl.lm.language_model import LanguageModel
from xgl.lm.memory import cache_bytes

MOST_MET = 65536
"""Contexts whose names are remembered."""


@dataclass(frozen=True)
class RootSettings:
    """``limit`` bounds the bytes of the caches kept. A context of ``long_tokens`` is worth a cache
    of its own; shorter ones are sooner read in one batch with others."""

    limit: int
    long_tokens: int


class Roots:
    """Announced beginnings, and long contexts: those that come again while there is room for
    them, and those with more rows in one call than a pack holds."""

    def __init__(self, lm: LanguageModel, settings: RootSettings, announced: Sequence[Ids]) -> None:
        self.lm = lm
        self.settings = settings
        self._announced = sorted(set(announced), key=len, reverse=True)
        self._kept: Bounded[Root] = Bounded(settings.limit, lambda root: root.bytes)
        self._met: set[bytes] = set()

    def forget(self) -> None:
        """Drop all caches and what was met."""
        self._kept.clear()
        self._met.clear()

    def groups(self, rows: Sequence[Row]) -> dict[Ids, list[Row]]:
        """Rows by the root below which they are read; () for none."""
        long = Counter[Ids]()
        for row in rows:
            if len(row.context) >= self.settings.long_tokens:
                long[row.context] += len(row.ids) - len(row.context)
        own = self._worth_a_root(long)
        groups: dict[Ids, list[Row]] = {}
        for row in rows:
            root = row.context if row.context in own else self._announced_before(row)
            groups.setdefault(root, []).append(row)
        if len(self._met) < MOST_MET:
            self._met.update(map(digest, long))
        return groups

    def root(self, ids: Ids) -> tuple[Root, bool]:
        """A root, and whether it had to be read; kept where there is room, or room is made."""
        known = self._kept.get(ids)
        if known is not None:
            return known, False
        made = read_root(self.lm, ids)
        if made.bytes <= self._room() or ids in self._announced:
            self._kept.put(ids, made)
        return made, True

    def _worth_a_root(self, long: Counter[Ids]) -> set[Ids]:
        """``long`` holds for each context how many tokens this call reads after it."""
        room, own = self._room(), set()
        for context, rest in long.items():
            size = len(context) * cache_bytes(self.lm)
            again = self._kept.get(context) or (digest(context) in self._met and size <= room)
            if again or len(context) + rest > LONGEST:
                own.add(context)
                room -= size
        return own

    def _announced_before(self, row: Row) -> Ids:
        fitting = (ids for ids in self._announced if row.context[: len(ids)] == ids)
        return next(fitting, ())

    def _room(self) -> int:
        return self.settings.limit - self._kept.bytes
