"""``+experiment=toy_growth`` from the entry down: what it writes, shows and refuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import evo.run
from archive import Archive
from evo.config.compose import load
from evo.experiments import toy as experiment
from evo.experiments.toy import (
    Scope,
    SettingConfig,
    ToyRunConfig,
    scopes,
)

RUN = ["+experiment=toy_growth", "toy.seeds=2", "toy.grid=60"]
SVG = "{http://www.w3.org/2000/svg}"


def run(folder: Path, *overrides: str) -> int:
    return evo.run.main([*RUN, f"archive.root={folder}", *overrides])


def rows(folder: Path, table: str = "scopes") -> list[dict[str, Any]]:
    with Archive.open(folder / "archive") as archive:
        return archive.rows(table)


def test_a_run_archives_and_prints_its_growths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "seed=7", "name=toy") == 0
    output = capsys.readouterr().out
    assert str(tmp_path / "toy") in output.replace("\n", "")
    runs = list(dict.fromkeys(row["run_id"] for row in rows(tmp_path / "toy")))
    assert [run_id.rpartition(" ")[2] for run_id in runs] == ["7", "8"] * 4
    for run_id in runs:
        own = [row for row in rows(tmp_path / "toy") if row["run_id"] == run_id]
        games = [row for row in own if row["scope"] == own[-1]["scope"]]
        for place, each in enumerate(games):
            assert (each["parent_game_id"] is None) == (each["generation"] == 0)
            assert (each["gamma"] is None) == (each["generation"] == 0)
            known = {game["game_id"] for game in games[:place]}
            assert each["parent_game_id"] is None or each["parent_game_id"] in known
    assert re.search(r"│ lists of 10 +│ +2 │", output)


def test_the_figure_shows_the_growths_in_the_middle(tmp_path: Path) -> None:
    assert run(tmp_path, "name=toy", "toy.seeds=3") == 0
    chart = ElementTree.parse(tmp_path / "toy" / "figure.svg").getroot()
    marks = [each.get("class") for each in chart.iter(f"{SVG}circle")]
    texts = [each.text or "" for each in chart.iter(f"{SVG}text")]
    counts = [re.match(r"(\d+) games", text) for text in texts]
    assert marks.count("game") == sum(int(count[1]) for count in counts if count)
    assert marks.count("start") == 4
    titles = load(ToyRunConfig, RUN).toy.settings()
    assert set(titles) <= set(texts)


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for root in ("a", "b"):
        assert run(tmp_path / root, "name=toy") == 0
    one, other = (tmp_path / root / "toy" for root in ("a", "b"))
    assert (one / "figure.svg").read_bytes() == (other / "figure.svg").read_bytes()
    assert rows(one) == rows(other)


MISTAKES = [
    (["toy.sets=3"], r"toy\.sets: unknown key, did you mean toy\.seeds\?"),
    (["finetune.tokens=5"], r"finetune\.tokens: unknown key"),
    (["seed=-1"], r"seed: found -1"),
    (["name=a/b"], r"name: found 'a/b'"),
    (["toy.seeds=0"], r"toy\.seeds: found 0, expected at least 1"),
    (["toy.grid=1"], r"toy\.grid: found 1, expected at least 10 and at most 4000"),
    (["toy.setting.start=[[0.5,0.5]]"], r"toy\.setting\.start: found \[\[0\.5, 0\.5\]\]"),
    (["toy.setting.start=[[0.1]]"], r"toy\.setting\.start: found \[\[0\.1\]\], expected points"),
    (["toy.setting.coverage_against=scope"], r"toy\.setting\.max_accepts_per_parent: found null"),
    (["name=old"], r"name: .*old exists already, expected a new name"),
]


@pytest.mark.parametrize(("overrides", "message"), MISTAKES, ids=[m[0][0] for m in MISTAKES])
def test_a_mistake_ends_with_one_sentence_and_nothing_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], overrides: list[str], message: str
) -> None:
    (tmp_path / "old" / "mine").mkdir(parents=True)
    assert run(tmp_path, *overrides) == 2
    output = capsys.readouterr()
    assert re.match(f"error: {message}", output.err), output.err
    assert output.err.count("\n") == 1
    assert output.out == ""
    assert [path.name for path in tmp_path.rglob("*")] == ["old", "mine"]


@pytest.mark.parametrize("last", [0, 3])
def test_an_interrupted_run_goes_on_to_the_same_bytes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    last: int,
) -> None:
    assert run(tmp_path / "whole", "name=toy") == 0
    seeds: list[int] = []

    def scopes_or_interrupt(setting: SettingConfig, seed: int) -> list[Scope]:
        if len(seeds) == last:
            raise KeyboardInterrupt
        seeds.append(seed)
        return scopes(setting, seed)

    with monkeypatch.context() as patch:
        patch.setattr(experiment, "scopes", scopes_or_interrupt)
        assert run(tmp_path / "cut", "name=toy") == 130
    command = f"python -m evo.run resume={tmp_path / 'cut' / 'toy'}"
    assert command in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "cut" / "toy").iterdir()}
    assert names == {"archive", "config.yaml", "run.log"}
    assert evo.run.main([f"resume={tmp_path / 'cut' / 'toy'}"]) == 0
    one, other = (tmp_path / root / "toy" for root in ("whole", "cut"))
    assert (one / "figure.svg").read_bytes() == (other / "figure.svg").read_bytes()
    assert rows(one) == rows(other)
    with Archive.open(tmp_path / "cut" / "toy" / "archive") as archive:
        events = [row["event"] for row in archive.rows("runs") if row["run_id"] == "toy"]
    assert events == ["created", "interrupted", "resumed", "finished"]
