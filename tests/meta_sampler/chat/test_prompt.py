"""Requests to repair a program: bounded whatever was answered, whole where it is ordinary."""

from __future__ import annotations

import pytest
from support import parents

from meta_sampler.chat.prompt import Brief, repair_messages
from meta_sampler.settings import ChatSamplerSettings
from xgl.errors import MAX_QUOTED_BYTES

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
