"""The matrix of transfer values: from plays to C, V and gains of every pair that was measured.

Three conventions hold for every reader of an archive:

* *Policies of a game.* One fine-tune under each training seed
  (:func:`~archive.plays.representative_policies`).
* *Plays of a pair.* Seeds that the base player, the source's policy and the target's own policy all
  have on the target; V also uses the source's own gain. If several purposes have such seeds, the
  one with the most of them is used; among equals acceptance, whose seeds ranked no candidate.
* *Missing values.* A pair without such plays is **unmeasured**, NaN in arrays; one whose
  denominator is not significantly above 0 is **undefined**, −inf: it never counts as covered
  (docs/specification.md, "Transfer values").

Bounds that hold together: :func:`simultaneous_matrix` (docs/specification.md, "Simultaneous
confidence").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archive.plays import PURPOSES, Plays, on_common_seeds, sample_sizes
from archive.schema import BASE_POLICY, Definition, GainKind, PlaysKey, TaskId
from archive.statistics.intervals import (
    CONFIDENCE,
    Interval,
    Scores,
    TransferValues,
    bonferroni,
    over_seeds,
    transfer_values,
    two_sided,
)


class Cell(NamedTuple):
    """Values of a source on a target, on ``plays`` paired plays of ``purpose``.

    ``values.gain`` is in bits; C and V are undefined if their denominators are not significant. The
    diagonal of a playable game is 1 without error.
    """

    values: TransferValues
    purpose: str
    plays: int

    @property
    def from_selection(self) -> bool:
        """Whether the plays were also used to select games."""
        return self.purpose == "selection"


@dataclass(frozen=True)
class TransferMatrix:
    """Values of ``sources`` on ``targets``; ``cells`` has the measured pairs only.

    Every bound is one-sided at ``confidence``, over evaluation seeds, given the adapters; if games
    were fine-tuned under several training seeds, over these too.
    """

    sources: tuple[TaskId, ...]
    targets: tuple[TaskId, ...]
    cells: Mapping[tuple[TaskId, TaskId], Cell]
    confidence: float

    def values(self, definition: Definition) -> Scores:
        """C or V (sources, targets) float64; NaN unmeasured, −inf undefined."""

        def value(cell: Cell) -> float:
            found = cell.values.of(definition).value
            return -math.inf if found is None else found

        return self._array(value)

    def lower(self, definition: Definition) -> Scores:
        """Lower bounds of C or V (sources, targets); NaN unmeasured, −inf undefined or open."""
        return self._array(lambda cell: cell.values.of(definition).low)

    def unmeasured_pairs(self) -> list[tuple[TaskId, TaskId]]:
        """Pairs (source, target) without paired plays, in the order of the matrix."""
        pairs = ((source, target) for source in self.sources for target in self.targets)
        return [pair for pair in pairs if pair not in self.cells]

    def _array(self, number: Callable[[Cell], float]) -> Scores:
        array = np.full((len(self.sources), len(self.targets)), math.nan)
        for row, source in enumerate(self.sources):
            for column, target in enumerate(self.targets):
                if cell := self.cells.get((source, target)):
                    array[row, column] = number(cell)
        return array


def transfer_matrix(
    plays: Mapping[PlaysKey, Plays],
    policies: Mapping[TaskId, Sequence[str]],
    sources: Sequence[TaskId],
    targets: Sequence[TaskId],
    kind: GainKind = GainKind.TOTAL,
    confidence: float = CONFIDENCE,
    bounds_at: float | None = None,
) -> TransferMatrix:
    """All measured pairs of ``sources`` and ``targets``, in their order.

    Whether a value is defined is tested at the one-sided ``confidence``; each bound holds at
    ``bounds_at`` (default: the same), so that stricter bounds make no value undefined.
    """
    reader = _CellReader(plays, policies, kind, confidence, bounds_at or confidence)
    cells = {}
    for target in targets:
        for source in sources:
            if cell := reader.cell(source, target):
                cells[source, target] = cell
    return TransferMatrix(tuple(sources), tuple(targets), cells, bounds_at or confidence)


_Pairing = tuple[Scores, Scores, str]
"""Gains in bits of the source's policies and of the target's own, on the same plays: (n,), or
(R, n) under R training seeds; and the plays' purpose."""


