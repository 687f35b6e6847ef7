"""The embedded model, loaded once: no test hangs on what it has learned; and chat players."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import torch
from support.chat_server import ChatServer
from support.chat_turns import KEY, KEY_VARIABLE, Chat, player_of, script_of

from xgl.lm.language_model import LanguageModel
from xgl.models import resolve
from xgl.players.chat import ChatPlayer

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def lm() -> LanguageModel:
    model, tokenizer = resolve.load("embedded")
    return LanguageModel(model, tokenizer, torch.device("cpu"))


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def chat(no_proxy: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with ExitStack() as stack:

        def made(*answers: Any, **settings: Any) -> tuple[ChatPlayer, ChatServer]:
            server = stack.enter_context(ChatServer(script_of(answers)))
            return player_of(server, settings), server

        yield made
