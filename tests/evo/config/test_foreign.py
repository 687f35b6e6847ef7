"""Settings of a stranger's run that reach out are used only if the user trusts it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evo.config.__main__ import tables
from evo.config.words import REACHING, TRUSTED, check_trusted
from xgl.errors import ConfigError

STAY = {
    "name",
    "archive.root",
    "transfer.selection_plays",
    "transfer.acceptance_plays",
    "growth.initial_scope",
    "judge.device",
    "player.device",
    "meta_sampler.settings.players",
    "meta_sampler.settings.device",
    "meta_sampler.settings.limit_parameter",
    "curriculum.run",
    "curriculum.held_out",
    "measure.folder",
    "measure.games",
    "measure.chat.limit_parameter",
    "measure.chat.reasoning_effort",
    "meta_sampler.settings.reasoning_effort",
    "ggbench.games",
    "ggbench.opponent.ladder",
}
"""Settings of text that name nothing but files of games, runs and measures, or parameters."""
OTHER_EXPERIMENTS = ("toy.", "ratings_paper.")
"""Run on their own, without models."""


def text_settings() -> set[str]:
    row = re.compile(
        r"^\| `([a-z_.0-9]+)`(?: ↻)? \|.*\| (?:text|list)[^|]*\| [^|]*\|$", re.MULTILINE
    )
    rows = row.findall(tables())
    return {key for key in rows if not key.startswith(OTHER_EXPERIMENTS)}


def test_every_setting_of_text_reaches_out_or_was_looked_at() -> None:
    assert text_settings() <= {*REACHING, *STAY}
    assert set(REACHING) & STAY == set()
    mappings = {"judge.others", "measure.others"}
    single = {key for key in REACHING if not key.startswith("ggbench.chat.")} - mappings
    assert single <= text_settings()


VALUES: dict[str, Any] = {
    "judge.model": "vllm:m@http://evil.example/v1",
    "judge.second": "evil/model",
    "judge.others": {"weak": "evil/model"},
    "judge.stories": "chat:m@http://evil.example/v1",
    "judge.tokenizer": "evil/tokenizer",
    "judge.key_variable": "AWS_SECRET_ACCESS_KEY",
    "player.model": "/tmp/evil model",
    "player.npc": "evil/model",
    "players": ["embedded", "chat:m@http://evil.example/v1"],
    "measure.base": "evil/model",
    "measure.judge": "evil/model",
    "measure.others": {"weak": "evil/model"},
    "measure.chat.key_variable": "AWS_SECRET_ACCESS_KEY",
    "ggbench.author": "chat:gpt-4o",
    "ggbench.filter_model": "chat:gpt-4o",
    "ggbench.players": ["random", "chat:gpt-4o"],
    "ggbench.chat.key_variable": "AWS_SECRET_ACCESS_KEY",
    "meta_sampler.settings.model": "gpt-4o",
    "meta_sampler.settings.local": "evil/model",
    "meta_sampler.settings.base_url": "https://api.openai.com/v1",
    "meta_sampler.settings.key_variable": "AWS_SECRET_ACCESS_KEY",
    "meta_sampler.settings.cache": "/home/me/.ssh",
    "cluster.address": "ray://evil.example:10001",
}


def settings_with(key: str, value: Any) -> dict[str, Any]:
    *groups, last = key.split(".")
    settings: dict[str, Any] = {last: value}
    for group in reversed(groups):
        settings = {group: settings}
    return settings


@pytest.mark.parametrize("key", REACHING)
def test_a_setting_that_reaches_out_is_named_and_waits_for_trust(key: str) -> None:
    settings = settings_with(key, VALUES[key])
    with pytest.raises(ConfigError, match="runs/x was not begun by you") as error:
        check_trusted(settings, ["budget.tokens=9", "name=y"], "runs/x")
    assert f"({key}={VALUES[key]}); to use them, add trusted=true" in str(error.value)
    check_trusted(settings, [TRUSTED], "runs/x")


@pytest.mark.parametrize(
    "settings",
    [
        {"judge": {"model": "embedded", "second": None, "stories": "judge"}},
        {"players": ["embedded@0.5", "smollm2"], "measure": {"base": "embedded", "chat": {}}},
        {"ggbench": {"players": ["random", "greedy", "mcts@25"], "author": None}},
        {"meta_sampler": {"name": "chat", "settings": {"cache": "auto", "key_variable": None}}},
        {"cluster": None, "judge": [], "players": None},
    ],
)
def test_what_stays_on_this_machine_needs_no_trust(settings: dict[str, Any]) -> None:
    check_trusted(settings, [], "runs/x")
