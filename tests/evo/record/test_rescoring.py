"""Archived plays scored again: gains of accepted games under a judge that did not play, and the
best plays by token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.search import GROWING, Listed, Nature, Search, by_hash, code, of_limits

from archive import Archive, Run
from archive.schema import PlaysKey
from archive.statistics.replay import Survival, read_survivals
from evo.config.models import ModelHostSettings
from evo.jobs.evaluation import evaluation_seeds
from evo.jobs.job import Evaluation, Rescoring
from evo.jobs.model_host import ModelHost
from meta_sampler import make
from xgl.models import resolve

OTHER = f"judge.second={resolve.EMBEDDED}"
"""A reference that is not the player's."""
NEW = Nature(teaches=0.9, covered=0.1)


@pytest.fixture
def search(tmp_path: Path) -> Search:
    return Search(tmp_path, sampler=Listed([code(4)]))


def survivals(folder: Path) -> list[Survival]:
    return read_survivals(Run(Archive.open(folder)))


def test_a_share_of_the_gain_survives_and_nothing_else_changes(
    search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    world = of_limits(l4=replace(NEW, survives=0.5))
    assert search.run(world, name="plain") == 0
    assert search.run(world, OTHER, name="run") == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "of the gain about the map survives; it would be accepted again" in output
    plain, judged_tables = search.tables("plain"), search.tables("run")
    assert judged_tables.pop("second_scores")
    assert not plain.pop("second_scores")
    assert plain == judged_tables
    [survival] = survivals(search.folder / "run")
    assert survival.judge == str(resolve.EMBEDDED)
    assert survival.specific.value == pytest.approx(0.5, abs=0.1)
    assert survival.specific.low < 0.5 < survival.specific.high
    assert survival.specific.plays >= 16
    assert search.faults() == []


def test_the_rule_is_asked_again(search: Search) -> None:
    assert search.run(of_limits(l4=replace(NEW, survives=0.0)), OTHER) == 0
    [survival] = survivals(search.folder / "run")
    assert not survival.stays_accepted


def test_a_finished_run_is_scored_again_once(search: Search) -> None:
    world = of_limits(l4=NEW)
    assert search.run(world, OTHER, name="whole") == 0
    assert search.run(world, name="parts") == 0
    assert search.go_on(world, OTHER, name="parts") == 0
    assert search.tables("parts") == search.tables("whole")
    assert search.go_on(world, OTHER, name="parts") == 0
    assert not [job for job in search.executor.jobs if isinstance(job, Rescoring)]
    assert search.tables("parts") == search.tables("whole")


@pytest.mark.long
def test_a_growth_that_goes_on_is_scored_only_where_it_was_not(search: Search) -> None:
    """Each list tests its games on plays of their own, also those of base and parent."""
    growing = (*GROWING, "growth.schedule=open_ended", "seed=0")
    sampler = make("mutate")
    assert search.run(by_hash, *growing, OTHER, "growth.max_accepted=1", sampler=sampler) == 0
    before = search.rows("second_scores")
    assert len(survivals(search.folder / "run")) == 1
    assert search.go_on(by_hash, "growth.max_accepted=null") == 0
    rows = search.rows("second_scores")
    assert rows[: len(before)] == before
    assert len(rows) > len(before)
    keys = [(*PlaysKey.of(row), row["map_seed"], row["play_seed"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert len(survivals(search.folder / "run")) > 1
    assert all(survival.decision is not None for survival in survivals(search.folder / "run"))
    assert search.faults() == []


def test_the_same_weights_give_the_same_scores(
    make_model_host: Callable[..., ModelHost], make_task: Callable[..., Any]
) -> None:
    """Own and permuted, also of games whose moves an ensure judges."""
    settings = make_model_host().settings
    judge = replace(settings.judge, second=str(resolve.EMBEDDED))
    host = ModelHost(ModelHostSettings(judge, settings.player, settings.finetune))
    seeds = tuple(evaluation_seeds("second", 3, 6))
    program = (
        "assign(s=story())\nelicit(t, 8)\nensure(len(common_word_set(s, t)) == 0)\n"
        "reward(xed(s | t))"
    )
    for task in (make_task(), make_task(program)):
        [plays] = host.do(Evaluation(task, (None,), (seeds,))).outcome
        again = host.do(Rescoring(task, seeds, tuple(each.moves for each in plays))).outcome
        for one, other in zip(plays, again, strict=True):
            assert (other.score is None) == (one.outcome != "finished")
            if other.score is not None:
                assert other.score == pytest.approx(one.score, abs=1e-3)
            if other.permuted_score is not None:
                assert other.permuted_score == pytest.approx(one.permuted_score, abs=1e-3)


def test_a_run_that_a_budget_ended_is_scored_when_it_finishes(search: Search) -> None:
    world = of_limits(l4=NEW)
    assert search.run(world, name="whole") == 0
    assert search.run(world, "budget.tokens=1500", name="parts") == 0
    assert search.rows("scored_texts", "parts") == []
    assert search.go_on(world, "budget.tokens=null", name="parts") == 0
    assert search.tables("parts")["scored_texts"] == search.tables("whole")["scored_texts"]
