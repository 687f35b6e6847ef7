"""``python -m archive ratings``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.rated import THREE, Scores, build, draw_scores

from archive.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resamples", "-1"], "--resamples: found -1, expected a whole number from 0 up"),
        (["--confidence", "2"], "--confidence: found 2, expected between 0.5 and 1"),
        (["--workers", "0"], "--workers: found 0, expected a whole number from 1 up"),
        (["--preference", "margin"], "found no game with levels"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    folder = build(tmp_path / "a", draw_scores(0, THREE))
    assert main(["ratings", str(folder), *arguments]) == 2
    assert message in capsys.readouterr().err


# -- tables that are hardly any, and those that are none -----------------------------------------

PLAIN = draw_scores(0, THREE)
OTHER_JUDGE = {"measure": {"judge": "smollm2", "dtype": "auto", "base": None, "m": 4}}
OTHER_LEVELS = {"measure": {"judge": None, "dtype": "auto", "base": None, "m": 8}}


def ratings_json(capsys: pytest.CaptureFixture[str], *folders: Path) -> dict[str, Any]:
    """What ``--json`` prints; the command must have succeeded."""
    assert main(["ratings", *map(str, folders), "--resamples", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize(
    ("scores", "ratings"),
    [
        ({"ann": PLAIN["ann"]}, {"ann": 0}),
        ({"ann": [np.ones(4)], "bob": [np.zeros(4)]}, {"ann": 0, "bob": -1}),
        ({name: [np.ones(4)] * 2 for name in THREE}, dict.fromkeys(THREE, 0)),
        (
            {"ann": [np.array([1.0, 0.0])] * 2, "bob": [np.array([0.0, 1.0])] * 2},
            {"ann": 0, "bob": 0},
        ),
    ],
    ids=["one model", "one game", "all equal", "as many wins"],
)
def test_a_nearly_empty_table_is_rated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scores: Scores, ratings: dict[str, float]
) -> None:
    folder = build(tmp_path / "a", scores)
    document = ratings_json(capsys, folder)
    assert {m["model"]: m["rating"]["value"] for m in document["models"]} == pytest.approx(
        ratings, abs=1e-6
    )
    assert sum(game["mass"]["value"] for game in document["games"]) == pytest.approx(1)
    assert main(["ratings", str(folder), "--resamples", "3"]) == 0


def test_models_on_different_maps_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = build(tmp_path / "a", {name: PLAIN[name] for name in ("ann", "bob")})
    second = build(tmp_path / "b", {"cid": PLAIN["cid"]}, run_id="later", first_map=50)
    document = ratings_json(capsys, first, second)
    assert {each["model"] for each in document["models"]} == {"ann", "bob"}
    assert "model cid is left out: it shares too few maps" in document["notes"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (OTHER_JUDGE, "differ in their judge: found None and smollm2"),
        (OTHER_LEVELS, "differ in their number of levels: found 4 and 8"),
        ({"seed": 1}, "differ in their seed: found 0 and 1"),
        ({"digest": "other"}, "differ in their measure: found d and other"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], message: str
) -> None:
    first = build(tmp_path / "a", PLAIN)
    second = build(tmp_path / "b", PLAIN, run_id="later", **changes)
    check_refusal(capsys, message, first, second)


def test_what_is_no_measured_run_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_refusal(capsys, "nowhere", tmp_path / "nowhere")
    check_refusal(
        capsys,
        "no game was played by a model on 2 maps",
        build(tmp_path / "a", draw_scores(0, THREE, 1)),
    )


def check_refusal(capsys: pytest.CaptureFixture[str], message: str, *folders: Path) -> None:
    assert main(["ratings", *map(str, folders)]) == 2
    answer = capsys.readouterr().err
    assert message in answer
    assert "Traceback" not in answer
    assert len(answer.strip().splitlines()) == 1
