"""``+experiment=ratings_paper`` from the entry down: rows, page, resuming, mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any
from xml.etree import ElementTree

import pytest

import evo.run
from archive import Archive
from archive.verification import verify
from evo.config.compose import load
from evo.experiments import ratings_paper as paper

Capsys = pytest.CaptureFixture[str]
SMALL = ["+experiment=ratings_paper", "ratings_paper.trials=1", "ratings_paper.workers=1"]


@pytest.fixture(autouse=True, scope="module")
def _small_tables() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        path = {"prompts": 3, "models": 3, "candidates": 4, "improvements": 3, "iterations": 2}
        sizes = {"PATH": paper.PATH | path, "TASKS": 10, "MODELS": 4}
        for name, size in (sizes | {"COPIES": (0, 20), "NEAR_COPIES": (20,)}).items():
            patch.setattr(paper, name, size)
        yield


def run(folder: Path, *overrides: str) -> int:
    return evo.run.main([*SMALL, f"archive.root={folder}", *overrides])


def rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    with Archive.open(folder / "archive") as archive:
        assert not verify(archive).faults
        return {name: archive.rows(name) for name in (paper.PATHS, paper.REDUNDANCY)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that came to its end."""
    root = tmp_path_factory.mktemp("runs")
    assert run(root, "name=whole") == 0
    return root / "whole"


def test_exact_copies_move_elos_leader_under_elo_and_not_under_equilibria(whole: Path) -> None:
    found = rows(whole)[paper.REDUNDANCY]
    ranked = {system: paper.leader_ranks(found, False, system) for system in ("elo", "ne", "cce")}
    assert ranked["elo"][0] == 1 != ranked["elo"][20]
    for system in ("ne", "cce"):
        assert ranked[system][20] == ranked[system][0]


@pytest.mark.long
def test_the_leader_falls_under_elo_and_stays_first_at_equilibrium(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = {"TASKS": 200, "MODELS": 17, "COPIES": (0, 250), "NEAR_COPIES": (1000,)}
    for name, size in sizes.items():
        monkeypatch.setattr(paper, name, size)
    config = load(paper.RatingsPaperRunConfig, ["+experiment=ratings_paper"])
    ranked = {}
    for job in paper.jobs(config):
        copies, system = job.key.get("copies"), job.key["system"]
        exact = job.table == paper.REDUNDANCY and job.key["jitter"] == 0.0
        if exact and copies in (0, 250) and system in ("elo", "ne", "cce"):
            ranked[copies, system] = {row["model"]: row["rank"] for row in job.work()}[0]
    assert [ranked[0, system] for system in ("elo", "ne", "cce")] == [1, 1, 1]
    assert ranked[250, "elo"] > 5
    assert [ranked[250, system] for system in ("ne", "cce")] == [1, 1]


def test_every_figure_is_drawn(whole: Path) -> None:
    for name in ("improvement", "sequence", "redundancy"):
        figure = ElementTree.parse(whole / f"{name}.svg").getroot()
        assert len(list(figure.iter())) > 20


def test_a_resumed_run_adds_trials_and_computes_nothing_twice(
    tmp_path: Path, whole: Path, capsys: Capsys
) -> None:
    copytree(whole, tmp_path / "parts")
    before = rows(whole)[paper.PATHS]
    assert evo.run.main([f"resume={tmp_path / 'parts'}", "ratings_paper.trials=2"]) == 0
    output = capsys.readouterr().out
    assert "system equilibrium, prompt_setting additional, trial 1" in output
    assert "4 of 4: " in output
    after = rows(tmp_path / "parts")[paper.PATHS]
    assert after[: len(before)] == before
    assert len(after) == 2 * len(before)
