"""What models are told, and the programs found in what they write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, strategies as st
from support import parents
from support.fuzz import SOURCES
from support.thoughts import THOUGHTS

import xgl
from meta_sampler import Outcome, Progress, Provenance, chat_texts as texts
from meta_sampler.settings import ChatSamplerSettings
from meta_sampler.soundness import child_of
from xgl.language import syntax as syn
from xgl.language.parser import _INSTRUCTIONS, parse
from xgl.language.visitors import descendants

ORIGIN = Provenance("chat", (), ())
PROGRAM = "assign(s=story())\nelicit(x, 6)\nreward(xed(s | x))"
OTHER = "assign(s=story())\nelicit(y, 4)\nreward(xed(y | s))"


NUMBERED = "\n".join(f"{i}. {line}" for i, line in enumerate(PROGRAM.splitlines(), 1))
MARKS = "> ", "> > ", "- ", "  * ", "\t", "\u00a0"
WRAPPED = PROGRAM.replace(" | x", "\n  | x").splitlines()

ONE = {
    "bare": PROGRAM,
    "fence": f"Here you are:\n```xgl\n{PROGRAM}\n```\nEnjoy!",
    "numbered lines": NUMBERED,
    "bullets and backticks": "\n".join(f"- `{line}`" for line in PROGRAM.splitlines()),
    **{f"lines after {mark!r}": "\n".join(mark + line for line in WRAPPED) for mark in MARKS},
    "a quoted list": "> - " + "\n> - ".join(PROGRAM.splitlines()).replace(" | x", "\n>  | x"),
    "numbered, going on": "\n".join(f"{i}. {line}" for i, line in enumerate(WRAPPED, 9)),
    "comments": "```\n" + PROGRAM.replace(" | x", "  # what it's\n | x") + "\n```",
    "prose": f"I think that a game should reward(ing) play be.\n\n{PROGRAM}\n\nIt pays for x.",
    "end of turn": f"```\n{PROGRAM}\n```<|im_end|>",
    "a mark of UTF-8": f"\ufeff{PROGRAM}",
    "JSON": json.dumps({"code": f"```xgl\n{PROGRAM}\n```", "intent": "\ud800"}),
    "JSON in prose": f"[Note]\n{json.dumps([{'code': PROGRAM}])}\nIt pays {{black}} for x.",
    "a JSON text": json.dumps(PROGRAM),
    "JSON in a fence": f"As JSON:\n```json\n{json.dumps([PROGRAM.splitlines()])}\n```",
}


@pytest.mark.parametrize("answer", ONE.values(), ids=ONE.keys())
def test_one_program_is_found_in_any_dress(answer: str) -> None:
    assert [draft.text for draft in texts.programs_in(answer)] == [PROGRAM]


def test_a_sign_that_begins_a_line_is_no_bullet_and_a_list_no_json() -> None:
    [draft] = texts.programs_in(f'{PROGRAM}\nassign(l=\n["a", "b"]\n)')
    assert draft.text == f'{PROGRAM}\nassign(l= ["a", "b"] )'
    [listed] = texts.programs_in("- elicit(x, 6)\n- reward(\n-xed(t | x))")
    assert listed.text == "elicit(x, 6)\nreward( -xed(t | x))"
    for fence in ("", "```\n"):
        [draft] = texts.programs_in(
            f"{fence}reward(\n    - xed(s | x)\n    + xed(t | x)\n)\n{fence}"
        )
        assert draft.text == "reward( - xed(s | x) + xed(t | x) )"


@pytest.mark.parametrize("dress", THOUGHTS.values(), ids=THOUGHTS)
def test_drafts_in_thoughts_are_no_programs(dress: Callable[[str, str], str]) -> None:
    for draft in (f"```\n{OTHER}\n```", OTHER):
        found = texts.programs_in(dress(f"{draft}\n", f"```\n{PROGRAM}\n```"))
        assert [each.text for each in found] == [PROGRAM]
        assert texts.programs_in(dress(f"{draft}\n", "I cannot.")) == []


@pytest.mark.parametrize(
    ("answer", "intents"),
    [
        (
            f"1. Say it.\n```\n{PROGRAM}\n```\n2. **Echo**: it.\n```\n{OTHER}\n```",
            ["Say it.", "Echo: it."],
        ),
        (f"```\n# Say it.\n{PROGRAM}\n\n# Echo it.\n{OTHER}\n```", ["Say it.", ""]),
        (f"Intent: say it\n\n{PROGRAM}\n\n{OTHER}", ["say it", ""]),
        (json.dumps([{"code": PROGRAM, "aim": "say it"}, {"code": OTHER}]), ["say it", ""]),
        (f"{json.dumps({'code': PROGRAM})}\n\n{json.dumps({'code': OTHER})}", ["", ""]),
    ],
)
def test_several_programs_keep_their_order_and_intents(answer: str, intents: list[str]) -> None:
    drafts = texts.programs_in(answer)
    assert [draft.text for draft in drafts] == [PROGRAM, OTHER]
    assert [draft.intent for draft in drafts] == intents
    for draft in drafts:
        assert draft.text.split("(")[0] in draft.raw


NONE = (
    *("", " \n ", "I cannot help with that.", "```\nprint('hi')\n```", "抱歉，我不能。"),
    *("[]", "{" * 5000, "[" * 100_000),
)


@pytest.mark.parametrize("answer", NONE, ids=range(len(NONE)))
def test_where_there_is_none_none_is_found(answer: str) -> None:
    assert texts.programs_in(answer) == []


def test_a_foreign_line_of_a_fence_stays_a_mistake_of_its_program() -> None:
    [draft] = texts.programs_in(f"```\nimport os\n{PROGRAM}\nos.remove('x')\n```")
    assert draft.text.splitlines()[0] == "import os"
    assert draft.text.splitlines()[-1] == "os.remove('x')"


HUGE = {
    "prose": "Many words and no game. " * 5000,
    "fences": "```\n" * 25_000,
    "numbers": "1. " * 33_000,
    "open calls": "assign(s=story()\n" * 6_000,
    "quotes": '"' * 100_000,
    "one line": "assign(" * 14_000,
    "open quote": "assign(" + '\\"' * 90_000,
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_answers_are_read(name: str) -> None:
    """A pattern that backtracks would not come back from these within the suite's patience."""
    assert len(texts.programs_in(HUGE[name])) == HUGE[name].startswith("assign")


