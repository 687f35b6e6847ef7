"""What a search trains, stores and tells, and the playability filters: who is refused, on what
evidence, and at which cost."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from support.search import PARENT, Listed, Nature, Search, code, limit, of_limits

from evo.config.compose import load
from evo.config.models import FinetuneConfig, JudgeConfig, PlayerConfig
from evo.config.schema import RunConfig
from evo.jobs.evaluation import Task
from evo.jobs.job import Repetition, Training
from evo.record.collector import Collector
from evo.record.ledger import Ledger
from evo.record.steps import run
from xgl import game, parse
from xgl.settings import Role, roles_of


def test_a_null_control_keeps_the_true_rewards_of_the_initial_games(search: Search) -> None:
    """In each of their attempts. No setting that a resumed run may change names a fine-tune."""
    settings = ("finetune.shuffle=true", "growth.list_size=1", "growth.initial_attempts=3")
    world = of_limits(l8=Nature(unlucky=True))
    assert search.run(world, *settings, sampler=Listed([code(7)])) == 0
    jobs = [job for job in search.executor.jobs if isinstance(job, Training)]
    assert [limit(job.task.game) for job in jobs] == [PARENT, PARENT, 7]
    assert [job.true_rewards for job in jobs] == [True, True, False]
    assert jobs[2].seed == jobs[1].seed != jobs[0].seed, (
        "a candidate's is that of its parent's best"
    )
    facts = json.loads(search.rows("finetunes")[0]["settings_json"])
    kinds = {"judge": JudgeConfig, "player": PlayerConfig, "finetune": FinetuneConfig}
    for section, kind in kinds.items():
        assert {roles_of(kind)[name] for name in facts[section]} == {Role.SCIENCE}, section


FEW_SHOT = ("playability=few_shot", "growth.max_candidates=3")
WORLD = of_limits(l5=Nature(artifact=True), l6=Nature(few_shot=False), l7=Nature())
LISTED = (code(5), code(6), code(7))
REASONS = ("ill-posed", "not few-shot playable", "helps and is new")


def test_cheap_filters_come_before_expensive_ones(search: Search) -> None:
    assert search.run(WORLD, *FEW_SHOT, sampler=Listed(LISTED)) == 0
    verdicts = {row["reason"]: row for row in search.rows("decisions")}
    assert set(verdicts) == set(REASONS)
    ill, flat, good = map(verdicts.__getitem__, REASONS)
    assert ill["best_kept"] < 0.5
    assert ill["few_shot_low"] is None, "refused before it is played repeatedly"
    assert (flat["best_kept"], flat["few_shot_low"]) == (1.0, 0.0)
    assert good["few_shot_low"] > 0.9
    assert good["few_shot_above_control"] == 0.0
    assert all(row["finetune_id"] is None for row in (ill, flat))
    assert ill["decided"]
    assert flat["decided"]
    kinds = [type(job) for job in search.executor.jobs]
    assert kinds.count(Repetition) == 3, "the parent and the two that are well-posed"
    assert kinds.count(Training) == 2
    game_ids = {row["game_id"] for row in search.rows("rounds")}
    assert ill["game_id"] not in game_ids
    assert flat["game_id"] in game_ids
    assert flat["plays"] > ill["plays"]


@pytest.mark.parametrize(("kept", "searches"), [([1, 8], 1), ([4, 8], 2), ([8, 8], 1)])
def test_a_resumed_run_asks_for_the_random_moves_that_it_asked_for(
    kept: list[int], searches: int
) -> None:
    """Although it knows their plays: what is asked for takes virtual time. ``kept``: maps of each
    search on which the best moves do not rest on improbable words."""
    ledger: Any = SimpleNamespace(scores=defaultdict(dict), rounds={})
    ledger.sample = partial(Ledger.sample, ledger)
    config, none = load(RunConfig, ["+experiment=scope_growth"]), SimpleNamespace()
    collector = Collector(config, ledger, none, none)  # type: ignore[arg-type]
    task, usual = Task(game(parse(code(8), "xent")), "black"), {"outcome": "finished", "tokens": 40}

    def asked() -> tuple[list[list[Any]], Any]:
        groups = list[list[Any]]()

        def do(group: Iterable[Any]) -> None:
            groups.append([*group])
            for request in groups[-1]:
                best = float("best" in request.policy_id)
                for place, seeds in enumerate(request.seeds):
                    clipped = -best if place >= kept[len(groups) > 2] else best
                    scores = dict.fromkeys(("score", "raw_score"), best)
                    scores |= {"permuted_score": -1.0, "permuted_clipped_score": -1.0}
                    scores |= {"map_seed": seeds.map_seed, "clipped_score": clipped}
                    ledger.scores[request.key].setdefault(seeds, usual | scores)

        return groups, run(collector.calibration(task), do)

    first = asked()
    assert len(first[0]) == 1 + searches
    others = collector._unlikely_requests(task, 8)
    for request, seeds in ((each, seeds) for each in others for seeds in each.seeds):
        row = dict(ledger.scores[request.key][first[0][1][0].seeds[-1]], clipped_score=-1.0)
        ledger.scores[request.key].setdefault(seeds, row)  # as the other role of a pair has it
    assert asked() == first
