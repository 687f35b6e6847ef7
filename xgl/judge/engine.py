"""The scoring engine: bits of many token sequences, reading as few tokens as possible.

Sequences with a common prefix are read as one tree (``xgl.lm.prefix_sharing``). Long contexts
that come again in a later call are read once and kept as key-value caches.
Batches are functions of what was requested since the last :meth:`ScoringEngine.forget`.

Scores and key-value caches are bounded in bytes: the least recently used are dropped first.
"""

from __future__ import annotations

import logging
import math
import sys
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from itertools import chain

from cachetools import LRUCache

from xgl.judge.forward import Bits, CachedPrefix, cache_prefix, supports_prefix_sharing, tree_bits
from xgl.judge.statistics import Statistics
from xgl.lm.language_model import LanguageModel
from xgl.lm.memory import (
    ForwardBudget,
    cache_bytes,
    few_threads,
    out_of_memory,
    release_memory,
    retry_in_halves,
)
from xgl.lm.prefix_sharing import (
    MAX_TREE_TOKENS,
    Ids,
    PrefixTree,
    ScoredSequence,
    prefix_trees,
    tree_batches,
)

ENTRY_BYTES = 320
"""Bytes of an LRU entry in addition to its value, about."""
MAX_DIGESTS = 65536
"""Most contexts whose digests are stored, to recognise those that come again."""


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


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineSettings:
    """Bounds of one engine, by default those of a run.

    ``batch_tokens``: padded tokens of one forward pass (None: a number that is fast on the kind of
    device), fewer if they would exceed ``memory_bytes``. ``score_cache_bytes`` bounds the stored
    scores, ``prefix_cache_bytes`` the key-value caches of prefixes; contexts of ``long_tokens`` or
    more may get one.
    """

    batch_tokens: int | None = None
    memory_bytes: int = 1 << 30
    score_cache_bytes: int = 64 << 20
    prefix_cache_bytes: int = 256 << 20
    long_tokens: int = 256


class Engine(ABC):
    """Gives bits of token sequences, counts its work, and keeps scores, the least recently used of
    which make room (``score_cache_bytes``)."""

    def __init__(self, score_cache_bytes: int) -> None:
        self.statistics = Statistics()
        self._scores: LRUCache[bytes, array[float]] = LRUCache(
            score_cache_bytes, lambda bits: ENTRY_BYTES + sys.getsizeof(bits)
        )

    def bits(self, sequences: Sequence[ScoredSequence]) -> list[Bits]:
        """Bits of each sequence's scored tokens, in order; not checked for being finite."""
        keys = {one: _digest((*one.ids, one.target_count)) for one in dict.fromkeys(sequences)}
        found = {one: self._scores.get(key) for one, key in keys.items()}
        known = {one: tuple(bits) for one, bits in found.items() if bits is not None}
        new = [one for one in keys if one not in known]
        self.statistics += Statistics(
            requested=len(sequences),
            duplicates=len(sequences) - len(keys),
            cached=len(known),
            requested_tokens=sum(len(one.ids) - 1 for one in sequences),
            new_tokens=sum(len(one.ids) - 1 for one in new),
        )
        for sequence, bits in self.compute(new):
            known[sequence] = bits
            with suppress(ValueError):  # larger than all the room there is
                self._scores[keys[sequence]] = array("f", bits)
        return [known[sequence] for sequence in sequences]

    def forget(self) -> None:
        """Drop all results of earlier calls. They change the batches and so the rounding of new
        scores: work that must not depend on earlier work begins with this call."""
        self._scores.clear()

    @abstractmethod
    def compute(self, sequences: Sequence[ScoredSequence]) -> Iterable[tuple[ScoredSequence, Bits]]:
        """The bits of different sequences, in any order."""


class ScoringEngine(Engine):
    """Scores token sequences with ``lm``; keeps the caches of prefixes, too."""

    def __init__(self, lm: LanguageModel, settings: EngineSettings | None = None) -> None:
        settings = settings or EngineSettings()
        super().__init__(settings.score_cache_bytes)
        self.lm = lm
        self.budget = ForwardBudget.of(lm, settings.batch_tokens, settings.memory_bytes)
        self._prefixes = PrefixCache(lm, settings.prefix_cache_bytes, settings.long_tokens)

    def compute(self, sequences: Sequence[ScoredSequence]) -> Iterator[tuple[ScoredSequence, Bits]]:
        with few_threads(self.lm):
            yield from self._compute(sequences)

    def forget(self) -> None:
        """Also drop the caches of prefixes."""
        super().forget()
        self._prefixes.clear()

    def _compute(
        self, sequences: Sequence[ScoredSequence]
    ) -> Iterator[tuple[ScoredSequence, Bits]]:
        if not sequences:
            return
        if not self._shares_prefixes:
            yield from self._compute_after(None, sequences, 0)
            return
        for ids, members in self._prefixes.groups(sequences).items():
            prefix, read_now = self._prefixes.prefix(ids) if ids else (None, False)
            if read_now:
                size = len(ids)
                self.statistics += Statistics(read_tokens=size, padded_tokens=size, forwards=1)
            most = min(MAX_TREE_TOKENS, self.budget.tokens)
            yield from self._compute_after(prefix, members, most)

    def _compute_after(
        self, prefix: CachedPrefix | None, sequences: Sequence[ScoredSequence], max_tokens: int
    ) -> Iterator[tuple[ScoredSequence, Bits]]:
        """Sequences that begin with a prefix, in trees of at most ``max_tokens``."""
        before = len(prefix.ids) if prefix else 0
        trees = prefix_trees(sequences, before, max_tokens)
        for batch in tree_batches(trees, partial(self.budget.rows, prefix=before)):
            try:
                once = partial(self._forward, prefix)
                results = retry_in_halves(once, batch, "sequences to score")
            except (RuntimeError, MemoryError) as error:
                members = [sequences[index] for tree in batch for index in tree.members]
                if len(members) == len(batch) or not out_of_memory(error):
                    raise
                results = []
            if not results:  # a tree does not fit into memory: its members may, each by itself
                release_memory()
                yield from self._compute_after(prefix, members, 0)
            for tree, bits in zip(batch, results, strict=False):
                members = [sequences[index] for index in tree.members]
                finite = all(map(math.isfinite, chain.from_iterable(bits)))
                # NaN passes masks (0 · NaN) from one sequence to its whole tree: read apart, only
                # the one at fault keeps it, and its request can be named.
                if len(members) > 1 and not finite:
                    yield from self._compute_after(None, members, 0)
                else:
                    yield from zip(members, bits, strict=True)

    def _forward(
        self, prefix: CachedPrefix | None, trees: Sequence[PrefixTree]
    ) -> list[list[Bits]]:
        bits = tree_bits(self.lm, trees, prefix, self.budget.bytes // 8)
        self.statistics += Statistics(
            read_tokens=sum(len(tree.tokens) for tree in trees),
            padded_tokens=len(trees) * max(len(tree.tokens) for tree in trees),
            scored_tokens=sum(len(targets) for tree in trees for targets in tree.targets),
            trees=len(trees),
            forwards=1,
        )
        return bits

    @cached_property
    def _shares_prefixes(self) -> bool:
        shares = supports_prefix_sharing(self.lm)
        if not shares:
            name = type(self.lm.model).__name__
            _LOG.warning("%s cannot share prefixes between texts: each is read whole", name)
        return shares
