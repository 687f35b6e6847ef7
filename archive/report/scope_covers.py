"""Covers of the newest scope: how few games represent all of it, by η."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from archive.run import Run
from archive.schema import Definition, TaskId
from archive.statistics.covers import (
    Cover,
    best_cover,
    greedy,
    largest_eta,
    pessimistic,
    transfer_cover,
)
from archive.statistics.matrix import TransferMatrix

EXACT_UP_TO = 80
"""Games up to which covers are optimal; a page is made in seconds, so larger ones are greedy."""
STEPS, FEW_STEPS = 20, 10
"""Values of η that are tried, and those of large scopes."""


@dataclass(frozen=True)
class CoverStep:
    """A cover at ``eta``: ``members`` are places in the report's list of games.

    ``delta``: what the least covered game is covered at; ``least``: no cover has fewer games.
    """

    eta: float
    members: tuple[int, ...]
    delta: float
    least: int

    @property
    def exact(self) -> bool:
        return len(self.members) == self.least


@dataclass(frozen=True)
class ArchivedCover:
    """The cover of one scope that the search archived; places of its members."""

    scope: int
    eta: float
    delta: float | None
    exact: bool
    unknown: int
    members: tuple[int, ...]
    strangers: int
    """Members that are not in the newest scope."""


@dataclass(frozen=True)
class Covers:
    """``largest``: no cover exists at a larger η. ``hopeless``: games that nothing covers, left
    out; ``unmeasured_pairs``: without a value, which counts as covering nothing."""

    steps: tuple[CoverStep, ...]
    largest: float
    hopeless: tuple[int, ...]
    unmeasured_pairs: int
    archived_covers: tuple[ArchivedCover, ...]

    @property
    def stairs(self) -> tuple[CoverStep, ...]:
        """The last step of each stretch of η over which the members stay the same."""
        following = [*self.steps[1:], None]
        return tuple(
            step
            for step, after in zip(self.steps, following, strict=True)
            if after is None or after.members != step.members
        )


def gather_covers(run: Run, matrix: TransferMatrix, definition: Definition) -> Covers:
    """Covers by η, from the matrix of the newest scope, and those that the run archived."""
    values = matrix.values(definition)
    coverable = np.isfinite(values).any(axis=0)
    hopeless = tuple(int(place) for place in np.flatnonzero(~coverable))
    places = {task_id: place for place, task_id in enumerate(matrix.targets)}
    archived_covers = _archived_covers(run, places)
    if not coverable.any():
        return Covers((), -np.inf, hopeless, 0, archived_covers)
    columns = values[:, coverable]
    largest = largest_eta(columns)
    count = STEPS if len(values) <= EXACT_UP_TO else FEW_STEPS
    etas = [step / count for step in range(1, count + 1) if step / count <= largest]
    steps = smallest_covers if len(values) <= EXACT_UP_TO else greedy_covers
    return Covers(
        tuple(steps(columns, etas)), largest, hopeless, int(np.isnan(values).sum()), archived_covers
    )


def smallest_covers(values: np.ndarray, etas: Sequence[float]) -> Iterator[CoverStep]:
    """The smallest cover at each η, ascending, with the largest Δ of its size.

    Up to that Δ no other cover is better, so the search is repeated only beyond it.
    """
    cover: Cover | None = None
    for eta in etas:
        if cover is None or not cover.exact or eta > cover.delta:
            cover = best_cover(values, eta)
        yield CoverStep(eta, cover.members, cover.delta, cover.least)


def greedy_covers(values: np.ndarray, etas: Sequence[float]) -> Iterator[CoverStep]:
    """A small cover at each η, by the greedy rule."""
    for eta in etas:
        fewest = greedy(pessimistic(values) >= eta)
        delta = transfer_cover(values, fewest.members)
        yield CoverStep(eta, fewest.members, delta, fewest.least)


def _archived_covers(run: Run, places: dict[TaskId, int]) -> tuple[ArchivedCover, ...]:
    groups: dict[tuple[int, float], list[dict[str, object]]] = {}
    for row in run.rows("covers"):
        groups.setdefault((row["scope"], row["eta"]), []).append(row)
    return tuple(
        _cover(scope, eta, members, places) for (scope, eta), members in sorted(groups.items())
    )


def _cover(
    scope: int, eta: float, rows: Sequence[dict[str, object]], places: dict[TaskId, int]
) -> ArchivedCover:
    task_ids = [TaskId.of(row) for row in rows]
    known_places = [places[task_id] for task_id in task_ids if task_id in places]
    delta, unknown = rows[0]["delta"], rows[0]["unknown"]
    return ArchivedCover(
        scope,
        eta,
        delta if isinstance(delta, float) else None,
        bool(rows[0]["exact"]),
        unknown if isinstance(unknown, int) else 0,
        tuple(sorted(known_places)),
        len(task_ids) - len(known_places),
    )
