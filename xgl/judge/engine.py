"""The scoring engine: bits of many rows of tokens from as few tokens read as possible.

Rows that begin alike are read as one pack (``xgl.judge.prefix_tree``). Beginnings that are
announced as ``roots``, and long contexts that come again in a later call, are read once and kept
as key-value caches. Batches are functions of what was asked since the last
:meth:`ScoringEngine.forget`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import chain

from xgl.judge.forward import Bits, Root, read, shares_beginnings
from xgl.judge.prefix_cache import Roots, RootSettings
from xgl.judge.prefix_tree import LONGEST, Ids, Pack, Row, batches, packs
from xgl.judge.score_memory import ScoreMemory
from xgl.lm.language_model import LanguageModel
from xgl.lm.memory import Budget, free, out_of_memory, retry_in_halves

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
    bound the scores kept, ``root_bytes`` the caches of beginnings; contexts of ``long_tokens`` are
    worth one.
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
        self.budget = Budget.of(lm, settings.batch_tokens, settings.memory_bytes)
        self._memory = ScoreMemory(settings.remembered_bytes)
        kept = RootSettings(settings.root_bytes, settings.long_tokens)
        self._roots = Roots(lm, kept, roots)
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
        for row, bits in self._computed(new):
            found[row] = bits
            self._memory.put(row, bits)
        return [found[row] for row in rows]

    def forget(self) -> None:
        """Drop remembered scores and caches. They shape batches and so the last bits of new
        scores: what must not hang on earlier work begins with this."""
        self._memory.clear()
        self._roots.forget()

    # -- plans -----------------------------------------------------------------------------

    def _computed(self, rows: Sequence[Row]) -> Iterator[tuple[Row, Bits]]:
        if not rows:
            return
        if not self._can_share():
            yield from self._below(None, rows, 0)
            return
        for ids, members in self._roots.groups(rows).items():
            root = self._root(ids) if ids else None
            yield from self._below(root, members, min(LONGEST, self.budget.tokens))

    def _below(
        self, root: Root | None, rows: Sequence[Row], longest: int
    ) -> Iterator[tuple[Row, Bits]]:
        """Rows below a root, in packs of at most ``longest`` tokens."""
        before = len(root.ids) if root else 0
        for batch in batches(packs(rows, before, longest), partial(self.budget.rows, root=before)):
            for pack, answers in zip(batch, self._answers(root, rows, batch), strict=True):
                members = [rows[index] for index in pack.rows]
                if len(members) > 1 and not _finite(answers):  # one row's may have spread to others
                    yield from self._below(None, members, 0)
                else:
                    yield from zip(members, answers, strict=True)

    def _root(self, ids: Ids) -> Root:
        root, read_now = self._roots.root(ids)
        if read_now:
            size = len(ids)
            self.statistics += Statistics(read_tokens=size, padded_tokens=size, forwards=1)
        return root

    # -- forward passes --------------------------------------------------------------------

    def _answers(
        self, root: Root | None, rows: Sequence[Row], batch: Sequence[Pack]
    ) -> list[list[Bits]]:
        return retry_in_halves(
            lambda some: self._read(root, rows, some), batch, "sequences to score"
        )

    def _read(
        self, root: Root | None, rows: Sequence[Row], some: Sequence[Pack]
    ) -> list[list[Bits]]:
        try:
            found = read(self.lm, some, root, self.budget.bytes // 8)
        except (RuntimeError, MemoryError) as error:
            if len(some) > 1 or len(some[0].rows) == 1 or not out_of_memory(error):
                raise
        else:
            self.statistics += _read_statistics(some)
            return found
        free()
        return [self._in_halves(root, [rows[index] for index in some[0].rows])]

    def _in_halves(self, root: Root | None, members: Sequence[Row]) -> list[Bits]:
        """Answers of one pack that memory has no room for."""
        middle = len(members) // 2
        _LOG.warning("out of memory at a pack of %d, going on with %d", len(members), middle)
        found: dict[Row, Bits] = {}
        for part in (members[:middle], members[middle:]):
            found.update(self._below(root, part, LONGEST))
        return [found[row] for row in members]

    def _can_share(self) -> bool:
        if self._sharing is None:
            self._sharing = shares_beginnings(self.lm)
            if not self._sharing:
                name = type(self.lm.model).__name__
                _LOG.warning("%s shares no beginnings between texts: each is read whole", name)
        return self._sharing


def _finite(answers: Sequence[Bits]) -> bool:
    return all(map(math.isfinite, chain.from_iterable(answers)))


def _read_statistics(batch: Sequence[Pack]) -> Statistics:
    return Statistics(
        read_tokens=sum(len(pack.tokens) for pack in batch),
        padded_tokens=len(batch) * max(len(pack.tokens) for pack in batch),
        scored_tokens=sum(len(row) for pack in batch for row in pack.targets),
        sequences=len(batch),
        forwards=1,
    )
