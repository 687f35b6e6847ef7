"""The lesson and the prompt say what the language is, no more and no less."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support import parents

import xgl
from meta_sampler.chat.answers import programs_in
from meta_sampler.chat.prompt import (
    FORMS,
    KINDS,
    Brief,
    RefusedGame,
    hash_of,
    messages,
    repair_messages,
    system_prompt,
)
from meta_sampler.settings import ChatSamplerSettings
from xgl.errors import MAX_QUOTED_BYTES
from xgl.language import syntax as syn
from xgl.language.parser import _INSTRUCTIONS, parse_line
from xgl.language.visitors import descendants

SETTINGS = ChatSamplerSettings()


def test_every_instruction_is_taught_by_a_valid_example() -> None:
    assert list(FORMS) == list(_INSTRUCTIONS)
    for name, (form, _) in FORMS.items():
        for dialect in ("paper", "xent"):
            assert type(parse_line(form, 1, dialect)).__name__.lower() == name
    assert tuple(KINDS) == syn.XENT_KINDS


@pytest.mark.parametrize("dialect", ["paper", "xent"])
def test_every_name_of_the_language_is_in_the_system_prompt(dialect: str) -> None:
    prompt = system_prompt(dialect, SETTINGS, syn.PLAYERS)
    mutable = [name for name in syn.REGISTERS if name[0] not in syn.CONSTANT_TYPES]
    for name in (*syn.FUNCTIONS, *syn.PLAYERS, *syn.FLAGS, *mutable, *syn.LIST_REGISTERS):
        assert re.search(rf"(?<!\w){name}(?!\w)", prompt), name
    for sign in syn.COMPARATORS:
        assert f'"{sign}"' in prompt
    assert ('"not in"' in prompt) == (dialect == "xent")
    assert ('"story(" number ")"' in prompt) == (dialect == "paper")
    assert ("with nothing between" in prompt) == (dialect == "xent")


def test_caps_and_what_is_not_admitted() -> None:
    prompt = system_prompt("xent", replace(SETTINGS, max_lines=7, max_move_tokens=33), ("black",))
    assert "at most 7 lines" in prompt
    assert "33 tokens" in prompt
    assert "player = black\n" in prompt
    plain = system_prompt("xent", replace(SETTINGS, loops=False), ("black",))
    assert "replay(" not in plain
    assert "flag" not in plain
    assert "statement" in system_prompt("xent", replace(SETTINGS, truths=True), ("black",))


@pytest.mark.parametrize("dialect", ["paper", "xent"])
def test_every_program_of_the_prompt_is_one(dialect: str) -> None:
    parent, other = parents.SCOPE[dialect]
    brief = Brief(parent, (other,), (RefusedGame("g", "p", other.code, "covered"),), 5)
    system, user = messages(brief, SETTINGS, 99)
    drafts = programs_in(user["content"].rpartition("Answer with 5 games")[0])
    assert len(drafts) >= 6
    for each in drafts:
        program = xgl.parse(each.text, dialect)
        nodes = [n for i in program.instructions for n in descendants(i)]
        assert not any(isinstance(n, syn.Truth) for n in nodes)
    assert parent.code in user["content"]
    assert "Why: covered" in user["content"]
    assert system["role"] == "system"


def test_the_hash_is_that_of_all_that_is_read() -> None:
    brief = Brief(parents.SCOPE["xent"][0], (), (), 5)
    conversation = messages(brief, SETTINGS, 2)
    assert hash_of(conversation) == hash_of(messages(brief, SETTINGS, 2))
    others = (
        messages(brief, SETTINGS, 1),
        repair_messages(brief, SETTINGS, "reward()", ["no amount"]),
    )
    assert len({hash_of(each) for each in (conversation, *others)}) == 3


def test_examples_stand_as_earlier_answers_where_small_models_need_it() -> None:
    parent, other = parents.SCOPE["xent"]
    brief = Brief(parent, (other,), (RefusedGame("g", "p", other.code, "covered"),), 1)
    conversation = messages(brief, replace(SETTINGS, turns=True), 5)
    assert [turn["role"] for turn in conversation] == ["system", *["user", "assistant"] * 5, "user"]
    for turn in conversation[2::2]:
        (draft,) = programs_in(turn["content"])
        assert xgl.parse(draft.text, "xent")
        assert draft.intent, "its sentence stands before the program"
    last_message = conversation[-1]["content"]
    assert parent.code in last_message
    assert "Why: covered" in last_message
    assert len({hash_of(each) for each in (conversation, messages(brief, SETTINGS, 5))}) == 2


# -- Requests to repair a program: bounded whatever was answered, whole where it is ordinary -------

BRIEF = Brief(parents.SCOPE["xent"][0], (), (), 1)


def request(text: str, errors: list[str]) -> str:
    return repair_messages(BRIEF, ChatSamplerSettings(model="m"), text, errors)[-1]["content"]


@pytest.mark.parametrize("text", ["😀" * 40_000, "`" * 40_000, "assign(\n" * 25_000])
def test_an_answer_of_any_size_adds_a_bounded_number_of_bytes(text: str) -> None:
    usual = len(request("", []).encode())
    long = request(text, [text] * 50)
    assert len(long.encode()) <= usual + 2 * MAX_QUOTED_BYTES + 100
    assert "Answer with the mended program alone" in long


def test_an_ordinary_program_and_its_problems_are_whole() -> None:
    text = request("elicit(x, 3)", ["line 1: one", "line 2: two"])
    assert "```\nelicit(x, 3)\n```\n\nIt cannot be used:\n- line 1: one\n- line 2: two\n\n" in text
