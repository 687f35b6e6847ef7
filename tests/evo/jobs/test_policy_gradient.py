"""REINFORCE: credit, baseline and gradient, by hand and on the embedded model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st
from torch import Tensor, nn

from evo.config.models import FinetuneConfig, PlayerConfig, WarmStartConfig
from evo.jobs import policy_gradient as pg
from evo.jobs.evaluation import Task
from evo.jobs.lora import AdaptedModel, LoraModel, NotByRowError
from evo.jobs.warm_start import imitate
from xgl.judge.forward import tree_bits, tree_states
from xgl.lm import captured as captured_module
from xgl.lm.captured import CapturedPass
from xgl.lm.language_model import LanguageModel, keeps_caches
from xgl.lm.memory import micro_batches, tree_parts
from xgl.lm.prefix_sharing import PrefixTree, ScoredSequence, prefix_trees
from xgl.lm.sampling import sample
from xgl.runtime.requests import Ensured, Event, Move, Moved, Play, Rewarded

MakeTask = Callable[..., Task]


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
    chosen = torch.tensor(mask) == 1
    weights = torch.tensor(weight)[:, None].expand(-1, 2)[chosen] / len(weight)
    terms = token_logprobs[chosen], entropy[chosen], weights, bonus / mask.sum()
    pg.objective_loss(*terms).backward()
    assert logits.grad is not None
    np.testing.assert_allclose(logits.grad.numpy(), by_hand, atol=1e-12)


def test_a_ratio_beyond_its_width_has_no_gradient() -> None:
    """d/dlog π of −mean_i min(ρA, clamp(ρ)A): −ρA/N, but 0 where the ratio has moved too far in the
    direction of its advantage (PPO, eq. 7)."""
    ratio = np.array([[1.0, 1.1, 1.5, 0.5], [1.0, 0.9, 1.5, 0.5]])
    weight, clip = np.array([2.0, -3.0]), 0.2
    slopes = -ratio * weight[:, None] / 2
    slopes[0, 2] = slopes[1, 3] = 0.0
    made = torch.full((2, 4), -1.5, dtype=torch.float64)
    logprobs = (made + torch.tensor(np.log(ratio))).requires_grad_(True)
    weights = torch.tensor(weight)[:, None] / 2
    pg.objective_loss(logprobs, torch.zeros(0), weights, 0.0, made, clip).backward()
    assert logprobs.grad is not None
    np.testing.assert_allclose(logprobs.grad.numpy(), slopes, atol=1e-12)


@given(
    st.lists(st.floats(-2, 2), min_size=12, max_size=12),
    st.lists(st.floats(-5, 5), min_size=9, max_size=9),
    st.booleans(),
)
@settings(max_examples=12)
def test_the_expected_gradient_is_that_of_the_expected_reward(
    logits: list[float], rewards: list[float], has_ratio: bool
) -> None:
    """Over all groups of two moves of two tokens in a vocabulary of three, with advantages that
    are not scaled: exactly, but that the mean of two moves as baseline takes half of the gradient
    away."""
    z = torch.tensor(logits, dtype=torch.float64).view(4, 3).requires_grad_(True)
    first, second = z[0].log_softmax(-1), z[1:].log_softmax(-1)
    moves = [(a, b) for a in range(3) for b in range(3)]
    logprobs = torch.stack([torch.stack([first[a], second[a, b]]) for a, b in moves])
    chance = logprobs.sum(1).exp()
    [exact] = torch.autograd.grad(chance @ torch.tensor(rewards).double(), z, retain_graph=True)
    expected, none = torch.zeros_like(exact), torch.zeros(0)
    for pair in product(range(9), repeat=2):
        credits = [credit(rewards[place], 2) for place in pair]
        chosen = logprobs[list(pair)]
        scale = np.std([each.reward_to_go for each in credits])
        scale = scale if scale > pg.ROUNDING else 1.0
        weights = scale * pg.advantages(credits).double()[:, None] / 2
        terms = (chosen.detach(), 0.2) if has_ratio else ()
        loss = pg.objective_loss(chosen, none, weights, 0.0, *terms)
        [slope] = torch.autograd.grad(-loss, z, retain_graph=True)
        expected += chance.detach()[list(pair)].prod() * slope
    torch.testing.assert_close(expected, 0.5 * exact, atol=1e-5, rtol=1e-5)


def credit(value: float, map_seed: int) -> pg.Credit:
    return pg.Credit(Move("m"), value, (map_seed, 1, 0))


CREDITS = [credit(v, m) for v, m in ((1.0, 2), (2.0, 2), (6.0, 2), (10.0, 4), (20.0, 4), (7.0, 6))]


def test_the_baseline_is_the_mean_of_the_group() -> None:
    deviations = np.array([-2, -1, 3, -5, 5, 0])
    expected = deviations / np.std(deviations)
    np.testing.assert_allclose(pg.advantages(CREDITS).numpy(), expected, rtol=1e-6)


def test_equal_rewards_teach_nothing() -> None:
    """Rounding errors of a mean are no advantages, however small the spread they are divided by."""
    credits = [credit(v, m) for m, v in ((2, 0.1), (4, -7.3), (6, 1 / 3)) for _ in range(3)]
    assert np.abs(pg.advantages(credits).numpy()).max() < 1e-9


def move_event(line: int, text: str, player: str = "black") -> Moved:
    return Moved(player, "s", Move(text), line)


def play(*events: Event, outcome: str = "finished", forfeiter: str = "") -> Play:
    return Play(outcome, {}, {}, events, len(events), forfeiter)


def test_a_move_is_credited_with_what_comes_after_it(make_task: MakeTask) -> None:
    events = (
        Rewarded("black", 100.0),
        move_event(1, "first"),
        Rewarded("black", 3.0),
        Rewarded("white", 50.0),
        move_event(2, "other", "white"),
        move_event(3, "second"),
        Rewarded("black", -1.0),
        Rewarded("black", 0.5),
    )
    credits = pg.credits_of(play(*events), 8, make_task())
    assert [(c.move.text, c.reward_to_go, c.group) for c in credits] == [
        ("first", 2.5, (8, 1, 0)),
        ("second", -0.5, (8, 3, 0)),
    ]


def test_a_retry_stands_beside_other_plays_moves_of_the_same_turn(make_task: MakeTask) -> None:
    """Two turns of a loop; a turn writes twice, and the first one fails once."""
    failed = (move_event(1, "a"), move_event(1, "b"), Ensured("black", False, 1))
    turns = [(move_event(1, "c"), move_event(1, "d"), Ensured("black", True, 0))] * 2
    events = [replace(e, register="st"[n % 2], place=n % 2) if isinstance(e, Moved) else e
              for part in (failed, *turns) for n, e in enumerate(part)]  # fmt: skip
    credits = pg.credits_of(play(*events), 8, make_task())
    assert [credit.group[2] for credit in credits] == [0, 1, 0, 1, 2, 3]
    standing = pg.credits_of(play(*events), 8, make_task(), standing=True)
    assert [credit.move.text for credit in standing] == ["c", "d", "c", "d"]


@pytest.mark.parametrize(
    ("outcome", "forfeiter", "worth"),
    [("forfeit", "black", -9.5), ("oversize", "", -9.5), ("forfeit", "alice", 4.0)],
)
def test_an_unfinished_play_is_worth_the_floor_but_anothers_forfeit_leaves_what_was_won(
    make_task: MakeTask, outcome: str, forfeiter: str, worth: float
) -> None:
    events = move_event(1, "a"), Rewarded("black", 4.0), move_event(2, "b", "alice")
    failed = (move_event(2, "b"), Ensured("black", False, 1)) if worth < 0 else ()
    own = play(*events, *failed, outcome=outcome, forfeiter=forfeiter)
    credits = pg.credits_of(own, 8, make_task(floor=-9.5))
    assert [c.reward_to_go for c in credits] == [worth] * (1 + bool(failed))


def test_shuffled_rewards_are_the_same_rewards_elsewhere() -> None:
    move = Move("m", (1,), (2,))
    credits = [pg.Credit(move, float(index), (index % 3, 0, 0)) for index in range(20)]
    shuffled_credits = pg.shuffle_rewards(credits, 7)
    assert shuffled_credits == pg.shuffle_rewards(credits, 7) != pg.shuffle_rewards(credits, 8)
    values = [credit.reward_to_go for credit in shuffled_credits]
    assert sorted(values) == list(range(20)) != values
    assert [credit.group for credit in shuffled_credits] == [credit.group for credit in credits]


def test_a_penalty_on_divergence_holds_the_player_to_its_base(lm: LanguageModel) -> None:
    """With nothing to win, an adapter that changes the player is drawn back."""
    prompt = (lm.bos, *lm.encode("The king went"))
    credits = [pg.Credit(Move("m", prompt, (9 + i, 20)), 0.0, (0, 0, 0)) for i in range(4)]
    adapted_model = AdaptedModel(lm, PlayerConfig(lora_rank=4, lora_alpha=8))
    changes = []
    for kl in (0.0, 1.0):
        settings = FinetuneConfig(clipped_ratio=None, kl=kl, gradient_clip=1e9, entropy_bonus=0.0)
        with adapted_model.attached(adapted_model.new_factors(0)):
            for parameter in adapted_model.parameters():
                parameter.data += 0.02
            before = [p.detach().clone() for p in adapted_model.parameters()]
            divergence = _mean_divergence(lm, adapted_model, credits)
            optimizer = torch.optim.SGD(adapted_model.parameters(), lr=1e-3)
            pg.update(adapted_model, optimizer, credits, settings)
            after = [p.detach().clone() for p in adapted_model.parameters()]
            has_changed = any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
            changes.append((has_changed, _mean_divergence(lm, adapted_model, credits) - divergence))
    assert changes[0] == (False, 0.0)
    assert changes[1][0]
    assert changes[1][1] < 0


def _mean_divergence(
    lm: LanguageModel, adapted_model: AdaptedModel, credits: list[pg.Credit]
) -> float:
    moves = [each.move for each in credits]
    trees = prefix_trees([ScoredSequence((*m.prompt_ids, *m.token_ids), 2) for m in moves])
    with torch.no_grad():
        states = (tree_states(each, trees)[0] for each in (adapted_model.lm, lm))
        here, base = (lm.logits(each).log_softmax(-1) for each in states)
    return float((here.exp() * (here - base)).sum(-1).mean())


Step = tuple[tuple[float, float], list[torch.Tensor]]


def step(player: LoraModel, adapted_model: AdaptedModel, kl: float) -> Step:
    """What an update by eight rollouts of growing length reports, and the adapter after it."""
    settings = FinetuneConfig(entropy_bonus=0.1, clipped_ratio=None, kl=kl)
    prompts = [(player.bos, *player.encode(text)) for text in ("The king", "A small cat sat")]
    moves = [Move("m", prompts[i % 2], tuple(range(9, 10 + i))) for i in range(8)]
    credits = [pg.Credit(move, float(i * i), (i % 2, 0, 0)) for i, move in enumerate(moves)]
    adapted_model.lm = player
    with adapted_model.attached(adapted_model.new_factors(0)):
        for parameter in adapted_model.parameters():
            parameter.data += 0.01
        optimizer = torch.optim.SGD(adapted_model.parameters(), lr=1.0)
        statistics = pg.update(adapted_model, optimizer, credits, settings)
        return statistics, [p.detach().clone() for p in adapted_model.parameters()]


def check_equal(one: Step, other: Step, atol: float = 1e-6) -> None:
    assert one[0] == pytest.approx(other[0], rel=1e-4)
    for whole, parts in zip(one[1], other[1], strict=True):
        torch.testing.assert_close(whole, parts, atol=atol, rtol=1e-4)


def test_micro_batches_are_the_rows_in_order(lm: LanguageModel) -> None:
    rows = [(tuple(range(1 + 7 * k % 30)), 1 + k % 9) for k in range(20)]
    for limit, least, most in ((1, 20, 20), (30_000_000, 2, 19), (1 << 40, 1, 1)):
        parts = micro_batches(lm, rows, limit)
        assert [row for part in parts for row in rows[part]] == rows
        assert least <= len(parts) <= most


@dataclass(frozen=True)
class Small(LoraModel):
    """A model that learns from so many rollouts at once, and fails at the last moment."""

    room: int = 0


def _no_memory(gradient: torch.Tensor) -> torch.Tensor:
    raise torch.OutOfMemoryError("CUDA out of memory.")


def _small_trees(lm: LanguageModel, trees: Sequence[PrefixTree]) -> tuple[Tensor, Tensor]:
    states, targets = tree_states(lm, trees)
    if isinstance(lm, Small) and sum(len(tree.members) for tree in trees) > lm.room:
        states.register_hook(_no_memory)
    return states, targets


@pytest.mark.parametrize(("by_trees", "kl"), [(False, 0.0), (True, 0.0), (True, 1.0)])
def test_out_of_memory_gathers_the_same_gradient_from_halves(
    lm: LanguageModel,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    by_trees: bool,
    kl: float,
) -> None:
    monkeypatch.setattr(pg, "tree_states", _small_trees)
    adapted_model = AdaptedModel(lm, PlayerConfig(lora_rank=4, lora_alpha=8))
    adapted_model.__dict__["shares_prefixes"] = by_trees  # its cached value
    of_model, current = (lm.model, lm.tokenizer, lm.device), adapted_model.lm.current
    with caplog.at_level(logging.WARNING):
        whole, halves = (
            step(Small(*of_model, current=current, room=room), adapted_model, kl) for room in (8, 3)
        )
    check_equal(halves, whole)
    assert "out of memory at 8 moves to learn from, going on with 4" in caplog.text


def test_a_part_that_fails_leaves_the_gradient_where_it_was(lm: LanguageModel) -> None:
    """Captured passes add to that memory."""
    adapted_model = AdaptedModel(lm, PlayerConfig(lora_rank=4, lora_alpha=8))
    gradients = [torch.ones_like(each) for each in adapted_model.parameters()]
    for parameter, gradient in zip(adapted_model.parameters(), gradients, strict=True):
        parameter.grad = gradient
    with suppress(RuntimeError), adapted_model.whole_gradient():
        gradients[0] += 1
        raise RuntimeError
    for parameter, gradient in zip(adapted_model.parameters(), gradients, strict=True):
        assert parameter.grad is gradient
        assert (gradient == 1).all()


def test_a_pass_of_some_policies_that_cannot_be_says_nothing_about_one(lm: LanguageModel) -> None:
    def work() -> None:
        raise NotByRowError

    with pytest.raises(NotByRowError):
        captured_module.captured(lm, work)
    assert "refused" not in lm.captured


@pytest.mark.parametrize("bias", [False, True])
def test_terms_and_their_slopes_are_those_of_a_softmax(
    bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pg, "POSITIONS", 3)
    torch.manual_seed(0)
    head = nn.Linear(6, 11, bias=bias).double().requires_grad_(False)
    hidden = torch.randn(8, 6, dtype=torch.float64, requires_grad=True)
    ids, weights = torch.arange(8) % 5, torch.randn(2, 8)
    logprobs = head(hidden).log_softmax(-1)
    expected = logprobs.gather(1, ids[:, None])[:, 0], -(logprobs.exp() * logprobs).sum(-1)
    [by_softmax] = torch.autograd.grad((torch.stack(expected) * weights).sum(), hidden)
    terms = pg.TokenTerms.apply(hidden, head, ids)
    [slope] = torch.autograd.grad((torch.stack(terms) * weights).sum(), hidden)
    for one, other in zip((*terms, slope), (*expected, by_softmax), strict=True):
        torch.testing.assert_close(one.double(), other, atol=1e-5, rtol=1e-5)


def moves_of_a_play(rng: np.random.Generator, moves: int, prompt: tuple[int, ...]) -> list[Move]:
    """Each view continues the last one by what was shown since, which may begin with the move."""
    made = []
    for place in range(moves):
        ids = tuple(rng.integers(2, 1200, int(rng.integers(1, 10))).tolist())
        made.append(Move("", prompt, ids, tuple(rng.normal(-8, 2, len(ids)).tolist())))
        prompt += (*ids[: 2 * (place % 2)], *rng.integers(2, 1200, 7).tolist())
    return made


def moves_after_others(rng: np.random.Generator, prompt: tuple[int, ...]) -> list[Move]:
    """Views that differ by what another player has said on the map."""
    said = [(*prompt, *rng.integers(2, 1200, 6).tolist()) for _ in range(8)]
    return [move for each in said for move in moves_of_a_play(rng, 1, each)]


def credits_of_three_maps() -> list[pg.Credit]:
    """Of moves, of two plays of several moves on the last map, and of moves after another's."""
    rng, credits = np.random.default_rng(0), []
    for place in range(3):
        prompt = (0, *rng.integers(2, 1200, 20 + 9 * place).tolist())
        for _ in range(5):
            ids = tuple(rng.integers(2, 1200, int(rng.integers(1, 10))).tolist())
            logprobs = tuple(rng.normal(-8, 2, len(ids)).tolist())
            move = Move("", prompt, ids, logprobs)
            credits.append(pg.Credit(move, float(rng.normal()), (place, 1, 0)))
    of_plays = (m for _ in range(2) for m in moves_of_a_play(rng, 4, prompt))
    for move in (*of_plays, *moves_after_others(rng, prompt)):
        credits.append(pg.Credit(move, float(rng.normal()), (place, 1, 0)))
    return credits


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 99), st.integers(1, 40), st.integers(1, 4), st.integers(1, 1 << 33))
def test_a_play_is_learned_in_one_reading_of_its_last_view(
    lm: LanguageModel, seed: int, count: int, plays: int, limit: int
) -> None:
    rng = np.random.default_rng(seed)
    starts = [tuple(rng.integers(2, 1200, 30).tolist()) for _ in range(plays)]
    moves = [move for start in starts for move in moves_of_a_play(rng, count, start)]
    trees = list(pg.move_trees(moves))
    assert sorted(place for tree in trees for place in tree.members) == list(range(len(moves)))
    assert len(trees) == plays
    last_views = sum(len(moves[(n + 1) * count - 1].prompt_ids) for n in range(plays))
    read = sum(len(tree.tokens) for tree in trees)
    assert read <= last_views + sum(len(move.token_ids) for move in moves)
    parts = tree_parts(lm, trees, limit)
    assert [tree for part in parts for tree in part] == trees
    assert len(tree_parts(lm, trees, 1)) == len(trees)
    assert len(tree_parts(lm, trees, 1 << 50)) == 1


