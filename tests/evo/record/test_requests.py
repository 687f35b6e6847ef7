"""Expected durations of requests: functions of settings and calibration, in tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive import Purpose
from archive.schema import BASE_POLICY
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.record.requests import (
    BLOCK,
    JUDGED_PLAY,
    SCRIPTED_PLAY,
    TRAINED_TOKEN,
    UNKNOWN_TOKENS,
    PlayRequest,
    Request,
    RoundsRequest,
    TrainingRequest,
    WatchedTrainingRequest,
    jobs_of,
)

MakeTask = Callable[..., Task]

SEEDS = tuple(evaluation_seeds("selection", 0, 16))
WARM_PLAYS, STEP_PLAYS = 16 * 16 + 64, 16 * 4 * 8
"""Of the default fine-tune: its round and demonstrations, and its steps of REINFORCE."""


def config(*overrides: str) -> RunConfig:
    return load(RunConfig, ["+experiment=scope_growth", *overrides])


def duration(request: Request, tokens: float | None, settings: RunConfig) -> float:
    """Of a request on a game whose plays have so many tokens."""
    known = {} if tokens is None else {request.task.id: tokens}
    facts = SimpleNamespace(config=settings, play_tokens=known)
    return request.duration(cast(Any, facts))


def test_a_play_takes_its_tokens_and_what_the_judge_reads(make_task: MakeTask) -> None:
    request = PlayRequest(BASE_POLICY, make_task(), Purpose.SELECTION, SEEDS)
    scripted = PlayRequest("script:nothing", make_task(), Purpose.SELECTION, SEEDS)
    assert duration(request, 80.0, config()) == 16 * (JUDGED_PLAY + 80)
    assert duration(request, None, config()) == 16 * (JUDGED_PLAY + UNKNOWN_TOKENS)
    assert duration(scripted, 80.0, config()) == 16 * SCRIPTED_PLAY


@pytest.mark.parametrize(
    ("overrides", "tokens"),
    [
        ((), 50 * (WARM_PLAYS + STEP_PLAYS)),
        (("finetune.tokens=30000",), 30000),
        (("finetune.tokens=30000", "finetune.steps=null"), 30000),
        (("finetune.steps=2", "finetune.warm_start.rounds=0"), 50 * 2 * 4 * 8),
        (("finetune.tokens=0",), 50 * (WARM_PLAYS + STEP_PLAYS)),
        (("finetune.tokens=20000", "finetune.steps=1"), 20000 / 2 + 50 * 4 * 8),
    ],
)
def test_a_fine_tune_takes_its_budget_or_the_tokens_of_its_plays(
    overrides: tuple[str, ...], tokens: float, make_task: MakeTask
) -> None:
    request = TrainingRequest("policy", make_task(), 0, 7, "{}")
    assert duration(request, 50.0, config(*overrides)) == pytest.approx(TRAINED_TOKEN * tokens)


def of_policy(name: str, task: Task, first: int, count: int) -> PlayRequest:
    seeds = tuple(evaluation_seeds("selection", 0, count, first))
    return PlayRequest(name, task, Purpose.SELECTION, seeds)


def test_plays_of_one_game_are_one_job_where_a_pass_has_several_policies(
    make_task: MakeTask,
) -> None:
    task = make_task()
    other = make_task(code=task.game.code.replace("8", "7"))
    base, own = of_policy("a", task, 4, 12), of_policy("b", task, 0, 4)
    cross, elsewhere = of_policy("b", task, 4, 12), of_policy("c", other, 4, 12)
    script, training = (
        of_policy("script:nothing", task, 4, 12),
        TrainingRequest("f", task, 0, 7, "{}"),
    )
    plays = [base, own, elsewhere, cross, script]
    assert jobs_of([*plays, training], 4) == [
        (training,), (base, own, cross), (elsewhere,), (script,),
    ]  # fmt: skip
    assert jobs_of(plays, 1) == [(each,) for each in plays], "on a CPU each alone"


def test_fine_tunes_of_any_games_are_one_job_where_a_pass_has_several_policies(
    make_task: MakeTask,
) -> None:
    """But not those that are watched, and in the order in which they are asked for; so what is left
    of them after a job is committed is grouped as it was before."""
    task, other = make_task(), make_task(code=make_task().game.code.replace("8", "7"))
    a, b, c, d, e = (
        TrainingRequest(name, on, 0, 7, "{}", share=share)
        for name, on, share in zip("abcde", (task, other) * 3, (1.0, 0.5) * 3, strict=False)
    )
    watched = WatchedTrainingRequest("w", task, 0, 7, "{}")
    rounds = RoundsRequest(BASE_POLICY, task, SEEDS[:4], 3)
    plays = of_policy("p", task, 4, 12)
    requests = [plays, rounds, a, b, watched, c, d, e]
    assert jobs_of(requests, 2) == [(rounds,), (a, b), (watched,), (c, d), (e,), (plays,)]
    assert jobs_of([c, d, e], 2) == [(c, d), (e,)]
    assert jobs_of(requests, 1) == [(each,) for each in (*requests[1:], plays)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["base", "a", "b", "c", "d", "script:nothing", "script:x"]),
            st.booleans(),
            st.sampled_from([(0, 4), (4, 12), (16, 40), (56, 64), (120, 100)]),
        ),
        max_size=20,
        unique=True,
    ),
    st.integers(1, 4),
)
def test_every_request_stands_in_one_job_of_bounded_size(
    make_task: MakeTask, keys: list[tuple[str, bool, tuple[int, int]]], most: int
) -> None:
    """And a policy's earlier plays in an earlier job, or in the same."""
    tasks = make_task(), make_task(code=make_task().game.code.replace("8", "7"))
    requests: list[Request] = [of_policy(name, tasks[n], *at) for name, n, at in keys]
    groups = jobs_of(requests, most)
    together = [each for group in groups for each in group]
    assert len(together) == len(requests)
    assert set(together) == set(requests)
    firsts = [requests.index(group[0]) for group in groups]
    assert firsts == sorted(firsts)
    for group in groups:
        plays = [each for each in group if isinstance(each, PlayRequest)]
        assert len({(each.task.id, each.scripted) for each in plays}) == 1
        policies = Counter(each.policy_id for each in plays)
        if plays[0].scripted or most == 1:
            assert len({each.seeds for each in plays}) == 1
        if not plays[0].scripted:
            assert len(policies) <= most
            for name, count in policies.items():
                length = sum(len(each.seeds) for each in plays if each.policy_id == name)
                assert length <= BLOCK or count == 1
