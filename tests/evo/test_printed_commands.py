"""Every command that a run prints at its end works, wherever the run ended."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest
from support import search as searches
from support.measured import Given, build
from support.printed import execute, printed_commands

from evo.config.measure import MeasureRunConfig
from xgl.library import find

Capsys = pytest.CaptureFixture[str]

ACCEPTING = searches.of_limits(l4=searches.Nature(teaches=0.9, covered=0.1))
ENDS: dict[str, tuple[searches.World, tuple[str, ...], int | None]] = {
    "accepts": (ACCEPTING, (), None),
    "before its first job": (ACCEPTING, (), 0),
    "after its first scope": (ACCEPTING, (), 6),
    "two budgets": (ACCEPTING, ("budget.tokens=3", "budget.seconds=0.3"), None),
    "open-ended": (
        ACCEPTING,
        ("growth.schedule=open_ended", "growth.max_accepted=1", "growth.max_candidates=2"),
        None,
    ),
}
"""The world, settings, and after how many jobs somebody presses Ctrl-C."""


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> searches.Search:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("support.search.Killed", KeyboardInterrupt)
    (tmp_path / "runs").mkdir()
    return searches.Search(
        Path("runs"), sampler=searches.Listed([searches.code(4), searches.code(5)])
    )


def execute_all(output: str, world: searches.World, search: searches.Search) -> list[str]:
    """Execute what is printed, the resume command last; returns the names of the lines."""
    commands = printed_commands(output)
    assert commands
    for command in sorted(commands, key=lambda command: "resume=" in command):
        with patch("evo.config.compose.load", searches.load_config):
            services = searches.services(searches.FakeExecutor(world), search.sampler)
            assert execute(command, services) == 0, command
    return re.findall(r"^(\w+) +python -m", output, re.MULTILINE)


@pytest.mark.parametrize("name", ENDS)
def test_a_growth_prints_what_works_where_it_ended(
    name: str, search: searches.Search, capsys: Capsys
) -> None:
    world, overrides, patience = ENDS[name]
    search.run(world, *overrides, patience=patience)
    has_scope = bool(search.rows("scopes"))
    lines = execute_all(capsys.readouterr().out, world, search)
    assert [name in lines for name in ("report", "export")] == [has_scope, has_scope]
    again = capsys.readouterr().out  # of the resumed run, whose files are there already
    if "resume" in lines:
        execute_all(again.partition("ended    ")[2], world, search)


def test_a_folder_of_any_name_is_quoted(
    search: searches.Search, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = "-it's [bold]x :smile:a~b 日本語" + "x" * 100
    monkeypatch.chdir("runs")
    search.folder = Path()
    search.run(ACCEPTING, name=folder)
    execute_all(capsys.readouterr().out, ACCEPTING, search)
    assert Path(f"{folder}.html").is_file()
    assert Path(f"{folder}-games").is_dir()


@pytest.mark.parametrize("patience", [None, 0, 9])
def test_a_triplet_prints_what_works_without_a_scope(
    patience: int | None, search: searches.Search, capsys: Capsys
) -> None:
    few = ["transfer.acceptance_plays=[24]", "game.dialect=xent", search.initial(8, 9)]
    search.run(ACCEPTING, "+experiment=transfer_triplet", *few, only=True, patience=patience)
    lines = execute_all(capsys.readouterr().out, ACCEPTING, search)
    assert not {"report", "export"} & set(lines)
    assert ("matrix" in lines) == (patience is None or patience > 6)


def test_the_readme_of_a_measure_plays_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """As an archive's command writes it, in its folder; ``[judge]`` is that of the run."""
    archive, out = build(tmp_path / "archive", [Given(find("contrast").text)]), tmp_path / "m"
    names = {"RUN": str(archive), "FOLDER": str(out), "THIS_FOLDER": str(out), "MODEL": "embedded"}
    with pytest.raises(ValueError, match=r"measure\.folder: found none") as raised_error:
        MeasureRunConfig(experiment="measure")
    [export] = printed_commands(str(raised_error.value))
    assert execute(export, names=names) == 0
    monkeypatch.chdir(out)
    monkeypatch.setattr("sys.stdin", StringIO("a hen\n" * 9))
    few = ["measure.rounds=2", "measure.m=1"]
    for command in printed_commands((out / "README.md").read_text(encoding="utf-8")):
        words = few if "experiment=measure" in command else []
        assert execute(command, None, names, *words) == 0, command
    assert "every player has played every game" in capsys.readouterr().out
