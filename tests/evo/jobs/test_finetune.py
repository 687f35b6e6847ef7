"""REINFORCE: credit, baseline and gradient by hand; and that it teaches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archive.statistics.values.intervals import mean_interval
from evo.config.models import FinetuneConfig
from evo.jobs import finetune as finetune_module
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.jobs.job import CurriculumTraining, Evaluation, Finetune, Training
from evo.jobs.lora import AdaptedModel, LoraSettings
from evo.jobs.model_host import ModelHost
from evo.jobs.policy_gradient import (
    Credit,
    advantages,
    credits_of,
    policy_loss,
    shuffle_rewards,
    training_seeds,
    update,
)
from evo.jobs.warm_start import ExploringPolicy
from evo.record.ledger import finetune_row
from xgl import Metadata, game, parse
from xgl.lm.language_model import LanguageModel, continuation_logits
from xgl.lm.memory import micro_batches
from xgl.players.local import LocalPolicy
from xgl.runtime.lockstep import Cast, Instance
from xgl.runtime.requests import Ensured, Event, Move, Moved, Play, Rewarded

# -- the gradient ----------------------------------------------------------------------------------


@pytest.mark.parametrize("bonus", [0.0, 0.3])
def test_the_gradient_is_reinforce_by_hand(bonus: float) -> None:
    """d/dz of −mean_i A_i Σ_t log π − β·H: (p − 1[chosen])·A/N, and β·p·(log p + H)/T."""
    rng = np.random.default_rng(0)
    z, mask = rng.normal(size=(3, 2, 4)), np.array([[1, 1], [1, 0], [1, 1]])
    token_ids, weight = np.array([[0, 3], [2, 1], [1, 1]]), np.array([1.5, -0.5, 2.0])
    p = np.exp(z) / np.exp(z).sum(-1, keepdims=True)
    spread = -(p * np.log(p)).sum(-1, keepdims=True)
    by_hand = (p - np.eye(4)[token_ids]) * weight[:, None, None] / len(weight)
    by_hand += bonus * p * (np.log(p) + spread) / mask.sum()
    by_hand *= mask[:, :, None]

    logits = torch.tensor(z, requires_grad=True)
    logprobs = logits.log_softmax(-1)
    token_logprobs = logprobs.gather(2, torch.tensor(token_ids)[:, :, None])[:, :, 0]
    entropy = -(logprobs.exp() * logprobs).sum(-1)
    loss = policy_loss(token_logprobs, torch.tensor(mask), torch.tensor(weight), entropy, bonus)
    loss.backward()
    assert logits.grad is not None
    np.testing.assert_allclose(logits.grad.numpy(), by_hand, atol=1e-12)


# -- advantages ------------------------------------------------------------------------------------


def credit(value: float, map_seed: int) -> Credit:
    return Credit(Move("m"), value, (map_seed, 1, 0))


CREDITS = [credit(v, m) for v, m in ((1.0, 2), (2.0, 2), (6.0, 2), (10.0, 4), (20.0, 4), (7.0, 6))]


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ("group_mean", [-2, -1, 3, -5, 5, 0]),
        ("leave_one_out", [-3, -1.5, 4.5, -10, 10, 0]),
        ("none", [1, 2, 6, 10, 20, 7]),
    ],
)
def test_baselines(baseline: str, expected: list[float]) -> None:
    assert advantages(CREDITS, baseline, False).tolist() == expected
    unit_advantages = advantages(CREDITS, baseline, True).numpy()
    np.testing.assert_allclose(unit_advantages, np.array(expected) / np.std(expected), rtol=1e-6)


@pytest.mark.parametrize("baseline", ["group_mean", "leave_one_out"])
@pytest.mark.parametrize("scale", [False, True])
def test_equal_rewards_teach_nothing(baseline: str, scale: bool) -> None:
    """Rounding errors of a mean are no advantages, however small the spread they are divided by."""
    credits = [credit(v, m) for m, v in ((2, 0.1), (4, -7.3), (6, 1 / 3)) for _ in range(3)]
    assert np.abs(advantages(credits, baseline, scale).numpy()).max() < 1e-9


# -- credit ----------------------------------------------------------------------------------------


def move_event(line: int, text: str, player: str = "black") -> Moved:
    return Moved(player, "s", Move(text), line)


def play(*events: Event, outcome: str = "finished", forfeiter: str = "") -> Play:
    return Play(outcome, {}, {}, events, len(events), forfeiter)


def test_a_move_is_credited_with_what_comes_after_it(make_task: Callable[..., Task]) -> None:
    task = make_task()
    credits = credits_of(
        play(
            Rewarded("black", 100.0),
            move_event(1, "first"),
            Rewarded("black", 3.0),
            Rewarded("white", 50.0),
            move_event(2, "other", "white"),
            move_event(3, "second"),
            Rewarded("black", -1.0),
            Rewarded("black", 0.5),
        ),
        8,
        task,
    )
    assert [(c.move.text, c.reward_to_go, c.group) for c in credits] == [
        ("first", 2.5, (8, 1, 0)),
        ("second", -0.5, (8, 3, 0)),
    ]


def test_each_turn_of_a_loop_has_its_own_group(make_task: Callable[..., Task]) -> None:
    task = make_task()
    credits = credits_of(
        play(move_event(1, "a"), move_event(1, "b"), Rewarded("black", 1.0)), 8, task
    )
    assert [c.group for c in credits] == [(8, 1, 0), (8, 1, 1)]


@pytest.mark.parametrize("outcome", ["forfeit", "oversize"])
def test_an_unfinished_play_is_worth_the_floor(
    make_task: Callable[..., Task], outcome: str
) -> None:
    task = make_task(floor=-9.5)
    events = (
        move_event(1, "a"),
        Rewarded("black", 4.0),
        move_event(2, "b"),
        Ensured("black", False, 1),
    )
    credits = credits_of(play(*events, outcome=outcome, forfeiter="black"), 8, task)
    assert [c.reward_to_go for c in credits] == [-9.5, -9.5]


def test_anothers_forfeit_leaves_what_was_won(make_task: Callable[..., Task]) -> None:
    task = make_task(floor=-9.5)
    events = (move_event(1, "a"), Rewarded("black", 4.0), move_event(2, "b", "alice"))
    credits = credits_of(play(*events, outcome="forfeit", forfeiter="alice"), 8, task)
    assert [c.reward_to_go for c in credits] == [4.0]


def test_training_maps_are_even_fresh_and_grouped() -> None:
    steps = [training_seeds(5, step, maps=3, rollouts=2) for step in range(4)]
    maps = [{each.map_seed for each in step} for step in steps]
    assert all(len(step) == 6 for step in steps)
    assert all(seed % 2 == 0 for step in maps for seed in step)
    assert len(set().union(*maps)) == 12
    assert training_seeds(5, 1, 3, 2) == steps[1]
    assert training_seeds(6, 1, 3, 2) != steps[1]


# -- the real thing --------------------------------------------------------------------------------


def train(model_host: ModelHost, task: Task, seed: int = 0) -> Finetune:
    finetune = model_host.do(Training(task, seed)).outcome
    assert isinstance(finetune, Finetune)
    return finetune


def test_the_seed_is_all_that_makes_two_adapters_differ(
    make_model_host: Callable[..., ModelHost], make_task: Callable[..., Task]
) -> None:
    task, model_host = make_task(), make_model_host()
    first = train(model_host, task)
    train(model_host, task, seed=1)
    again = train(model_host, task)
    assert again.adapter == first.adapter
    assert again.curve == first.curve
    assert train(make_model_host(), task).adapter == first.adapter
    assert train(model_host, task, seed=1).adapter != first.adapter


def test_no_plays_of_a_training_begin_with_caches_of_other_weights(
    make_model_host: Callable[..., ModelHost],
    make_task: Callable[..., Task],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[tuple[int, int]] = []
    play_all = finetune_module.play_all

    def watched(instances: Sequence[Instance], cast: Cast) -> list[Play]:
        player = cast.players[make_task().role]
        policy = player.policy if isinstance(player, ExploringPolicy) else player
        assert isinstance(policy, LocalPolicy)
        assert policy.caches is not None
        before = len(policy.caches)
        plays = play_all(instances, cast)
        kept.append((before, len(policy.caches)))
        return plays

    monkeypatch.setattr(finetune_module, "play_all", watched)
    one = train(make_model_host(tokens=1), make_task())
    train(make_model_host(tokens=one.tokens + 1), make_task())
    assert len(kept) == 3
    assert all(before == 0 < after for before, after in kept)


def test_the_budget_is_met_by_the_fewest_steps(
    make_model_host: Callable[..., ModelHost], make_task: Callable[..., Task]
) -> None:
    task = make_task()
    one = train(make_model_host(tokens=1), task)
    assert len(one.curve) == len(one.entropy) == len(one.grad_norm) == 1
    assert len(train(make_model_host(tokens=one.tokens), task).curve) == 1
    two = train(make_model_host(tokens=one.tokens + 1), task)
    assert len(two.curve) == 2
    assert two.curve[0] == one.curve[0]
    assert two.adapter != one.adapter


def test_a_budget_of_nothing_is_the_base_player_as_a_row(
    make_model_host: Callable[..., ModelHost], make_task: Callable[..., Task]
) -> None:
    """The null control 𝒯 = 0 (docs/specification.md, "Null control")."""
    task, model_host = make_task(), make_model_host(tokens=0)
    finetune = train(model_host, task)
    assert (finetune.tokens, finetune.curve) == (0, [])
    row = finetune_row(task, finetune, "f", 0, "{}", "hash")
    assert row["forfeit_rate"] is None
    assert row["distinct_moves"] is None
    seeds = tuple(evaluation_seeds("selection", 0, 4))
    scores = [
        [score.score for score in model_host.do(Evaluation(task, (adapter,), seeds)).outcome[0]]
        for adapter in (None, finetune.adapter)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_a_job_is_done_alike_whatever_was_done_before(
    make_model_host: Callable[..., ModelHost], make_task: Callable[..., Task]
) -> None:
    task, model_host = make_task(), make_model_host()
    seeds = tuple(evaluation_seeds("selection", 0, 4))
    job = Evaluation(task, (None,), seeds)
    first = model_host.do(job)
    train(model_host, task)
    again = model_host.do(job)
    assert [s.score for s in first.outcome[0]] == [s.score for s in again.outcome[0]]
    assert [s.moves for s in first.outcome[0]] == [s.moves for s in again.outcome[0]]
    assert first.map_texts == again.map_texts
    assert {each.map_seed for each in first.map_texts} == {each.map_seed for each in seeds}


@pytest.mark.long
def test_a_learnable_game_is_learned(
    make_model_host: Callable[..., ModelHost], make_task: Callable[..., Task]
) -> None:
    """Saying what the story makes likely: the easiest reward there is."""
    task = make_task()
    model_host = make_model_host(tokens=50_000, maps=8, rollouts=8, learning_rate=2e-3)
    finetune = train(model_host, task)
    seeds = tuple(evaluation_seeds("acceptance", 0, 48))
    base, after = (
        np.array([s.score for s in model_host.do(Evaluation(task, (adapter,), seeds)).outcome[0]])
        for adapter in (None, finetune.adapter)
    )
    assert mean_interval(after - base, 0.98).low > 0


def test_several_adapters_in_one_pass_play_as_each_would_alone(
    make_model_host: Callable[..., ModelHost], make_task: Callable[..., Task]
) -> None:
    task, model_host = make_task(), make_model_host(tokens=1000)
    seeds = tuple(evaluation_seeds("selection", 0, 12))
    one, two = (train(model_host, task, seed=seed).adapter for seed in (0, 1))
    adapters = (None, one, two)
    together = model_host.do(Evaluation(task, adapters, seeds)).outcome
    alone = [model_host.do(Evaluation(task, (a,), seeds)).outcome[0] for a in adapters]
    assert isinstance(together, list)
    for mine, theirs in zip(together, alone, strict=True):
        assert [s.moves for s in mine] == [s.moves for s in theirs]
        assert [s.score for s in mine] == pytest.approx([s.score for s in theirs], abs=1e-3)
        assert [s.permuted_score for s in mine] == pytest.approx(
            [s.permuted_score for s in theirs], abs=1e-3
        )
    assert together[0] != together[1]


def test_shuffled_rewards_are_the_same_rewards_elsewhere() -> None:
    move = Move("m", (1,), (2,))
    credits = [Credit(move, float(index), (index % 3, 0, 0)) for index in range(20)]
    shuffled_credits = shuffle_rewards(credits, 7)
    assert shuffled_credits == shuffle_rewards(credits, 7) != shuffle_rewards(credits, 8)
    values = [credit.reward_to_go for credit in shuffled_credits]
    assert sorted(values) == list(range(20)) != values
    assert [credit.group for credit in shuffled_credits] == [credit.group for credit in credits]


def test_a_penalty_on_divergence_holds_the_player_to_its_base(lm: LanguageModel) -> None:
    """With nothing to win, an adapter that changes the player is drawn back."""
    prompt = (lm.bos, *lm.encode("The king went"))
    credits = [Credit(Move("m", prompt, (9 + i, 20)), 0.0, (0, 0, 0)) for i in range(4)]
    adapted_model = AdaptedModel(lm, LoraSettings(4, 8))
    changes = []
    for kl in (0.0, 1.0):
        settings = FinetuneConfig(
            maps=1, rollouts=4, learning_rate=1e-3, kl=kl, gradient_clip=1e9, entropy_bonus=0.0
        )
        with adapted_model.new_adapter(0):
            for parameter in adapted_model.parameters():
                parameter.data += 0.02
            before = [p.detach().clone() for p in adapted_model.parameters()]
            divergence = _mean_divergence(lm, adapted_model, credits)
            optimizer = torch.optim.SGD(adapted_model.parameters(), lr=1e-3)
            update(lm, adapted_model, optimizer, credits, settings)
            after = [p.detach().clone() for p in adapted_model.parameters()]
            has_changed = any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
            changes.append((has_changed, _mean_divergence(lm, adapted_model, credits) - divergence))
    assert changes[0] == (False, 0.0)
    assert changes[1][0]
    assert changes[1][1] < 0


def _mean_divergence(
    lm: LanguageModel, adapted_model: AdaptedModel, credits: list[Credit]
) -> float:
    prompts, moves = ([c.move.prompt_ids for c in credits], [c.move.token_ids for c in credits])
    with torch.no_grad():
        here = continuation_logits(lm, prompts, moves)[0].log_softmax(-1)
        with adapted_model.without_adapter():
            base = continuation_logits(lm, prompts, moves)[0].log_softmax(-1)
    return float((here.exp() * (here - base)).sum(-1).mean())


def test_a_gradient_gathered_in_parts_is_the_same(lm: LanguageModel) -> None:
    settings = FinetuneConfig(maps=2, rollouts=4, learning_rate=1e-3, entropy_bonus=0.1)
    prompts = [(lm.bos, *lm.encode(text)) for text in ("The king", "A small cat sat")]
    credits = [
        Credit(Move("m", prompts[i // 4], tuple(range(9, 10 + i))), float(i * i), (i // 4, 0, 0))
        for i in range(8)
    ]
    adapted_model, results = AdaptedModel(lm, LoraSettings(4, 8)), []
    for memory in (1 << 30, 2_000_000, 1):
        with adapted_model.new_adapter(0):
            for parameter in adapted_model.parameters():
                parameter.data += 0.01
            optimizer = torch.optim.SGD(adapted_model.parameters(), lr=1.0)
            statistics = update(lm, adapted_model, optimizer, credits, settings, memory)
            results.append((statistics, [p.detach().clone() for p in adapted_model.parameters()]))
    for statistics, adapter in results[1:]:
        assert statistics == pytest.approx(results[0][0], rel=1e-4)
        for whole, parts in zip(results[0][1], adapter, strict=True):
            torch.testing.assert_close(whole, parts, atol=1e-6, rtol=1e-4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 9)), min_size=1, max_size=20),
    st.integers(1, 200_000_000),
)
def test_micro_batches_are_the_rows_in_order(
    lm: LanguageModel, shapes: list[tuple[int, int]], limit: int
) -> None:
    rows = [(tuple(range(length)), tokens) for length, tokens in shapes]
    parts = micro_batches(lm, rows, limit)
    assert [row for part in parts for row in rows[part]] == rows
    assert all(rows[part] for part in parts)
    assert len(micro_batches(lm, rows, 1)) == len(rows)
    assert len(micro_batches(lm, rows, 1 << 40)) == 1


# -- out of memory ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Small(LanguageModel):
    """A model that learns from so many rollouts at once, and fails at the last moment."""

    room: int = 0

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        values = super().logits(hidden)
        if len(hidden) > self.room:
            values.register_hook(_no_memory)
        return values


def _no_memory(gradient: torch.Tensor) -> torch.Tensor:
    raise torch.OutOfMemoryError("CUDA out of memory.")


@pytest.mark.parametrize("bonus", [0.0, 0.1])
def test_out_of_memory_gathers_the_same_gradient_from_halves(
    lm: LanguageModel, caplog: pytest.LogCaptureFixture, bonus: float
) -> None:
    settings = FinetuneConfig(maps=2, rollouts=4, learning_rate=1e-3, entropy_bonus=bonus)
    prompts = [(lm.bos, *lm.encode(text)) for text in ("The king", "A small cat sat")]
    credits = [
        Credit(Move("m", prompts[i % 2], tuple(range(9, 10 + i))), float(i * i), (i % 2, 0, 0))
        for i in range(8)
    ]
    adapters, statistics = [], []
    adapted_model = AdaptedModel(lm, LoraSettings(4, 8))
    for room in (8, 3):
        small = Small(lm.model, lm.tokenizer, lm.device, room)
        with adapted_model.new_adapter(0), caplog.at_level(logging.WARNING):
            for parameter in adapted_model.parameters():
                parameter.data += 0.01
            optimizer = torch.optim.SGD(adapted_model.parameters(), lr=1.0)
            statistics.append(update(small, adapted_model, optimizer, credits, settings))
            adapters.append([p.detach().clone() for p in adapted_model.parameters()])
    assert statistics[0] == pytest.approx(statistics[1], rel=1e-4)
    for whole, halves in zip(*adapters, strict=True):
        torch.testing.assert_close(whole, halves, atol=1e-6, rtol=1e-4)
    assert "out of memory at 8 rollouts to learn from, going on with 4" in caplog.text


def test_training_samples_within_the_players_memory(
    make_model_host: Callable[..., ModelHost], make_task: Callable[..., Task]
) -> None:
    usual = make_model_host(tokens=1, maps=2, rollouts=16).settings
    tight = ModelHost(replace(usual, player=replace(usual.player, memory_mib=16)))
    assert tight.base.policy.memory_bytes == 16 << 20
    rows: list[int] = []

    def note(module: torch.nn.Module, inputs: tuple[torch.Tensor]) -> None:
        if inputs[0].shape[1] == 1 and torch.is_inference_mode_enabled():
            rows.append(len(inputs[0]))

    tight.adapted_model.base.model.get_input_embeddings().register_forward_pre_hook(note)
    tight.do(Training(make_task(), 0))
    assert 1 < max(rows) < 32


def test_a_game_whose_views_never_fit_teaches_nothing_and_ends(
    make_model_host: Callable[..., ModelHost],
) -> None:
    program = parse("assign(s=story())\nelicit(t, 600)\nreward(xed(s | t))", "xent")
    task = Task(game(program, Metadata(story_tokens=16, max_len=600, max_failures=1)), "black", 0.0)
    finetune = make_model_host().do(Training(task, 0)).outcome
    assert isinstance(finetune, Finetune)
    assert (finetune.curve, finetune.tokens, finetune.forfeit_rate) == ([], 0, 1.0)
    assert finetune_row(task, finetune, "f", 0, "{}", "hash")["tokens"] == 0


def test_several_games_are_learned_together_by_one_adapter(
    make_model_host: Callable[..., ModelHost], make_task: Callable[..., Task]
) -> None:
    """A course of one game is its fine-tune; with two, both are played until the tokens of all are
    spent."""
    host, first = make_model_host(tokens=600), make_task()
    second = make_task(
        "assign(s=story(), t=story())\nelicit(x, 6)\nreward(xed(x | s) - xed(x | t))"
    )
    settings = host.settings.finetune
    assert settings is not None
    alone = host.do(CurriculumTraining(first, (), 1, settings)).outcome
    assert alone.adapter == host.do(Training(first, 1)).outcome.adapter
    both = host.do(CurriculumTraining(first, (second,), 1, replace(settings, tokens=1500)))
    assert both.outcome.tokens >= 1500
    assert len(both.outcome.curve) >= 3
    assert {text.site for text in both.map_texts} == {0, 1}, "the second game has two stories"
    assert both.outcome.adapter != alone.adapter
    others = (second,) * 6  # sevenths do not sum to 1 in floating point
    nothing = host.do(CurriculumTraining(first, others, 1, replace(settings, tokens=0, steps=None)))
    assert (nothing.outcome.curve, nothing.outcome.tokens) == ([], 0)
