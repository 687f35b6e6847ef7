"""Budgets: reaching one ends the run at a commit, raising it goes on to the same end."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from support.search import GROWING, Listed, Nature, Search, by_hash, code, of_limits

from meta_sampler import BudgetReachedError, Proposal
from xgl import Game

Capsys = pytest.CaptureFixture[str]


@pytest.mark.long
@pytest.mark.parametrize(("name", "step"), [("tokens", 7_000), ("seconds", 300)])
def test_a_budget_raised_step_by_step_leads_to_the_same_end(
    search: Search, growth: Search, capsys: Capsys, name: str, step: int
) -> None:
    assert search.run(by_hash, *GROWING, f"budget.{name}={step}") == 0
    commits, limit = 0, step
    while search.rows("runs")[-1]["event"] == "out_of_budget":
        output = capsys.readouterr().out
        assert re.search(rf"ended    budget\.{name}={limit} is reached: .* tokens", output)
        assert f"resume={search.folder / 'run'} budget.{name}={2 * limit}" in output
        assert search.run(by_hash, resume=True) == 2, "nothing was raised"
        error = capsys.readouterr().err
        assert re.match(rf"error: budget\.{name}: found {limit}, expected more than", error)
        limit, commits = limit + step, commits + 1
        assert search.go_on(by_hash, f"budget.{name}={limit}") == 0
    assert commits >= 2
    assert search.tables("run") == growth.tables("whole")
    events = [row["event"] for row in search.rows("runs")]
    assert events == ["created", *["out_of_budget", "resumed"] * commits, "finished"]


def test_generations_are_raised_like_a_budget(search: Search, capsys: Capsys) -> None:
    free = ("growth.list_size=2", "growth.max_accepts_per_parent=1", "growth.max_candidates=null")
    assert search.run(by_hash, *free, "growth.generations=3", name="whole") == 0
    assert search.run(by_hash, *free, "growth.generations=1") == 0
    output = capsys.readouterr().out
    assert "growth.generations=1 is reached" in output
    assert f"resume={search.folder / 'run'} growth.generations=2" in output
    assert search.go_on(by_hash, "growth.generations=3") == 0
    search.check_went_on("run", "whole")


def test_the_end_of_a_run_says_why(search: Search, capsys: Capsys) -> None:
    search.run(by_hash, *GROWING)
    output = capsys.readouterr().out
    assert "ended    growth.max_candidates=7 is reached" in output
    assert "resume=" not in output
    useless = of_limits(l7=Nature(teaches=0.0))
    search.run(useless, "growth.list_size=1", sampler=Listed([code(7)]), name="other")
    output = capsys.readouterr().out
    assert "ended    the last generation accepted nothing" in output
    assert "resume=" not in output


class Spent:
    """A meta-sampler whose own budget is spent."""

    def propose(
        self, parent: Game, scope: Sequence[Game], n: int, seed: int, role: str = "black"
    ) -> list[Proposal]:
        raise BudgetReachedError("meta_sampler.settings.dollars=2 is reached: 2.01 dollars spent")

    def observe(self, outcomes: object) -> None:
        pass


def test_a_meta_sampler_that_has_spent_its_own_budget_ends_the_run(
    search: Search, capsys: Capsys
) -> None:
    assert search.run(of_limits(), sampler=Spent()) == 0  # type: ignore[arg-type]
    output = capsys.readouterr().out
    assert "ended    meta_sampler.settings.dollars=2 is reached" in output
    assert f"resume   python -m evo.run resume={search.folder / 'run'}\n" in output
    assert [row["event"] for row in search.rows("runs")] == ["created", "out_of_budget"]
