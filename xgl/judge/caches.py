"""Caches of the scoring engine, bounded in bytes: scores, and key-value caches of prefixes. The
least recently used entries are dropped first."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b

from cachetools import LRUCache

from xgl.judge.forward import Bits, CachedPrefix, cache_prefix
from xgl.judge.statistics import Statistics
from xgl.lm.language_model import LanguageModel
from xgl.lm.memory import cache_bytes
from xgl.lm.prefix_sharing import MAX_TREE_TOKENS, Ids, ScoredSequence

ENTRY_BYTES = 320
"""Bytes of an LRU entry in addition to its value, about."""
MAX_DIGESTS = 65536
"""Most contexts whose digests are stored, to recognise those that come again."""


class ScoreCache:
    """Bits of the sequences scored so far, float32; the least recently used make room."""

    def __init__(self, max_bytes: int) -> None:
        self._lru: LRUCache[bytes, array[float]] = LRUCache(
            max_bytes, lambda bits: ENTRY_BYTES + sys.getsizeof(bits)
        )

    def known(
        self, sequences: Sequence[ScoredSequence]
    ) -> tuple[dict[ScoredSequence, Bits], list[ScoredSequence], Statistics]:
        """The bits that are cached for ``sequences``, the different others in order, and the counts
        of this call."""
        distinct = list(dict.fromkeys(sequences))
        found = {one: self._lru.get(_digest((*one.ids, one.target_count))) for one in distinct}
        known_bits = {one: tuple(bits) for one, bits in found.items() if bits is not None}
        new = [one for one in distinct if one not in known_bits]
        statistics = Statistics(
            requested=len(sequences),
            duplicates=len(sequences) - len(distinct),
            cached=len(known_bits),
            requested_tokens=sum(len(one.ids) - 1 for one in sequences),
            new_tokens=sum(len(one.ids) - 1 for one in new),
        )
        return known_bits, new, statistics

    def put(self, sequence: ScoredSequence, bits: Bits) -> None:
        with suppress(ValueError):  # larger than all the room there is
            self._lru[_digest((*sequence.ids, sequence.target_count))] = array("f", bits)

    def clear(self) -> None:
        """Drop all scores."""
        self._lru.clear()

    @property
    def bytes(self) -> int:
        """Bytes in use, about."""
        return int(self._lru.currsize)


class PrefixCache:
    """Key-value caches of long contexts.

    A context of ``long_tokens`` or more is cached when it comes again while there is room for it,
    or when one call has more tokens after it than a tree holds; shorter ones are read faster in one
    batch with others.
    """

    def __init__(self, lm: LanguageModel, max_bytes: int, long_tokens: int) -> None:
        self.lm = lm
        self.max_bytes = max_bytes
        self.long_tokens = long_tokens
        self._lru: LRUCache[Ids, CachedPrefix] = LRUCache(
            max_bytes, lambda prefix: ENTRY_BYTES + sys.getsizeof(prefix.ids) + prefix.bytes
        )
        self._context_digests: set[bytes] = set()

    def clear(self) -> None:
        """Drop all caches and all digests."""
        self._lru.clear()
        self._context_digests.clear()

    def groups(self, sequences: Sequence[ScoredSequence]) -> dict[Ids, list[ScoredSequence]]:
        """Sequences by the prefix that is cached for them; () for none."""
        long = Counter[Ids]()
        for sequence in sequences:
            if len(sequence.context) >= self.long_tokens:
                long[sequence.context] += len(sequence.ids) - len(sequence.context)
        worth_caching = self._worth_caching(long)
        groups: dict[Ids, list[ScoredSequence]] = {}
        for sequence in sequences:
            prefix = sequence.context if sequence.context in worth_caching else ()
            groups.setdefault(prefix, []).append(sequence)
        if len(self._context_digests) < MAX_DIGESTS:
            self._context_digests.update(map(_digest, long))
        return groups

    def prefix(self, ids: Ids) -> tuple[CachedPrefix, bool]:
        """A prefix, and whether it had to be read; cached if there is room."""
        cached_prefix = self._lru.get(ids)
        if cached_prefix is not None:
            return cached_prefix, False
        prefix = cache_prefix(self.lm, ids)
        if prefix.bytes <= self._free_bytes:
            with suppress(ValueError):  # larger than all the room there is
                self._lru[ids] = prefix
        return prefix, True

    def _worth_caching(self, long: Counter[Ids]) -> set[Ids]:
        """Contexts to cache; ``long`` maps each to the number of tokens read after it in this
        call."""
        # A context that would evict another is not worth it: a game has about as many long contexts
        # as it has maps, they come again in turn, and LRU would drop each just before it is needed.
        room, contexts = self._free_bytes, set()
        for context, following in long.items():
            size = len(context) * cache_bytes(self.lm)
            again = _digest(context) in self._context_digests and size <= room
            if self._lru.get(context) or again or len(context) + following > MAX_TREE_TOKENS:
                contexts.add(context)
                room -= size
        return contexts

    @property
    def _free_bytes(self) -> float:
        return self.max_bytes - self._lru.currsize


def _digest(ids: Ids) -> bytes:
    """A hash of 16 bytes; two sequences collide once in 10^38 pairs."""
    return blake2b(array("q", ids).tobytes(), digest_size=16).digest()
