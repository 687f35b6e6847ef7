"""Archived plays scored again when a run ends: those behind accepted games by a judge that does not
play (``judge.second``; docs/explanation/transfer.md, "Another judge"), and the best of each game
token by token while the judge is loaded, so that the report needs no model
(docs/how-to/report.md)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from itertools import starmap

from archive import Run
from archive.report.games import best_plays, scored_text_rows, unarchived_moves
from archive.schema import PlaysKey, TaskId
from archive.statistics.replay import accepted_cases, plays_behind
from evo.jobs.job import Executor, Rescoring, TokenScoring
from evo.record.display import Display
from evo.record.ledger import Ledger
from xgl.runtime.requests import Seeds

SECOND_JUDGE, BEST_PLAYS = "another judge", "best plays"
"""Stages, as the display names them."""


def score_again(ledger: Ledger, executor: Executor, listener: Display, judge: str) -> None:
    """Every play that an acceptance rests on, under ``judge``; one commit for each policy on each
    game. What the archive holds is not scored again."""
    pending = _plays_to_judge(ledger, judge)
    jobs = [job for _, job in pending]
    listener.stage(SECOND_JUDGE, [job.task for job in jobs])
    for (key, job), result in zip(pending, executor.do(jobs), strict=True):
        facts = {"judge": judge, "policy_id": key.policy_id, "purpose": key.purpose}
        facts |= key.task_id._asdict()
        scores = zip(job.seeds, result.outcome, strict=True)
        rows = [{**facts, **asdict(seeds), **vars(score)} for seeds, score in scores]
        ledger.commit(second_scores=rows)
        listener.job(SECOND_JUDGE, job.task, 0)


def _plays_to_judge(ledger: Ledger, judge: str) -> list[tuple[PlaysKey, Rescoring]]:
    """Those that an acceptance needs and neither the archive nor an earlier acceptance has: moves
    are exchanged between the maps of one acceptance only."""
    run = Run(ledger.archive, ledger.run_id)
    judged_seeds: defaultdict[PlaysKey, set[Seeds]] = defaultdict(set)
    for row in run.rows("second_scores", filters=[("judge", "=", judge)]):
        judged_seeds[PlaysKey.of(row)].add(Seeds(row["map_seed"], row["play_seed"]))
    missing: list[tuple[PlaysKey, list[Seeds]]] = []
    for case, policies in accepted_cases(run):
        for key, pairs in plays_behind(case, policies, run).items():
            known_seeds = judged_seeds[key]
            new_seeds = [each for each in starmap(Seeds, pairs) if each not in known_seeds]
            known_seeds.update(new_seeds)
            if new_seeds:
                missing.append((key, new_seeds))
    tasks = ledger.tasks({key.task_id for key, _ in missing})
    jobs = []
    for key, seeds in missing:
        moves = tuple(tuple(ledger.scores[key][each]["moves"]) for each in seeds)
        jobs.append((key, Rescoring(tasks[key.task_id], tuple(seeds), moves)))
    return jobs


def score_best_plays(ledger: Ledger, executor: Executor, listener: Display) -> None:
    """Bits for each token of the best plays of the newest scope; one commit for each game. What the
    archive holds is not scored again."""
    jobs = _unscored_plays(ledger)
    listener.stage(BEST_PLAYS, [job.task for job in jobs])
    for job, result in zip(jobs, executor.do(jobs), strict=True):
        rows = [row for play in result.outcome for row in scored_text_rows(job.task.id, play)]
        ledger.commit(scored_texts=rows)
        listener.job(BEST_PLAYS, job.task, 0)


def _unscored_plays(ledger: Ledger) -> list[TokenScoring]:
    """The plays that can be repeated and are not scored."""
    run = Run(ledger.archive, ledger.run_id)
    tasks = ledger.tasks(map(TaskId.of, ledger.newest_scope))
    rows = run.games(each.game_id for each in tasks)
    plays = best_plays(run, {each: run.policies.get(each, ()) for each in tasks}, rows)
    jobs = []
    for task_id, levels in plays.items():
        unscored, task = tuple(each for each in levels if not each.terms), tasks[task_id]
        if unscored and not unarchived_moves(task.game, task.role):
            jobs.append(TokenScoring(task, unscored))
    return jobs
