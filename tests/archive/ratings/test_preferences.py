"""Models and tasks from paired outcomes: preferences, copies, uncertainty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as npst
from support.payoffs import antisymmetric, judge_means

from archive.errors import RatingError
from archive.ratings import preferences
from archive.ratings.paper import System, improvement_path, utilities
from archive.ratings.preferences import KING, REBEL, TASK, elo, king_of_the_hill, margins, wins
from archive.ratings.rating import EquilibriumKind, bootstrap, cross_fit, rate, rate_models

SCORES = npst.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=st.floats(-9, 9)
)


def sample_scores(seed: int, skills: np.ndarray, maps: int, noise: float = 1.0) -> np.ndarray:
    """Scores (models, maps) of models with ``skills`` on one game, bits."""
    return skills[:, None] + np.random.default_rng(seed).normal(0, noise, (len(skills), maps))


@given(SCORES)
def test_outcomes_are_antisymmetric_and_at_most_1(scores: np.ndarray) -> None:
    for outcomes in (wins(scores), margins(scores, 2.0)):
        assert outcomes.shape == (scores.shape[1], len(scores), len(scores))
        assert (outcomes == -outcomes.swapaxes(1, 2)).all()
        assert np.abs(outcomes).max() <= 1


@pytest.mark.parametrize("solution", list(EquilibriumKind))
def test_copies_of_games_and_models_do_not_change_ratings_of_the_others(
    solution: EquilibriumKind,
) -> None:
    """Ratings, intervals, and what maps say that the equilibrium did not see. Copies stand first,
    in the middle and last."""
    # four models on three games that order them differently
    skills = np.array([[3.0, 2, 1, 0], [1.0, 3, 0, 2], [0.5, 0.0, 0.5, 0.0]])
    outcomes = [wins(sample_scores(seed, each, 9)) for seed, each in enumerate(skills)]
    tasks, models = [1, 0, 1, 2, 1, 0], [3, 0, 1, 0, 2, 3]
    more = [outcomes[task][:, models][:, :, models] for task in tasks]
    results = []
    for each in (outcomes, more):
        board, fit = rate_models(each, solution), cross_fit(each, solution)
        resamples = bootstrap(each, solution, 2)
        results.append(
            (
                np.stack([board.ratings[KING], fit.models, *resamples.models]),
                np.stack([board.ratings[TASK], fit.tasks, *resamples.tasks]),
                np.stack([board.masses[TASK], fit.task_masses, *resamples.task_masses]),
            )
        )
    (own, of_tasks, masses), (own_more, of_tasks_more, masses_more) = results
    assert own_more == pytest.approx(own[:, models], abs=1e-6)
    assert of_tasks_more == pytest.approx(of_tasks[:, tasks], abs=1e-6)
    merged_masses = np.stack(
        [masses_more[:, np.array(tasks) == t].sum(axis=1) for t in range(3)], 1
    )
    assert merged_masses == pytest.approx(masses, abs=1e-6)


def test_copies_of_a_task_are_drawn_together() -> None:
    copies = [np.zeros((1, 2, 2))] * 2 + [wins(np.array([[1.0], [0.0]]))]
    drawn = {tuple(preferences.resample_tasks(copies, (seed,))[1].tolist()) for seed in range(20)}
    assert drawn == {(0, 1), (2,), (0, 1, 2)}


def test_cross_fitting_takes_away_what_noise_gave() -> None:
    """A game that tells models apart, behind games of few maps on which all models are alike."""
    told_apart = wins(sample_scores(0, np.array([0.4, 0.2, 0.0]), 200))
    outcomes = [told_apart, *(wins(sample_scores(seed, np.zeros(3), 6)) for seed in range(1, 5))]
    fit = cross_fit(outcomes, EquilibriumKind.NE)
    assert rate_models(outcomes, EquilibriumKind.NE).ratings[TASK][0] < -0.1
    assert fit.tasks[0] > 0.1
    assert fit.task_masses.sum() == pytest.approx(1)


def test_expected_wins_are_the_wins() -> None:
    table = judge_means(1, 20, 5)
    ratings = elo(table)
    chance = 1 / (1 + 10 ** ((ratings[None] - ratings[:, None]) / 400))
    wins = ((1 + table).sum(axis=0) + 1) / 2 / 21
    assert chance.sum(axis=1) == pytest.approx(wins.sum(axis=1), abs=1e-6)
    assert ratings.mean() == pytest.approx(1000)


def test_a_model_that_won_everything_has_an_elo() -> None:
    first, second, third = elo(antisymmetric(np.ones((2, 3, 3))))
    assert first > second > third


SMALL = {"prompts": 3, "models": 3, "candidates": 4, "improvements": 3, "iterations": 2}


@pytest.mark.parametrize("system", list(System))
def test_every_new_model_has_the_top_rating_when_it_enters(system: System) -> None:
    prompts, models, entropies = improvement_path(system, True, 0, **SMALL)
    assert (len(models), len(prompts), len(entropies)) == (5, 5, 3)
    assert prompts.sum(axis=1) == pytest.approx(1)
    if system is System.ELO:
        last = utilities(prompts, models).mean(axis=(0, 2))
    else:
        last = rate(king_of_the_hill(utilities(prompts, models))).ratings[KING]
    assert last[-1] == pytest.approx(last.max(), abs=1e-3)


def test_the_rebel_cannot_hide_behind_a_copy_of_the_king() -> None:
    places = [0, 0, 1]
    table = judge_means(0, 3, 2)[:, places][:, :, places]
    assert (king_of_the_hill(table).payoffs[REBEL][:, 0, 1] == -1).all()


def test_a_table_too_large_for_memory_is_refused_before_it_is_built() -> None:
    table = np.broadcast_to(np.zeros(1), (10_000_000, 10, 10))
    with pytest.raises(RatingError, match="rate fewer tasks or fewer models"):
        king_of_the_hill(table)
