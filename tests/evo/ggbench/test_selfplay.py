"""Self-play: Table 4's settings, the same result twice, a policy that beats random moves."""

from __future__ import annotations

import numpy as np
import pytest
from support import hostile
from support.purse_game import PURSE

from evo.config.measure import OpponentConfig, TrainConfig
from evo.ggbench.box import Box, GameFaultError
from evo.ggbench.selfplay import (
    TrainingGames,
    contest,
    find_opponent,
    layers_of,
    learner,
    opponent_verdict,
    train,
)

SHORT = TrainConfig(steps=8192)
RANDOM = {"kind": "random"}


@pytest.fixture(scope="module")
def training():
    with Box(PURSE) as box:
        yield box, train(box, SHORT, 0)


@pytest.mark.parametrize("has_masks", [True, False])
def test_the_learner_has_the_settings_of_table_4(has_masks: bool) -> None:
    with Box(PURSE) as box:
        settings = TrainConfig(masked=has_masks)
        model = learner(TrainingGames(box, settings, 0), settings, 1)
        assert type(model).__name__ == ("MaskablePPO" if has_masks else "PPO")
        assert (model.learning_rate, model.gamma, model.gae_lambda) == (3e-4, 0.99, 0.95)
        assert (model.clip_range(1), model.batch_size) == (0.2, 64)
        assert model.n_steps * model.n_envs == 2048


def test_four_checkpoints_the_last_of_which_beats_random_moves(training) -> None:
    box, checkpoints = training
    assert [each.steps for each in checkpoints] == [2048, 4096, 6144, 8192]
    assert len({each.weights for each in checkpoints}) == 4
    wins, _ = contest(box, ({"kind": "greedy", "policy": "quarter4"}, RANDOM), range(100))
    assert wins >= 60


@pytest.mark.long
def test_training_is_a_function_of_game_settings_and_seed(training) -> None:
    _, checkpoints = training
    with Box(PURSE) as box:
        again = train(box, SHORT, 0)
    assert [each.weights for each in again] == [each.weights for each in checkpoints]


def test_the_box_plays_the_policy_that_was_trained(training) -> None:
    box, checkpoints = training
    view = box.new(3)
    features = np.append(np.frombuffer(view.observation, np.float32), np.float32(1))
    for weights, biases in (layers := layers_of(checkpoints[3].weights))[:-1]:
        features = np.tanh(features @ weights + biases)
    logits = features @ layers[-1][0] + layers[-1][1]
    best = max(view.legal, key=lambda move: logits[move])
    assert box.choose({"kind": "greedy", "policy": "quarter4"}, 0) == best


def test_an_opponent_searches_beats_random_moves_and_is_beaten_in_fresh_games(training) -> None:
    box, _ = training
    settings = OpponentConfig(simulations=30, ladder=(600,))
    pairs = list(find_opponent(box, settings, 0))
    assert [(p.winner, p.loser, p.purpose, p.games) for p in pairs[:4]] == [
        (f"quarter{quarter}", "random", "baseline", 30) for quarter in range(1, 5)
    ]
    able = {p.winner for p in pairs[:4] if p.wins >= 27}
    assert {p.winner for p in pairs[:4] if p.passed} == able
    passed, text = opponent_verdict(pairs)
    confirmations = [p for p in pairs if p.purpose == "confirmation"]
    assert passed == any(p.passed for p in confirmations)
    assert all(p.loser in able and p.passed == (p.wins >= 24) for p in confirmations)
    assert ("fresh games" in text) or not able


def test_a_game_that_does_not_end_is_refused_in_training() -> None:
    endless = hostile.GOOD.replace("max(0, self.left - action - 1)", "9")
    with (
        Box(hostile.game_of(endless)) as box,
        pytest.raises(GameFaultError, match="lasts longer than 100 moves"),
    ):
        train(box, SHORT, 0)
