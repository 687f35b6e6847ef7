"""Fine-tunes that pause at a first rung, and the comparisons at the whole budget."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import Any

import pytest
from support.search import GROWING, Killed, Listed, Nature, Search, by_hash, code, of_limits

from archive import Archive, Reason, Run
from archive.report.gathering import gather_report
from archive.schema import BASE_POLICY, SCRIPT_POLICY
from archive.views.matrix import gather
from evo.jobs.job import Training
from evo.jobs.merged import adapter_of
from xgl.models.references import AdapterName

RUNGS = ("growth.first_rung=0.1", "growth.list_size=1", "transfer.attempts=2")
DECIDED_AT_A_PAUSE = {Reason.NOT_LEARNED, Reason.NOT_ABOUT_MAP}


def finetunes_of(search: Search, game_id: str) -> list[dict[str, Any]]:
    return [row for row in search.rows("finetunes") if row["game_id"] == game_id]


def test_help_that_appears_after_the_pause_is_enough(search: Search) -> None:
    """Nor does it matter that the scope teaches all of it so far: verdicts are of the whole
    budget."""
    late = Nature(at_pause={"teaches": 0.0, "own": 2.0})
    assert search.run(of_limits(l7=late), *RUNGS, sampler=Listed([code(7)])) == 0
    [row] = search.rows("decisions")
    first, whole = finetunes_of(search, row["game_id"])
    assert (row["verdict"], row["finetune_id"]) == ("accepted", whole["finetune_id"])
    assert (first["share"], whole["share"]) == (0.1, 1.0)
    assert (first["continues"], whole["continues"]) == (None, first["finetune_id"])
    assert whole["seed"] == first["seed"]
    assert row["tokens"] == 10 * row["plays"] + 2 * 1000, "of both"
    scope = [each["adapter_hash"] for each in search.rows("finetunes") if each["share"] == 1]
    assert search.adapters() == sorted(scope), "none of a pause is kept"
    named = AdapterName(str(search.folder / "run"), row["game_id"])
    assert adapter_of(named)[0] == whole["adapter_hash"]
    with Archive.open(search.folder / "run") as archive:
        [training] = [
            each.training for each in gather_report(Run(archive)).games if each.parent == 0
        ]
        assert gather(Run(archive))["shares"] == [1.0, 1.0]
    assert training is not None
    assert (training["finetune_id"], training["tokens"]) == (whole["finetune_id"], 2000)
    assert search.faults() == []


def test_what_learned_nothing_at_the_pause_is_refused_there(search: Search) -> None:
    """After its attempts, which no whole fine-tune follows."""
    world = of_limits(l7=Nature(own=0.0), l6=Nature(unlucky=True))
    settings = ("growth.list_size=2", "transfer.min_steps=2")
    assert search.run(world, *RUNGS, *settings, sampler=Listed([code(7), code(6)])) == 0
    never, later = sorted(search.rows("decisions"), key=lambda row: str(row["verdict"]))[::-1]
    assert (never["reason"], later["verdict"]) == (Reason.NOT_LEARNED, "accepted")
    shares = [each["share"] for each in finetunes_of(search, never["game_id"])]
    assert shares == [0.1, 0.1]
    assert never["finetune_id"] == finetunes_of(search, never["game_id"])[-1]["finetune_id"]
    rows = finetunes_of(search, later["game_id"])
    assert [(each["replicate"], each["share"]) for each in rows] == [(0, 0.1), (1, 0.1), (1, 1.0)]
    assert search.faults() == []


@pytest.mark.parametrize(("min_steps", "attempts"), [(20, 2), (21, 1)])
def test_the_least_steps_are_of_the_whole_budget(
    search: Search, min_steps: int, attempts: int
) -> None:
    """A fine-tune makes two steps up to the pause, which lies at a tenth."""
    settings = (*RUNGS, f"transfer.min_steps={min_steps}")
    assert search.run(of_limits(l7=Nature(own=0.0)), *settings, sampler=Listed([code(7)])) == 0
    [row] = search.rows("decisions")
    assert len(finetunes_of(search, row["game_id"])) == attempts


def test_what_forgot_by_the_end_of_the_budget_is_refused_there(search: Search) -> None:
    world = of_limits(l7=Nature(own=0.0, at_pause={"own": 10.0}))
    assert search.run(world, *RUNGS, "transfer.attempts=1", sampler=Listed([code(7)])) == 0
    [row] = search.rows("decisions")
    rows = finetunes_of(search, row["game_id"])
    assert (row["reason"], row["finetune_id"]) == (Reason.NOT_LEARNED, rows[-1]["finetune_id"])
    assert [each["share"] for each in rows] == [0.1, 1.0]
    assert len(search.adapters()) == 1, "of the parent"
    assert search.faults() == []


@pytest.mark.parametrize("schedule", ["paper", "open_ended"])
@pytest.mark.parametrize("replicates", [1, 2])
def test_every_comparison_is_of_equal_budgets(
    search: Search, schedule: str, replicates: int
) -> None:
    """And no verdict but that nothing was learned is from a pause."""
    settings = (f"growth.schedule={schedule}", f"finetune.replicates={replicates}")
    assert search.run(by_hash, *GROWING, "growth.first_rung=0.25", *settings) == 0
    share_of = {row["finetune_id"]: row["share"] for row in search.rows("finetunes")}
    home = {row["finetune_id"]: row["game_id"] for row in search.rows("finetunes")}
    shares = defaultdict(set)
    for row in search.rows("scores"):
        policy = row["policy_id"]
        if policy == BASE_POLICY or policy.startswith(SCRIPT_POLICY):
            continue
        at_home = row["purpose"] == "selection" and row["game_id"] == home[policy]
        shares["own" if at_home else "compared"].add(share_of[policy])
    assert shares == {"own": {0.25, 1.0}, "compared": {1.0}}
    initial = search.rows("scopes")[0]["game_id"]
    assert {row["continues"] for row in finetunes_of(search, initial)} == {None}
    decided = [row for row in search.rows("decisions") if row["finetune_id"]]
    paused = [row for row in decided if share_of[row["finetune_id"]] < 1]
    assert {row["reason"] for row in paused} <= DECIDED_AT_A_PAUSE
    assert "accepted" in {row["verdict"] for row in decided}
    assert search.faults() == []


def test_a_run_killed_after_any_job_goes_on_from_where_its_fine_tune_paused(search: Search) -> None:
    world, sampler = of_limits(l7=Nature(unlucky=True)), Listed([code(7)])
    settings = (*RUNGS, "transfer.min_steps=2")
    assert search.run(world, *settings, sampler=sampler, name="whole") == 0
    assert [row["share"] for row in search.rows("finetunes", "whole")] == [1.0, 0.1, 0.1, 1.0]
    exit_code, went_on = None, 0
    while exit_code is None:
        resume = (search.folder / "killed").is_dir()
        with suppress(Killed):
            exit_code = search.run(world, *settings, patience=1, name="killed", resume=resume)
        trainings = [each for each in search.executor.jobs if isinstance(each, Training)]
        went_on += any(each.paused is not None for each in trainings)
    assert (exit_code, went_on) == (0, 1)
    assert search.tables("killed") == search.tables("whole")
    assert search.adapters("killed") == search.adapters("whole")
