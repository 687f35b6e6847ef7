"""Fine-tunes in lockstep are what each is alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from safetensors.torch import load
from torch.testing import assert_close

from evo.config.models import WarmStartConfig
from evo.jobs import finetune as finetune_module
from evo.jobs import multi_lora
from evo.jobs.evaluation import Task
from evo.jobs.job import Training, Trainings
from evo.jobs.model_host import ModelHost
from evo.jobs.results import Finetune
from xgl import Metadata, game, parse

WARM = WarmStartConfig(rounds=2, maps=9, rollouts=4, demonstrations=2, edits=1, epochs=1)
TWO_MOVES = "assign(s=story())\nelicit(x, 4)\nelicit(y, 4)\nreward(xed(x | s))\nreward(xed(y | x))"
FORFEITED = (
    "assign(s=story())\nelicit(x, 8)\n"
    'ensure(is_true("num_words<2", x))\nelicit(y, 4)\nreward(xed(y | s + x))'
)
ENDLESS = f'assign(s="{"the red hen ran over the hill " * 40}")\nelicit(x, 8)\nreward(xed(s | x))'


@pytest.fixture(scope="module")
def host(make_model_host: Callable[..., ModelHost]) -> ModelHost:
    return make_model_host(tokens=10**5, steps=4, maps=3, rollouts=3, warm_start=WARM)


@pytest.fixture(scope="module")
def trainings(host: ModelHost, make_task: Callable[..., Task]) -> list[Training]:
    """Of games of one move and of two, one that is often forfeited, one that fits no window, and
    one that goes on after a pause."""
    endless = Task(game(parse(ENDLESS, "xent"), Metadata(max_characters=4096)), "black", -50.0)
    paused = host.do(Training(make_task(), 3, share=0.5)).outcome.state
    return [
        Training(make_task(TWO_MOVES), 0),
        Training(make_task(FORFEITED), 1, share=0.75),
        Training(endless, 2),
        Training(make_task(), 3, paused=paused),
    ]


@pytest.fixture(scope="module")
def alone(host: ModelHost, trainings: list[Training]) -> list[Finetune]:
    return [host.do(each).outcome for each in trainings]


def check_equal(one: Finetune, alone: Finetune) -> None:
    for name in ("curve", "entropy", "grad_norm"):
        assert getattr(one, name) == pytest.approx(getattr(alone, name), abs=1e-2), name
    for name in ("prompt_tokens", "generated_tokens", "distinct_moves", "forfeit_rate"):
        assert getattr(one, name) == getattr(alone, name), name
    assert_close(load(one.adapter), load(alone.adapter), atol=1e-3, rtol=0.0)
    assert (one.state is None) == (alone.state is None)
    assert one.seconds > 0


def test_each_becomes_what_it_is_alone_whatever_the_others_meet(
    host: ModelHost, trainings: list[Training], alone: list[Finetune]
) -> None:
    together = host.do(Trainings(trainings[0].task, tuple(trainings))).outcome
    for one, other in zip(together, alone, strict=True):
        check_equal(one, other)
    assert alone[1].curve[0] < -10, "of many forfeits, at −50 bits"
    assert alone[2].forfeit_rate == 1
    assert len({len(each.curve) for each in alone}) == 3


def test_where_rows_are_not_read_one_by_one_the_plays_are_made_one_after_another(
    host: ModelHost,
    trainings: list[Training],
    alone: list[Finetune],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise multi_lora.NotByRowError

    sizes: list[int] = []
    play_together = finetune_module.play_together

    def watched(groups: list[object]) -> list[list[object]]:
        sizes.append(len(groups))
        return play_together(groups)  # type: ignore[arg-type,return-value]

    monkeypatch.setattr(multi_lora.StackedFactors, "__call__", refuse)
    monkeypatch.setattr(finetune_module, "play_together", watched)
    together = host.do(Trainings(trainings[0].task, tuple(trainings[:2]))).outcome
    assert [each.adapter for each in together] == [each.adapter for each in alone[:2]]
    assert [each.tokens for each in together] == [each.tokens for each in alone[:2]]
    assert sizes[0] == 2, "it is tried once"
    assert set(sizes[1:]) == {1}


def test_a_job_travels_without_its_states(make_task: Callable[..., Task]) -> None:
    one, two = Training(make_task(), 0, paused=b"state"), Training(make_task(), 1)
    job = Trainings(one.task, (one, two))
    bare, states = job.without_adapters()
    assert states == (b"state", None)
    assert [each.paused for each in bare.trainings] == [None, None]
    assert bare.with_adapters([b"state", None]) == job
