"""What the report shows of the best plays is archived when a run finishes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.search import Listed, Nature, Search, code, of_limits

from archive import Archive
from archive.report.from_archive import gather_report
from archive.report.token_bits import with_token_bits
from archive.verification import verify
from evo.jobs.job import TokenScoring

NEW = Nature(teaches=0.9, covered=0.1)


@pytest.fixture
def search(tmp_path: Path) -> Search:
    return Search(tmp_path, sampler=Listed([code(4)]))


def shown(folder: Path) -> tuple[Any, ...]:
    """The games of the report, without a judge."""
    with Archive.open(folder / "archive") as archive:
        assert verify(archive).faults == []
        return with_token_bits(gather_report(archive), archive, ask_judge=False).games


def test_every_play_of_the_report_has_its_bits(search: Search) -> None:
    assert search.run(of_limits(l4=NEW)) == 0
    games = shown(search.folder / "run")
    assert len(games) == 2
    for game in games:
        assert len(game.plays) == 3
        assert [sum(term.bits for term in play.terms) for play in game.plays] == [
            play.score for play in game.plays
        ]
        assert game.no_bits == ""


def test_they_are_scored_once(search: Search) -> None:
    world = of_limits(l4=NEW)
    assert search.run(world) == 0
    assert [job for job in search.executor.jobs if isinstance(job, TokenScoring)]
    before = search.rows("scored_texts")
    assert search.run(world, resume=True) == 0
    assert search.executor.jobs == []
    assert search.rows("scored_texts") == before


def test_a_run_that_a_budget_ended_is_scored_when_it_finishes(search: Search) -> None:
    world = of_limits(l4=NEW)
    assert search.run(world, name="whole") == 0
    assert search.run(world, "budget.tokens=1500", name="parts") == 0
    assert search.rows("scored_texts", "parts") == []
    assert search.go_on(world, "budget.tokens=null", name="parts") == 0
    assert search.tables("parts")["scored_texts"] == search.tables("whole")["scored_texts"]
