"""The best known moves on a measure's games: search, archive, and comparison with players' scores
(docs/how-to/measuring.md, "Ceilings")."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from rich.table import Table

from archive.schema import Purpose, TaskId
from archive.statistics.measure import GameCeiling
from archive.text import interval, number, percent, plural
from archive.views import tables
from evo.config.measure import MeasureConfig
from evo.jobs.evaluation import Task
from evo.jobs.model_host import ModelHost
from evo.jobs.repeated_play import Row
from evo.measure.folder import ExportedMeasure, MeasureGame
from evo.record.ledger import Ledger
from xgl.runtime.requests import Player, Seeds
from xgl.solvers.solvers import Attempt, MapTrials, Solution, Solvers

SOLVERS = 2


class CeilingSearch:
    """The rows of ``ceilings`` of one measured run."""

    def __init__(self, export: ExportedMeasure, ledger: Ledger, config: MeasureConfig) -> None:
        self.export, self.ledger, self.config = export, ledger, config
        self.budgets: dict[TaskId, int] = {}
        """Largest number of judge calls in a search of each game; 0 if only the folder's best is
        known."""
        for row in ledger.archive.rows("ceilings", ["game_id", "role", "budget"]):
            task_id = TaskId.of(row)
            self.budgets[task_id] = max(row["budget"], self.budgets.get(task_id, 0))

    def commit_best_known(self) -> None:
        """Commit the folder's best known scores of the games that have no rows."""
        new = [m for m in self.export.members if m.task.id not in self.budgets]
        self.ledger.commit(ceilings=[row for m in new for row in self._export_rows(m)])

    def missing(self) -> list[MeasureGame]:
        """Games that were searched with fewer calls than the setting's."""
        calls = self.config.ceiling.calls
        return [m for m in self.export.members if self.budgets.get(m.task.id, 0) < calls]

    def solve(self, host: ModelHost, player: Player, member: MeasureGame) -> str:
        """Run each solver on each map, in one commit; returns a line of text on the result."""
        if stories := self.export.stories.get(member.name):
            host.use_stories(stories)
        host.begin()
        rows = list(self._solution_rows(host, player, member))
        source = f"measure {self.export.digest}"
        maps = self.ledger.map_rows(host.stories.map_texts, Purpose.MEASURE, source)
        self.ledger.commit(ceilings=rows, maps=maps)
        best: dict[int, float] = {}
        for row in rows:
            best[row["map_seed"]] = max(row["score"], best.get(row["map_seed"], row["score"]))
        if not best:
            return "no play finished"
        mean = number(sum(best.values()) / len(best), 1)
        return f"{mean} bits on {plural(len(best), 'map')}"

    def _solution_rows(self, host: ModelHost, player: Player, member: MeasureGame) -> Iterator[Row]:
        settings, task = self.config.ceiling, member.task
        solvers = Solvers(host.judge, settings.calls, player, settings.width)
        for seeds in self.export.seeds(member, self.config.maps):
            start = time.perf_counter()
            solutions = solvers.solve(MapTrials(task.game, task.role, seeds, host.cast(task)))
            seconds = (time.perf_counter() - start) / max(1, len(solutions))
            for solution in solutions:
                yield _row(task, seeds, solution, settings.calls, seconds)

    def _export_rows(self, member: MeasureGame) -> Iterator[Row]:
        """The folder's best known scores, as solutions of solvers that made no judge call."""
        for seeds in self.export.seeds(member, self.config.maps):
            if best := self.export.best_known[member.name].get(seeds.map_seed):
                solution = Solution(best.found_by, Attempt(best.moves, best.score), 0, ())
                yield _row(member.task, seeds, solution, 0, 0.0)


def _row(task: Task, seeds: Seeds, solution: Solution, budget: int, seconds: float) -> Row:
    return {
        "solver": solution.solver,
        **task.id._asdict(),
        **asdict(seeds),
        "score": solution.best.score,
        "moves": list(solution.best.moves),
        "budget": budget,
        "calls": solution.calls,
        "curve_calls": [calls for calls, _ in solution.curve],
        "curve": [score for _, score in solution.curve],
        "seconds": seconds,
    }


def table(games: Sequence[GameCeiling], names: Mapping[TaskId, str], confidence: float) -> Table:
    """Shares of the distance from the base's score to the best known one, by game and player."""
    players = list(dict.fromkeys(name for game in games for name in game.one_play))
    view = tables.table(
        f"Share of the way from the base's mean b to the best known, {percent(confidence)} over "
        "maps; after ℓ rounds in parentheses; bits left a play",
        *("game", "best known", "found by", *players),
    )
    for game in games:
        cells = [_cell(game, name) for name in players]
        best = f"{number(game.best, 1)} bits"
        tables.add(view, names[game.task_id], best, game.finders, *cells)
    return view


def _cell(game: GameCeiling, player: str) -> str:
    if player not in game.one_play:
        return ""
    one, after = game.one_play[player], game.after_rounds[player].share.value
    bits = f"{number(one.bits.value, 1)} bits"
    if one.share.value is None or after is None:
        return f"no better is known; {bits}"
    return f"{interval(one.share, percent)} ({percent(after)}); {bits}"