def test_what_moves_of_a_map_have_in_common_is_read_once() -> None:
    rng = np.random.default_rng(0)
    maps = [tuple(rng.integers(2, 1200, 60).tolist()) for _ in range(3)]
    trees = list(pg.move_trees([move for each in maps for move in moves_after_others(rng, each)]))
    assert [sorted(tree.members) for tree in trees] == [[*range(n, n + 8)] for n in (0, 8, 16)]
    assert all(len(tree.tokens) <= 60 + 8 * (6 + 9) for tree in trees)


@pytest.mark.parametrize("kind", ["reinforce", "clipped ratio", "imitate"])
def test_a_step_changes_the_adapter_equally(
    lm: LanguageModel, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    credits = credits_of_three_maps()
    ratio = 0.5 if kind == "clipped ratio" else None
    settings = FinetuneConfig(gradient_clip=1e9, clipped_ratio=ratio)
    lm = LanguageModel(lm.model, lm.tokenizer, lm.device)  # without passes of other tests
    adapted_model, results = AdaptedModel(lm, PlayerConfig(lora_rank=4, lora_alpha=8)), []
    ways = ((), False, False), ((), True, False), ((), True, True), (("cpu",), True, False)
    for devices, by_trees, by_logits in ways:
        monkeypatch.setattr(captured_module, "DEVICES", devices)
        monkeypatch.setattr(pg, "_holds_logits", lambda *_, on=by_logits: on)
        adapted_model.__dict__["shares_prefixes"] = by_trees  # its cached value
        with adapted_model.attached(adapted_model.new_factors(0)):
            for parameter in adapted_model.parameters():
                parameter.data += 0.02
            optimizer = torch.optim.SGD(adapted_model.parameters(), lr=1e-3)
            if kind == "imitate":
                warm, rng = WarmStartConfig(epochs=1, batch=8), np.random.default_rng(1)
                terms = adapted_model, optimizer, [credits]
                numbers = imitate(*terms, warm, 1e9, rng, 1 << 30)
            else:
                numbers = pg.update(adapted_model, optimizer, credits, settings)
            results.append((numbers, [p.detach().clone() for p in adapted_model.parameters()]))
    assert not lm.captured.get("refused")
    keys = captured_module.Places.of(lm).places
    assert [key for key in keys if key[:2] == ("gradient", "adapter")]
    for each in results[1:]:
        check_equal(each, results[0], atol=1e-7)


def test_a_captured_pass_has_the_masks_of_the_pass_before_its_capture(
    lm: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge's, the player's and the gradient's: transformers asks whether a pass is captured,
    and may then make a mask that fast attention does not take."""
    monkeypatch.setattr(captured_module, "DEVICES", ("cpu",))
    lm = LanguageModel(lm.model, lm.tokenizer, lm.device)  # without passes of other tests
    before, attention = CapturedPass.__call__, torch.nn.functional.scaled_dot_product_attention
    capturing, masks = [False], list[tuple[bool, bool]]()

    def call(self: CapturedPass, run: Callable[[], object]) -> None:
        capturing[0] = self.calls > 0
        before(self, run)
        capturing[0] = False

    def attend(*args: Tensor, attn_mask: Tensor | None = None, **options: Any) -> Tensor:
        masks.append((capturing[0], attn_mask is not None))
        return attention(*args, attn_mask=attn_mask, **options)

    assert keeps_caches(lm)  # found out by passes of its own
    monkeypatch.setattr(CapturedPass, "__call__", call)
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", attend)
    asked = "transformers.utils.import_utils.is_cuda_stream_capturing"
    monkeypatch.setattr(asked, lambda: capturing[0])
    prompt, credits = tuple(range(50, 60)), credits_of_three_maps()
    trees = list(prefix_trees([ScoredSequence(prompt, 3)]))
    adapted_model, stops = AdaptedModel(lm, PlayerConfig()), torch.zeros(4096, dtype=torch.bool)
    with adapted_model.attached(adapted_model.new_factors(0)):
        optimizer = torch.optim.SGD(adapted_model.parameters(), lr=0.0)
        works: list[Callable[[], object]] = [
            lambda: tree_bits(lm, trees),
            lambda: sample(lm, [prompt], [1], np.full((1, 1), 0.5), stops),
            lambda: pg.update(adapted_model, optimizer, credits, FinetuneConfig()),
        ]
        for work in works:
            masks.clear()
            for _ in range(2):
                work()
            before_capture = [has for is_captured, has in masks if not is_captured]
            assert masks == [(on, has) for on in (False, True) for has in before_capture]
