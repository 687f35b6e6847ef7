"""Which fine-tunes speak for a game (evo/record/attempts.py)."""

from __future__ import annotations

from archive.schema import TaskId
from evo.record.attempts import Attempts

PARENT, CHILD, OTHER = (TaskId(name, "black") for name in ("parent", "child", "other"))


def test_games_share_training_seeds_until_one_is_trained_again() -> None:
    attempts = Attempts(run_seed=5, replicates=2)
    assert attempts.training_seed(PARENT, 0, 1) == attempts.training_seed(OTHER, 0, 1)
    assert attempts.training_seed(PARENT, 0, 0) != attempts.training_seed(PARENT, 0, 1)
    attempts.replace(PARENT)
    seeds = {attempts.training_seed(task, 0, r) for task in (PARENT, OTHER) for r in (0, 1)}
    assert len(seeds) == 4


def test_a_child_is_trained_under_the_seeds_of_its_parent_when_first_met() -> None:
    attempts = Attempts(0, 1)
    attempts.replace(PARENT)
    attempts.follow(CHILD, PARENT)
    assert attempts.training_seed(CHILD, 0, 0) == attempts.training_seed(PARENT, 0, 0)
    attempts.replace(PARENT)
    attempts.follow(CHILD, PARENT)
    assert attempts.training_seed(CHILD, 0, 0) != attempts.training_seed(PARENT, 0, 0)
    attempts.replace(CHILD)
    assert attempts.of(CHILD) == (2,), "a fresh seed, not one that it had"


def test_of_several_attempts_the_preferred_speak_in_their_order() -> None:
    attempts = Attempts(0, 1)
    attempts.add(PARENT)
    attempts.add(PARENT)
    assert (attempts.of(PARENT), attempts.made(PARENT)) == ((0, 1, 2), 3)
    attempts.prefer(PARENT, [2, 0])
    assert attempts.of(PARENT) == (2, 0)
    attempts.add(PARENT)
    assert attempts.of(PARENT) == (2, 0, 3)
    attempts.follow(CHILD, PARENT)
    assert attempts.of(CHILD) == (2,)
