"""Fine-tunes: that they repeat, keep their budgets, and teach."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from safetensors.torch import load
from torch.testing import assert_close

from evo.config.models import WarmStartConfig
from evo.jobs import finetune as finetune_module, lora
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.jobs.job import Evaluation, Finetune, Training, Trainings
from evo.jobs.model_host import ModelHost
from evo.jobs.policy_gradient import training_seeds
from xgl import Metadata, game, parse
from xgl.runtime.requests import Seeds

MakeModelHost = Callable[..., ModelHost]
MakeTask = Callable[..., Task]


def train(model_host: ModelHost, task: Task, seed: int = 0) -> Finetune:
    finetune = model_host.do(Training(task, seed)).outcome
    assert isinstance(finetune, Finetune)
    return finetune


def test_the_seed_is_all_that_makes_two_adapters_differ(
    make_model_host: MakeModelHost, make_task: MakeTask
) -> None:
    task, model_host = make_task(), make_model_host()
    first = train(model_host, task)
    train(model_host, task, seed=1)
    again = train(model_host, task)
    assert again.adapter == first.adapter
    assert again.curve == first.curve
    assert train(make_model_host(), task).adapter == first.adapter
    assert train(model_host, task, seed=1).adapter != first.adapter


def test_the_budget_is_met_by_the_fewest_steps(
    make_model_host: MakeModelHost, make_task: MakeTask
) -> None:
    task = make_task()
    one = train(make_model_host(tokens=1), task)
    assert len(one.curve) == len(one.entropy) == len(one.grad_norm) == 1
    assert len(train(make_model_host(tokens=one.tokens), task).curve) == 1
    two = train(make_model_host(tokens=one.tokens + 1), task)
    assert len(two.curve) == 2
    assert two.curve[0] == one.curve[0]
    assert two.adapter != one.adapter


def test_the_updates_of_a_step_learn_from_whole_maps_once(
    make_model_host: MakeModelHost, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: list[list[int]] = []
    update = finetune_module.update

    def watched(*terms: Any) -> tuple[float, float]:
        parts.append([credit.map_seed for credit in terms[2]])
        return update(*terms)

    monkeypatch.setattr(finetune_module, "update", watched)
    settings = {"maps": 3, "updates": 2, "clipped_ratio": 0.2, "tokens": 1}
    model_host, task = make_model_host(**settings), make_task()
    finetune = train(model_host, task)
    assert len(finetune.curve) == 1
    assert [len(set(part)) for part in parts] == [2, 1]
    assert len(parts[0]) == 4
    assert len({map_seed for part in parts for map_seed in part}) == 3
    assert train(model_host, task).adapter == finetune.adapter
    assert parts[:2] == parts[2:]


def test_a_budget_of_nothing_is_the_base_player(
    make_model_host: MakeModelHost, make_task: MakeTask
) -> None:
    """The null control 𝒯 = 0 (docs/specification.md, "Null control")."""
    task = make_task()
    model_host = make_model_host(tokens=0, warm_start=WarmStartConfig(maps=2, rollouts=2))
    finetune = train(model_host, task)
    assert (finetune.tokens, finetune.curve) == (0, [])
    assert (finetune.forfeit_rate, finetune.distinct_moves) == (None, None)
    seeds = tuple(evaluation_seeds("selection", 0, 4))
    scores = [
        [score.score for score in model_host.do(Evaluation(task, (adapter,), (seeds,))).outcome[0]]
        for adapter in (None, finetune.adapter)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_a_gradient_that_is_not_finite_ends_it_in_words(
    make_model_host: MakeModelHost, make_task: MakeTask, caplog: pytest.LogCaptureFixture
) -> None:
    host = make_model_host(tokens=10_000, steps=6, learning_rate=1e6)
    assert len(train(host, make_task()).curve) < 6
    assert "under seed 0: no gradient after step" in caplog.text


def test_maps_on_which_nothing_was_imitated_are_not_played_again(
    make_model_host: MakeModelHost, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []

    def seeds(seed: int, step: int, *rest: int) -> list[Seeds]:
        steps.append(step)
        return training_seeds(seed, step, *rest)

    monkeypatch.setattr(finetune_module, "training_seeds", seeds)
    monkeypatch.setattr(finetune_module, "best_of_groups", lambda _: [])
    train(make_model_host(warm_start=WarmStartConfig(maps=2, rollouts=2)), make_task())
    assert steps[0] == 0
    assert 0 not in steps[1:]


def refuse(*_: object) -> None:
    raise lora.NotByRowError


@pytest.mark.parametrize(("by_row", "at_once"), [(True, True), (False, False)])
def test_several_adapters_in_one_pass_play_as_each_would_alone(
    make_model_host: MakeModelHost,
    make_task: MakeTask,
    by_row: bool,
    at_once: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each on its own seeds, one on two sets of them; also of a model whose layers do not read the
    rows of a batch one by one, and where the judge gets all permuted moves at once."""
    if not by_row:
        monkeypatch.setattr(lora.StackedFactors, "__call__", refuse)
    task, model_host = make_task(), make_model_host(tokens=1000)
    seeds = tuple(evaluation_seeds("selection", 0, 12))
    one, two = (train(model_host, task, seed=seed).adapter for seed in (0, 1))
    monkeypatch.setattr(model_host, "_at_once", at_once)
    adapters, sets = (None, one, two, one), (seeds, seeds[4:], seeds[:5], seeds[:4])
    together = model_host.do(Evaluation(task, adapters, sets)).outcome
    pairs = zip(adapters, sets, strict=True)
    alone = [model_host.do(Evaluation(task, (a,), (s,))).outcome[0] for a, s in pairs]
    assert isinstance(together, list)
    for mine, theirs in zip(together, alone, strict=True):
        assert [s.seeds for s in mine] == [s.seeds for s in theirs]
        assert [s.moves for s in mine] == [s.moves for s in theirs]
        assert [s.score for s in mine] == pytest.approx([s.score for s in theirs], abs=1e-3)
        assert [s.permuted_score for s in mine] == pytest.approx(
            [s.permuted_score for s in theirs], abs=1e-3
        )
    assert [s.moves for s in together[0][4:]] != [s.moves for s in together[1]]


