"""What the scoring engine keeps between calls, bounded in bytes: scores, and key-value caches of
prefixes. The least recently used go first."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b

from cachetools import LRUCache

from xgl.judge.forward import Bits, CachedPrefix, cache_prefix
from xgl.lm.language_model import LanguageModel
from xgl.lm.memory import cache_bytes
from xgl.lm.prefix_sharing import MAX_TREE_TOKENS, Ids, ScoredSequence

ENTRY_BYTES = 320
"""What an entry of an LRU takes beside its value, about."""
MAX_SEEN = 65536
"""Contexts whose digests are kept, to recognise those that come again."""


class ScoreCache:
    """Bits of sequences scored before, float32 as the model gave them."""

    def __init__(self, max_bytes: int) -> None:
        self._lru: LRUCache[bytes, array[float]] = LRUCache(
            max_bytes, lambda bits: ENTRY_BYTES + sys.getsizeof(bits)
        )

    def get(self, sequence: ScoredSequence) -> Bits | None:
        """The bits of a sequence; None where they are not cached."""
        bits = self._lru.get(_digest((*sequence.ids, sequence.scored)))
        return None if bits is None else tuple(bits)

    def put(self, sequence: ScoredSequence, bits: Bits) -> None:
        """Cache bits; the least recently used make room."""
        with suppress(ValueError):  # larger than all the room there is
            self._lru[_digest((*sequence.ids, sequence.scored))] = array("f", bits)

    def clear(self) -> None:
        """Drop all scores."""
        self._lru.clear()

    @property
    def bytes(self) -> int:
        """Bytes in use, about."""
        return int(self._lru.currsize)


class PrefixCache:
    """Key-value caches of prefixes: the ``pinned`` ones, and long contexts.

    A context of ``long_tokens`` or more is cached when it comes again while there is room for it,
    or when one call has more tokens after it than a tree holds; shorter ones are sooner read in one
    batch with others.
    """

    def __init__(
        self, lm: LanguageModel, max_bytes: int, long_tokens: int, pinned: Sequence[Ids]
    ) -> None:
        self.lm = lm
        self.max_bytes = max_bytes
        self.long_tokens = long_tokens
        self._pinned = sorted(set(pinned), key=len, reverse=True)
        self._lru: LRUCache[Ids, CachedPrefix] = LRUCache(max_bytes, _prefix_bytes)
        self._seen: set[bytes] = set()

    def clear(self) -> None:
        """Drop all caches, and what was seen."""
        self._lru.clear()
        self._seen.clear()

    def groups(self, sequences: Sequence[ScoredSequence]) -> dict[Ids, list[ScoredSequence]]:
        """Sequences by the prefix that is cached for them; () for none."""
        long = Counter[Ids]()
        for each in sequences:
            if len(each.context) >= self.long_tokens:
                long[each.context] += len(each.ids) - len(each.context)
        worth_caching = self._worth_caching(long)
        groups: dict[Ids, list[ScoredSequence]] = {}
        for each in sequences:
            known = each.context in worth_caching
            groups.setdefault(each.context if known else self._pinned_for(each), []).append(each)
        if len(self._seen) < MAX_SEEN:
            self._seen.update(map(_digest, long))
        return groups

    def prefix(self, ids: Ids) -> tuple[CachedPrefix, bool]:
        """A prefix, and whether it had to be read; kept where there is room, or room is made."""
        cached = self._lru.get(ids)
        if cached is not None:
            return cached, False
        prefix = cache_prefix(self.lm, ids)
        if prefix.bytes <= self._free_bytes or ids in self._pinned:
            with suppress(ValueError):  # larger than all the room there is
                self._lru[ids] = prefix
        return prefix, True

    def _worth_caching(self, long: Counter[Ids]) -> set[Ids]:
        """``long`` holds for each context how many tokens this call reads after it."""
        room, chosen = self._free_bytes, set()
        for context, following in long.items():
            size = len(context) * cache_bytes(self.lm)
            again = self._lru.get(context) or (_digest(context) in self._seen and size <= room)
            if again or len(context) + following > MAX_TREE_TOKENS:
                chosen.add(context)
                room -= size
        return chosen

    def _pinned_for(self, sequence: ScoredSequence) -> Ids:
        """The longest pinned prefix of a sequence's context; () for none."""
        fitting = (ids for ids in self._pinned if sequence.context[: len(ids)] == ids)
        return next(fitting, ())

    @property
    def _free_bytes(self) -> float:
        return self.max_bytes - self._lru.currsize


def _prefix_bytes(prefix: CachedPrefix) -> int:
    return ENTRY_BYTES + sys.getsizeof(prefix.ids) + prefix.bytes


def _digest(ids: Ids) -> bytes:
    """16 bytes in place of tokens; two sequences share them once in 10^38 pairs."""
    return blake2b(array("q", ids).tobytes(), digest_size=16).digest()
