"""The toy model: laws of its transfer values (§6.1.2), its meta-sampler, and Fig. 6.1's claim."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, strategies as st

import evo.run
from archive import Archive
from archive.verification import verify
from evo.experiments import toy as model
from evo.growth.algorithm import Place

Capsys = pytest.CaptureFixture[str]

entries = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5])


@st.composite
def games(draw: st.DrawFn) -> model.Skills:
    """Some games of equal length, shape (n, d)."""
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    rows = st.lists(entries, min_size=d, max_size=d).filter(any)
    return np.array([draw(rows) for _ in range(n)])


@given(games())
def test_values_are_the_closed_form_to_the_last_bit(skills: model.Skills) -> None:
    values = model.transfer(skills, skills)
    for t, target in enumerate(skills.tolist()):
        for s, source in enumerate(skills.tolist()):
            assert values[t, s] == sum(map(min, target, source)) / sum(target)


PARENTS = [(0.05, 0.05), (0.25, 0.25), (0.9, 0.0), (1e-4, 0.9)]


@pytest.mark.parametrize("parent", PARENTS, ids=str)
def test_candidates_are_uniform_in_the_neighbourhood(parent: tuple[float, float]) -> None:
    place = Place(0, parent, 0)
    candidates = np.array(model.Neighbourhood(0.1, 3).propose(place, [], 400))
    assert len(candidates) == 400
    assert model.in_space(candidates).all()
    offsets = candidates - parent
    assert (np.linalg.norm(offsets, axis=1) <= 0.1).all()
    near = model.grid(1500)
    near = near[np.linalg.norm(near - parent, axis=1) <= 0.1]
    spread = near.std(axis=0) / 20
    assert (abs(candidates.mean(axis=0) - near.mean(axis=0)) < 5 * spread + 1e-4).all()


CORNER = ((0.5, 0.02),)
SETTINGS = {
    "claim": (model.FIG61, model.START),
    "few": (replace(model.FIG61, list_size=10), model.START),  # too few to find what is new
    "corner": (model.FIG61, CORNER),  # α1 too strict for this corner
    "gentle": (replace(model.FIG61, alpha1=0.8), CORNER),
}


def shares(name: str, seeds: range, points: int) -> list[float]:
    games, least = model.grid(points), 1 - model.FIG61.alpha2
    last_scopes = (model.skills_of(model.scopes(seed, *SETTINGS[name])[-1]) for seed in seeds)
    return [float((model.coverage(scope, games) >= least).mean()) for scope in last_scopes]


@pytest.mark.long
def test_the_claim_holds_for_all_twenty_seeds() -> None:
    found = {name: shares(name, range(20), 400) for name in SETTINGS}
    assert min(found["claim"] + found["gentle"]) >= 0.99
    assert np.mean(found["few"]) < 0.95
    assert np.mean(found["corner"]) < 0.6


RUN = ["+experiment=toy_growth", "toy.seeds=2"]
SVG = "{http://www.w3.org/2000/svg}"


def run(folder: Path, *overrides: str) -> int:
    return evo.run.main([*RUN, f"archive.root={folder}", *overrides])


def rows(folder: Path, table: str = "scopes") -> list[dict[str, Any]]:
    return Archive.open(folder).rows(table)


def test_a_run_archives_prints_and_draws_its_growths(tmp_path: Path, capsys: Capsys) -> None:
    assert run(tmp_path, "seed=7", "name=toy") == 0
    output = capsys.readouterr().out
    assert str(tmp_path / "toy") in output.replace("\n", "")
    assert re.search(r"│ +2 │", output)
    assert verify(Archive.open(tmp_path / "toy")).faults == []
    runs = list(dict.fromkeys(row["run_id"] for row in rows(tmp_path / "toy")))
    assert [run_id.rpartition(" ")[2] for run_id in runs] == ["7", "8"]
    for run_id in runs:
        own = [row for row in rows(tmp_path / "toy") if row["run_id"] == run_id]
        games = [row for row in own if row["scope"] == own[-1]["scope"]]
        for place, each in enumerate(games):
            assert (each["parent_game_id"] is None) == (each["generation"] == 0)
            assert (each["gamma"] is None) == (each["generation"] == 0)
            known = {game["game_id"] for game in games[:place]}
            assert each["parent_game_id"] is None or each["parent_game_id"] in known
    chart = ElementTree.parse(tmp_path / "toy" / "figure.svg").getroot()
    marks = [str(each.get("class")).split()[0] for each in chart.iter(f"{SVG}circle")]
    texts = [each.text or "" for each in chart.iter(f"{SVG}text")]
    [count] = filter(None, (re.match(r"(\d+) games$", text) for text in texts))
    assert (marks.count("game"), marks.count("start")) == (int(count[1]), 1)
    assert model.CLAIM in texts
