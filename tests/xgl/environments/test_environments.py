"""Games in training frameworks: an episode as conversations, a rollout of TRL, and rewards of
completions."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from support.doubles import NumberedStories, WordJudge

from xgl import EpisodeQueue, Play, parse, play
from xgl.chat.answers import parse_move
from xgl.environments.conversation import converse
from xgl.environments.rows import METRICS, Row, metrics, read_row, seat_names
from xgl.environments.trl import Rewards, environment_factory
from xgl.errors import PlayerError
from xgl.library import find
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
    "code": "assign(s=story())\nelicit(alice, x, 2)\nelicit(bob, y, 2)\nreward(bob, xed(s | x))",
    "dialect": "paper",
}


def conversation(of: Row, *answers: str | None) -> tuple[Play, list[tuple[str, str]]]:
    """The play, and each message with its player."""
    rest, messages = list(answers), []

    async def answer(player: str, message: str) -> str | None:
        messages.append((player, message))
        return rest.pop(0) if len(rest) > 1 else rest[0]

    play = asyncio.run(converse(of.episode(WordJudge()), EpisodeQueue(), answer))
    return play, messages


def test_a_retry_is_a_turn_that_tells_only_what_is_new() -> None:
    of = read_row(RETRY)
    play, messages = conversation(of, "<move>too long a move</move>", "<move>hen</move>")
    assert [player for player, _ in messages] == ["black", "black"]
    assert messages[0][1].startswith("The program:\nassign(s=story())")
    assert messages[1][1].splitlines() == [
        *("What you have seen since:", "t: too long a move", "ensure: failed 1", ""),
        "You are black. Write t, at most 4 tokens, as <move>...</move>.",
    ]
    reward, values = metrics(of, play, "black", normalise=True)
    assert reward == (play.scores["black"] - 1.0) / 2.0 == values["normalised"]
    assert (values["failed_ensures"], values["moves"], values["finished"]) == (1, 2, 1)
    assert set(values) == set(METRICS)


def test_each_seat_reads_what_its_player_may_see_and_is_paid_its_own() -> None:
    of = read_row(PAIR)
    play, messages = conversation(of, "<move>a b c</move>")
    assert seat_names(of) == ("bob", "alice")
    assert [player for player, _ in messages] == ["alice", "bob"]
    assert "the red hen" not in messages[0][1] + messages[1][1]
    assert metrics(of, play, "bob")[0] == play.scores["bob"]
    alice, values = metrics(of, play, "alice", normalise=True)
    assert alice == play.scores["alice"] == 0.0
    assert (values["cut_moves"], values["cut_tokens"]) == (1, 1)
    assert "normalised" not in values


def test_an_answer_without_a_move_is_asked_again_and_then_empty() -> None:
    of = read_row(RETRY)
    play, messages = conversation(of, "<think>I could", "no move", "still none")
    assert [len(messages), messages[1][1]] == [
        3,
        "Your answer held thoughts and nothing after them. "
        "Write your move between <move> and </move>.",
    ]
    assert play.move_counts("black")["format_failures"] == 1
    again, _ = conversation(of, "well", "<move>hen</move>")
    assert again.move_counts("black")["format_failures"] == 0
    assert metrics(of, play, "black")[0] == of.floor <= metrics(of, again, "black")[0]


@pytest.mark.parametrize("silent", ["alice", "bob"])
def test_no_seat_is_paid_more_for_an_answer_without_a_move(silent: str) -> None:
    of, move = read_row(PAIR), "<move>hen</move>"
    play, _ = conversation(of, *(["so"] * 3 + [move] if silent == "alice" else [move, "so"]))
    assert play.move_counts(silent)["format_failures"] == 1
    floor = of.floor if silent == "bob" else -2.0
    assert metrics(of, play, silent)[0] <= min(floor, play.scores[silent])


def test_a_forfeit_a_full_window_and_a_score_below_the_floor_pay_the_floor() -> None:
    of = read_row(RETRY)
    forfeit, _ = conversation(of, "<move>too long a move</move>")
    reward, values = metrics(of, forfeit, "black")
    assert (reward, values["forfeit"], values["moves"]) == (-9.0, 1, 11)
    over, _ = conversation(read_row(PAIR), "<move>a</move>", None)
    assert over.outcome == "oversize"
    assert metrics(read_row(PAIR), over, "bob")[0] == -9.0
    assert metrics(read_row(PAIR), over, "alice")[0] == -2.0  # a bit for each token of its move
    finished, _ = conversation(of, "<move>hen</move>")
    assert metrics(read_row(RETRY | {"floor": 99.0}), finished, "black")[0] == 99.0


def test_a_move_is_a_tool_call_and_a_retry_a_turn() -> None:
    environment = environment_factory(WordJudge(), normalise=True)()
    first = environment.reset(info=json.dumps(RETRY), id="x")
    assert first.startswith(RULES)
    assert "s: the red hen" in first
    again = environment.move("too long a move")
    assert "ensure: failed 1" in again
    assert again.endswith("calling the tool `move`, once for each request.")
    over = environment.move("hen\nor a line that no measured player writes")
    assert over.startswith("The game is over (finished): ")
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


INFO = RETRY | {
    "code": find("contrast").text,
    "metadata": {"max_failures": 2},
    "map_seed": 5,
    "stories": ["the red hen", "a tale of rain"],
    "floor": -20.0,
    "base": None,
}
TWO = INFO | {"code": 'elicit(x, y, 2)\nreward(xed("a b c" | x) + xed("d" | y))'}
STRICT = INFO | {"code": 'elicit(x, 5)\nensure(x == "yes")\nreward(xent("a b" | x))'}


class Told(NumberedStories):
    def story_texts(self, requests: list[Any]) -> list[str]:
        return [INFO["stories"][request.site] for _, request in requests]


def score_of(info: dict[str, Any], *moves: str) -> float:
    program = parse(info["code"], info["dialect"])
    return play(program, {"black": moves}, WordJudge(), 5, stories=Told()).scores["black"]


HEN = "<move>hen</move>"
PARTS = [{"type": "thinking", "thinking": "<move>x</move>"}, {"type": "text", "text": HEN}]
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": "<move>x"}'}}
SHAPES = {
    "text": HEN,
    "messages": [{"role": "assistant", "content": HEN}],
    "parts": [{"role": "assistant", "content": PARTS}],
    "parts as texts": [{"role": "assistant", "content": ["<move>hen", "</move>"]}],
    "calls before it": [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "1", "content": "<move>x</move>"},
        {"role": "assistant", "content": HEN},
    ],
    "earlier turns": [
        {"role": "assistant", "content": "<move>x</move>"},
        {"role": "user", "content": "Again."},
        {"role": "assistant", "content": HEN},
        {"role": "user", "content": "Thanks. <move>y</move>"},
    ],
    "objects": [SimpleNamespace(role="assistant", content=HEN)],
}


def test_a_completion_of_any_shape_is_read() -> None:
    rewards = Rewards(WordJudge())
    assert rewards.__name__ == "xent"
    found = rewards(list(SHAPES.values()), [json.dumps(INFO), *[INFO] * (len(SHAPES) - 1)])
    assert dict(zip(SHAPES, found, strict=True)) == dict.fromkeys(SHAPES, score_of(INFO, "hen"))


def test_an_answer_is_one_attempt_and_spare_moves_are_no_retries() -> None:
    no, yes = "<move>no</move>", "<move>yes</move>"
    found = Rewards(WordJudge())([no, no + yes, yes + no], [STRICT] * 3)
    assert found == [-20.0, score_of(STRICT, "yes"), -20.0]


def test_several_moves_are_the_last_ones_in_the_order_written() -> None:
    answer = "<move>x</move><move>a b c</move><move>d</move>"
    assert Rewards(WordJudge())([answer], [TWO]) == [score_of(TWO, "a b", "d")]
    assert Rewards(WordJudge())(["<move>a</move> and no more"], [TWO]) == [TWO["floor"]]


CONTRAST = parse(INFO["code"], "xent")
PARTS_OF_ANSWERS = ("<move>", "</move>", "<MOVE>", "<think>", "</think>", "a hen", "\n", " no")


@settings(max_examples=50)
@example("<think><move>hen</move>")
@example("a <move>hen</move></think>")
@given(st.lists(st.sampled_from(PARTS_OF_ANSWERS)).map("".join) | st.text())
def test_whatever_is_said_a_reward_reads_the_move_that_a_measured_model_makes(answer: str) -> None:
    [score] = Rewards(WordJudge())([answer], [INFO])
    move = parse_move(answer)
    expected = play(CONTRAST, {"black": [move or ""]}, WordJudge(), 5, stories=Told())
    # a format failure counts as the floor, and no finished play as less
    finished = INFO["floor"] if move is None else expected.scores["black"]
    assert score == max(INFO["floor"], finished)


@settings(max_examples=50)
@given(st.text(), st.sampled_from([-20.0, -1.0, 3.0]), st.sampled_from([INFO, TWO, STRICT]))
def test_no_answer_earns_less_than_one_without_a_move(
    text: str, floor: float, info: dict[str, Any]
) -> None:
    info = info | {"floor": floor}
    bad, none = Rewards(WordJudge())([f"<move>{text}</move>" * 2, text], [info, info])
    assert bad >= floor
    assert none == floor or parse_move(text) is not None


def test_normalised_rewards_are_spreads_above_the_base() -> None:
    base = {"mean": 2.0, "spread": 0.5, "plays": 9}
    with_base = INFO | {"base": base}
    rewards = Rewards(WordJudge(), normalise=True)
    assert rewards(["<move>hen</move>"], [with_base])[0] == (score_of(INFO, "hen") - 2.0) / 0.5
    alike = INFO | {"base": base | {"spread": 0.0}}
    assert rewards(["<move>hen</move>"], [alike])[0] == score_of(INFO, "hen") - 2.0
    with pytest.raises(PlayerError, match="found no `base`"):
        rewards(["<move>hen</move>"], [INFO])[0]
