"""Accepted games scored again by a judge that does not play: ``judge.second``
(docs/transfer.md, "Another judge")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archive.schema import PlaysKey
from archive.statistics.decision_cases import read_record
from archive.statistics.second_judge import accepted_cases, plays_behind
from evo.jobs.evaluate import Task
from evo.jobs.job import Executor, Rescoring, Result, SecondScore
from evo.record.ledger import Ledger, Row
from evo.record.progress import Listener
from xgl.runtime.requests import Seeds

STAGE = "another judge"


@dataclass(frozen=True)
class _Asked:
    """Plays of one policy on one game that the other judge has not scored."""

    key: PlaysKey
    job: Rescoring


def score_again(ledger: Ledger, executor: Executor, listener: Listener, judge: str) -> None:
    """Every play that an acceptance rests on, under ``judge``; one commit for each policy on each
    game. What the archive holds is not scored again."""
    asked = _missing(ledger, judge)
    listener.stage(STAGE, [each.job.task for each in asked], len(asked))
    jobs = [each.job for each in asked]
    for each, result in zip(asked, executor.do(jobs), strict=True):
        ledger.commit(second_scores=_rows(each, judge, result))
        listener.job(STAGE, each.job.task, 0, result.scoring)


def _missing(ledger: Ledger, judge: str) -> list[_Asked]:
    record = read_record(ledger.archive, ledger.run_id)
    wanted: dict[PlaysKey, dict[Seeds, None]] = {}
    for accepted in accepted_cases(record):
        for key, seeds in plays_behind(accepted, record).items():
            wanted.setdefault(key, {}).update({Seeds(*each): None for each in seeds})
    known = _known(ledger, judge)
    missing = {key: seeds for key, seeds in wanted.items() if known.get(key) != set(seeds)}
    tasks = ledger.tasks({key.task_id for key in missing})
    return [_asked(ledger, key, tasks[key.task_id], list(seeds)) for key, seeds in missing.items()]


def _asked(ledger: Ledger, key: PlaysKey, task: Task, seeds: Sequence[Seeds]) -> _Asked:
    moves = tuple(tuple(ledger.scores[key][each]["moves"]) for each in seeds)
    return _Asked(key, Rescoring(task, tuple(seeds), moves))


def _known(ledger: Ledger, judge: str) -> dict[PlaysKey, set[Seeds]]:
    mine = [("run_id", "=", ledger.run_id), ("judge", "=", judge)]
    known: dict[PlaysKey, set[Seeds]] = {}
    for row in ledger.archive.rows("second_scores", filters=mine):
        known.setdefault(PlaysKey.of(row), set()).add(Seeds(row["map_seed"], row["play_seed"]))
    return known


def _rows(asked: _Asked, judge: str, result: Result[list[SecondScore]]) -> list[Row]:
    return [
        {
            "judge": judge,
            "policy_id": asked.key.policy_id,
            "game_id": asked.key.task_id.game_id,
            "role": asked.key.task_id.role,
            "purpose": asked.key.purpose,
            "map_seed": seeds.map_seed,
            "play_seed": seeds.play_seed,
            "score": score.score,
            "permuted_score": score.permuted,
            "seconds": score.seconds,
        }
        for seeds, score in zip(asked.job.seeds, result.outcome, strict=True)
    ]
