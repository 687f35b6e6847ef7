"""The simulated path of improvement, and redundant tasks against one model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from archive.ratings.paper import (
    PathSettings,
    System,
    adversarial_tasks,
    improvement_path,
    judged_preferences,
    skill_entropy,
    utilities,
    with_copies,
)
from archive.ratings.preferences import KING, elo, king_of_the_hill
from archive.ratings.rating import rate

SMALL = {"prompts": 3, "models": 3, "candidates": 4, "improvements": 3, "iterations": 2}


def test_utilities_are_differences_of_what_a_prompt_asks_for() -> None:
    payoffs = utilities(np.array([[1.0, 0.0]]), np.array([[0.5, 9.0], [0.2, 0.0]]))
    assert payoffs[0] == pytest.approx(np.array([[0, 0.3], [-0.3, 0]]))


def test_entropy_is_that_of_the_mean_vector() -> None:
    assert skill_entropy(np.eye(4)) == pytest.approx(math.log(4))
    assert skill_entropy(np.array([[2.0, 0.0], [4.0, 0.0]])) == 0


@pytest.mark.parametrize("system", list(System))
def test_every_new_model_has_the_top_rating_when_it_enters(system: System) -> None:
    settings = PathSettings(system, additional=True, **SMALL)
    path = improvement_path(settings, 0)
    assert len(path.models) == len(path.prompts) == 5
    assert len(path.model_entropies) == 3
    assert path.prompts.sum(axis=1) == pytest.approx(1)
    if system is System.ELO:
        last = utilities(path.prompts, path.models).mean(axis=(0, 2))
    else:
        last = rate(king_of_the_hill(utilities(path.prompts, path.models))).ratings[KING]
    assert last[-1] == pytest.approx(last.max(), abs=1e-3)


def test_without_additional_prompts_they_stay_what_they_were() -> None:
    path = improvement_path(PathSettings(System.ELO, additional=False, **SMALL), 1)
    assert len(path.prompts) == 3
    assert path.prompt_entropies[0] == path.prompt_entropies[-1]


def test_the_same_seed_gives_the_same_path() -> None:
    settings = PathSettings(System.ELO, additional=True, **SMALL)
    one, other = (improvement_path(settings, 4).models for _ in range(2))
    assert one.tobytes() == other.tobytes()


def test_redundant_tasks_move_elo_and_leave_equilibrium_ratings() -> None:
    random = np.random.default_rng(0)
    table = judged_preferences(12, 4, random)
    assert (table == -table.swapaxes(1, 2)).all()
    leader = int(np.argmax(elo(table, 1.0)))
    places = adversarial_tasks(table, leader, 40, random)
    mean = table[:, leader].mean(axis=1)
    assert mean[places].mean() < mean.mean()
    more = with_copies(table, places, random)
    assert elo(more, 1.0)[leader] < elo(table, 1.0)[leader] - 10
    before = rate(king_of_the_hill(table)).ratings[KING]
    assert rate(king_of_the_hill(more)).ratings[KING] == pytest.approx(before, abs=1e-6)


def test_near_copies_differ_by_no_more_than_the_jitter() -> None:
    random = np.random.default_rng(0)
    table = judged_preferences(5, 3, random)
    near = with_copies(table, np.array([2]), random, 0.01)[-1]
    assert 0 < np.abs(near - table[2]).max() <= 0.01
