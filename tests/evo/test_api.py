"""Runs from Python are those of the command line."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.example import EXAMPLE
from support.search import PARENT, SMALL as WORDS, FakeExecutor, Listed, Nature, Search, code

import evo
import xgl
from archive import LookupFailedError
from evo.runner import Services
from xgl.judge.loading import load_judge
from xgl.players.local import LocalPolicy

SMALL = {name: yaml.safe_load(value) for name, value in (each.split("=") for each in WORDS[1:])}
SMALL["growth.list_size"] = 2
LIMITS = (20, 21)


class World:
    """The entry with an executor that knows the truth in place of Ray's."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        executor = FakeExecutor(lambda _: Nature())
        sampler = Listed([code(limit) for limit in LIMITS])
        services = partial(Services, executor=lambda *_: executor, sampler=lambda *_: sampler)
        monkeypatch.setattr("evo.runner.Services", services)
        (folder / "parent.xent").write_text(code(PARENT))

    def settings(self, name: str) -> dict[str, Any]:
        scope = [self.folder / "parent.xent"]
        return {**SMALL, "growth.initial_scope": scope, "archive.root": self.folder, "name": name}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_a_run_is_the_command_line_s(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = evo.grow(world.settings("mine"), quiet=True, backend="pyarrow")
    assert capsys.readouterr() == ("", "")
    assert (run.folder, run.settings["name"]) == (tmp_path / "mine", "mine")
    assert {path.name for path in run.folder.iterdir()} == {"archive", "run.log", "config.yaml"}
    search = Search(tmp_path)
    sampler = Listed([code(limit) for limit in LIMITS])
    assert search.run(lambda _: Nature(), "growth.list_size=2", sampler=sampler) == 0
    assert search.tables("mine") == search.tables("run")
    assert run.decisions().num_rows == len(LIMITS)
    assert f"Run {run.run_id}" in str(run)


def test_callbacks_hear_what_was_committed_and_change_nothing(world: World, tmp_path: Path) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []
    tell = [lambda table, row: heard.append((table, row))]
    run = evo.grow(world.settings("heard"), tell, quiet=True, backend="pyarrow")
    evo.grow(world.settings("alone"), quiet=True)
    search = Search(tmp_path)
    assert search.tables("heard") == search.tables("alone")
    for table in ("finetunes", "decisions", "scopes"):
        ids = [row["game_id"] for name, row in heard if name == table]
        assert ids == run.table(table)["game_id"].to_pylist() != []


def test_a_run_that_a_callback_ended_is_resumed(world: World, tmp_path: Path) -> None:
    def stop(table: str, row: dict[str, Any]) -> None:
        if table == "decisions":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evo.grow(world.settings("cut"), [stop], quiet=True)
    part = evo.Run.open(tmp_path / "cut", backend="pyarrow")
    assert part.table("runs")["event"].to_pylist() == ["created", "interrupted"]
    whole = evo.resume(tmp_path / "cut", quiet=True, backend="pyarrow")
    assert whole.table("runs")["event"].to_pylist()[-2:] == ["resumed", "finished"]
    evo.grow(world.settings("undisturbed"), quiet=True)
    search = Search(tmp_path)
    assert search.tables("cut") == search.tables("undisturbed")


def test_the_player_of_a_run_plays() -> None:
    """The trained player has learned its game, as the archive says: it earns more than the base."""
    run = evo.Run.open(EXAMPLE, backend="pyarrow")
    name = run.scope()["game_id"].to_pylist()[0]
    whole, judge = run.game(name), load_judge("embedded")
    player, base = run.player(name, judge), LocalPolicy(judge.lm)
    trained, untrained = (
        [xgl.play(whole, each, judge, 2 * n + 1).scores["black"] for n in range(16)]
        for each in (player, base)
    )
    assert sum(trained) > sum(untrained)
    assert trained[0] == xgl.play(whole, run.player(name, judge), judge, 1).scores["black"]
    with pytest.raises(LookupFailedError):
        run.player("no such game")
