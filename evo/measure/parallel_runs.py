"""Several measured runs below one folder, side by side in processes, under one budget.

Each is an ordinary run of ``+experiment=measure`` with its own archive; after a kill or a budget it
continues where it stopped.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from archive import Archive, RunEvent
from archive.store.archive import MARKER
from evo.config import measure
from evo.config.measure import MeasureRunConfig
from evo.config.schema import BudgetConfig
from evo.record.budget import check
from evo.record.cost import Cost
from evo.runner import USER_ERRORS, CommandLine, Experiment, RunOutcome, RunPlan, Services, complete
from meta_sampler import BudgetReachedError
from xgl.console import Console

QUIET = Services(console=Console(quiet=True))
COLUMNS = ["policy_id", "game_id", "role", "tokens", "seconds"]


@dataclass(frozen=True)
class WorkDone:
    """Content of measured runs' archives: number of games played, and their cost."""

    plays: int = 0
    cost: Cost = field(default_factory=Cost)

    def __add__(self, other: WorkDone) -> WorkDone:
        return WorkDone(self.plays + other.plays, self.cost + other.cost)


def work_done_in(folder: Path) -> WorkDone:
    """Work done in one run folder, which need not exist yet."""
    if not (folder / "archive" / MARKER).exists():
        return WorkDone()
    with Archive.open(folder) as archive:
        rows = archive.rows("rounds", COLUMNS)
        dollars = sum(row["dollars"] or 0.0 for row in archive.rows("measures", ["dollars"]))
    plays = {(row["policy_id"], row["game_id"], row["role"]) for row in rows}
    cost = sum((Cost(row["tokens"], row["seconds"]) for row in rows), Cost(0, 0.0, dollars))
    return WorkDone(len(plays), cost)


def events_of(folder: Path) -> list[str]:
    """Events of a measured run; empty if it never began."""
    if not (folder / "archive" / MARKER).exists():
        return []
    with Archive.open(folder) as archive:
        return [row["event"] for row in archive.rows("runs", ["event"])]


@dataclass(frozen=True)
class SessionTally:
    """Work of the processes of one session: each appends lines to ``path``, all read it."""

    path: Path

    def add(self, cost: Cost) -> None:
        """Append one play and its cost."""
        line = f"{cost.tokens} {cost.seconds} {cost.dollars}\n"
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)

    def total(self) -> WorkDone:
        """Plays so far and their cost."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return sum(map(_one_play, lines), WorkDone())


def _one_play(line: str) -> WorkDone:
    tokens, seconds, dollars = line.split()
    return WorkDone(1, Cost(int(tokens), float(seconds), float(dollars)))


@dataclass(frozen=True)
class ParallelSession:
    """Shared state of a session's measured runs. ``before``: work done when it began; ``plays``:
    total number of plays, each of one player on one game; ``began``: seconds since the epoch."""

    tally: SessionTally
    budget: BudgetConfig
    before: WorkDone
    plays: int
    began: float

    def tell(self, name: str, line: str, cost: Cost) -> None:
        """Print a line on a committed play. Raises what :meth:`check` raises."""
        self.tally.add(cost)
        now, seconds = self.tally.total().plays, time.time() - self.began
        plays = self.before.plays + now
        to_go = int(seconds / now * max(0, self.plays - plays))
        end = f"{plays} of {self.plays}, about {to_go // 60}:{to_go % 60:02d} to go"
        print(f"[{seconds:6.1f} s] {name}: {line}; {end}", flush=True)
        self.check()

    def check(self) -> None:
        """Raises :class:`~meta_sampler.BudgetReachedError` where the budget is spent."""
        check(self.budget, (self.before + self.tally.total()).cost)


@dataclass(frozen=True)
class Measurement:
    """One measured run, begun or gone on with."""

    name: str
    config: MeasureRunConfig
    session: ParallelSession

    def __call__(self) -> RunOutcome:
        """Run to the end; returns the outcome, which is a failed one after a user's mistake."""
        events = events_of(self.config.folder)
        command = CommandLine(measure.NAME, str(self.config.folder) if events else None, ())
        try:
            self.session.check()
            ended_run = complete(command, {measure.NAME: self._experiment()}, QUIET)
        except BudgetReachedError as error:
            return RunOutcome(RunEvent.OUT_OF_BUDGET, 0, str(error), ())
        except USER_ERRORS as error:
            return RunOutcome(RunEvent.INTERRUPTED, 2, f"{self.name}: {error}", (), failed=True)
        assert ended_run is not None
        return replace(ended_run.outcome, message=f"{self.name}: {ended_run.outcome.message}")

    def _experiment(self) -> Experiment[MeasureRunConfig]:
        from evo.measure.experiment import plan_measure  # loads torch: only where models play

        def plan(config: MeasureRunConfig, services: Services, resumed: bool) -> RunPlan:
            measure_plan = plan_measure(config, services, resumed)
            report = lambda line, cost: self.session.tell(self.name, line, cost)  # noqa: E731
            return replace(measure_plan, after_game=report)

        return Experiment(lambda _: self.config, measure.resume, plan)
