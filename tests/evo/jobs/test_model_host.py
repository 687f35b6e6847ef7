"""Defaults of the engine and the policy; stories of a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.small_models import network

from evo.config.models import JudgeConfig, PlayerConfig
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.jobs.job import Evaluation, Training
from evo.jobs.model_host import ModelHost, ModelHostSettings
from xgl import Metadata, game, parse
from xgl.errors import ConfigError
from xgl.models import resolve
from xgl.players.local import LocalPolicy
from xgl.runtime.requests import Seeds

MakeModelHost = Callable[..., ModelHost]
MakeTask = Callable[..., Task]


BEGIN = "assign(s=story())"
LONGER = "assign(s=s+s+s+s)\nassign(s=s+s+s+s)\nassign(s=s+s)"
WORDS = "the red hen ran over the green hill " * 40
TOO_LONG = {
    "to be scored": (f"{BEGIN}\nelicit(x, 8)\n{LONGER}\nreward(xed(s | x))", "judge"),
    "to be true": (
        f"{BEGIN}\nelicit(x, 8)\n{LONGER}\nensure(is_true(s))\nreward(xed(x | x))",
        "judge",
    ),
    "to be seen": (f"{BEGIN}\n{LONGER}\nreveal(s)\nelicit(x, 8)\nreward(xed(s | x))", "player"),
    "to be read": (f'assign(s="{WORDS}")\nelicit(x, 8)\nreward(xed(s | x))', "player"),
    "for its move": ("assign(s=story())\nelicit(x, 600)\nreward(xed(s | x))", "player"),
}


@pytest.fixture(scope="module")
def host(make_model_host: MakeModelHost) -> ModelHost:
    return make_model_host()


@pytest.mark.parametrize("kind", TOO_LONG)
def test_a_users_game_that_never_fits_is_refused_by_its_file_and_its_tokens(
    kind: str, host: ModelHost
) -> None:
    text, who = TOO_LONG[kind]
    metadata = Metadata(max_characters=4096)
    task = Task(game(parse(text, "xent"), metadata), "black", origin="a: my/game.xent")
    seeds = tuple(evaluation_seeds("calibration", 0, 3))
    tokens = rf"[\d,]+ tokens, at most 512 fit the {who}$"
    with pytest.raises(ConfigError, match=rf"^a: my/game\.xent: no play fits; line \d: {tokens}"):
        host.do(Evaluation(task, (None,), (seeds,)))
    [plays] = host.do(Evaluation(replace(task, origin=""), (None,), (seeds,))).outcome
    assert {play.outcome for play in plays} == {"oversize"}, "a search only refuses it"
    [plays] = host.do(Evaluation(replace(task, floor=-50.0), (None,), (seeds,))).outcome
    assert {play.score for play in plays} == {-50.0}, "a fine-tune's plays count as the floor"


def test_the_temperature_of_moves_that_are_measured(
    host: ModelHost, make_model_host: MakeModelHost, make_task: MakeTask
) -> None:
    seeds = tuple(Seeds(map_seed, play) for map_seed in range(4) for play in range(4))
    cold = make_model_host()
    cold.settings = replace(cold.settings, player=PlayerConfig(temperature=1e-4))

    def moves(of: ModelHost) -> list[tuple[str, ...]]:
        [plays] = of.do(Evaluation(make_task(), (None,), (seeds,))).outcome
        return [play.moves for play in plays]

    likeliest = moves(cold)
    assert likeliest[::4] == likeliest[1::4] == likeliest[2::4] == likeliest[3::4]
    assert moves(host) != likeliest
    trained = [each.do(Training(make_task(), 1)).outcome.adapter for each in (cold, host)]
    assert trained[0] == trained[1], "a training samples at 1"


def test_rewards_in_bfloat16_are_near_and_leave_the_judge_of_evaluations_as_it_is(
    make_model_host: MakeModelHost, make_task: MakeTask
) -> None:
    """The first step plays alike under both precisions; its mean score differs by rounding."""
    training = Training(make_task(), 3)
    exact, near = (
        make_model_host(bfloat16_rewards=rounded, steps=1, maps=4, rollouts=4, tokens=100_000)
        for rounded in (False, True)
    )
    expected, found = exact.do(training), near.do(training)
    assert found.outcome.curve != expected.outcome.curve
    assert found.outcome.curve == pytest.approx(expected.outcome.curve, abs=0.25)
    evaluation = Evaluation(training.task, (None,), (tuple(evaluation_seeds("selection", 0, 3)),))
    one, other = (
        [(play.score, play.permuted_score) for play in host.do(evaluation).outcome[0]]
        for host in (near, exact)
    )
    assert one == other


def test_a_judge_that_fails_in_bfloat16_rewards_in_float32(tmp_path: Path) -> None:
    _, tokenizer = resolve.load("embedded")
    network("Mamba", vocab_size=len(tokenizer), state_size=8).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    judge = JudgeConfig(model=str(tmp_path), dtype="float32")
    host = ModelHost(ModelHostSettings(judge, PlayerConfig(dtype="float32"), None))
    assert host.bfloat16_judge is host.judge


def host_with(npc: str) -> ModelHost:
    player = PlayerConfig(dtype="float32", npc=npc)
    return ModelHost(ModelHostSettings(JudgeConfig(dtype="float32"), player, None))


def test_the_model_of_the_other_roles_is_the_base_player_or_the_one_that_is_named(
    make_task: MakeTask, tmp_path: Path
) -> None:
    task = replace(make_task(NOTE), role="bob")
    seeds = evaluation_seeds("selection", 0, 2)
    usual, same = host_with("base"), host_with("embedded")
    assert usual.npc is usual.base
    assert same.npc is same.base, "weights are shared where the model is the player's"
    resolve.load("embedded")[0].save_pretrained(tmp_path)
    resolve.load("embedded")[1].save_pretrained(tmp_path)
    other = host_with(str(tmp_path))
    assert isinstance(other.npc, LocalPolicy)
    assert other.npc.lm is not other.judge.lm
    expected, found = (host.evaluate(task, [None], [seeds])[0] for host in (usual, other))
    assert [play.score for play in found] == pytest.approx([play.score for play in expected])
    with torch.no_grad():
        other.npc.lm.model.get_output_embeddings().weight.zero_()
    [changed] = other.evaluate(task, [None], [seeds])
    assert [play.score for play in changed] != pytest.approx([play.score for play in expected])


NOTE = (
    "assign(s=story())\nreveal(alice, s)\nelicit(alice, t, 6)\nreveal(bob, t)\n"
    "elicit(bob, x, 6)\nreward(bob, xed(x | t))\n"
)
