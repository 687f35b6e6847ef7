"""The contents of a report, from an archive's rows. Only reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from archive.report.contents import (
    Count,
    DecidedCandidate,
    GameFacts,
    RunThresholds,
    StageCost,
)
from archive.report.game_cards import gather_games
from archive.report.player_measures import (
    NamedCeiling,
    PlayerMeasure,
    RatingsSection,
    gather_ceilings,
    gather_measures,
    gather_ratings,
)
from archive.run import Run, reason_of
from archive.schema import SCRIPT_POLICY, Definition, GainKind, ScopeRow, TaskId
from archive.statistics.covers import (
    Cover,
    best_cover,
    greedy,
    largest_eta,
    pessimistic,
    transfer_cover,
)
from archive.statistics.matrix import TransferMatrix
from archive.statistics.rule import bounds_of
from archive.statistics.second_judge import Survival, read_survivals
from archive.store.archive import Archive

# -- covers of the newest scope: how few games represent all of it, by η ---------------------------

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


# -- the report ------------------------------------------------------------------------------------

FATES: Mapping[str, str] = {
    "candidate": "went on to be measured",
    "invalid": "not a valid program",
    "seen": "already met in this run",
    "known": "already known to the sampler",
    "passed_over": "left out for candidates that are farther from known games",
    "degenerate": "no move can change the reward",
    "unfinished": "the model stopped before the program was complete",
    "unsound": "the edit would have made a broken program",
}
"""Outcomes of proposals."""

STAGES: Mapping[str, str] = {
    "proposing": "inventing candidate programs",
    "calibration": "plays of the untrained player, which show whether a game is fit",
    "fine-tuning": "training one player on each candidate",
    "checkpoint": "plays while a player is trained, which show how it learns",
    "scripts": "plays by fixed rules, which show what a game pays without training",
    "selection": "plays that measure what each training taught",
    "acceptance": "plays on fresh maps that confirm, or refute, the best candidates",
}
"""Stages of the search, in their order."""


@dataclass(frozen=True)
class RunReport:
    """Everything that the page draws; ``games`` is the newest scope in the order of acceptance."""

    run: Run
    scope_sizes: tuple[tuple[int, int], ...]
    """Games of each scope, and how many of them are new."""
    games: tuple[GameFacts, ...]
    matrix: TransferMatrix
    thresholds: RunThresholds | None
    candidates: tuple[DecidedCandidate, ...]
    verdicts: tuple[Count, ...]
    fates: tuple[Count, ...]
    stages: tuple[StageCost, ...]
    covers: Covers
    measures: tuple[PlayerMeasure, ...]
    ceilings: tuple[NamedCeiling, ...]
    survivals: tuple[Survival, ...]
    ratings: RatingsSection | str | None

    @property
    def generations(self) -> tuple[int, ...]:
        """The generations of the games, ascending; 0 is the initial scope."""
        return tuple(sorted({game.generation for game in self.games}))


def gather_report(run: Run, measured_archives: Sequence[Archive] = ()) -> RunReport:
    """The report of a run, with models measured on its games.

    Raises LookupFailedError when its scope or a game of it is not archived, DamagedError when a
    file of the archive is.
    """
    thresholds = _thresholds(run.decisions)
    games, matrix = gather_games(run, thresholds)
    names = {game.task_id: (game.place, game.name) for game in games}
    return RunReport(
        run=run,
        scope_sizes=_scope_sizes(run.scopes),
        games=games,
        matrix=matrix,
        thresholds=thresholds,
        candidates=_candidates(run.decisions, thresholds, games),
        verdicts=_verdicts(run.decisions),
        fates=_fates(run),
        stages=_stages(run),
        covers=gather_covers(run, matrix, definition(thresholds)),
        measures=gather_measures(run, measured_archives),
        ceilings=gather_ceilings(
            measured_archives, {task_id.game_id: name for task_id, name in names.items()}
        ),
        survivals=tuple(read_survivals(run)),
        ratings=gather_ratings(run.archive, measured_archives, names),
    )


def definition(thresholds: RunThresholds | None) -> Definition:
    """The value that decides; C where nothing was decided."""
    return Definition.CAPTURED if thresholds is None else thresholds.definition


def _scope_sizes(by_number: Mapping[int, Sequence[ScopeRow]]) -> tuple[tuple[int, int], ...]:
    known_ids: set[TaskId] = set()
    sizes = []
    for members in by_number.values():
        task_ids = {member.task_id for member in members}
        sizes.append((len(task_ids), len(task_ids - known_ids)))
        known_ids |= task_ids
    return tuple(sizes)


def _thresholds(decisions: Sequence[Mapping[str, Any]]) -> RunThresholds | None:
    """The thresholds of the last decision that has any."""
    for row in reversed(decisions):
        if row["alpha1"] is not None and row["alpha2"] is not None:
            return RunThresholds(
                row["alpha1"],
                row["alpha2"],
                Definition(row["definition"]),
                GainKind(row["gain_kind"]),
                row["confidence"],
            )
    return None


def _candidates(
    decisions: Sequence[Mapping[str, Any]],
    thresholds: RunThresholds | None,
    games: Sequence[GameFacts],
) -> tuple[DecidedCandidate, ...]:
    """Decisions that got as far as a value and γ, in their order."""
    if thresholds is None:
        return ()
    name = thresholds.definition.column
    places = {game.task_id: game.place for game in games}
    return tuple(
        DecidedCandidate(
            row["game_id"],
            row["verdict"],
            reason_of(row),
            row["generation"],
            bounds_of(row, name),
            bounds_of(row, "gamma"),
            places.get(TaskId.of(row)) if row["verdict"] == "accepted" else None,
        )
        for row in decisions
        if row[name] is not None and row["gamma"] is not None
    )


def _verdicts(decisions: Sequence[Mapping[str, Any]]) -> tuple[Count, ...]:
    """Accepted first, then the most frequent reasons."""
    counts = Counter((row["verdict"], reason_of(row)) for row in decisions)
    order = {"accepted": 0, "undecided": 1, "refused": 2}
    ordered_counts = sorted(
        counts.items(), key=lambda item: (order.get(item[0][0], 3), -item[1], item[0][1])
    )
    return tuple(
        Count(verdict, reason, reason.meaning, count) for (verdict, reason), count in ordered_counts
    )


def _fates(run: Run) -> tuple[Count, ...]:
    counts = Counter(run.table("proposals", ["outcome"])["outcome"].to_pylist())
    return tuple(
        Count("proposal", fate, FATES.get(fate, "so called by the sampler"), count)
        for fate, count in counts.most_common()
    )


def _stages(run: Run) -> tuple[StageCost, ...]:
    """Stages in the order of the search; those without rows are left out."""
    scores = run.table("scores", ["policy_id", "purpose", "tokens", "seconds"])
    by_script = pc.starts_with(scores["policy_id"], SCRIPT_POLICY)
    plays = scores.filter(pc.invert(by_script))
    totals = {
        "proposing": (_sums(run.table("proposals", ["tokens", "seconds"])), "proposal"),
        "fine-tuning": (_sums(run.table("finetunes", ["tokens", "seconds"])), "training"),
    }
    for purpose in pc.unique(plays["purpose"]).to_pylist():
        totals[purpose] = (_sums(plays.filter(pc.field("purpose") == purpose)), "play")
    totals["scripts"] = (_sums(scores.filter(by_script)), "play")
    names = sorted(totals, key=lambda name: [*STAGES, name].index(name))
    return tuple(
        StageCost(name, STAGES.get(name, ""), items, noun, tokens, seconds)
        for name in names
        for (items, tokens, seconds), noun in [totals[name]]
        if items
    )


def _sums(rows: pa.Table) -> tuple[int, int, float]:
    """Rows, tokens and seconds."""
    tokens, seconds = (pc.sum(rows[name]).as_py() or 0 for name in ("tokens", "seconds"))
    return rows.num_rows, int(tokens), float(seconds)
