"""Settings of chat players: what cannot be is said before anything is sent."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from support.chat_turns import turn

from xgl.chat.settings import Budget, ChatSettings, Prices, Usage
from xgl.errors import ConfigError, PlayerError
from xgl.players.chat import ChatPlayer

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "players.md"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": " "}, "model: found ' '"),
        ({"concurrency": 0}, "concurrency: found 0, expected at least 1"),
        ({"timeout": float("nan")}, "timeout: found nan"),
        ({"top_p": 0.0}, "top_p: found 0"),
        ({"budget": Budget(dollars=1.0)}, "expected both"),
        ({"base_url": "127.0.0.1:8000/v1"}, "base_url: found '127"),
        ({"base_url": "http://127.0.0.1:99999/v1"}, "base_url: expected"),
    ],
)
def test_settings_that_cannot_be(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ChatSettings(**{"model": "m", **wrong})


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_prices_and_budgets_that_cannot_be(value: float) -> None:
    for make_wrong in (Prices, lambda new: Prices(0.0, new), lambda d: Budget(dollars=d)):
        with pytest.raises(ConfigError, match=r"found .*, expected"):
            make_wrong(value)
    with pytest.raises(ConfigError, match="tokens: found -1, expected at least 0"):
        Budget(tokens=-1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"key_variable": "sk-secret"},
        {"base_url": "http://me:sk-secret@127.0.0.1/v1"},
        {"base_url": "http://127.0.0.1/v1?key=sk-secret"},
    ],
)
def test_a_key_in_the_wrong_place_is_not_repeated(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="environment variable") as error:
        ChatSettings(**{"model": "m", **wrong})
    assert "secret" not in str(error.value)


def test_the_defaults_are_openais_own(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ChatSettings("m")
    assert (settings.key_name, settings.limit_name) == ("OPENAI_API_KEY", "max_completion_tokens")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(PlayerError, match="OPENAI_API_KEY is not set"):
        ChatPlayer(settings).moves([turn()])
    local = ChatSettings("m", "http://127.0.0.1:8000/v1")
    assert (local.key_name, local.limit_name) == (None, "max_tokens")


def test_the_page_of_players_names_every_setting_and_every_count() -> None:
    page = PAGE.read_text(encoding="utf-8")
    _, section = page.split("## Settings")
    description, _ = section.split("Each request carries")
    assert set(re.findall(r"`(\w+)`[,.;]", description)) == {
        one.name for one in fields(ChatSettings)
    }
    _, cost = page.split("## What it cost")
    assert set(re.findall(r"`(\w+)`", cost)) >= {one.name for one in fields(Usage)}
