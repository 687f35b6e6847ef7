"""Measures of several growths compared on one ladder: what is exported, played, and answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.exported import GAMES, write_measure
from support.search import FakeExecutor, Listed, Nature, Search, code, of_limits, services

import evo.run
from archive import Archive
from archive.__main__ import main as archive_main
from evo.config.compose import load
from evo.config.held_out import HELD_OUT
from evo.experiments.universality import LADDER, find_growths, judges_caveat, ladder
from xgl.library import find

WORLD = of_limits(l4=Nature(teaches=0.9, covered=0.1), l5=Nature(teaches=0.9, covered=0.95))
WARM = "universality.temperatures=[0.5,1.0,1.5,2.0]"
SMALL = ["universality.programs=[]", "universality.rounds=2", "universality.maps=4", WARM]
FAST = [*SMALL, "universality.resamples=20", "cluster.workers=1"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    return evo.run.main([*arguments], services(FakeExecutor(WORLD)))


def begin(*arguments: str, name: str) -> int:
    return run("+experiment=universality", f"name={name}", *arguments)


def rounds(name: str, measure: str) -> list[dict[str, Any]]:
    """All that was played, but for how long it took."""
    with Archive.open(Path("runs") / name / "measured" / measure) as archive:
        rows = archive.rows("rounds")
    return [{k: v for k, v in row.items() if k not in ("seconds", "run_id")} for row in rows]


@pytest.mark.long
def test_exported_measures_are_measured_and_compared(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_measure(place / "A", {"first": GAMES["first"]}, maps=4)
    write_measure(place / "B", {"second": GAMES["second"]}, maps=4)
    overrides = ["universality.runs=[A,B]", *FAST]
    assert begin(*overrides, name="whole") == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "8 of 8, about 0:00 to go" in output
    assert "Mean normalised score (narms) over games" in output
    assert "Two growths rank models alike:" in output
    assert "Only 4 models: 12 or more say more." in output
    assert "Only 2 growths: 4 or more say more." in output
    assert "grown/A ranks models by 1 game only: 4 or more say more." in output
    assert "A has no random games beside its own to compare with." in output

    answer = json.loads((Path("runs") / "whole" / "universality.json").read_text())
    assert set(answer["models"]) == {"embedded", "embedded@0.5", "embedded@1.5", "embedded@2"}
    command = output.split("again python -m archive ")[1].split()[:3]
    assert command == ["universality", *(f"runs/whole/measured/grown/{n}" for n in "AB")]
    assert archive_main([*command, "--json", "--resamples", "20"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert {k: v for k, v in alone.items() if k != "measures"} == {
        k: v for k, v in answer.items() if k != "measures"
    }

    assert begin(*overrides, "budget.tokens=60", name="parts") == 0
    last_output = capsys.readouterr().out
    assert "budget.tokens=60 is reached" in last_output
    assert "resume=runs/parts budget.tokens=120" in last_output
    first = rounds("parts", "grown/A")
    assert len(first) == 2 * 4, "two rounds on four maps, no control"
    assert {row["policy_id"] for row in first} < {
        row["policy_id"] for row in rounds("whole", "grown/A")
    }
    assert run("resume=runs/parts", "budget.tokens=null") == 0
    assert "of 8, about" in capsys.readouterr().out
    for measure in ("grown/A", "grown/B"):
        assert rounds("parts", measure) == rounds("whole", measure)


def test_a_program_of_the_ladder_may_be_no_game_of_a_measure(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its adapter was trained on it."""
    write_measure(place / "A", {"first": GAMES["first"]}, maps=4)
    write_measure(place / "B", {"single": find("fig_3_01_single_text").text}, maps=4)
    programs = "universality.programs=[fig_3_01_single_text]"
    assert begin("universality.runs=[A,B]", *FAST, programs, name="u") == 2
    error = capsys.readouterr().err
    assert "universality.programs: single_text is a game of B, expected programs" in error
    assert not Path("runs/u").exists()


def test_measures_of_two_judges_are_pointed_out(place: Path) -> None:
    judge = {"model": "another", "folder": None, "dtype": "float32", "sha256": None}
    folders = {
        "grown/A": write_measure(place / "A", {"first": GAMES["first"]}),
        "grown/B": write_measure(place / "B", {"second": GAMES["second"]}, judge=judge),
    }
    assert "have other judges, which need not agree: embedded, another" in judges_caveat(folders)
    folders.pop("grown/B")
    assert judges_caveat(folders) is None


