"""The scoring engine: bits of many token sequences, reading as few tokens as possible.

Sequences with a common prefix are read as one tree (``xgl.lm.prefix_sharing``), and scores are
kept, within a bound in bytes: the least recently used are dropped first. Batches are functions of
what was requested since the last :meth:`Engine.forget`.
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
from functools import cached_property
from hashlib import blake2b
from itertools import chain

from cachetools import LRUCache

from xgl.judge.forward import Bits, supports_prefix_sharing, tree_bits
from xgl.lm import memory, prefix_sharing as sharing
from xgl.lm.language_model import LanguageModel
from xgl.lm.prefix_sharing import MAX_TREE_TOKENS, ScoredSequence, prefix_trees, tree_batches

MEMORY_BYTES = 1 << 30
"""Memory that a forward pass may take, in addition to the weights."""
CACHE_BYTES = 64 << 20
"""Bytes of the kept scores."""
ENTRY_BYTES = 320
"""Bytes of an LRU entry in addition to its value, about."""

_LOG = logging.getLogger(__name__)


class Engine(ABC):
    """Gives bits of token sequences and keeps scores, up to ``cache_bytes``."""

    def __init__(self, cache_bytes: int = CACHE_BYTES) -> None:
        self._scores: LRUCache[bytes, array[float]] = LRUCache(
            cache_bytes, lambda bits: ENTRY_BYTES + sys.getsizeof(bits)
        )

    def bits(self, sequences: Sequence[ScoredSequence]) -> list[Bits]:
        """Bits of each sequence's scored tokens, in order; not checked for being finite."""
        keys = dict[ScoredSequence, bytes]()
        for one in sequences:  # by hashes of 16 bytes, of which two in 10^38 pairs collide
            whole = array("q", (*one.ids, one.target_count)).tobytes()
            keys[one] = blake2b(whole, digest_size=16).digest()
        found = {one: self._scores.get(key) for one, key in keys.items()}
        known = {one: tuple(bits) for one, bits in found.items() if bits is not None}
        new = [one for one in keys if one not in known]
        for sequence, bits in self.compute(new):
            kept = array("f", bits)
            known[sequence] = tuple(kept)  # rounded now too, or scores would depend on the cache
            with suppress(ValueError):  # larger than all the room there is
                self._scores[keys[sequence]] = kept
        return [known[sequence] for sequence in sequences]

    def forget(self) -> None:
        """Drop all results of earlier calls. They change the batches and so the rounding of new
        scores: work that must not depend on earlier work begins with this call."""
        self._scores.clear()

    @abstractmethod
    def compute(self, sequences: Sequence[ScoredSequence]) -> Iterable[tuple[ScoredSequence, Bits]]:
        """The bits of different sequences, in any order."""


class ScoringEngine(Engine):
    """Scores token sequences with ``lm``. ``batch_tokens``: padded tokens of one forward pass
    (None: a number that is fast on the kind of device), fewer if they exceed ``memory_bytes``."""

    def __init__(
        self,
        lm: LanguageModel,
        memory_bytes: int = MEMORY_BYTES,
        batch_tokens: int | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        super().__init__(cache_bytes)
        self.lm, self.memory_bytes = lm, memory_bytes
        self.batch_tokens = batch_tokens or memory.FAST_TOKENS.get(lm.device.type, 65536)
        self.counts: Counter[str] = Counter()
        """Tokens that the model read (common prefixes once, the last one of a sequence never), with
        padding, and that it scored; rows and passes."""

    def compute(self, sequences: Sequence[ScoredSequence]) -> Iterator[tuple[ScoredSequence, Bits]]:
        with memory.few_threads(self.lm):
            shares = bool(sequences) and self._shares_prefixes
            most = min(MAX_TREE_TOKENS, self.batch_tokens)
            both = 2 * max((len(each.ids) for each in sequences), default=0)
            if memory.reading_bytes(self.lm, both) <= self.memory_bytes:
                most = max(most, both)  # two long texts may share most of theirs
            yield from self._compute(sequences, most * shares)

    def _compute(
        self, sequences: Sequence[ScoredSequence], max_tokens: int
    ) -> Iterator[tuple[ScoredSequence, Bits]]:
        """The bits of sequences in trees of at most ``max_tokens``; 0: each by itself."""
        for batch in tree_batches(prefix_trees(sequences, max_tokens), self._rows):
            try:
                results = memory.retry_in_halves(self._forward, batch, "sequences to score")
            except (RuntimeError, MemoryError) as error:
                members = [sequences[index] for tree in batch for index in tree.members]
                if len(members) == len(batch) or not memory.out_of_memory(error):
                    raise
                results = []
            if not results:  # a tree does not fit into memory: its members may, each by itself
                memory.release_memory()
                yield from self._compute(members, 0)
            for tree, bits in zip(batch, results, strict=False):
                members = [sequences[index] for index in tree.members]
                finite = all(map(math.isfinite, chain.from_iterable(bits)))
                # NaN passes masks (0 · NaN) from one sequence to its whole tree: read apart, only
                # the one at fault keeps it, and its request can be named.
                if len(members) > 1 and not finite:
                    yield from self._compute(members, 0)
                else:
                    yield from zip(members, bits, strict=True)

    def _rows(self, width: int) -> int:
        """Trees of ``width`` tokens that one pass reads, at least one."""
        rows = self.memory_bytes // memory.reading_bytes(self.lm, width)
        return max(1, min(self.batch_tokens // width, rows))

    def _forward(self, trees: Sequence[sharing.PrefixTree]) -> list[list[Bits]]:
        bits = tree_bits(self.lm, trees, self.memory_bytes // 8)
        self.counts.update(
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
