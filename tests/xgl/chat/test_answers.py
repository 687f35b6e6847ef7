"""What answers hold: thoughts, moves, numbers, documents and blocks in every dress."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st
from support.thoughts import THOUGHTS, UNFINISHED

from xgl.chat import answers
from xgl.runtime import presentation
from xgl.runtime.presentation import RULES
from xgl.runtime.requests import Item, View

MOVES = {
    "<MOVE>a hen</Move>": "a hen",
    "< move > a hen < / move >": "a hen",
    "```xml\n<move>\n  a hen\n</move>\n```": "a hen",
    "<answer><move>a hen</move></answer>": "a hen",
    "<move>a dog</move> No: <move>a hen</move>": "a hen",
    "<move>a <move>hen</move>": "hen",
    "<move>a hen</move>, between <move> and </move> as you asked": "a hen",
    "I use `<move>` and `</move>`: <move>a hen</move>": "a hen",
    "<move>a hen</move>\nExample of the form: <move>a few words</move>": "a hen",
    "<move>a few words of hers</move>": "a few words of hers",
    "<move></move>": "",
    # none
    "a hen": None,
    "<move>a hen": None,
    "between <move> and </move>: blue sky": None,
    'Tags: "<move>" and "</move>". Blue sky.': None,
    "as <move>...</move>. Blue sky.": None,
    "<move>\n A few words.\n</move>": None,
}

NUMBERS = {
    **dict.fromkeys(
        (
            *("3", " 3\n", "**3**", "3!", '"3"', "| 3 |", "__3__", "３", "3️⃣", "\\[3\\]"),
            *("3<|eot_id|>", "answer = 3", "Answer:\n3", "Final Answer: **3**.", "move(3)"),
            *("My move: **3**", "Action 3", "The answer is 3.", "I choose 3.", "Let's play 3."),
            *("\\boxed{\\text{move } 3}", "<answer>\n3\n</answer>", "<final>Move 3</final>"),
            *('{"answer": "3"}', "{'move': 3,}", '```json\n{"action": 3}\n```', "```\n3\n```"),
            *('{"move_number": 3, "sure": 90}', "3 (the middle)", "3 - it wins"),
            *("3\n\nBecause 2 loses to 4.", "Answer: 3\nReason: move 2 loses", "Not 2.\n3"),
            *("Answer: 2? No. Answer: 3", "My move is 3. If they play 2, I play 1."),
            *("4 sticks remain, so I play 3", "Legal moves: 1, 2, 3. I choose 3."),
            *("If the opponent's move is 2, I lose. So I play 3", "Move: 3\nRemaining number: 12"),
            *("I chose 2.\n\n**Final answer:**\n\n3", "1. Take one: bad.\n2. Take two: bad.\n\n3"),
        ),
        3,
    ),
    **dict.fromkeys(
        (
            *("", "three", "-3", "3.5", "3rd", "x = -3", "٣", "2 or 3", "2\n3", "Moves 2 and 3"),
            *("Allowed moves: 1, 2, 3", "I take 3 sticks", "Score: 3", "[1, 2]", "\\boxed{2, 3}"),
            *('{"move": [1, 2]}', '{"move": true}', "move 2, move 3"),
            *("The best move is 3. A good move is 1.", "The opponent's move is 3."),
        ),
        None,
    ),
}


@pytest.mark.parametrize(("answer", "move"), MOVES.items())
def test_the_move_of_an_answer(answer: str, move: str | None) -> None:
    assert answers.parse_move(answer) == move


@pytest.mark.parametrize(("answer", "number"), NUMBERS.items())
def test_the_number_of_an_answer(answer: str, number: int | None) -> None:
    assert answers.parse_number(answer) == number


@pytest.mark.parametrize("dress", THOUGHTS.values(), ids=THOUGHTS)
def test_thoughts_hold_no_answers(dress: Callable[[str, str], str]) -> None:
    drafts = (
        "<move>a dog</move>",
        "Answer: 2. Or between <move> and",
        "<move> 7",
        "```json\n[1]\n```",
    )
    for draft in drafts:
        assert answers.parse_move(dress(draft, "<move>a hen</move>")) == "a hen"
        assert answers.parse_moves(dress(draft, "<move>a</move><move>b</move>"), 3) == ["a", "b"]
        assert answers.parse_number(dress(draft, "**3**")) == 3
        assert answers.parse_number(dress(draft, "perhaps")) is None
        assert answers.final_text(dress(draft, "Sure.\n\nA hen.")) == "Sure.\n\nA hen."


@pytest.mark.parametrize("mark", UNFINISHED)
def test_a_thought_without_an_end_reaches_to_the_end(mark: str) -> None:
    answer = f"{mark}it is <move>a dog</move> or 3"
    assert answers.remove_thoughts(answer) == ""
    assert answers.parse_number(answer) is answers.parse_move(answer) is None
    assert "held thoughts and nothing after them" in answers.missing_text(answer)


def test_the_instructions_hold_no_move() -> None:
    """A model that repeats what it was told has not moved."""
    view = View("black", "elicit(x, 3)", (Item("s", "A cat."),), "x")
    asks = [("y", 2)]
    texts = [RULES, presentation.view_text(view, 3), presentation.view_text(view, 3, asks)]
    texts += [presentation.news_text(view, 0, 3), *(answers.missing_text(text) for text in texts)]
    for text in [*texts, *"\n".join(texts).splitlines()]:
        assert answers.parse_moves(text, 9) == [], text


def test_empty_pairs_count_where_too_few_others_are() -> None:
    assert answers.parse_moves("<move></move><move>b</move>", 2) == ["", "b"]
    assert answers.parse_moves("<move>a</move><move></move><move>b</move>", 2) == ["a", "b"]


BOOK = (
    "# Tug\n\nPull the rope.\nWho pulls more wins, and each pulls as hard as can be.\n\n"
    "```\n--o--\n```\nEnd."
)


@pytest.mark.parametrize(
    "answer",
    [
        BOOK,
        f"Here is the rule book:\n\n```markdown\n{BOOK}\n```\n\nHave fun!",
        f"<answer>\n{BOOK}\n</answer>",
        f"<answer>a draft</answer> Rather: <answer>```md\n{BOOK}\n```</answer>",
    ],
)
def test_a_document_is_found_however_it_is_wrapped(answer: str) -> None:
    assert answers.document(answers.final_text(answer)) == BOOK


_PARTS = (
    *("<think>", "</think>", "<move>", "</move>", "<move", "[THINK]", "<|channel|>"),
    *("<|message|>", "<|end|>", "</s>", "final", "analysis", "assistantfinal", "<answer>"),
    *("</answer>", "```", "```\n", "\n", " ", "3", "3.", "1. ", "answer: ", "\\boxed{", "{"),
    *("}", "[", '{"a": ', ": [", '"', "- ", "(", "a", "_", "*", "-", "if "),
    *("Final answer:\n", "<answer>3", "# ", "~~~a\n", "<|channel|>a", "```md\n"),
)
READERS: tuple[Callable[[str], object], ...] = (
    *(answers.remove_thoughts, answers.final_text, answers.parse_move),
    *(answers.missing_text, answers.parse_number, answers.document),
    lambda text: list(answers.blocks(text)),
)


@pytest.mark.parametrize("part", _PARTS)
def test_a_long_answer_of_marks_is_read(part: str) -> None:
    """A pattern that backtracks would not come back within the suite's patience."""
    for text in (part * (12_000 // len(part)), part + "x" * 12_000, "<move>" + part * 1_200):
        for reader in READERS:
            reader(text)
    assert answers.parse_move("<move><" + " " * 200_000) is None


@settings(max_examples=50)
@given(st.lists(st.sampled_from(_PARTS)).map("".join) | st.text())
def test_any_answer_can_be_read(answer: str) -> None:
    for reader in READERS:
        reader(answer)
