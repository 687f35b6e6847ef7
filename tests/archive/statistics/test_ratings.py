"""From measured rounds to ratings: which scores are compared, what is left out, what rows say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.rated import THREE, build, draw_scores, games

from archive import TABLES, Archive
from archive.errors import RatingError
from archive.schema import TaskId
from archive.statistics.measure import GameScores, PairedScores, read_paired_scores
from archive.statistics.ratings import (
    Estimate,
    MeasureRatings,
    RatingQuestion,
    measure_ratings,
    rating_rows,
)
from archive.verification.derivations import ratings as verified

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


def test_rows_can_be_computed_again_and_a_changed_one_is_found(
    tmp_path: Path,
) -> None:
    folder = build(tmp_path / "a", draw_scores(0, THREE), levels=(0, 1, 2))
    rows = rating_rows(rate(folder, QUESTION))
    assert all(set(row) | {"run_id"} == set(TABLES["ratings"].names) for row in rows)
    run_rows = [{"run_id": "measured", **row} for row in rows]
    with Archive.open(folder, "a") as archive:
        archive.commit({"ratings": run_rows})
    with Archive.open(folder) as archive:
        assert list(verified(archive)) == []
    with Archive.open(folder, "a") as archive:
        archive.commit({"ratings": [row | {"rating_id": "x", "mass": 0.123} for row in run_rows]})
    with Archive.open(folder) as archive:
        faults = [str(each) for each in verified(archive)]
    assert any("mass 0.123" in each for each in faults)


def test_ratings_of_one_of_several_runs_in_an_archive_are_computed_again(tmp_path: Path) -> None:
    first = build(tmp_path / "a", draw_scores(0, THREE))
    rows = [{"run_id": "measured", **row} for row in rating_rows(rate(first))]
    with Archive.open(first, "a") as archive:
        archive.commit({"ratings": rows})
    build(tmp_path / "b", draw_scores(1, THREE), run_id="later", digest="other")
    with Archive.open(tmp_path / "b") as other, Archive.open(first, "a") as archive:
        run_tables = [name for name in TABLES if name not in ("games", "maps")]
        archive.commit({name: other.rows(name) for name in run_tables})
    with Archive.open(first) as archive:
        assert list(verified(archive)) == []


def numbers(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.low, estimate.high


@pytest.mark.parametrize("score", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_refused(score: float) -> None:
    best = np.array([[1.0, 2.0], [score, 3.0]])
    game = GameScores(TaskId("g", "black"), "g", 1, best, None, np.full(2, np.nan))
    with pytest.raises(RatingError, match=f"bob scored {score} on game g, expected numbers"):
        measure_ratings(PairedScores(("ann", "bob"), (game,), ()), QUESTION)
