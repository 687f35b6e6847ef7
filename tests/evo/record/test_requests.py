"""Expected durations of requests: functions of settings and calibration, in tokens."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest

from archive import Purpose
from archive.schema import BASE_POLICY
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.record.requests import (
    JUDGED_PLAY,
    SCRIPTED_PLAY,
    TRAINED_TOKEN,
    UNKNOWN_TOKENS,
    PlayRequest,
    Request,
    RoundsRequest,
    RunFacts,
    TrainingRequest,
)

SEEDS = tuple(evaluation_seeds("selection", 0, 16))
WARM_PLAYS, STEP_PLAYS = 16 * 16 + 64, 16 * 4 * 8
"""Of the default fine-tune: its round and demonstrations, and its steps of REINFORCE."""


def config(*overrides: str) -> RunConfig:
    loaded = load(RunConfig, ["+experiment=scope_growth", *overrides])
    assert isinstance(loaded, RunConfig)
    return loaded


def duration(request: Request, tokens: float | None, settings: RunConfig) -> float:
    """Of a request on a game whose plays have so many tokens."""
    known = {} if tokens is None else {request.task.id: tokens}
    facts = SimpleNamespace(config=settings, play_tokens=known)
    return request.duration(cast(RunFacts, facts))


def test_a_play_takes_its_tokens_and_what_the_judge_reads(make_task: Callable[..., Task]) -> None:
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
    overrides: tuple[str, ...], tokens: float, make_task: Callable[..., Task]
) -> None:
    request = TrainingRequest("policy", make_task(), 0, 7, "{}")
    assert duration(request, 50.0, config(*overrides)) == pytest.approx(TRAINED_TOKEN * tokens)


def test_repeated_play_has_a_control(make_task: Callable[..., Task]) -> None:
    task = make_task()
    settings = config("playability.few_shot_rounds=3", "playability.few_shot_maps=4")
    assert duration(RoundsRequest(BASE_POLICY, task, SEEDS[:4], 3), 80.0, settings) == 2 * 3 * 4 * (
        JUDGED_PLAY + 80
    )
