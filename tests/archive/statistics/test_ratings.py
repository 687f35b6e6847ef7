"""From measured rounds to ratings: which scores are compared, what is left out, what rows say."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from support.rated import THREE, build, draw_scores, games

from archive import TABLES, Archive
from archive.errors import ArchiveError, RatingError
from archive.ratings.preferences import Preference
from archive.schema import TaskId
from archive.statistics.paired_scores import GameScores, PairedScores, read_paired_scores
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


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"digest": "other"}, "measure: found d and other"),
        ({"measure": {"judge": "smollm2", "dtype": "auto", "base": None, "m": 4}}, "judge"),
        ({"measure": {"judge": None, "dtype": "auto", "base": None, "m": 2}}, "number of levels"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(
    tmp_path: Path, changes: dict[str, object], what: str
) -> None:
    scores = draw_scores(0, THREE)
    first = build(tmp_path / "a", scores)
    second = build(tmp_path / "b", scores, run_id="later", **changes)
    with pytest.raises(RatingError, match=f"runs measured and later differ in their {what}"):
        read_scores(first, second)


def test_a_model_with_two_scores_on_one_map_is_refused(tmp_path: Path) -> None:
    first = build(tmp_path / "a", draw_scores(0, THREE))
    second = build(tmp_path / "b", draw_scores(1, THREE), run_id="later")
    with pytest.raises(RatingError, match="ann was measured twice on game"):
        read_scores(first, second)


def test_an_archive_without_measured_games_is_refused(tmp_path: Path) -> None:
    Archive.create(tmp_path / "a").close()
    with pytest.raises(RatingError, match="found no measured game"):
        read_scores(tmp_path / "a")


def test_a_single_map_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(RatingError, match="no game was played by a model on 2 maps"):
        read_scores(build(tmp_path / "a", draw_scores(0, THREE, maps=1)))


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


def test_models_that_are_alike_share_the_first_rank(tmp_path: Path) -> None:
    same = [np.arange(4.0), np.ones(4)]
    ratings = rate(build(tmp_path / "a", {"ann": same, "bob": same}))
    assert [each.rank for each in ratings.models] == [1, 1]
    assert [each.separates for each in ratings.games] == [None, None]


def test_one_model_is_rated_0(tmp_path: Path) -> None:
    ratings = rate(build(tmp_path / "a", draw_scores(0, {"ann": (1.0, 2.0)})))
    assert [each.rating.value for each in ratings.models] == pytest.approx([0.0])


def test_margins_need_levels(tmp_path: Path) -> None:
    margin = dataclasses.replace(QUESTION, preference=Preference.MARGIN)
    ratings = rate(build(tmp_path / "a", draw_scores(0, THREE), levels=(0, 2)), margin)
    assert len(ratings.games) == 2
    assert "it has no levels" in ratings.left_out[0]
    with pytest.raises(RatingError, match="found no game with levels"):
        rate(build(tmp_path / "b", draw_scores(0, THREE)), margin)


def test_without_resamples_there_are_no_bounds(tmp_path: Path) -> None:
    rows = rating_rows(
        rate(build(tmp_path / "a", draw_scores(0, THREE)), RatingQuestion(resamples=0))
    )
    assert {row["rating_low"] for row in rows} == {None}
    assert all(row["rating"] is not None for row in rows)


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


def test_only_the_games_and_models_that_are_named_are_rated(tmp_path: Path) -> None:
    folder = build(tmp_path / "a", draw_scores(0, THREE))
    tasks = [TaskId(games(3)[1].game_id, "black")]
    with Archive.open(folder) as archive:
        table = read_paired_scores([archive], ["ann", "cid"], tasks)
    assert (table.models, [game.task_id for game in table.games]) == (("ann", "cid"), tasks)


def test_the_schema_names_the_choices_that_there_are() -> None:
    columns = {column.name: column for column in TABLES["ratings"].columns}
    of_runs = tuple(each for each in Preference if each is not Preference.JUDGED)  # only of tables
    assert columns["preference"].values == of_runs


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


def test_copies_in_a_measure_do_not_change_ratings_of_the_others(
    tmp_path: Path,
) -> None:
    """Games under other ids, models under names that sort before and after their originals."""
    scores = draw_scores(0, THREE, maps=8)
    more_scores = {
        name: [game_scores[place] for place in (1, 0, 1, 2, 0)]
        for name, game_scores in {"abe": scores["cid"], **scores, "zoe": scores["ann"]}.items()
    }
    question = dataclasses.replace(QUESTION, resamples=6)
    ratings = rate(build(tmp_path / "a", scores), question)
    more = rate(build(tmp_path / "b", more_scores), question)
    models = {each.model: each for each in more.models}
    for one in ratings.models:
        for other in (one.model, {"cid": "abe", "ann": "zoe"}.get(one.model, one.model)):
            again = models[other]
            assert numbers(again.rating) == near(numbers(one.rating))
            assert numbers(again.cce_rating) == near(numbers(one.cce_rating))
            assert again.warm_rating == near(one.warm_rating)
            assert again.fitted_rating == near(one.fitted_rating)
            assert (again.first, again.rank == 1) == (one.first, one.rank == 1)
    ids = [each.game_id for each in games(3)]
    origins = (ids[1], ids[0], ids[1], ids[2], ids[0])
    origin = {each.game_id: index for each, index in zip(games(5), origins, strict=True)}
    for one in ratings.games:
        own = one.task_id.game_id
        alike = [each for each in more.games if origin[each.task_id.game_id] == own]
        assert len({each.equal_to for each in alike}) == 1
        for each in alike:
            assert numbers(each.rating) == near(numbers(one.rating))
            assert each.fitted_rating == near(one.fitted_rating)
        assert sum(each.mass.value for each in alike) == near(one.mass.value)
        assert sum(each.fitted_mass for each in alike) == near(one.fitted_mass)
    assert more.value == pytest.approx(ratings.value, abs=1e-5)
    assert more.fitted_value == pytest.approx(ratings.fitted_value, abs=1e-5)
    assert {name for pair in more.disagreements for name in pair} >= {
        name for pair in ratings.disagreements for name in pair
    }


def numbers(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.low, estimate.high


def near(value: object) -> object:
    return pytest.approx(value, abs=1e-6, nan_ok=True)


def test_more_outcomes_than_fit_into_memory_are_refused_before_they_are_computed() -> None:
    best = np.broadcast_to(np.zeros(1), (5_000, 40))
    game = GameScores(TaskId("g", "black"), "g", 1, best, None, np.full(5_000, np.nan))
    names = tuple(f"model {n}" for n in range(5_000))
    with pytest.raises(RatingError, match=r"40 maps of 5,000 models take 7\.5 GiB of outcomes"):
        measure_ratings(PairedScores(names, (game,), ()), QUESTION)
    with pytest.raises(RatingError, match="a game of 100 × 5,000 × 5,000 actions takes"):
        measure_ratings(PairedScores(names, (game,) * 100, ()), QUESTION)


@pytest.mark.parametrize("score", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_refused(score: float) -> None:
    best = np.array([[1.0, 2.0], [score, 3.0]])
    game = GameScores(TaskId("g", "black"), "g", 1, best, None, np.full(2, np.nan))
    with pytest.raises(RatingError, match=f"bob scored {score} on game g, expected numbers"):
        measure_ratings(PairedScores(("ann", "bob"), (game,), ()), QUESTION)


def test_an_archive_takes_no_score_that_is_no_number(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="score"):
        build(tmp_path / "a", {"ann": [np.array([1.0, np.nan])]})
