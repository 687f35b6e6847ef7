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
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archive.plays import PURPOSES, Plays, on_common_seeds
from archive.schema import BASE_POLICY, Definition, GainKind, PlaysKey, TaskId
from archive.statistics import intervals


class Cell(NamedTuple):
    """Values of a source on a target, on ``plays`` paired plays of ``purpose``.

    ``values.gain`` is in bits; C and V are undefined if their denominators are not significant. The
    diagonal of a playable game is 1 without error.
    """

    values: intervals.TransferValues
    purpose: str
    plays: int


@dataclass(frozen=True)
class TransferMatrix:
    """Values of ``sources`` on ``targets``; ``cells`` has the measured pairs only.

    Every bound is one-sided, over evaluation seeds, given the adapters; if games
    were fine-tuned under several training seeds, over these too.
    """

    sources: tuple[TaskId, ...]
    targets: tuple[TaskId, ...]
    cells: Mapping[tuple[TaskId, TaskId], Cell]

    def values(self, definition: Definition) -> intervals.Scores:
        """C or V (sources, targets) float64; NaN unmeasured, −inf undefined."""
        return self._array(lambda cell: cell.values.of(definition).value)

    def lower(self, definition: Definition) -> intervals.Scores:
        """Lower bounds of C or V (sources, targets); NaN unmeasured, −inf undefined or open."""
        return self._array(lambda cell: cell.values.of(definition).low)

    def unmeasured_pairs(self) -> list[tuple[TaskId, TaskId]]:
        """Pairs (source, target) without paired plays, in the order of the matrix."""
        return [pair for pair in product(self.sources, self.targets) if pair not in self.cells]

    def _array(self, number: Callable[[Cell], float | None]) -> intervals.Scores:
        cells = [self.cells.get(pair) for pair in product(self.sources, self.targets)]
        found = (math.nan if cell is None else number(cell) for cell in cells)
        numbers = np.array([-math.inf if each is None else each for each in found], np.float64)
        return numbers.reshape(len(self.sources), len(self.targets))


def transfer_matrix(
    plays: Mapping[PlaysKey, Plays],
    policies: Mapping[TaskId, Sequence[str]],
    sources: Sequence[TaskId],
    targets: Sequence[TaskId],
    kind: GainKind = GainKind.TOTAL,
    confidence: float = intervals.CONFIDENCE,
    bounds_at: float | None = None,
) -> TransferMatrix:
    """All measured pairs of ``sources`` and ``targets``, in their order.

    Whether a value is defined is tested at the one-sided ``confidence``; each bound holds at
    ``bounds_at`` (default: the same), so that stricter bounds make no value undefined.
    """
    level = confidence if bounds_at is None else bounds_at
    levels = intervals.two_sided(level), intervals.two_sided(confidence)
    pairing = partial(_pairing, plays, policies, kind)
    own, cells = {source: pairing(source, source) for source in sources}, {}
    for target, source in product(targets, sources):
        if pair := pairing(source, target):
            at_home = own[source]
            values = intervals.transfer_values(*pair[:2], at_home and at_home[0], *levels)
            if source == target and math.isfinite(values.captured.low):
                # the value is 1 without error, but for open bounds, which stay open
                unity = intervals.Interval(1.0, 1.0, 1.0)
                values = intervals.TransferValues(values.gain, unity, unity)
            cells[source, target] = Cell(values, pair[2], pair[0].shape[-1])
    return TransferMatrix(tuple(sources), tuple(targets), cells)


def _pairing(
    plays: Mapping[PlaysKey, Plays],
    policies: Mapping[TaskId, Sequence[str]],
    kind: GainKind,
    source: TaskId,
    target: TaskId,
) -> tuple[intervals.Scores, intervals.Scores, str] | None:
    """Gains in bits of the source's policies and of the target's own on the same plays, the largest
    sample: (n,), or (R, n) under R training seeds; and the plays' purpose. None with fewer than 2
    paired plays."""
    if source not in policies or target not in policies:
        return None
    count = min(len(policies[source]), len(policies[target]))
    names = BASE_POLICY, *policies[source][-count:], *policies[target][-count:]
    best: tuple[intervals.Scores, intervals.Scores, str] | None = None
    for purpose in PURPOSES:
        try:  # most pairs of a large run were never played
            samples = [plays[PlaysKey(policy, target, purpose)] for policy in names]
        except KeyError:
            continue
        scores = np.stack([sample.kind(kind) for sample in on_common_seeds(samples)])
        scores = scores[:, np.isfinite(scores).all(axis=0)]
        if scores.shape[1] >= 2 and (best is None or scores.shape[1] > best[0].shape[-1]):
            gains = scores[1:] - scores[0]
            best = intervals.over_seeds(gains[:count]), intervals.over_seeds(gains[count:]), purpose
    return best


def simultaneous_matrix(
    plays: Mapping[PlaysKey, Plays],
    policies: Mapping[TaskId, Sequence[str]],
    sources: Sequence[TaskId],
    targets: Sequence[TaskId],
    finetunes: int,
    kind: GainKind = GainKind.TOTAL,
) -> tuple[TransferMatrix, int]:
    """The values with lower bounds that hold together at 95 %, and their number m: ordered pairs of
    ``finetunes``, all from which one of a game may have been chosen, times samples. If all hold,
    every Γ read from them covers, at any η; the gains share map seeds, so only Bonferroni's
    correction is valid."""
    samples = {(key.purpose, len(sample.own)) for key, sample in plays.items()}
    count = finetunes**2 * max(1, sum(purpose in PURPOSES for purpose, _ in samples))
    level = intervals.bonferroni(intervals.CONFIDENCE, count)
    # the test of being defined is the same as elsewhere, so that point estimates do not change
    return transfer_matrix(plays, policies, sources, targets, kind, bounds_at=level), count


# -- the graph of games, with an edge if a value reaches α, and its components (Def. 54) ----------


def links(values: intervals.Scores, alpha: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Edges and paths of a matrix of values (n, n), rows teach columns: whether a game has an edge
    to another one (G1 ☽ G2 iff its value on G2 is at least ``alpha``), and whether a downstream
    path leads there, (n, n) each; a path of no edge leads to the game itself.

    A value that is not measured (NaN) or not defined (−inf) is no edge. ``alpha`` is above 0.
    """
    from scipy.sparse.csgraph import shortest_path  # slow to load

    edges = np.nan_to_num(values, nan=-np.inf) >= alpha
    np.fill_diagonal(edges, False)
    return edges, np.isfinite(shortest_path(edges, unweighted=True))
