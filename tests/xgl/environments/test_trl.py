"""A rollout of TRL: tools, rewards, other players."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.doubles import WordJudge

from xgl.environments.rows import read_row
from xgl.environments.trl import environment_factory
from xgl.errors import PlayerError
from xgl.players import FixedMovesPlayer
from xgl.runtime.presentation import RULES
from xgl.runtime.requests import Seeds

RETRY: dict[str, Any] = {
    "role": "black",
    "code": "assign(s=story())\nelicit(x, 4)\nensure(len(x) < 6)\nreward(xed(s | x))",
    "dialect": "xent",
    "metadata": {},
    "map_seed": 3,
    "stories": ["the red hen"],
    "floor": -9.0,
    "base": {"mean": 1.0, "spread": 2.0, "plays": 8},
}
PAIR = RETRY | {
    "role": "bob",
    "code": "elicit(alice, x, 2)\nelicit(bob, y, 2)\nreward(bob, xed(x | y))",
    "stories": [],
}


def test_a_move_is_a_tool_call_and_a_retry_a_turn() -> None:
    environment = environment_factory(WordJudge(), normalise=True)()
    first = environment.reset(info=json.dumps(RETRY), id="x")
    assert first.startswith(RULES)
    assert "s: the red hen" in first
    again = environment.move("too long a move")
    assert "ensure: failed 1" in again
    assert again.endswith("calling the tool `move`, once for each request.")
    assert environment.move("<move>hen</move>").startswith("The game is over (finished): ")
    assert environment.move("more") == "The game is over."
    episode = read_row(RETRY).episode(WordJudge())
    episode.step("too long a move")
    episode.step("hen")
    assert environment.get_reward() == (episode.scores["black"] - 1.0) / 2.0


def test_a_game_left_before_its_end_counts_as_the_floor_and_reset_starts_again() -> None:
    environment = environment_factory(WordJudge())()
    environment.reset(info=RETRY)
    assert environment.get_reward() == -9.0
    environment.move("hen")
    early_reward = environment.get_reward()
    environment.reset(info=RETRY)
    assert environment.get_reward() == -9.0 != early_reward


def test_others_are_played_by_a_player() -> None:
    others = FixedMovesPlayer({Seeds(3, 0): ["a boat"]})
    environment = environment_factory(WordJudge(), others=others)()
    assert "You are bob." in environment.reset(info=PAIR)
    assert environment.move("boat").startswith("The game is over")
    alone = environment_factory(WordJudge())()
    with pytest.raises(PlayerError, match="alice would have to move as well"):
        alone.reset(info=PAIR)
    baseless = environment_factory(WordJudge(), normalise=True)()
    baseless.reset(info=RETRY | {"base": None})
    with pytest.raises(PlayerError, match="found no `base`"):
        baseless.get_reward()
