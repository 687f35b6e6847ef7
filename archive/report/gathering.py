"""All that the page of a run draws, gathered from the archive's rows. Only reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from archive.report.games import GameFacts, gather_games
from archive.report.measures import PlayerMeasure, gather_measures
from archive.run import Row, Run, reason_of
from archive.schema import Definition, TaskId
from archive.statistics.intervals import Interval
from archive.statistics.matrix import TransferMatrix
from archive.statistics.replay import Survival, read_survivals
from archive.statistics.rule import bounds_of
from archive.store.archive import Archive


class Candidate(NamedTuple):
    """A decision that has both values; ``place`` is that of an accepted game."""

    row: Row
    value: Interval
    gamma: Interval
    place: int | None


class Count(NamedTuple):
    """How many decisions have a verdict (``kind``) for a reason (``name``), in words for a
    newcomer."""

    kind: str
    name: str
    meaning: str
    number: int


@dataclass(frozen=True)
class RunReport:
    """Everything that the page draws; ``games`` is the newest scope in the order of acceptance.

    ``limits``: the last decision that has thresholds.
    """

    run: Run
    games: tuple[GameFacts, ...]
    matrix: TransferMatrix
    limits: Row | None
    candidates: tuple[Candidate, ...]
    verdicts: tuple[Count, ...]
    measures: tuple[PlayerMeasure, ...]
    survivals: tuple[Survival, ...]

    @property
    def definition(self) -> Definition:
        """The value that decides."""
        return self.run.deciding_value[0]

    @property
    def generations(self) -> tuple[int, ...]:
        """The generations of the games, ascending; 0 is the initial scope."""
        return tuple(sorted({game.member.generation for game in self.games}))


def gather_report(run: Run, measured_archives: Sequence[Archive] = ()) -> RunReport:
    """The report of a run, with models measured on its games.

    Raises LookupFailedError when its scope or a game of it is not archived, DamagedError when a
    file of the archive is.
    """
    with_limits = (row for row in run.decisions if None not in (row["alpha1"], row["alpha2"]))
    limits = next(reversed([*with_limits]), None)
    games, matrix = gather_games(run)
    return RunReport(
        run=run,
        games=games,
        matrix=matrix,
        limits=limits,
        candidates=_candidates(run, games) if limits else (),
        verdicts=_verdicts(run.decisions),
        measures=gather_measures(run, measured_archives),
        survivals=tuple(read_survivals(run)),
    )


def _candidates(run: Run, games: Sequence[GameFacts]) -> tuple[Candidate, ...]:
    """Decisions that got as far as a value and γ, in their order."""
    name = run.deciding_value[0].column
    places = {game.task_id: game.place for game in games}
    return tuple(
        Candidate(
            row,
            bounds_of(row, name),
            bounds_of(row, "gamma"),
            places.get(TaskId.of(row)) if row["verdict"] == "accepted" else None,
        )
        for row in run.decisions
        if row[name] is not None and row["gamma"] is not None
    )


def _verdicts(decisions: Sequence[Mapping[str, Any]]) -> tuple[Count, ...]:
    """Accepted first, then the most frequent reasons."""
    counts = Counter((row["verdict"], reason_of(row)) for row in decisions)
    order = {"accepted": 0, "undecided": 1, "refused": 2}
    rows = [Count(kind, name, name.meaning, n) for (kind, name), n in counts.items()]
    return tuple(sorted(rows, key=lambda row: (order.get(row.kind, 3), -row.number, row.name)))
