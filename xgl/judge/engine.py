"""The scoring engine: bits of many rows of tokens from as few tokens read as possible.

Rows that begin alike are read as one pack (``xgl.judge.packs``). Beginnings that are announced as
``roots``, and long contexts that come again in a later call, are read once and kept as key-value
caches. Batches are functions of what was asked since the last :meth:`ScoringEngine.forget`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from xgl.halving import halving
from xgl.judge.memory import Bounded, ScoreMemory
from xgl.judge.packs import LONGEST, Ids, Pack, Row, batches, packs
from xgl.judge.reading import Bits, Root, read, read_root, shares_beginnings
from xgl.lm import LanguageModel

FAST_TOKENS = {"cpu": 1024}
"""Padded tokens of a forward pass by kind of device; on a CPU larger ones leave its cache."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Statistics:
    """What was asked and what it took. Tokens are those that a model reads: the last of a row is
    only predicted."""

    asked: int = 0
    """Rows asked for."""
    merged: int = 0
    """Of these, equal to another of the same call."""
    remembered: int = 0
    """Of these, answered from memory."""
    asked_tokens: int = 0
    """Tokens of the rows asked for, each by itself."""
    new_tokens: int = 0
    """The same, of the rows that were neither merged nor remembered."""
    read_tokens: int = 0
    """Tokens that were read: beginnings in common once, padding not counted."""
    padded_tokens: int = 0
    """The same with padding."""
    scored_tokens: int = 0
    """Tokens whose bits were computed."""
    sequences: int = 0
    """Rows of the batches."""
    forwards: int = 0

    @property
    def hit_rate(self) -> float:
        """Share of a call's distinct rows that memory answered."""
        distinct = self.asked - self.merged
        return self.remembered / distinct if distinct else 0.0

    def __add__(self, other: Statistics) -> Statistics:
        names = [each.name for each in fields(self)]
        return Statistics(**{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass(frozen=True)
class EngineSettings:
    """Bounds of one engine; documented in ``conf/judge``.

    ``batch_tokens``: padded tokens of one forward pass (None: what was measured to be fast on the
    kind of device), fewer where ``memory_bytes`` would be exceeded by them. ``remembered_bytes``
    bound the scores kept, ``root_bytes`` the caches kept. A context of ``long_tokens`` is worth a
    cache of its own when it comes again; fewer are sooner read in one batch with others.
    """

    batch_tokens: int | None = None
    memory_bytes: int = 1 << 30
    remembered_bytes: int = 64 << 20
    root_bytes: int = 256 << 20
    long_tokens: int = 256


class ScoringEngine:
    """Scores rows with ``lm``; remembers scores, and the caches of beginnings."""

    def __init__(
        self,
        lm: LanguageModel,
        settings: EngineSettings | None = None,
        roots: Sequence[Ids] = (),
    ) -> None:
        settings = settings or EngineSettings()
        self.lm = lm
        self.statistics = Statistics()
        wanted = settings.batch_tokens or FAST_TOKENS.get(lm.device.type, 65536)
        self.batch_tokens = max(1, min(wanted, settings.memory_bytes // token_bytes(lm)))
        self._memory = ScoreMemory(settings.remembered_bytes)
        self._roots: Bounded[Root] = Bounded(settings.root_bytes, lambda root: root.bytes)
        self._announced = sorted(set(roots), key=len, reverse=True)
        self._long = settings.long_tokens
        self._met: Bounded[bool] = Bounded(settings.root_bytes // 16, int)
        self._sharing: bool | None = None

    def bits(self, rows: Sequence[Row]) -> list[Bits]:
        """Bits of each row's counted tokens, in order; not checked for being finite."""
        distinct = list(dict.fromkeys(rows))
        found = {row: bits for row in distinct if (bits := self._memory.get(row)) is not None}
        new = [row for row in distinct if row not in found]
        self.statistics += Statistics(
            asked=len(rows),
            merged=len(rows) - len(distinct),
            remembered=len(found),
            asked_tokens=sum(len(row.ids) - 1 for row in rows),
            new_tokens=sum(len(row.ids) - 1 for row in new),
        )
        for ids, members in self._by_root(new).items():
            for row, bits in self._below(ids, members):
                found[row] = bits
                self._memory.put(row, bits)
        return [found[row] for row in rows]

    def forget(self) -> None:
        """Drop remembered scores and contexts. They shape batches and so the last bits of new
        scores: what must not hang on earlier work begins with this."""
        self._memory.clear()
        self._met.clear()

    def _by_root(self, rows: Sequence[Row]) -> dict[Ids, list[Row]]:
        """Rows by the root that they read before their first score: their whole context where it
        is long and an earlier call had it, else the longest announced one, else none."""
        groups: dict[Ids, list[Row]] = {}
        if not rows or not self._can_share():
            return {(): list(rows)} if rows else {}
        long: dict[Ids, None] = {}
        for row in rows:
            context = row.ids[: len(row.ids) - row.counted - 1]
            if len(context) >= self._long:
                long[context] = None
            if len(context) < self._long or not self._met.get(context):
                announced = (r for r in self._announced if context[: len(r)] == r)
                context = next(announced, ())
            groups.setdefault(context, []).append(row)
        for context in long:
            self._met.put(context, True)
        return groups

    def _below(self, ids: Ids, rows: Sequence[Row]) -> Iterator[tuple[Row, Bits]]:
        longest = min(LONGEST, self.batch_tokens) if self._can_share() else 0
        for batch in batches(packs(rows, len(ids), longest), self.batch_tokens):
            for pack, answers in zip(batch, self._read(ids, batch), strict=True):
                yield from zip((rows[index] for index in pack.rows), answers, strict=True)

    def _read(self, ids: Ids, batch: Sequence[Pack]) -> list[list[Bits]]:
        root = self._root(ids) if ids else None
        size = sum(len(pack.tokens) for pack in batch)
        padded = len(batch) * max(len(pack.tokens) for pack in batch)
        self.statistics += Statistics(
            read_tokens=size,
            padded_tokens=padded,
            scored_tokens=sum(len(row) for pack in batch for row in pack.targets),
            sequences=len(batch),
            forwards=1,
        )
        return halving(lambda some: read(self.lm, some, root), batch, "sequences to score")

    def _root(self, ids: Ids) -> Root:
        known = self._roots.get(ids)
        if known is None:
            known = read_root(self.lm, ids)
            size = len(ids)
            self.statistics += Statistics(read_tokens=size, padded_tokens=size, forwards=1)
            self._roots.put(ids, known)
        return known

    def _can_share(self) -> bool:
        if self._sharing is None:
            self._sharing = shares_beginnings(self.lm)
            if not self._sharing:
                name = type(self.lm.model).__name__
                _LOG.warning("%s shares no beginnings between texts: each is read whole", name)
        return self._sharing


def token_bytes(lm: LanguageModel) -> int:
    """What a padded token of a forward pass takes, about: a block's widest point, the residual
    stream, and its row of an attention mask."""
    config = lm.model.config
    hidden = int(config.hidden_size)
    widest = 3 * int(getattr(config, "intermediate_size", None) or 4 * hidden)
    return int(lm.model.dtype.itemsize) * (8 * hidden + widest) + 2 * LONGEST
