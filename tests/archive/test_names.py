"""A game's name in the report is accepted wherever a game is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from archive import Archive
from archive import Run as ReadRun
from archive.__main__ import main
from archive.cli import COMMANDS
from archive.notebook import Run

EXAMPLE = Path(__file__).parents[2] / "docs" / "example"
IDS = {"Rival": "81fbe478", "Rival.1": "334f5179", "Rival.2": "2fa2a3a5"}
OF_GAMES = [
    (command.run.__name__, *([] if argument.names == ["game"] else argument.names))
    for command in COMMANDS
    for argument in command.arguments
    if argument.options.get("metavar") == "GAME"
]


def test_the_names_are_those_of_the_page() -> None:
    page = (EXAMPLE / "report.html").read_text(encoding="utf-8")
    assert re.findall(r'<span class="name">(.*?)</span>', page) == [*IDS]
    with Archive.open(EXAMPLE / "run") as archive:
        names = ReadRun(archive).names
    assert {name: task_id.game_id[:8] for task_id, name in names.items()} == IDS


@pytest.mark.parametrize("words", OF_GAMES, ids="-".join)
@pytest.mark.parametrize("name", ["Rival.1", "rival.2", *IDS.values()])
def test_every_command_about_a_game_takes_its_name(
    words: tuple[str, ...], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *option = words
    if option and name == IDS["Rival"]:
        return  # nothing was decided on it
    assert main([command, str(EXAMPLE / "run"), *option, name]) == 0
    assert IDS.get(name.capitalize(), name) in capsys.readouterr().out


def test_a_run_in_python_takes_names() -> None:
    run = Run.open(EXAMPLE / "run", backend="pyarrow")
    for name, short_id in IDS.items():
        assert run.game(name.upper()) == run.game(short_id)
        assert run.plays(name).num_rows > 0
