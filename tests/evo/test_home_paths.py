"""``~`` and ``$VARIABLES`` wherever a path is a setting, an argument of a command or of Python."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from peft import LoraConfig, get_peft_model
from support.exported import write_measure

import archive.__main__ as archive_command
import evo.run
import xgl.cli
from archive import Archive
from archive.notebook import Run
from evo.config.compose import load
from evo.config.measure import ChatConfig, MeasureRunConfig
from evo.config.schema import RunConfig
from evo.ggbench.game import FILES, PACKAGE_FOLDER, find_all
from evo.growth.initial_scope import initial_tasks
from evo.measure.folder import read
from evo.measure.players import find_player
from meta_sampler.chat.sampler import cache_folder
from xgl.errors import ConfigError
from xgl.judge.loading import load_judge
from xgl.models.resolve import EMBEDDED, load_tokenizer, resolve

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "example" / "run"
GAME = "assign(s=story())\nelicit(t, 8)\nreward(xed(t | s))\n"
TOY = ["+experiment=toy_growth", "toy.seeds=1", "toy.grid=40", "name=toy"]


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The folder ``home`` as it may be written; the working folder is another, which stays
    empty."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "home" / "game.xent").write_text(GAME)
    return str(getattr(request, "param", "~"))


@pytest.fixture(autouse=True)
def _nothing_is_written_here(home: str, tmp_path: Path) -> Any:
    yield
    assert os.listdir(tmp_path / "work") == []


@pytest.mark.parametrize("home", ["~", "${HOME}"], indirect=True)
def test_a_run_is_written_resumed_and_read(home: str, tmp_path: Path) -> None:
    quoted = f'"{home}/runs"'.replace("${HOME}", "\\${HOME}")
    assert evo.run.main([*TOY, f"archive.root={quoted}"]) == 0
    assert (tmp_path / "home" / "runs" / "toy" / "figure.svg").exists()
    assert evo.run.main([f"resume={home}/runs/toy"]) == 0
    assert Run.open(f"{home}/runs/toy").folder == tmp_path / "home" / "runs" / "toy"
    with Archive.open(f"{home}/runs/toy") as archive:
        assert [row["event"] for row in archive.rows("runs")][-1] == "finished"
    Archive.create(f"{home}/new").close()
    assert (tmp_path / "home" / "new" / "archive.json").exists()


COMMANDS: dict[str, tuple[list[str], str]] = {
    "report": (["report", "{run}", "-o", "{home}/page.html"], "page.html"),
    "export": (["export", "{run}", "{home}/games"], "games"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_of_the_archive(home: str, tmp_path: Path, name: str) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "home" / "run")
    words, written = COMMANDS[name]
    places = {"{run}": f"{home}/run", "{home}": home}
    arguments = [re.sub(r"\{\w+\}", lambda part: places[part[0]], word) for word in words]
    assert archive_command.main(arguments) == 0
    assert (tmp_path / "home" / written).exists()


def test_commands_of_the_language(home: str, tmp_path: Path) -> None:
    assert xgl.cli.main(["check", f"{home}/game.xent"]) == 0
    assert xgl.cli.main(["diagram", f"{home}/game.xent", "-o", f"{home}/game.svg"]) == 0
    assert (tmp_path / "home" / "game.svg").exists()


def test_games_measures_and_caches(home: str, tmp_path: Path) -> None:
    config = RunConfig(experiment="scope_growth", name="n")
    growth = replace(config.growth, initial_scope=(f"{home}/game.xent",))
    [task] = initial_tasks(replace(config, growth=growth))
    assert str(tmp_path / "home" / "game.xent") in task.origin
    write_measure(tmp_path / "home" / "measure")
    measure = load(
        MeasureRunConfig, ["+experiment=measure", f"measure={home}/measure".replace("${", "\\${")]
    )
    assert len(read(measure.export_folder).members) == 2
    assert cache_folder(f"{home}/cache") == tmp_path / "home" / "cache"
    packaged = next(each for each in PACKAGE_FOLDER.iterdir() if (each / FILES[0]).is_file())
    shutil.copytree(packaged, tmp_path / "home" / "board")
    assert [each.name for each in find_all(f"{home}/board")] == ["board"]


def test_models_and_adapters(home: str, tmp_path: Path) -> None:
    shutil.copytree(EMBEDDED, tmp_path / "home" / "model")
    assert resolve(f"{home}/model") == tmp_path / "home" / "model"
    assert load_tokenizer(f"{home}/model").eos_token
    lora = LoraConfig(r=2, target_modules=["q_proj"])
    get_peft_model(load_judge("embedded").lm.model, lora).save_pretrained(
        tmp_path / "home" / "adapter"
    )
    for name in (f"{home}/model", f"peft:{home}/adapter@{home}/model"):
        player: Any = find_player(name, ChatConfig())
        with player.load("float32", "cpu"):
            pass
    shutil.copytree(EXAMPLE, tmp_path / "home" / "run")
    with pytest.raises(ConfigError, match=r"0 fine-tunes of .*home/run begin with 'ffff'"):
        find_player(f"adapter:{home}/run:ffff", ChatConfig())


def test_one_function_replaces_them() -> None:
    """So that none of the places can do it in its own way."""
    packages = ("evo", "xgl", "archive", "meta_sampler")
    files = [path for name in packages for path in (ROOT / name).rglob("*.py")]
    own = re.compile(r"expanduser|expandvars|Path\.home\(")
    found = {str(path.relative_to(ROOT)) for path in files if own.search(path.read_text())}
    assert found == {"xgl/files.py", "xgl/models/smollm2.py"}
