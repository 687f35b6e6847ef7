"""Text on its way to a model is read as it is written: no model reads escapes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.doubles import NumberedStories

from meta_sampler.chat.prompt import Brief, messages, repair_messages
from meta_sampler.settings import ChatSamplerSettings
from xgl import Metadata, game, parse, play
from xgl.judge.transformer_judge import TransformerJudge
from xgl.runtime.presentation import render
from xgl.runtime.prompt import first_messages
from xgl.runtime.requests import Move, Turn

WORDS = ("“une poule”", "été", "母鸡", "курица", "🐔", "l’œuf")
CODE = f"""assign(s="{WORDS[1]}", l=["{WORDS[2]}"])
elicit(x, 40)
reveal(black, l, "{WORDS[3]}")
ensure(is_true("{WORDS[4]} est " + x))
reward(xed("{WORDS[5]}" | x + s))"""
ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\U|&#|%[0-9A-F]{2}")


class Writes:
    """Writes one move, and keeps what it was shown."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def moves(self, turns: list[Turn]) -> list[Move]:
        for turn in turns:
            self.read.append(render(turn.request.view))
            self.read += [message["content"] for message in first_messages(turn.request)]
        return [Move(WORDS[0]) for _ in turns]


def test_a_judge_and_players_read_what_was_written(
    judge: TransformerJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    encode: Any = judge._encode
    monkeypatch.setattr(judge, "_encode", lambda text: read.append(text) or encode(text))
    player = Writes()
    play(parse(CODE, "xent"), player, judge, 3, stories=NumberedStories())
    texts = "\n".join([*read, *player.read])
    assert [word for word in WORDS if word not in texts] == []
    assert any(WORDS[0] in text and WORDS[4] in text for text in read)  # the statement
    assert not ESCAPE.search(texts)


def test_a_sampler_asks_with_the_texts_of_the_games() -> None:
    parent, settings = game(parse(CODE, "xent"), Metadata()), ChatSamplerSettings(model="m")
    brief = Brief(parent, (), (), 2)
    asked = [*messages(brief, settings, 3)]
    asked += repair_messages(brief, settings, CODE, [f"found '{WORDS[0]}'"])
    texts = "\n".join(message["content"] for message in asked)
    assert [word for word in WORDS if word not in texts] == []
    assert not ESCAPE.search(texts)
