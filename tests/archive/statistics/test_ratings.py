"""From measured rounds to ratings: which scores are compared, what is left out, what rows say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.rated import THREE, Scores, build, draw_scores, games

from archive import TABLES, Archive
from archive.__main__ import main
from archive.errors import RatingError
from archive.statistics.measure import PairedScores, read_paired_scores
from archive.statistics.ratings import (
    MeasureRatings,
    RatingQuestion,
    measure_ratings,
    rating_rows,
)

Capsys = pytest.CaptureFixture[str]

QUESTION = RatingQuestion(resamples=2)


def read_scores(*folders: Path) -> PairedScores:
    return read_paired_scores([Archive.open(folder) for folder in folders])


def rate(folder: Path, question: RatingQuestion = QUESTION) -> MeasureRatings:
    return measure_ratings(read_scores(folder), question)


def test_scores_are_the_best_of_all_rounds_on_common_maps(tmp_path: Path) -> None:
    scores = draw_scores(0, THREE)
    table = read_scores(build(tmp_path / "a", scores))
    assert table.models == ("ann", "bob", "cid")
    assert [game.task_id.game_id for game in table.games] == [g.game_id for g in games(3)]
    for place, game in enumerate(table.games):
        assert game.best == pytest.approx(np.stack([scores[m][place] for m in table.models]))
    assert not table.left_out


def test_two_runs_on_one_measure_are_one_table(tmp_path: Path) -> None:
    scores = draw_scores(0, THREE)
    first = build(tmp_path / "a", {name: scores[name] for name in ("ann", "bob")})
    second = build(tmp_path / "b", {name: scores[name] for name in ("bob", "cid")}, run_id="later")
    assert read_scores(first, second).models == ("ann", "bob", "cid")


def test_the_largest_complete_block_is_kept_and_the_rest_named(tmp_path: Path) -> None:
    scores = {name: list(each) for name, each in draw_scores(0, THREE).items()}
    scores["bob"] = scores["bob"][:2]
    scores["dan"] = scores["ann"][:1]
    table = read_scores(build(tmp_path / "a", scores))
    assert len(table.models) * len(table.games) == 6
    assert table.models == ("ann", "bob", "cid")
    third = games(3)[2].game_id
    first, second = table.left_out
    assert first == f"model dan is left out: it has not played {games(3)[1].game_id}"
    assert second == f"game {third} is left out: bob has not played it"


def test_a_model_with_two_scores_on_one_map_is_refused(tmp_path: Path) -> None:
    first = build(tmp_path / "a", draw_scores(0, THREE))
    second = build(tmp_path / "b", draw_scores(1, THREE), run_id="later")
    with pytest.raises(RatingError, match="ann was measured twice on game"):
        read_scores(first, second)


def test_the_model_that_wins_everything_is_first(tmp_path: Path) -> None:
    skills = {"low": (0.0, 0.0), "high": (50.0, 50.0)}
    ratings = rate(build(tmp_path / "a", draw_scores(0, skills), levels=(0, 1)))
    high, low = ratings.models
    assert (high.model, high.rank, high.first) == ("high", 1, 1.0)
    assert high.rating.value == pytest.approx(0, abs=1e-6)
    assert low.rating.value == pytest.approx(-1, abs=1e-6)
    assert high.elo > low.elo
    assert high.mean > low.mean
    assert ratings.games[0].separates == ("high", "low")
    assert ratings.above[0].tolist() == [0.5, 1.0]
    assert ratings.by_game.sum(axis=1) == pytest.approx([m.rating.value for m in ratings.models])


def test_rows_have_every_column(tmp_path: Path) -> None:
    folder = build(tmp_path / "a", draw_scores(0, THREE), levels=(0, 1, 2))
    rows = [{"run_id": "measured", **row} for row in rating_rows(rate(folder))]
    assert all(set(row) == set(TABLES["ratings"].names) for row in rows)


# -- ``python -m archive ratings``: tables that are hardly any, and those that are none ------------


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
    tmp_path: Path, capsys: Capsys, arguments: list[str], message: str
) -> None:
    folder = build(tmp_path / "a", draw_scores(0, THREE))
    assert main(["ratings", str(folder), *arguments]) == 2
    assert message in capsys.readouterr().err


PLAIN = draw_scores(0, THREE)
OTHER_JUDGE = {"measure": {"judge": "smollm2", "dtype": "auto", "base": None, "m": 4}}
OTHER_LEVELS = {"measure": {"judge": None, "dtype": "auto", "base": None, "m": 8}}


def ratings_json(capsys: Capsys, *folders: Path) -> dict[str, Any]:
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
    tmp_path: Path, capsys: Capsys, scores: Scores, ratings: dict[str, float]
) -> None:
    folder = build(tmp_path / "a", scores)
    document = ratings_json(capsys, folder)
    assert {m["model"]: m["rating"]["value"] for m in document["models"]} == pytest.approx(
        ratings, abs=1e-6
    )
    assert sum(game["mass"]["value"] for game in document["games"]) == pytest.approx(1)
    assert main(["ratings", str(folder), "--resamples", "3"]) == 0


def test_models_on_different_maps_are_not_compared(tmp_path: Path, capsys: Capsys) -> None:
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
    tmp_path: Path, capsys: Capsys, changes: dict[str, Any], message: str
) -> None:
    first = build(tmp_path / "a", PLAIN)
    second = build(tmp_path / "b", PLAIN, run_id="later", **changes)
    check_refusal(capsys, message, first, second)


def test_what_is_no_measured_run_is_refused_in_a_sentence(tmp_path: Path, capsys: Capsys) -> None:
    check_refusal(capsys, "nowhere", tmp_path / "nowhere")
    check_refusal(
        capsys,
        "no game was played by a model on 2 maps",
        build(tmp_path / "a", draw_scores(0, THREE, 1)),
    )


def check_refusal(capsys: Capsys, message: str, *folders: Path) -> None:
    assert main(["ratings", *map(str, folders)]) == 2
    answer = capsys.readouterr().err
    assert message in answer
    assert len(answer.strip().splitlines()) == 1
