"""Which fine-tunes speak for a game (evo/record/collector.py)."""

from __future__ import annotations

from archive.schema import TaskId
from evo.record.collector import Attempts

PARENT, CHILD, OTHER = (TaskId(name, "black") for name in ("parent", "child", "other"))


def seed_of(attempts: Attempts, task_id: TaskId, replicate: int) -> int:
    """Of a fine-tune of the best attempt."""
    return attempts.training_seed(attempts.repetition(task_id, 0, replicate))


def test_games_share_training_seeds_until_one_is_trained_again() -> None:
    attempts = Attempts(run_seed=5, replicates=2)
    assert seed_of(attempts, PARENT, 1) == seed_of(attempts, OTHER, 1)
    assert seed_of(attempts, PARENT, 0) != seed_of(attempts, PARENT, 1)
    attempts.replace(PARENT)
    seeds = {seed_of(attempts, task, r) for task in (PARENT, OTHER) for r in (0, 1)}
    assert len(seeds) == 4


def test_a_child_is_trained_under_the_seeds_of_its_parent_when_first_met() -> None:
    attempts = Attempts(0, 1)
    attempts.replace(PARENT)
    attempts.follow(CHILD, PARENT)
    assert seed_of(attempts, CHILD, 0) == seed_of(attempts, PARENT, 0)
    attempts.replace(PARENT)
    attempts.follow(CHILD, PARENT)
    assert seed_of(attempts, CHILD, 0) != seed_of(attempts, PARENT, 0)
    attempts.replace(CHILD)
    assert attempts.of(CHILD) == (2,), "a fresh seed, not one that it had"


def test_of_several_attempts_the_preferred_speak_in_their_order() -> None:
    attempts = Attempts(0, 1)
    attempts.add(PARENT)
    attempts.add(PARENT)
    assert (attempts.of(PARENT), attempts.count(PARENT)) == ((0, 1, 2), 3)
    attempts.prefer(PARENT, [2, 0])
    assert attempts.of(PARENT) == (2, 0)
    attempts.add(PARENT)
    assert attempts.of(PARENT) == (2, 0, 3)
    attempts.follow(CHILD, PARENT)
    assert attempts.of(CHILD) == (2,)