@pytest.mark.parametrize("shares", [(0.01,), (0.25, 0.5)])
def test_a_fine_tune_that_paused_goes_on_to_what_it_would_have_been(
    make_model_host: MakeModelHost, make_task: MakeTask, shares: list[float]
) -> None:
    """On another host, with a warm start that spends all of the first share, with moments, a rate
    that falls and a mean of the last adapters."""
    warm = WarmStartConfig(maps=2, rollouts=4, edits=0, epochs=1)
    settings = {"tokens": 10**6, "steps": 8, "warm_start": warm, "decay": 1.0}
    host, other = (make_model_host(**settings, averaged_share=0.5) for _ in range(2))
    task, rungs = make_task(), list[Finetune]()
    whole = train(host, task)
    for share in (*shares, 1.0):
        paused = rungs[-1].state if rungs else None
        host, other = other, host
        rungs.append(host.do(Training(task, 0, share=share, paused=paused)).outcome)
    assert [len(each.curve) for each in rungs] == [1 + math.ceil(8 * s) for s in (*shares, 1.0)]
    last = rungs[-1]
    for name in ("adapter", "curve", "entropy", "grad_norm", "distinct_moves", "forfeit_rate"):
        assert getattr(last, name) == getattr(whole, name), name
    assert last.state is whole.state is None
    assert all(each.state is not None and each.adapter != last.adapter for each in rungs[:-1])
    assert sum(each.tokens for each in rungs) == whole.tokens
    assert rungs[0].seconds > 0


