"""The cover of a run's newest scope, for ``python -m archive cover`` and the search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from archive.errors import CoverError
from archive.run import Run
from archive.schema import Definition, GainKind, TaskId
from archive.statistics.covers.best_cover import Cover, best_cover, covered_targets, largest_eta
from archive.statistics.values.intervals import CONFIDENCE, Scores
from archive.statistics.values.transfer_matrix import (
    SimultaneousMatrix,
    TransferMatrix,
    simultaneous_matrix,
    transfer_matrix,
)

SWEEP = tuple(step / 20 for step in range(21))
"""Values of η in a sweep."""


@dataclass(frozen=True)
class CoverQuestion:
    """Which cover to compute. ``from_finetuned``: Γ from all fine-tuned games Υ, else from Σ."""

    eta: float
    definition: Definition = Definition.CAPTURED
    gain: GainKind = GainKind.TOTAL
    from_finetuned: bool = False
    confidence: float = CONFIDENCE
    skip_unplayable: bool = False


@dataclass(frozen=True)
class SweepStep:
    """One η of a sweep. ``cover`` is None if η is out of reach, ``simultaneous`` if no cover holds
    with confidence."""

    eta: float
    cover: Cover | None
    simultaneous: Cover | None


@dataclass(frozen=True)
class ScopeCover:
    """A cover of a scope; its indices are those of ``matrix``.

    ``skipped_targets``: targets left out as not playable. ``bounds``: lower bounds that hold
    together; ``simultaneous``: the cover that they prove. ``largest_eta`` and
    ``simultaneous_largest_eta``: the largest η in reach, of point estimates and of these bounds.
    """

    question: CoverQuestion
    matrix: TransferMatrix
    skipped_targets: tuple[TaskId, ...]
    cover: Cover
    covers: tuple[tuple[TaskId, ...], ...]
    largest_eta: float
    bounds: SimultaneousMatrix
    simultaneous: Cover | None
    simultaneous_largest_eta: float

    @property
    def selected_values(self) -> int:
        """Number of values of the cover's members on other games that rest on selection plays."""
        sources = [self.matrix.sources[member] for member in self.cover.members]
        pairs = [(source, target) for source in sources for target in self.matrix.targets]
        cells = [self.matrix.cells.get(pair) for pair in pairs if pair[0] != pair[1]]
        return sum(cell.from_selection for cell in cells if cell is not None)


def scope_cover(run: Run, scope: Sequence[TaskId], question: CoverQuestion) -> ScopeCover:
    """The optimal cover of ``scope``, and the simultaneous cover.

    Raises CoverError naming games that nothing can cover, or the largest η in reach.
    """
    matrix, skipped_targets = _matrix(run, scope, question)
    values = matrix.values(question.definition)
    cover = _best(values, question.eta)
    bounds = _simultaneous(run, matrix, question)
    lower = bounds.matrix.lower(question.definition)
    lists = covered_targets(values, cover.members, question.eta)
    return ScopeCover(
        question=question,
        matrix=matrix,
        skipped_targets=skipped_targets,
        cover=cover,
        covers=tuple(tuple(matrix.targets[target] for target in targets) for targets in lists),
        largest_eta=largest_eta(values),
        bounds=bounds,
        simultaneous=_or_none(lower, question.eta),
        simultaneous_largest_eta=largest_eta(lower),
    )


def sweep(scope_cover: ScopeCover, etas: Sequence[float] = SWEEP) -> list[SweepStep]:
    """Covers at each η, of point estimates and with confidence."""
    definition = scope_cover.question.definition
    values = scope_cover.matrix.values(definition)
    lower = scope_cover.bounds.matrix.lower(definition)
    return [SweepStep(eta, _or_none(values, eta), _or_none(lower, eta)) for eta in etas]


def cover_rows(
    run: Run, scope: Sequence[TaskId], number: int, question: CoverQuestion
) -> list[dict[str, Any]]:
    """Rows of covers, without run_id, for the scope of a number, with Γ from the scope.

    Games that are not playable on these plays are left out, and Δ is then not known. There are no
    rows if no cover exists.
    """
    try:
        matrix, skipped_targets = _matrix(run, scope, question)
        values = matrix.values(question.definition)
        cover = best_cover(values, question.eta)
    except CoverError:
        return []
    lists = covered_targets(values, cover.members, question.eta)
    return [
        {
            "scope": number,
            "eta": question.eta,
            "definition": question.definition,
            "delta": None if skipped_targets else cover.delta,
            "game_id": matrix.sources[member].game_id,
            "role": matrix.sources[member].role,
            "covers": [matrix.targets[target].game_id for target in targets],
            "exact": cover.gap == 0,
            "unknown": int(np.isnan(values).sum()),
        }
        for member, targets in zip(cover.members, lists, strict=True)
    ]


def _matrix(
    run: Run, scope: Sequence[TaskId], question: CoverQuestion
) -> tuple[TransferMatrix, tuple[TaskId, ...]]:
    """Values for a cover of the scope, and the targets left out of it."""
    sources = tuple(run.policies) if question.from_finetuned else tuple(scope)
    # the scope's own games come first: equal covers prefer them
    sources = tuple(
        dict.fromkeys((*(task_id for task_id in scope if task_id in sources), *sources))
    )
    matrix = _read(run, sources, scope, question)
    values = matrix.values(question.definition)
    uncoverable = [
        task_id
        for task_id, column in zip(matrix.targets, values.T, strict=True)
        if not np.isfinite(column).any()
    ]
    if not uncoverable:
        return matrix, ()
    if not question.skip_unplayable:
        raise CoverError(_no_value(matrix, values, uncoverable))
    coverable = [task_id for task_id in scope if task_id not in uncoverable]
    if not coverable:
        raise CoverError(_no_value(matrix, values, uncoverable))
    return _read(run, sources, coverable, question), tuple(uncoverable)


def _read(
    run: Run,
    sources: Sequence[TaskId],
    targets: Sequence[TaskId],
    question: CoverQuestion,
) -> TransferMatrix:
    return transfer_matrix(run.plays, run.policies, sources, targets, question.gain)


def _simultaneous(run: Run, matrix: TransferMatrix, question: CoverQuestion) -> SimultaneousMatrix:
    return simultaneous_matrix(
        run.plays,
        run.policies,
        matrix.sources,
        matrix.targets,
        question.gain,
        question.confidence,
    )


def _no_value(matrix: TransferMatrix, values: Scores, uncoverable: Sequence[TaskId]) -> str:
    """The error message for a game that nothing covers: not measured, or not playable."""
    first = uncoverable[0]
    column = values[:, matrix.targets.index(first)]
    why = "its values are unknown: it was not played by its own fine-tuning and the base player"
    if not np.isnan(column).all():
        why = "no value of it is defined: its own gain is not significantly above 0"
    more = f", and {len(uncoverable) - 1} more like it" if len(uncoverable) > 1 else ""
    return (
        f"game {first.game_id} ({first.role}){more}: {why}; expected games with known values, or "
        "--skip-unplayable to cover the others"
    )


def _best(values: Scores, eta: float) -> Cover:
    """The optimal cover; an error message says whether missing values could give a cover."""
    try:
        return best_cover(values, eta)
    except CoverError as error:
        unknown = int(np.isnan(values).sum())
        if not unknown:
            raise
        hope = largest_eta(np.where(np.isnan(values), math.inf, values))
        could = "a cover at it" if hope >= eta else "none either"
        raise CoverError(f"{error}; {unknown} unknown values could give {could}") from None


def _or_none(values: Scores, eta: float) -> Cover | None:
    return best_cover(values, eta) if largest_eta(values) >= eta else None
