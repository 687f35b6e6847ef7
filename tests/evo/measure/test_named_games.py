"""Measures of games that are named, without a growth (§5.5, Fig. 4.1)."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.weak_model import weak_model

import evo.run
from archive import Archive, __main__ as archive_cli
from evo.measure.folder import read as folder_of, read_benchmark
from evo.measure.results import figure
from xgl.diagram.svg import render
from xgl.errors import ConfigError
from xgl.judge.loading import load_judge
from xgl.language.dialects import DIALECTS
from xgl.runtime.requests import ScoreRequest, TokenScores

Capsys = pytest.CaptureFixture[str]

SCORING = DIALECTS["xent"].scoring
FAST = ["measure.rounds=3", "measure.maps=2", "measure.m=2"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> int:
    return evo.run.main(["+experiment=measure", *words])


def test_library_and_files_are_measured_with_mean_and_arms(capsys: Capsys) -> None:
    Path("mine.xent").write_text("assign(s=story())\nelicit(t, 4)\nreward(xed(s | t))")
    games = "measure=[single_text, message:bob, mine.xent]"
    assert run(games, "players=[embedded]", *FAST) == 0
    output = capsys.readouterr().out
    mine = Path("mine.xent").absolute()  # which a resumed run finds, wherever it is
    assert f"Measure of 3 games from single_text, message:bob, {mine}, judge embedded" in output
    folder = Path("runs/measure-single_text-and-2")
    rows = Archive.open(folder).rows("rounds")
    assert {row["role"] for row in rows} == {"black", "bob"}
    maps = {(row["game_id"], row["map_seed"]) for row in rows}
    assert len(maps) == 3 * 2
    assert all(seed % 2 for _, seed in maps), "evaluation seeds"
    drawn = (folder / "measure.svg").read_text()
    shown = set(re.findall(r"[\w:]+(?=: mean)", drawn))
    assert shown, "a panel of means"
    assert set(re.findall(r"[\w:]+(?=: arms)", drawn)) == shown
    assert evo.run.main([f"resume={folder}"]) == 0
    assert Archive.open(folder).rows("rounds") == rows
    capsys.readouterr()
    judge = f"measure.judge={weak_model(Path('other'))}"
    assert evo.run.main([f"resume={folder}", judge]) == 2
    assert "measure.judge: found" in capsys.readouterr().err
    Path("mine.xent").write_text("assign(s=story())\nelicit(t, 5)\nreward(xed(s | t))")
    assert evo.run.main([f"resume={folder}"]) == 2
    assert "has changed since the run began" in capsys.readouterr().err


def test_the_panels_of_a_game_with_a_long_name_are_told_apart() -> None:
    facts = {"levels": SimpleNamespace(b=0.0, top=1.0), "series": (np.ones((2, 3)), None)}
    own: Any = SimpleNamespace(policy="p", member=SimpleNamespace(name="m" * 60), **facts)
    drawn = render(figure([own]))
    assert "m…: mean<" in drawn
    assert "m…: arms<" in drawn


UMBRELLA = 'assign(s=story())\nelicit(t, 4)\nreward(xent(t | s, "@weak") - xent(t | s))\n'


def test_a_game_of_two_judges_is_measured_and_not_exported_to_an_engine_of_one(
    capsys: Capsys,
) -> None:
    Path("two_judges.xent").write_text(UMBRELLA)
    weak, words = weak_model(Path("weak")), ["measure=[two_judges.xent]", *FAST]
    assert run(*words) == 2
    error = capsys.readouterr().err
    assert "needs the model 'weak' under the judge, found none" in error
    assert "expected measure.others={weak: MODEL}" in error
    assert run(*words, f"measure.others={{weak: {weak}}}", "measure.ceiling_calls=8") == 0
    shown = capsys.readouterr().out
    assert f"judge embedded with weak: {weak.absolute()}, 3 rounds" in shown
    folder = Path("runs/measure-two_judges")
    rows, texts = map(Archive.open(folder).rows, ("rounds", "maps"))
    judge = load_judge("embedded", others={"weak": str(weak)})
    for row in rows:  # what each play was paid is the difference of the two models' xents
        [story] = [each["text"] for each in texts if each["map_seed"] == row["map_seed"]]
        scores = judge.score(
            [ScoreRequest(row["moves"][0], (story,), SCORING, name) for name in ("weak", "")]
        )
        totals = [each.total for each in scores if isinstance(each, TokenScores)]
        assert row["score"] == pytest.approx(totals[0] - totals[1], abs=1e-3)
    assert evo.run.main([f"resume={folder}"]) == 0
    assert Archive.open(folder).rows("rounds") == rows
    assert export(folder, Path("out")) == 2
    error = capsys.readouterr().err
    assert "that engine has one judge, and no model 'weak' under it" in error
    assert error.count("\n") == 1
    assert evo.run.main([f"resume={folder}", "measure.others={weak: embedded}"]) == 2
    assert "measure.others" in capsys.readouterr().err


def export(run: Path, folder: Path, *words: str) -> int:
    return archive_cli.main(["export", str(run), str(folder), "--format", "xent", *words])


@pytest.mark.long
def test_a_measured_run_and_its_fewest_games_are_measures_again(capsys: Capsys) -> None:
    Path("mine.xent").write_text("assign(s=story())\nelicit(t, 4)\nreward(xed(s | t))")
    players = "players=[embedded,embedded@0]"
    words = ["measure=[single_text,mine.xent,message:bob]", players]
    assert run(*words, *FAST, "name=whole") == 0
    output = capsys.readouterr().out
    [line] = [x for x in output.splitlines() if x.startswith("export ")]
    command = shlex.split(line)[4:]  # after: export python -m archive
    assert command[-2:] == ["--discriminating", "0.1"]
    assert archive_cli.main([*command[:-1], "1"]) == 0
    assert export(Path("runs/whole"), Path("whole")) == 0
    whole, fewest = folder_of(Path("whole")), folder_of(Path("runs/whole-games"))
    assert len(whole.members) == 3
    [first, *_] = sorted(Path("whole").glob("expanded*.json"))
    facts = json.loads(first.read_text())
    Path("twice.json").write_text(json.dumps(facts | {"games": facts["games"][:1] * 2}))
    with pytest.raises(ConfigError, match="found twice, expected games of different names"):
        read_benchmark(Path("twice.json"), "embedded")
    assert 1 <= len(fewest.members) < 3
    assert {each.name for each in fewest.members} < {each.name for each in whole.members}
    files = [read_benchmark(each, "embedded") for each in Path("whole").glob("expanded*.json")]
    for member in whole.members:  # a file for the authors' engine is measured like the folder
        [same] = [each for file in files for each in file.members if each.name == member.name]
        assert (same.task.role, len(same.maps)) == (member.task.role, 2)
        told = [[*texts.values()] for texts in member.stories.texts.values()]
        assert [*same.stories.texts.values()] == told
    plays, measures = map(Archive.open("runs/whole").rows, ("rounds", "measures"))
    assert run("measure=whole", "players=[embedded]", *FAST[:1], "name=again") == 0
    again, normalised = map(Archive.open("runs/again").rows, ("rounds", "measures"))
    assert {row["map_seed"] for row in again} == {row["map_seed"] for row in plays}
    members = json.loads(Path("whole/measure.json").read_text())["members"]
    assert not any(each["thresholds"] for each in members if each["dialect"] == "paper")
    assert measures  # the base set levels by the rules of the files: these are measured against
    assert export(Path("runs/again"), Path("third")) == 0
    assert run("measure=third", "players=[embedded@0]", *FAST[:1], "name=third") == 0
    third = Archive.open("runs/third").rows("measures")
    levels = {(row["exported_game_id"], row["b"], row["theta"]) for row in third}
    assert levels >= {(row["game_id"], row["b"], row["theta"]) for row in normalised} != set()
    assert export(Path("runs/whole"), Path("x"), "--eta", "0.3") == 2
    assert "expected a run of +experiment=scope_growth" in capsys.readouterr().err
