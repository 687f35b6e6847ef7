"""The best moves known on a measure's games: solved for, remembered, and held against what players
score (docs/measuring.md, "Ceilings")."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from archive.schema import TaskId
from archive.statistics.ceilings import GameCeiling
from evo.config.measure import CeilingConfig
from evo.jobs.evaluate import Task
from evo.jobs.model_host import ModelHost
from evo.jobs.repeated_play import Row
from evo.measure.folder import ExportedMeasure, MeasureGame
from xgl.judge.server_judge import is_server
from xgl.runtime.requests import Player, Seeds
from xgl.solvers.search import Solution
from xgl.solvers.solvers import Solvers
from xgl.solvers.trials import MapTrials

SOLVERS = 3


def tells_gradients(judge: str) -> bool:
    """Whether a judge, by its reference, can be searched along its gradient."""
    return not is_server(judge)


def solved(
    host: ModelHost,
    member: MeasureGame,
    seeds: Sequence[Seeds],
    player: Player,
    settings: CeilingConfig,
) -> Iterator[Row]:
    """Rows of the table ``ceilings``, but for the run's id: each solver on each map."""
    solvers = Solvers(
        host.judge, settings.calls, player, settings.width, settings.batch, settings.patience
    )
    for each in seeds:
        started = time.perf_counter()
        trials = MapTrials(member.task.game, member.task.role, each, host.cast(member.task))
        solutions = solvers.solve(trials)
        seconds = (time.perf_counter() - started) / max(1, len(solutions))
        for solution in solutions:
            yield _row(member.task, each, solution, settings.calls, seconds)


def _row(task: Task, seeds: Seeds, solution: Solution, budget: int, seconds: float) -> Row:
    return {
        "solver": solution.solver,
        "game_id": task.game_id,
        "role": task.role,
        "map_seed": seeds.map_seed,
        "play_seed": seeds.play_seed,
        "score": solution.best.score,
        "moves": list(solution.best.moves),
        "budget": budget,
        "calls": solution.calls,
        "curve_calls": [calls for calls, _ in solution.curve],
        "curve": [score for _, score in solution.curve],
        "seconds": seconds,
    }


def came_with(exported: ExportedMeasure, member: MeasureGame, seeds: Sequence[Seeds]) -> list[Row]:
    """The best that the folder knows, as rows."""
    known = exported.best_known[member.name]
    return [
        {
            "solver": known[each.map_seed].found_by,
            "game_id": member.task.game_id,
            "role": member.task.role,
            "map_seed": each.map_seed,
            "play_seed": each.play_seed,
            "score": known[each.map_seed].score,
            "moves": list(known[each.map_seed].moves),
            "budget": 0,
            "calls": 0,
            "curve_calls": [],
            "curve": [],
            "seconds": 0.0,
        }
        for each in seeds
        if each.map_seed in known
    ]


def table(games: Sequence[GameCeiling], names: Mapping[TaskId, str], confidence: float) -> Table:
    """Shares of the way from the base to the best known, by game and player."""
    shown = Table(
        title=f"Share of the way from the base's mean b to the best known, {confidence:.0%} over "
        "maps; after ℓ rounds in brackets; bits left a play",
        title_justify="left",
    )
    players = list(dict.fromkeys(name for game in games for name in game.one_play))
    shown.add_column("game")
    shown.add_column("best known", justify="right")
    shown.add_column("found by", overflow="fold")
    for name in players:
        shown.add_column(name, justify="right", overflow="fold")
    for game in games:
        cells = [_cell(game, name) for name in players]
        shown.add_row(names[game.task_id], f"{game.best:.1f} bits", game.finders, *cells)
    return shown


def _cell(game: GameCeiling, player: str) -> str:
    if player not in game.one_play:
        return ""
    one, after = game.one_play[player], game.after_rounds[player].share.value
    bits = f"{one.bits.value:.1f} bits"
    if one.share.value is None or after is None:
        return f"no better is known; {bits}"
    bounds = f"({one.share.low:.0%} to {one.share.high:.0%})"
    return f"{one.share.value:.0%} {bounds} \\[{after:.0%}]; {bits}"
