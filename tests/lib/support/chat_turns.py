"""Turns for chat players, and a player with the server that it asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.chat_server import ChatServer, Script, in_order

from xgl.chat.settings import ChatSettings
from xgl.errors import OversizeError
from xgl.players.chat import ChatPlayer
from xgl.runtime.requests import Item, Move, MoveRequest, Seeds, Turn, View

KEY = "sk-the-key-of-the-tests"
KEY_VARIABLE = "CHAT_KEY"
CODE = "assign(s=story())\nelicit(t, 6)\nreward(xed(s | t))"
QUICK = {"timeout": 60.0, "retries": 4}

Chat = Callable[..., tuple[ChatPlayer, ChatServer]]
"""Answers in order, or a script, and settings by name, to a player and its running server."""

Ask = Callable[..., tuple[Any, ChatServer]]
"""The same to a meta-sampler that asks."""


def turn(play_seed: int = 0, text: str = "A cat.", place: int = 0, max_len: int = 6) -> Turn:
    view = View("black", CODE, (Item("s", text), Item("reward", "1.5 (1.0 0.5)")), "t")
    return Turn(MoveRequest(view, max_len, place), Seeds(1, play_seed))


def script_of(answers: tuple[Any, ...]) -> Script:
    return answers[0] if callable(answers[0]) else in_order(*answers)


def settings_of(url: str, **changes: Any) -> ChatSettings:
    """Of a chat model at ``url`` for which nobody waits long."""
    usual = {"model": "m", "base_url": url, "key_variable": KEY_VARIABLE}
    return ChatSettings(**(usual | QUICK | changes))


def moves_of(answers: list[Move | OversizeError]) -> list[Move]:
    assert all(isinstance(each, Move) for each in answers)
    return [each for each in answers if isinstance(each, Move)]


def texts(answers: list[Move | OversizeError]) -> list[str]:
    return [each.text for each in moves_of(answers)]