@given(st.text(max_size=400))
def test_any_text_can_be_read(answer: str) -> None:
    for draft in texts.programs_in(answer):
        assert draft.text.strip()
        assert draft.intent == texts.one_line(draft.intent)
        assert len(draft.intent) <= texts.LONGEST_INTENT


@pytest.mark.parametrize("source", SOURCES)
def test_whatever_a_model_writes_is_a_game_or_has_errors(source: Callable[[Random], str]) -> None:
    """Nothing raises: one answer must not end a run."""
    rng, settings = Random(source.__name__), ChatSamplerSettings()
    for _ in range(40):
        text = source(rng)
        for parent in parents.SCOPE["xent"][0], parents.SCOPE["paper"][0]:
            for program in (text, *(each.text for each in texts.programs_in(text))):
                result = child_of(program, parent, settings, ORIGIN)
                assert (result.game is None) == bool(result.errors)


SETTINGS = ChatSamplerSettings()


def test_every_instruction_is_taught_by_a_valid_example() -> None:
    examples = re.findall(r"^  (\w+)(\(.*?\))  ", texts.SYSTEM.read_text(), re.MULTILINE)
    assert [name for name, _ in examples] == list(_INSTRUCTIONS)
    for name, arguments in examples:
        for dialect in ("paper", "xent"):
            [line] = parse(name + arguments, dialect).instructions
            assert type(line).__name__.lower() == name


@pytest.mark.parametrize("dialect", ["paper", "xent"])
def test_every_name_of_the_language_is_in_the_system_prompt(dialect: str) -> None:
    prompt = texts.system_prompt(dialect, SETTINGS, syn.PLAYERS)
    mutable = [name for name in syn.REGISTERS if name[0] not in syn.CONSTANT_TYPES]
    named = (*syn.FUNCTIONS, *syn.XENT_KINDS, *syn.PLAYERS, *syn.FLAGS)
    for name in (*named, *mutable, *syn.LIST_REGISTERS):
        assert re.search(rf"(?<!\w){name}(?!\w)", prompt), name
    for sign in syn.COMPARATORS:
        assert f'"{sign}"' in prompt
    assert ('"not in"' in prompt) == (dialect == "xent")
    assert ('"story(" number ")"' in prompt) == (dialect == "paper")
    assert ("with nothing between" in prompt) == (dialect == "xent")


@pytest.mark.parametrize("dialect", ["paper", "xent"])
def test_every_program_of_the_prompt_is_one(dialect: str) -> None:
    parent, other = parents.SCOPE[dialect]
    refused = Outcome("g", (), Progress.REFUSED, "covered", code=other.code)
    brief = texts.Brief(parent, (other,), (refused,), 5)
    system, user = texts.messages(brief, replace(SETTINGS, library_games=99))
    drafts = texts.programs_in(user["content"].rpartition("Answer with 5 games")[0])
    assert len(drafts) >= 6
    for each in drafts:
        program = xgl.parse(each.text, dialect)
        nodes = [n for i in program.instructions for n in descendants(i)]
        assert not any(isinstance(n, syn.Truth) for n in nodes)
    assert parent.code in user["content"]
    assert "Why: covered" in user["content"]
    assert system["role"] == "system"
