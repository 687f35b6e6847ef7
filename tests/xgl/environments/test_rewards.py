"""Rewards of completions, as training frameworks ask for them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from support.chat_server import reply
from support.doubles import NumberedStories, WordJudge

from xgl import play
from xgl.chat.answers import parse_move
from xgl.environments.rewards import Rewards
from xgl.errors import PlayerError
from xgl.language.parser import parse
from xgl.library import find

INFO: dict[str, Any] = {
    "role": "black",
    "code": find("contrast").text,
    "dialect": "xent",
    "metadata": {"max_failures": 2},
    "map_seed": 5,
    "stories": ["the red hen", "a tale of rain"],
    "floor": -20.0,
}
TWO = INFO | {"code": 'elicit(x, y, 2)\nreward(xed("a b c" | x) + xed("d" | y))'}
STRICT = INFO | {"code": 'elicit(x, 5)\nensure(x == "yes")\nreward(xent("a b" | x))'}


class Told(NumberedStories):
    def story_texts(self, requests: list[Any]) -> list[str]:
        return [INFO["stories"][request.site] for _, request in requests]


def score_of(info: dict[str, Any], *moves: str) -> float:
    program = parse(info["code"], info["dialect"])
    return play(program, {"black": moves}, WordJudge(), 5, stories=Told()).scores["black"]


def test_a_completion_scores_what_its_moves_score() -> None:
    rewards = Rewards(WordJudge())
    answers = ["<move>hen</move>", [{"role": "assistant", "content": "I say <move>hen</move>"}]]
    info = [json.dumps(INFO), INFO]
    assert rewards(answers, info, prompts=["", ""]) == [score_of(INFO, "hen")] * 2
    assert rewards.one("<move>hen</move>", INFO, answer="") == score_of(INFO, "hen")
    assert rewards.__name__ == "xent"


HEN = "<move>hen</move>"
PARTS = [{"type": "thinking", "thinking": "<move>x</move>"}, {"type": "text", "text": HEN}]
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": "<move>x"}'}}
SHAPES = {
    "text": HEN,
    "messages": [{"role": "assistant", "content": HEN}],
    "tuple": ({"role": "assistant", "content": HEN},),
    "parts": [{"role": "assistant", "content": PARTS}],
    "parts as texts": [{"role": "assistant", "content": ["<move>hen", "</move>"]}],
    "parts with values": [{"content": [{"type": "text", "text": {"value": HEN}}]}],
    "reasoning part": [
        {
            "content": [
                {"type": "reasoning", "text": "<move>x</move>"},
                {"type": "text", "text": HEN},
            ]
        }
    ],
    "a call beside it": [{"role": "assistant", "content": HEN, "tool_calls": [CALL]}],
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
    "object": SimpleNamespace(role="assistant", content=HEN),
    "openai message": ChatCompletionMessage(role="assistant", content=HEN),
    "openai completion": ChatCompletion.model_validate(
        json.loads(reply(HEN).body) | {"object": "chat.completion"}
    ),
    "completion as JSON": json.loads(reply(HEN).body),
    "openai response": {
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "<move>x</move>"}]},
            {"type": "message", "content": [{"type": "output_text", "text": HEN}]},
        ]
    },
}
EMPTY: dict[str, Any] = {
    "nothing": None,
    "no messages": [],
    "empty message": [{}],
    "None": [{"role": "assistant", "content": None}],
    "a call": [{"role": "assistant", "content": None, "tool_calls": [CALL]}],
    "a call at the end": [
        {"role": "assistant", "content": "<move>x</move>"},
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "content": "<move>x</move>"},
    ],
    "image": [{"content": [{"type": "image_url", "image_url": {"url": HEN}}]}],
    "thoughts": [{"content": [{"type": "reasoning", "text": HEN}]}],
    "no choices": {"choices": []},
    "user": [{"role": "user", "content": HEN}],
}


def test_a_completion_of_any_shape_is_read() -> None:
    found = Rewards(WordJudge())(list(SHAPES.values()), [INFO] * len(SHAPES))
    assert dict(zip(SHAPES, found, strict=True)) == dict.fromkeys(SHAPES, score_of(INFO, "hen"))


def test_a_completion_without_text_holds_no_move() -> None:
    found = Rewards(WordJudge()).explain(list(EMPTY.values()), [INFO] * len(EMPTY))
    held = {name: (why.moves, why.format_failures) for name, why in zip(EMPTY, found, strict=True)}
    assert held == dict.fromkeys(EMPTY, (("",), 1))


def test_an_answer_is_one_attempt_and_spare_moves_are_no_retries() -> None:
    rewards = Rewards(WordJudge())
    answers = [
        "<move>no</move>",
        "<move>no</move><move>yes</move>",
        "<move>yes</move><move>no</move>",
    ]
    assert rewards(answers, [STRICT] * 3) == [-20.0, score_of(STRICT, "yes"), -20.0]
    assert [each.outcome for each in rewards.explain(answers, [STRICT] * 3)] == [
        "forfeit",
        "finished",
        "forfeit",
    ]


def test_several_moves_are_the_last_ones_in_the_order_written() -> None:
    answer = "<move>x</move><move>a b c</move><move>d</move>"
    [why] = Rewards(WordJudge()).explain([answer], [TWO])
    assert why.moves == ("a b", "d")
    assert (why.cut_tokens, why.format_failures, why.outcome) == (1, 0, "finished")
    assert why.score == score_of(TWO, "a b", "d") == sum(map(sum, why.bits))
    assert [len(bits) for bits in why.bits] == [2, 0]  # without the first token of each
    [short] = Rewards(WordJudge()).explain(["<move>a</move> and no more"], [TWO])
    assert (short.moves, short.format_failures) == (("a", ""), 1)


CONTRAST = parse(INFO["code"], "xent")
PARTS_OF_ANSWERS = ("<move>", "</move>", "<MOVE>", "<think>", "</think>", "a hen", "\n", " no")


@settings(max_examples=50)
@example("<think><move>hen</move>")
@example("a <move>hen</move></think>")
@given(st.lists(st.sampled_from(PARTS_OF_ANSWERS)).map("".join) | st.text())
def test_whatever_is_said_a_reward_reads_the_move_that_a_measured_model_makes(answer: str) -> None:
    [why] = Rewards(WordJudge()).explain([answer], [INFO])
    move = parse_move(answer)
    assert why.format_failures == (move is None)
    expected = play(CONTRAST, {"black": [move or ""]}, WordJudge(), 5, stories=Told())
    # a format failure counts as the floor, and no finished play as less
    finished = INFO["floor"] if move is None else expected.scores["black"]
    assert why.score == max(INFO["floor"], finished)
    assert list(why.moves) == expected.accepted_moves("black")


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
    assert rewards.one("<move>hen</move>", with_base) == (score_of(INFO, "hen") - 2.0) / 0.5
    alike = INFO | {"base": base | {"spread": 0.0}}
    assert rewards.one("<move>hen</move>", alike) == score_of(INFO, "hen") - 2.0
    with pytest.raises(PlayerError, match="found no `base`"):
        rewards.one("<move>hen</move>", INFO)
