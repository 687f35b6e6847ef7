"""The contents of a report, from an archive's rows. Only reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from archive.report.contents import (
    Count,
    DecidedCandidate,
    GameFacts,
    RunFacts,
    RunThresholds,
    ScopeSize,
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
from archive.report.scope_covers import Covers, gather_covers
from archive.run import Run, read_settings, reason_of
from archive.schema import SCHEMA_VERSION, SCRIPT_POLICY, Definition, GainKind, ScopeRow, TaskId
from archive.statistics.matrix import TransferMatrix
from archive.statistics.rule import bounds_of
from archive.statistics.second_judge import Survival, read_survivals
from archive.store.archive import Archive

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
    "scripts": "plays by simple rules, which show what a game pays without training",
    "selection": "plays that measure what each training taught",
    "acceptance": "plays on fresh maps that confirm, or refute, the best candidates",
}
"""Stages of the search, in their order."""


@dataclass(frozen=True)
class RunReport:
    """Everything that the page draws; ``games`` is the newest scope in the order of acceptance."""

    run: RunFacts
    scope_sizes: tuple[ScopeSize, ...]
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
    history = run.history
    facts = (run.run_id, history.seed, history.events, history.code_version)
    return RunReport(
        run=RunFacts(*facts, read_settings(run.config_json), SCHEMA_VERSION),
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


def _scope_sizes(by_number: Mapping[int, Sequence[ScopeRow]]) -> tuple[ScopeSize, ...]:
    known_ids: set[TaskId] = set()
    sizes = []
    for number, members in by_number.items():
        task_ids = {member.task_id for member in members}
        sizes.append(ScopeSize(number, len(task_ids), len(task_ids - known_ids)))
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
