"""Going on after a kill at any point, on a workshop that knows the true gains."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from support.search import PARENT, PURPOSES, Killed, Nature, Search, by_hash, code

from archive import Archive, Purpose
from evo.evaluate import evaluation_seeds
from evo.laboratory import Evaluation
from xgl import Game

GROWING = ("growth.generations=2", "growth.list_size=2", "growth.max_candidates=7")


class Tired:
    """Lets an archive make so many commits, then kills the run before the next."""

    def __init__(self, commits: int) -> None:
        self.left = commits
        self.commit = Archive.commit

    def __call__(self, archive: Archive, rows: dict[str, Any]) -> int:
        if any(rows.get(table) for table in rows if table != "runs"):
            if self.left == 0:
                raise Killed
            self.left -= 1
        return self.commit(archive, rows)


def _finish_by_steps(search: Search, start: Callable[[bool], int]) -> int:
    """Kill and resume until a session gets to the end; returns how often that was."""
    for kills in range(500):
        try:
            assert start(kills > 0) == 0
        except Killed:
            continue
        return kills
    raise AssertionError("the run never ends")


@pytest.mark.parametrize("policies", [1, 3])
def test_a_run_killed_after_every_single_job_ends_the_same(search: Search, policies: int) -> None:
    growing = (*GROWING, f"player.policies_per_pass={policies}")
    assert search.run(by_hash, *growing, name="whole") == 0
    jobs, whole = len(search.workshop.jobs), search.tables("whole")
    widest = max(len(job.adapters) for job in search.workshop.jobs if isinstance(job, Evaluation))
    assert widest == policies

    def start(resume: bool) -> int:
        return search.run(by_hash, *growing, patience=1, name="killed", resume=resume)

    assert _finish_by_steps(search, start) >= jobs - 1
    assert search.tables("killed") == whole
    assert search.adapters("killed") == search.adapters("whole")
    verdicts = {row["verdict"] for row in whole["decisions"]}
    assert {"accepted", "refused"} <= verdicts


def test_a_run_killed_at_every_single_commit_ends_the_same(search: Search) -> None:
    assert search.run(by_hash, *GROWING, "seed=0", name="whole") == 0
    whole = search.tables("whole")

    def start(resume: bool) -> int:
        with pytest.MonkeyPatch.context() as patch:
            tired = Tired(1)
            patch.setattr(Archive, "commit", lambda archive, rows: tired(archive, rows))
            return search.run(by_hash, *GROWING, "seed=0", name="killed", resume=resume)

    assert _finish_by_steps(search, start) > 10
    assert search.tables("killed") == whole
    assert search.adapters("killed") == search.adapters("whole")
    events = [row["event"] for row in search.rows("runs", "killed")]
    assert events[0] == "created"
    assert events[-1] == "finished"
    assert set(events[1:-1]) == {"resumed"}


def test_a_finished_run_has_nothing_left_to_do(search: Search) -> None:
    search.run(by_hash, *GROWING)
    before = search.tables("run")
    assert search.run(by_hash, resume=True) == 0
    assert search.workshop.jobs == []
    assert search.tables("run") == before


def test_an_interrupt_leaves_what_is_committed_and_says_how_to_go_on(
    search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(played: Game) -> Nature:
        if len(search.workshop.jobs) == 5:
            raise KeyboardInterrupt
        return by_hash(played)

    assert search.run(stop, *GROWING) == 130
    assert f"python -m evo.run resume={search.folder / 'run'}" in capsys.readouterr().out
    assert search.rows("runs")[-1]["event"] == "interrupted"
    assert search.rows("scores")
    assert search.run(by_hash, resume=True) == 0
    search.run(by_hash, *GROWING, name="whole")
    assert search.tables("run") == search.tables("whole")


def test_a_run_does_not_go_on_from_another_game(
    search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Killed):
        search.run(by_hash, *GROWING, patience=2)
    before = search.tables("run")
    (search.folder / "parent.xent").write_text(code(PARENT + 1))
    assert search.run(by_hash, resume=True) == 2
    assert re.match(
        r"error: growth\.initial_scope: \S+parent\.xent has changed since", capsys.readouterr().err
    )
    assert search.tables("run") == before
    assert [row["event"] for row in search.rows("runs")] == ["created"]


def test_a_run_killed_before_it_said_that_it_began_starts_anew(search: Search) -> None:
    with Archive.create(search.folder / "run" / "archive"):
        pass
    assert search.run(by_hash, *GROWING) == 0
    assert search.rows("runs")[0]["event"] == "created"


def test_another_seed_is_another_search(search: Search) -> None:
    search.run(by_hash, *GROWING, name="one")
    PURPOSES.update(
        {s.map_seed: p for p in Purpose for s in evaluation_seeds(p, 1, 300)}  # run seed 1
    )
    search.run(by_hash, *GROWING, "seed=1", name="two")
    texts = [[row["text"] for row in search.rows("proposals", name)] for name in ("one", "two")]
    assert texts[0] != texts[1]
