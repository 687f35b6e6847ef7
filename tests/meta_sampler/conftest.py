"""A chat sampler with the server that it asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import ChatServer
from support.chat_turns import KEY, KEY_VARIABLE, Ask, script_of

from meta_sampler.chat import Chat
from meta_sampler.settings import ChatSamplerSettings


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with ExitStack() as stack:

        def start_chat(*answers: Any, **settings: Any) -> tuple[Chat, ChatServer]:
            server = stack.enter_context(ChatServer(script_of(answers)))
            usual = {"model": "m", "base_url": server.url, "key_variable": KEY_VARIABLE}
            usual |= {"timeout": 60.0, "retries": 2, "cache": str(tmp_path / "answers")}
            return Chat(ChatSamplerSettings(**(usual | settings))), server

        yield start_chat
