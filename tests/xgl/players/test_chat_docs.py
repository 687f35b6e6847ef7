"""What docs/how-to/players.md says is true: its command runs, its names are those of the code."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from support.chat_server import ChatServer, in_order, move

from xgl.chat.settings import ChatSettings, Usage
from xgl.cli import main

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "players.md").read_text(encoding="utf-8")
LOCAL = "http://127.0.0.1:8000/v1"
pytestmark = pytest.mark.usefixtures("no_proxy")


def test_its_command_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [line] = [line for line in PAGE.splitlines() if line.startswith("python") and LOCAL in line]
    _, _, _, *arguments = line.split()
    with ChatServer(in_order(move("zebras"))) as server:
        assert main([word.replace(LOCAL, server.url) for word in arguments]) == 0
    assert '"outcome": "finished"' in capsys.readouterr().out


def test_it_names_every_setting_and_every_count() -> None:
    _, section = PAGE.split("## Settings")
    description, _ = section.split("Each request carries")
    assert set(re.findall(r"`(\w+)`[,.;]", description)) == {
        one.name for one in fields(ChatSettings)
    }
    _, cost = PAGE.split("## What it cost")
    assert set(re.findall(r"`(\w+)`", cost)) >= {one.name for one in fields(Usage)}
