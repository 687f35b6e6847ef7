"""Rewards of completions, as training frameworks ask for them."""

from __future__ import annotations

import json

import pytest
from support.doubles import WordJudge

from xgl import play
from xgl.language.parser import parse
from xgl.library import find
from xgl.rewards import Rewards, moves

INFO = {
    "role": "black",
    "code": find("contrast").text,
    "dialect": "xent",
    "metadata": {"max_failures": 2},
    "map_seed": 5,
    "stories": ["the red hen", "a tale of rain"],
    "floor": -20.0,
}


class Told:
    def story_texts(self, requests: list) -> list[str]:  # type: ignore[type-arg]
        return [INFO["stories"][request.site] for _, request in requests]  # type: ignore[index]


def test_a_completion_scores_what_its_moves_score() -> None:
    judge = WordJudge()
    program = parse(find("contrast").text, "xent")
    expected = play(program, {"black": ["hen"]}, judge, 5, stories=Told()).scores["black"]
    rewards = Rewards(judge)
    said = ["<move>hen</move>", [{"role": "assistant", "content": "I say <move>hen</move>"}], "hen"]
    info = [json.dumps(INFO), INFO, INFO]
    assert rewards(said, info, prompts=["", "", ""]) == [expected] * 3
    assert rewards.one("hen", INFO, answer="") == expected
    assert rewards.__name__ == "xent"


def test_an_unfinished_play_counts_the_floor() -> None:
    info = INFO | {"code": 'elicit(x, 5)\nensure(x == "yes")\nreward(xent("a b" | x))'}
    rewards = Rewards(WordJudge())(
        ["<move>no</move>", "<move>no</move><move>yes</move>"], [info] * 2
    )
    assert rewards[0] == -20.0
    assert rewards[1] > 0


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("<move>a</move> then <move>b\nc</move>", ("a", "b\nc")),
        ("<think><move>no</move></think> hen \n", ("hen",)),
        ("", ("",)),
    ],
)
def test_moves_stand_between_marks(said: str, expected: tuple[str, ...]) -> None:
    assert moves(said) == expected
