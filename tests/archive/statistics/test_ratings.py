"""From measured rounds to ratings: which scores are compared, what is left out, what rows say."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from rich.console import Console
from support.rated import RUN, THREE, Scores, build, draw_scores, games
from support.refusal import error_of
from support.rows import row, write

from archive import Archive
from archive.__main__ import main
from archive.errors import RatingError
from archive.ratings.preferences import Preference, wins
from archive.schema import TaskId
from archive.statistics import ratings as rating
from archive.views.ratings import as_json, show

Capsys = pytest.CaptureFixture[str]

QUESTION = rating.RatingQuestion(resamples=2)


def read(*folders: Path) -> rating.RatedBlock:
    return rating.measure_block([Archive.open(folder) for folder in folders], Preference.WIN)


def rate(folder: Path, question: rating.RatingQuestion = QUESTION) -> rating.MeasureRatings:
    return rating.rate_block(read(folder), question)


def test_scores_are_the_best_of_all_rounds_on_common_maps(tmp_path: Path) -> None:
    scores = draw_scores(0, THREE)
    block = read(build(tmp_path / "a", scores))
    assert block.models == ("ann", "bob", "cid")
    assert [task_id.game_id for task_id in block.tasks] == [g.game_id for g in games(3)]
    for place, outcomes in enumerate(block.outcomes):
        assert (outcomes == wins(np.stack([scores[m][place] for m in block.models]))).all()
    assert not block.left_out
    ids = {"policy_id": "eve", "game_id": games(3)[0].game_id, "role": "black", "round": 1}
    one_round = row("rounds", run_id=RUN, **ids, control=False, purpose="measure")
    write(tmp_path / "a", rounds=[one_round])  # on one map
    again = read(tmp_path / "a")
    assert np.array_equal(again.outcomes[0], block.outcomes[0]), "who is left out changes nothing"


def test_scores_are_of_the_rounds_up_to_the_one_that_is_measured(tmp_path: Path) -> None:
    """First rounds score in the opposite order."""
    whole = read(build(tmp_path / "a", draw_scores(0, THREE)))
    ids = {"run_id": RUN, "policy_id": "ann", "game_id": games(3)[0].game_id, "role": "black"}
    first = read(write(tmp_path / "a", measures=[row("measures", **ids, at_round=1)]))
    assert np.array_equal(first.outcomes[0], -whole.outcomes[0])
    assert np.array_equal(first.outcomes[1], whole.outcomes[1])


def test_a_complete_block_is_kept_and_the_rest_named(tmp_path: Path) -> None:
    scores = {name: list(each) for name, each in draw_scores(0, THREE).items()}
    scores["bob"] = scores["bob"][:2]
    scores["dan"] = scores["ann"][:1]
    block = read(build(tmp_path / "a", scores))
    assert (block.models, len(block.tasks)) == (("ann", "bob", "cid"), 2)
    assert block.left_out == (
        f"1 game is left out, with missing comparisons: {games(3)[2].game_id}",
        "1 model is left out, with missing comparisons: dan",
    )


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=5))
def test_no_block_is_larger(counts: list[list[int]]) -> None:
    """Every game has the same maps, of which each model played the first ones."""
    games_of, models = rating.largest_block([[{*range(n)} for n in game] for game in counts])
    sizes = [
        (size > 1, size * sum(all(game[model] >= 2 for model in some) for game in counts))
        for size in range(5)
        for some in combinations(range(4), size)
    ]
    assert (len(models) > 1, len(games_of) * len(models)) == max(
        s for s in sizes if s[1] or not s[0]
    )
    assert all(counts[game][model] >= 2 for game in games_of for model in models)


def test_the_model_that_wins_everything_is_first(tmp_path: Path, capsys: Capsys) -> None:
    skills = {"low": (0.0, 0.0), "high": (50.0, 50.0)}
    ratings = rate(build(tmp_path / "a", draw_scores(0, skills), levels=(0, 1)))
    high, low = ratings.models
    assert (high.model, high.rank, high.first) == ("high", 1, 1.0)
    assert [high.rating.value, low.rating.value] == pytest.approx([0, -1], abs=1e-6)
    assert high.elo > low.elo
    assert high.mean > low.mean
    assert ratings.games[0].separates == ("high", "low")
    show(ratings, Console(width=200))
    adds = capsys.readouterr().out.partition("adds to a model's NE rating")[2]
    assert ratings.games[0].task_id.label in adds, "what it takes from a model"
    assert ratings.above[0].tolist() == [0.5, 1.0]
    assert ratings.by_game.sum(axis=1) == pytest.approx([m.rating.value for m in ratings.models])


def test_a_game_in_two_roles_is_two_tasks(capsys: Capsys) -> None:
    tasks = tuple(TaskId("aaaa11110000ffff", role) for role in ("black", "alice"))
    outcomes = tuple(wins(np.array([[0.0, 0.0], [first, 1.0]])) for first in (2.0, 0.0))
    block = rating.RatedBlock(("ann", "bob"), tasks, outcomes, np.zeros(2), ())
    ratings = rating.rate_block(block, QUESTION)
    assert set(as_json(ratings)["by_game"]["ann"]) == {task.key for task in tasks}
    assert {game.separation for game in ratings.games} == {0.5, 1.0}, "whoever is the better one"
    show(ratings, Console(width=200))
    assert "aaaa1111:alice" in capsys.readouterr().out


def test_an_id_names_settings_models_games_and_outcomes(tmp_path: Path) -> None:
    first, again = (rate(build(tmp_path / n, draw_scores(0, THREE))) for n in "ab")
    others = [
        rate(build(tmp_path / "c", draw_scores(1, THREE))),
        rate(build(tmp_path / "d", draw_scores(0, {"eve": THREE["ann"]} | THREE))),
        rate(tmp_path / "a", QUESTION._replace(seed=1)),
    ]
    assert rating.rating_id(first) == rating.rating_id(again)
    assert rating.rating_id(first) not in map(rating.rating_id, others)


PLAIN = draw_scores(0, THREE)
OTHER_JUDGE = {"measure": {"judge": "smollm2", "dtype": "auto", "base": None, "m": 4}}


def ratings_json(capsys: Capsys, *folders: Path) -> dict[str, Any]:
    """What ``--json`` prints; the command must have succeeded."""
    assert main(["ratings", *map(str, folders), "--resamples", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize(
    ("scores", "ratings"),
    [
        ({"ann": PLAIN["ann"]}, {"ann": 0}),
        ({"ann": [np.ones(4)], "bob": [np.zeros(4)]}, {"ann": 0, "bob": -1}),
        ({name: [np.ones(4)] * 2 for name in THREE}, dict.fromkeys(THREE, 0)),
    ],
    ids=["one model", "one game", "all equal"],
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
    assert main(["ratings", str(folder), "--resamples", "0"]) == 0


def test_resamples_are_drawn_with_the_seed_of_the_run(tmp_path: Path, capsys: Capsys) -> None:
    document = ratings_json(capsys, build(tmp_path / "a", PLAIN, seed=7))
    assert rating.RatingQuestion(*document["question"].values()).seed == 7


def test_a_player_of_two_runs_is_one_while_its_plays_are_and_levels_are_shared(
    tmp_path: Path, capsys: Capsys
) -> None:
    near = {name: [each + 1e-4 for each in by_game] for name, by_game in PLAIN.items()}
    first, second = build(tmp_path / "a", PLAIN), build(tmp_path / "b", near, run_id="later")
    assert main(["ratings", str(first), str(second)]) == 0
    for folder, run_id, level in ((first, RUN, 1.0), (second, "later", 2.0)):
        ids = {"run_id": run_id, "policy_id": run_id, "game_id": games(1)[0].game_id}
        write(folder, measures=[row("measures", **ids, role="black", b=level)])
    capsys.readouterr()
    assert "found levels of b from 1 to 2 bits" in error_of(capsys, main, "ratings", first, second)


def test_runs_share_every_level() -> None:
    levels = dict.fromkeys(("b", "theta", "m", "floor"), 1.0)
    for name in levels:
        with pytest.raises(RatingError, match=f"found levels of {name} from 1 to 2 bits"):
            rating._require_same_levels(TaskId("game", "black"), [levels, levels | {name: 2.0}])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (OTHER_JUDGE, "differ in their judge: found None and smollm2"),
        ({"digest": "other"}, "differ in their measure: found d and other"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused_in_a_sentence(
    tmp_path: Path, capsys: Capsys, changes: dict[str, Any], message: str
) -> None:
    first = build(tmp_path / "a", PLAIN)
    second = build(tmp_path / "b", PLAIN, run_id="later", **changes)
    assert message in error_of(capsys, main, "ratings", first, second)
