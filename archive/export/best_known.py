"""The best scores known on the maps of an exported game: of all moves that the run's policies made
there and, if requested, of solvers (docs/how-to/measure.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from archive.export.selection import ExportedGame, TextsOf
from archive.run import Run
from archive.schema import TaskId
from archive.statistics.ceilings import BestKnown
from xgl.analysis.static_facts import analyse
from xgl.language.canonical import Game
from xgl.runtime.lockstep import Cast
from xgl.runtime.requests import Judge, Player, Seeds

MOST_MOVES = 8
"""Most moves of a map that are scored again on the exported game: those that earned most."""
COLUMNS = ["policy_id", "map_seed", "outcome", "score", "moves"]


def best_known(
    run: Run, member: ExportedGame, target: Game, judge: Judge, calls: int = 0
) -> dict[int, BestKnown]:
    """The best of archived moves on ``target``, the game as the file has it, by map seed; also of
    solvers with ``calls`` judge calls each, if not 0. Empty if other players move too: their
    moves depend on the measurement."""
    if analyse(target.program).players != (member.role,):
        return {}
    moves_by_map = _archived_moves(run, member.task_id)
    return {
        seeds.map_seed: best
        for seeds in (Seeds(game_map.map_seed, index) for index, game_map in enumerate(member.maps))
        if (best := _best_on_map(member, target, judge, calls, seeds, moves_by_map[seeds.map_seed]))
    }


def _best_on_map(
    member: ExportedGame,
    target: Game,
    judge: Any,
    calls: int,
    seeds: Seeds,
    archived_moves: Sequence[tuple[str, tuple[str, ...]]],
) -> BestKnown | None:
    from xgl.solvers.trials import MapTrials

    trials = MapTrials(target, member.role, seeds, Cast(judge, TextsOf(member.maps), {}))
    attempts = trials.play_moves([moves for _, moves in archived_moves])
    candidates = [
        (policy, attempt) for (policy, _), attempt in zip(archived_moves, attempts, strict=True)
    ]
    if calls:
        candidates += [(each.solver, each.best) for each in _solve(trials, judge, calls)]
    complete = [each for each in candidates if each[1].finished]
    if not complete:
        return None
    policy, best = max(complete, key=lambda each: each[1].score)
    return BestKnown(best.score, policy, best.moves)


def _solve(trials: Any, judge: Any, calls: int) -> Sequence[Any]:
    from xgl.players.local import LocalPolicy
    from xgl.solvers.solvers import Solvers

    player: Player = LocalPolicy(judge.lm)
    return Solvers(judge, calls, player).solve(trials)


def _archived_moves(run: Run, task_id: TaskId) -> dict[int, list[tuple[str, tuple[str, ...]]]]:
    """Different moves by map seed, each with its first policy, the best first."""
    rows = [row for t in ("scores", "rounds") for row in run.rows_of(task_id, t, COLUMNS)]
    finished_rows = [row for row in rows if row["outcome"] == "finished" and row["moves"]]
    by_map: defaultdict[int, dict[tuple[str, ...], str]] = defaultdict(dict)
    for row in sorted(finished_rows, key=lambda row: -row["score"]):
        if len(by_map[row["map_seed"]]) < MOST_MOVES:
            by_map[row["map_seed"]].setdefault(tuple(row["moves"]), row["policy_id"])
    return defaultdict(
        list,
        {seed: [(who, moves) for moves, who in its.items()] for seed, its in by_map.items()},
    )