def test_a_growth_is_exported_with_as_many_random_games(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        (place / name).mkdir()
        search = Search(place / name, sampler=Listed([code(4), code(5)]))
        assert search.run(WORLD, name="grown") == 0
    capsys.readouterr()
    runs = "universality.runs=[one/grown,two/grown]"
    assert begin(runs, *FAST, "budget.tokens=1", name="u") == 0
    assert "budget.tokens=1 is reached" in capsys.readouterr().out
    games: dict[str, set[str]] = {}
    for path in Path("runs/u/exported").rglob("measure.json"):
        members = json.loads(path.read_text())["members"]
        games[path.parent.relative_to("runs/u/exported").as_posix()] = {
            member["code"] for member in members
        }
        assert all(len(member["maps"]) == 4 for member in members)
    assert set(games) == {
        f"{kind}/{n}" for kind in ("grown", "random") for n in ("grown", "grown-2")
    }
    assert games["grown/grown"] == {code(8).strip(), code(4).strip()}
    assert len(games["random/grown"]) == 2
    assert games["random/grown"] < {code(limit).strip() for limit in (4, 5, 8)}


def test_the_default_ladder_is_what_the_page_says() -> None:
    config = load(["+experiment=universality", "universality.runs=[a,b]"])
    models = ladder(config, Path("runs/u"), ["ab", "cd", "ef", "12", "34", "56"])
    assert models[:3] == ("embedded@0.5", "embedded", "embedded@2")
    assert models[3:5] == ("adapter:runs/u:ab*0.5", "adapter:runs/u:ab")
    assert len(models) == 15 > LADDER
    page = (Path(__file__).parents[3] / "docs" / "universality.md").read_text()
    assert "15 models" in page
    for name in HELD_OUT:
        assert f"`{name}`" in page


def test_growths_have_names_of_their_own() -> None:
    names = [growth.name for growth in find_growths(["x/a", "y/a", "z/a-2", "a"])]
    assert names == ["a", "a-2", "a-2-2", "a-3"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["universality.runs=[A]"], "universality.runs: found 1, expected two or more"),
        (["universality.runs=[A,A]"], "universality.runs: found ['A', 'A'], expected each once"),
        (["universality.runs=[A,none]"], "universality.runs: none"),
        ([WARM.replace("0.5,1.0,", "")], "found 2 models in the ladder, expected 4 or more"),
        (["universality.programs=[no_such]"], "universality.programs: no_such"),
        (["universality.players=[embedded]"], "'embedded' is in the ladder already"),
        (["universality.players=[embeded]"], "did you mean `embedded`"),
        (["universality.scales=[0.0]"], "universality.scales"),
    ],
)
def test_mistakes_are_one_sentence(
    place: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_measure(place / "A", {"first": GAMES["first"]}, maps=4)
    write_measure(place / "B", {"first": GAMES["first"]}, maps=4)
    keys = {each.split("=")[0] for each in more}
    overrides = [x for x in ("universality.runs=[A,B]", *FAST) if x.split("=")[0] not in keys]
    assert begin(*overrides, *more, name="u") == 2
    output = capsys.readouterr().err
    assert message in output
    assert output.count("\n") == 1
    assert not Path("runs").exists()


@pytest.mark.long
def test_two_workers_with_adapters_of_the_ladders_own(place: Path) -> None:
    """Fine-tunes on Ray, measures side by side; the same as on one worker."""
    for name in "AB":
        write_measure(place / name, {"first": GAMES["first"]}, maps=4)
    small = ["finetune.tokens=3000", "transfer.calibration_plays=8", "player.lora_rank=4"]
    ladder = ["universality.programs=[fig_3_01_single_text]", "universality.temperatures=[1.0,2.0]"]
    overrides = ["+experiment=universality", "universality.runs=[A,B]", *FAST[1:3], *small, *ladder]
    for workers in (1, 2):
        assert evo.run.main([*overrides, f"cluster.workers={workers}", f"name=on{workers}"]) == 0
    for measure in ("grown/A", "grown/B"):
        one, two = rounds("on1", measure), rounds("on2", measure)
        assert [row["score"] for row in one] == [row["score"] for row in two]
    adapters = {row["policy_id"] for row in one if row["policy_id"].startswith("adapter:")}
    assert {name.endswith("*0.5") for name in adapters} == {True, False}
