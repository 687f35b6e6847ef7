"""The warm start: moves made of words in view, and the best of each map imitated."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evo.config.compose import load
from evo.config.models import ModelHostSettings, WarmStartConfig
from evo.config.schema import RunConfig
from evo.growth.initial_scope import metadata
from evo.jobs import finetune as finetune_module
from evo.jobs.evaluation import Task, evaluation_seeds, finite_score
from evo.jobs.job import Evaluation, Training
from evo.jobs.model_host import ModelHost
from evo.jobs.policy_gradient import Credit
from evo.jobs.warm_start import bare, best_of_groups, edit, mixed_batches, words_in_view
from xgl import game, parse
from xgl.players import FixedMovesPlayer
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import Item, Move, Seeds, View

MakeModelHost = Callable[..., ModelHost]
MakeTask = Callable[..., Task]

RIVAL = "assign(s=story())\nelicit(x, 8)\nassign(t=story())\nreward(xed(s | x) - xed(t | x))"


def view(*items: Item) -> View:
    return View("black", "elicit(t, 8)", items, "t")


texts = st.lists(
    st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=6),
    min_size=1,
    max_size=12,
).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=3), st.integers(1, 10), st.integers(0, 10**6))
def test_words_come_from_one_text_in_view(view_texts: list[str], most: int, seed: int) -> None:
    labels = "s", "l0", "s // t"
    items = [Item(label, text) for label, text in zip(labels, view_texts, strict=False)]
    items += [Item("ensure", "failed 1"), Item("reward", "3.0 (3.0)")]
    words = (words_in_view(view(*items), most, np.random.default_rng(seed)) or "").split()
    assert 1 <= len(words) <= most
    assert any(all(words.count(w) <= text.split().count(w) for w in words) for text in view_texts)


@given(texts, texts, st.integers(0, 10**6))
def test_an_edit_changes_at_most_two_words(text: str, seen: str, seed: int) -> None:
    """One in, one out, or two exchanged; what is new was in view."""
    edited = Counter(edit(text, view(Item("s", seen)), np.random.default_rng(seed)).split())
    before = Counter(text.split())
    new, lost = edited - before, before - edited
    assert max(new.total(), lost.total()) <= 2
    assert set(new) <= {bare(word) for word in seen.split()}


def credits(*groups: list[float]) -> list[Credit]:
    return [
        Credit(Move(f"{group}.{index}"), value, (group, 1, 0))
        for group, values in enumerate(groups)
        for index, value in enumerate(values)
    ]


def test_the_best_of_each_group_is_imitated() -> None:
    best = best_of_groups(credits([-1, 3, 1, -3], [5, 5], [13, 11, 9, 7]))
    assert [(each.move.text, each.map_seed, each.line) for each in best] == [
        ("0.1", 0, 1),
        ("2.0", 2, 1),
    ]


@pytest.mark.parametrize("groups", [[], [[2.0]], [[1.0, 1.0], [3.0, 3.0]], [[0.1 + 0.2, 0.3]]])
def test_equal_scores_teach_nothing(groups: list[list[float]]) -> None:
    assert best_of_groups(credits(*groups)) == []


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=20), min_size=1, max_size=4),
    st.integers(1, 8),
    st.integers(0, 99),
)
def test_batches_hold_every_move_once_one_game_each_and_those_of_a_map_together(
    games: list[list[int]], size: int, seed: int
) -> None:
    """A move's line is here the number of its game."""
    by_game = [
        [Credit(Move(str(place)), 0.0, (each, n, 0)) for place, each in enumerate(maps)]
        for n, maps in enumerate(games)
    ]
    batches = mixed_batches(by_game, size, np.random.default_rng(seed))
    for n, (maps, moves) in enumerate(zip(games, by_game, strict=True)):
        own = [batch for batch in batches if batch[0].line == n]
        assert all(each.line == n for batch in own for each in batch)
        assert sorted(map(len, own))[1:] == [size] * (len(own) - 1)
        sequence = [each for batch in own for each in batch]
        assert sorted(sequence, key=lambda each: int(each.move.text)) == moves
        if len(games) == 1:
            runs = [each for each, _ in groupby(sequence, key=lambda each: each.map_seed)]
            assert len(runs) == len(set(maps))