class _CellReader:
    """Pairs plays and turns them into cells; own gains are looked up once for each game."""

    def __init__(
        self,
        plays: Mapping[PlaysKey, Plays],
        policies: Mapping[TaskId, Sequence[str]],
        kind: GainKind,
        confidence: float,
        bounds_at: float,
    ) -> None:
        self.plays, self.policies, self.kind = plays, policies, kind
        self.defined_at, self.level = two_sided(confidence), two_sided(bounds_at)
        self.own: dict[TaskId, _Pairing | None] = {}

    def cell(self, source: TaskId, target: TaskId) -> Cell | None:
        """The cell of a pair; None if the pair or the source's own game has no plays on common
        seeds."""
        if source not in self.own:
            self.own[source] = self._pairing(source, source)
        own, pairing = self.own[source], self._pairing(source, target)
        if own is None or pairing is None:
            return None
        cross, target_own, purpose = pairing
        values = transfer_values(cross, target_own, own[0], self.level, self.defined_at)
        if source == target and (captured := values.captured).value is not None:
            unity = Interval(1.0, 1.0, 1.0) if math.isfinite(captured.low) else captured
            unity = replace(unity, value=1.0)  # open bounds stay open
            values = TransferValues(values.gain, unity, unity)
        return Cell(values, purpose, cross.shape[-1])

    def _pairing(self, source: TaskId, target: TaskId) -> _Pairing | None:
        """The largest sample of gains; None with fewer than 2 paired plays."""
        if source not in self.policies or target not in self.policies:
            return None
        # the cheap question first: most pairs of a large run were never played
        first = self.policies[source][0]
        if not any(PlaysKey(first, target, purpose) in self.plays for purpose in PURPOSES):
            return None
        count = min(len(self.policies[source]), len(self.policies[target]))
        sides = self.policies[source][-count:], self.policies[target][-count:]
        best: _Pairing | None = None
        for purpose in PURPOSES:
            keys = [
                PlaysKey(policy, target, purpose) for policy in (BASE_POLICY, *sides[0], *sides[1])
            ]
            if not all(key in self.plays for key in keys):
                continue
            scores = np.stack(
                [p.kind(self.kind) for p in on_common_seeds([self.plays[k] for k in keys])]
            )
            scores = scores[:, np.isfinite(scores).all(axis=0)]
            if scores.shape[1] >= 2 and (best is None or scores.shape[1] > best[0].shape[-1]):
                gains = scores[1:] - scores[0]
                best = over_seeds(gains[:count]), over_seeds(gains[count:]), purpose
        return best


# -- lower bounds that hold together ---------------------------------------------------------


def simultaneous_matrix(
    plays: Mapping[PlaysKey, Plays],
    policies: Mapping[TaskId, Sequence[str]],
    sources: Sequence[TaskId],
    targets: Sequence[TaskId],
    kind: GainKind = GainKind.TOTAL,
    confidence: float = CONFIDENCE,
) -> tuple[TransferMatrix, int]:
    """The values with lower bounds that hold together at ``confidence``, and their number m:
    ordered pairs of fine-tuned games times samples. If all hold, every Γ read from them covers, at
    any η; the gains share map seeds, so only Bonferroni's correction is valid."""
    count = len(policies) ** 2 * max(1, sample_sizes(plays))
    level = bonferroni(confidence, count)
    # the test of being defined is the same as elsewhere, so that point estimates do not change
    return transfer_matrix(plays, policies, sources, targets, kind, bounds_at=level), count


# -- the graph of games, with an edge if a value reaches α, and its components (Def. 54) ----------


def links(values: Scores, alpha: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Edges and paths of a matrix of values (n, n), rows teach columns: whether a game has an edge
    to another one (G1 ☽ G2 iff its value on G2 is at least ``alpha``), and whether a downstream
    path leads there, (n, n) each; a path of no edge leads to the game itself.

    A value that is not measured (NaN) or not defined (−inf) is no edge. Raises ValueError unless
    α > 0.
    """
    from scipy.sparse.csgraph import shortest_path  # slow to load

    if not alpha > 0:
        raise ValueError(f"found α = {alpha}, expected it above 0")
    edges = np.nan_to_num(values, nan=-np.inf) >= alpha
    np.fill_diagonal(edges, False)
    return edges, np.isfinite(shortest_path(edges, unweighted=True))
