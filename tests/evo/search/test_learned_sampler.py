"""A search whose sampler learns from verdicts, on a executor that knows the true gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.search import PARENT, Killed, Nature, Search, code, limit

from meta_sampler import Outcome
from meta_sampler.learned.sampler import Learned
from meta_sampler.settings import LearnedSettings
from xgl import Game
from xgl.random_streams import stream

GROWING = ("growth.generations=2", "growth.list_size=2", "growth.max_candidates=6")
PATIENCE = 9
"""Jobs after which a session is killed."""


def by_hash(game_: Game) -> Nature:
    """A world with all sorts of games."""
    draw = stream("nature of learned", game_.game_id).random(3)
    if limit(game_) == PARENT and game_.code == code(PARENT).strip():
        return Nature()
    return Nature(
        own=0.0 if draw[0] < 0.15 else 10.0,
        teaches=0.2 + 0.8 * float(draw[1]),
        covered=0.7 * float(draw[2]),
    )


def without_seconds(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Writing takes other seconds each time."""
    for row in tables["proposals"]:
        del row["seconds"]
    return tables


class Overheard(Learned):
    """Keeps what it was told."""

    def __init__(self) -> None:
        super().__init__(LearnedSettings(steps=3))
        self.heard: list[Outcome] = []

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        super().observe(outcomes)
        self.heard += outcomes


@pytest.mark.long
def test_a_run_that_is_killed_again_and_again_ends_the_same(search: Search) -> None:
    """The archive is all that a resumed sampler learns from, and it learns the same."""

    def session(name: str, resume: bool, patience: int | None = None) -> list[Outcome]:
        sampler = Overheard()
        settings = {"name": name, "resume": resume, "patience": patience}
        assert search.run(by_hash, *GROWING, sampler=sampler, **settings) == 0  # type: ignore[arg-type]
        return sampler.heard

    outcomes, kills = session("whole", False), 0
    while True:
        try:
            again = session("killed", kills > 0, PATIENCE)
        except Killed:
            kills += 1
        else:
            break
    assert kills >= 2
    assert again == outcomes
    assert without_seconds(search.tables("killed")) == without_seconds(search.tables("whole"))
    assert {outcome.accepted for outcome in outcomes} == {True, False}
    for outcome in outcomes:
        assert outcome.code
        assert outcome.parent_code
        assert outcome.explanation