WARM = WarmStartConfig(maps=20, rollouts=4, edits=0, epochs=1)


def test_a_warm_start_plays_no_more_maps_after_a_quarter_of_the_budget(
    make_model_host: MakeModelHost, make_task: MakeTask
) -> None:
    def tokens(budget: int) -> int:
        host = make_model_host(tokens=budget, steps=1, warm_start=WARM)
        return int(host.do(Training(make_task(), 0)).outcome.prompt_tokens)

    few, some, plenty = map(tokens, (1, 10**4, 10**6))
    assert few < some < plenty


def test_where_rewards_are_permuted_no_word_in_view_shows_a_move(
    make_model_host: MakeModelHost, make_task: MakeTask
) -> None:
    few = replace(WARM, maps=2, rollouts=3)

    def adapter(shuffle: bool = True, true_rewards: bool = False, **changes: float) -> bytes:
        warm = replace(few, **changes)  # type: ignore[arg-type]
        host = make_model_host(tokens=1, warm_start=warm, shuffle=shuffle)
        return host.do(Training(make_task(), 0, true_rewards)).outcome.adapter

    shuffled, plain = adapter(), adapter(shuffle=False)
    assert shuffled == adapter(proposals=0.0) == adapter(edits=1)
    assert len({shuffled, plain, adapter(shuffle=False, proposals=0.0)}) == 3
    assert adapter(true_rewards=True) == plain


def test_edited_moves_are_better_and_cost_no_tokens(
    make_model_host: MakeModelHost, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One move of each map, paid for at least as well as the best that was to be imitated there."""
    task, bits, costs = make_task(), dict[int, dict[int, float]](), list[int]()
    shown: list[Credit] = []

    def keep(model: Any, optimizer: Any, games: Any, *_: Any) -> Any:
        shown[:] = games[0]
        return 1.0, 1.0

    monkeypatch.setattr(finetune_module, "imitate", keep)
    for edits in (0, 2):
        warm = replace(WARM, maps=4, rollouts=6, edits=edits)
        host = make_model_host(tokens=10**6, steps=1, warm_start=warm)
        tokens = host.do(Training(task, 0)).outcome.prompt_tokens
        cast, bits[edits] = host.cast(task), {}
        for each in shown:
            player = FixedMovesPlayer({Seeds(each.map_seed, 0): (each.move.text,)})
            players = cast.players | {task.role: player}
            instance = Instance(task.game, Seeds(each.map_seed, 0))
            (play,) = play_all([instance], Cast(cast.judge, cast.stories, players))
            score = finite_score(play, task)
            bits[edits][each.map_seed] = max(score, bits[edits].get(each.map_seed, -math.inf))
        costs.append(tokens)
        assert edits == 0 or len(shown) == len(bits[0])
    assert costs[0] == costs[1]
    assert all(bits[2][m] >= bits[0][m] for m in bits[0])
    assert sum(bits[2].values()) > sum(bits[0].values())


@pytest.mark.long
def test_a_game_is_learned_whose_best_moves_the_base_player_never_makes() -> None:
    """In a sixth of the default's steps; and not under the null control."""
    few = "finetune.steps=16", "finetune.warm_start.maps=32"
    assert rival_gain(*few) > 6
    assert rival_gain(*few, "finetune.shuffle=true") < 3


def rival_gain(*overrides: str) -> float:
    """Mean gain on Rival of a fine-tune, bits a play."""
    config = load(RunConfig, ["+experiment=scope_growth", *overrides])
    host = ModelHost(ModelHostSettings(config.judge, config.player, config.finetune))
    task = Task(game(parse(RIVAL, "xent"), metadata(config.game)), "black", -20.0)
    seeds = tuple(evaluation_seeds("acceptance", 0, 48))
    base, mean = (
        np.mean([s.score for s in host.do(Evaluation(task, (adapter,), (seeds,))).outcome[0]])
        for adapter in (None, host.do(Training(task, 0)).outcome.adapter)
    )
    return float(mean - base)