def test_several_games_are_learned_together_by_one_adapter(
    make_model_host: MakeModelHost, make_task: MakeTask
) -> None:
    """A course of one game is its fine-tune; with two, both are played until the tokens of all are
    spent."""
    host, first = make_model_host(tokens=600), make_task()
    second = make_task(
        "assign(s=story(), t=story())\nelicit(x, 6)\nreward(xed(x | s) - xed(x | t))"
    )
    settings = host.settings.finetune
    assert settings is not None
    alone = host.do(Training(first, 1, settings=settings)).outcome
    assert alone.adapter == host.do(Training(first, 1)).outcome.adapter
    both = host.do(Training(first, 1, others=(second,), settings=replace(settings, tokens=1500)))
    assert both.outcome.tokens >= 1500
    assert len(both.outcome.curve) >= 3
    assert {text.site for text in both.map_texts} == {0, 1}, "the second game has two stories"
    assert both.outcome.adapter != alone.adapter
    others = (second,) * 6  # sevenths do not sum to 1 in floating point
    nothing = host.do(
        Training(first, 1, others=others, settings=replace(settings, tokens=0, steps=None))
    )
    assert (nothing.outcome.curve, nothing.outcome.tokens) == ([], 0)


WARM = WarmStartConfig(maps=9, rollouts=4, edits=1, epochs=1)
TWO_MOVES = "assign(s=story())\nelicit(x, 4)\nelicit(y, 4)\nreward(xed(x | s))\nreward(xed(y | x))"
FORFEITED = (
    "assign(s=story())\nelicit(x, 8)\n"
    'ensure(is_true("num_words<2", x))\nelicit(y, 4)\nreward(xed(y | s + x))'
)
ENDLESS = f'assign(s="{"the red hen ran over the hill " * 40}")\nelicit(x, 8)\nreward(xed(s | x))'


@pytest.fixture(scope="module")
def host(make_model_host: MakeModelHost) -> ModelHost:
    return make_model_host(tokens=10**5, steps=4, maps=3, rollouts=3, warm_start=WARM)


@pytest.fixture(scope="module")
def trainings(host: ModelHost, make_task: MakeTask) -> list[Training]:
    """Of games of one move and of two, one that is often forfeited, one that fits no window, and
    one that goes on after a pause."""
    endless = Task(game(parse(ENDLESS, "xent"), Metadata(max_characters=4096)), "black", -50.0)
    paused = host.do(Training(make_task(), 3, share=0.5)).outcome.state
    return [
        Training(make_task(TWO_MOVES), 0),
        # under seeds 0 and 1 a draw lies within 1e-6 of the bound between two tokens: rounding
        # decides between them, as it may in any play
        Training(make_task(FORFEITED), 4, share=0.75),
        Training(endless, 2),
        Training(make_task(), 3, paused=paused),
    ]


@pytest.fixture(scope="module")
def alone(host: ModelHost, trainings: list[Training]) -> list[Finetune]:
    return [host.do(each).outcome for each in trainings]


def test_each_becomes_what_it_is_alone_whatever_the_others_meet(
    host: ModelHost, trainings: list[Training], alone: list[Finetune]
) -> None:
    together = host.do(Trainings(trainings[0].task, tuple(trainings))).outcome
    for one, other in zip(together, alone, strict=True):
        for name in ("curve", "entropy", "grad_norm"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-2), name
        for name in ("prompt_tokens", "generated_tokens", "distinct_moves", "forfeit_rate"):
            assert getattr(one, name) == getattr(other, name), name
        assert_close(load(one.adapter), load(other.adapter), atol=1e-3, rtol=0.0)
        assert (one.state is None) == (other.state is None)
        assert one.seconds > 0
    assert alone[1].curve[0] < -10, "of many forfeits, at −50 bits"
    assert alone[2].forfeit_rate == 1
    assert len({len(each.curve) for each in alone}) == 3


@pytest.mark.long
def test_where_rows_are_not_read_one_by_one_the_plays_are_made_one_after_another(
    host: ModelHost,
    trainings: list[Training],
    alone: list[Finetune],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lora.StackedFactors, "__call__", refuse)
    together = host.do(Trainings(trainings[0].task, tuple(trainings[:2]))).outcome
    assert [each.adapter for each in together] == [each.adapter for each in alone[:2]]
    assert [each.tokens for each in together] == [each.tokens for each in alone[:2]]
