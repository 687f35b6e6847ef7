"""The best plays of each game, scored token by token while the judge is loaded: what the report
shows without a model (docs/report.md)."""

from __future__ import annotations

from collections.abc import Sequence

from archive.query import games
from archive.report.best_plays import best_plays
from archive.report.contents import BestPlay
from archive.report.token_bits import (
    ScoredTexts,
    is_archived,
    read_scored_texts,
    scored_text_rows,
    unarchived_moves,
)
from archive.schema import TaskId
from archive.statistics.plays import policies_of
from evo.jobs.evaluate import Task
from evo.jobs.job import Executor, TokenScoring
from evo.record.ledger import Ledger
from evo.record.progress import Listener

STAGE = "best plays"


def score_best_plays(
    ledger: Ledger, executor: Executor, listener: Listener, replicates: int
) -> None:
    """Bits for each token of the best plays of the newest scope; one commit for each game. What the
    archive holds is not scored again."""
    jobs = _missing(ledger, replicates)
    listener.stage(STAGE, [job.task for job in jobs], len(jobs))
    for job, result in zip(jobs, executor.do(jobs), strict=True):
        rows = [row for play in result.outcome for row in scored_text_rows(job.task.id, play)]
        ledger.commit(scored_texts=rows)
        listener.job(STAGE, job.task, 0, result.scoring)


def _missing(ledger: Ledger, replicates: int) -> list[TokenScoring]:
    archive, run_id = ledger.archive, ledger.run_id
    tasks = ledger.tasks(map(TaskId.of, ledger.newest_scope))
    policies = policies_of(ledger.finetunes.values(), replicates)
    rows = games(archive, [each.game_id for each in tasks])
    plays = best_plays(archive, run_id, {each: policies.get(each, ()) for each in tasks}, rows)
    scored = read_scored_texts(archive, run_id)
    missing = {each: _unscored(tasks[each], plays[each], scored) for each in plays}
    return [TokenScoring(tasks[each], lacking) for each, lacking in missing.items() if lacking]


def _unscored(task: Task, plays: Sequence[BestPlay], scored: ScoredTexts) -> tuple[BestPlay, ...]:
    """The plays that can be repeated and are not scored."""
    if unarchived_moves(task.game, task.role):
        return ()
    return tuple(play for play in plays if not is_archived(scored, task.id, play))
