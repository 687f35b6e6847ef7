"""The open-ended schedule from the entry down, on an executor that knows the true gains."""

from __future__ import annotations

from collections import Counter

import pytest
from support.search import Killed, Listed, Nature, Search, by_hash, code, limit, of_limits

from archive import Reason
from evo.jobs.job import ScriptedEvaluation
from xgl.players.scripts import SCRIPTS

LISTS = ("growth.schedule=open_ended", "growth.list_size=3", "growth.lookahead=2")
OPEN = (*LISTS, "growth.max_accepted=null")
GROWING = (*OPEN, "growth.max_candidates=9", "seed=0")


def verdicts(search: Search) -> dict[str, tuple[str, str]]:
    """Verdict and reason by limit of the game's elicit."""
    codes = {row["game_id"]: row["code"] for row in search.rows("games")}
    limits = {code(limit).strip(): f"l{limit}" for limit in range(20)}
    return {
        limits[codes[row["game_id"]]]: (row["verdict"], row["reason"])
        for row in search.rows("decisions")
    }


def test_siblings_that_are_new_join_one_after_the_other(search: Search) -> None:
    sampler = Listed([code(7), code(6), code(5)])
    all_three = ("growth.max_candidates=3", "growth.examined_share=1.0")
    assert search.run(of_limits(), *OPEN, *all_three, sampler=sampler) == 0
    assert set(verdicts(search).values()) == {("accepted", "helps and is new")}
    assert [row["generation"] for row in search.rows("scopes")][-4:] == [0, 1, 1, 1]
    assert search.faults() == []


def test_what_is_passed_over_of_a_list_says_what_was_expected(search: Search) -> None:
    sampler = Listed([code(7), code(6), code(5)])
    settings = ("growth.max_candidates=3", "growth.examined_share=0.4")
    assert search.run(of_limits(), *OPEN, *settings, sampler=sampler) == 0
    rows = search.rows("decisions")
    leftovers = [row for row in rows if row["reason"] == Reason.PASSED_OVER]
    assert len(leftovers) == 2
    assert {(row["verdict"], row["decided"], row["finetune_id"]) for row in leftovers} == {
        ("undecided", False, None)
    }
    assert all(row["detail"].startswith("expected help ") for row in leftovers)
    assert search.faults() == []


@pytest.mark.parametrize(("coverage", "players"), [(0.9, 1), (0.1, 2)])
def test_where_the_parents_fine_tune_covers_a_game_no_other_plays_it(
    search: Search, coverage: float, players: int
) -> None:
    world = of_limits(l7=Nature(covered=0.1), l6=Nature(covered=coverage))
    one_each = ("growth.list_size=1", "growth.max_candidates=2", "growth.lookahead=1")
    settings = (*OPEN, *one_each, "growth.examined_share=0.5")
    assert search.run(world, *settings, sampler=Listed([code(7), code(6)])) == 0
    [second] = [r["game_id"] for r in search.rows("games") if r["code"].strip() == code(6).strip()]
    owners = {row["finetune_id"]: row["game_id"] for row in search.rows("finetunes")}
    policies = {r["policy_id"] for r in search.rows("scores") if r["game_id"] == second}
    others = {owners[policy] for policy in policies & owners.keys()} - {second}
    assert len(others) == players
    assert search.faults() == []


@pytest.mark.parametrize(("coverage", "plays"), [(0.9, 2), (0.1, 4)])
def test_only_where_the_first_look_leaves_it_open_there_is_a_second(
    search: Search, coverage: float, plays: int
) -> None:
    world = of_limits(l7=Nature(covered=0.1), l6=Nature(covered=coverage))
    settings = ("growth.list_size=2", "growth.max_candidates=2", "growth.examined_share=0.5")
    looks = ("transfer.script_plays=2", "transfer.selection_plays=[4,8]")
    assert search.run(world, *OPEN, *settings, *looks, sampler=Listed([code(7), code(6)])) == 0
    [game] = [r["game_id"] for r in search.rows("games") if r["code"].strip() == code(6).strip()]
    scripted = [
        row
        for row in search.rows("scores")
        if (row["game_id"], row["policy_id"]) == (game, "script:content_words")
        and row["purpose"] == "selection"
    ]
    assert len(scripted) == plays
    [*_, last] = [
        job.scripts
        for job in search.executor.jobs
        if isinstance(job, ScriptedEvaluation) and limit(job.task.game) == 6
    ]
    assert last == (tuple(SCRIPTS) if plays == 2 else ("content_words",)), "others are surely worse"
    assert search.faults() == []


def test_a_run_killed_after_every_job_ends_the_same(search: Search) -> None:
    assert search.run(by_hash, *GROWING, name="whole") == 0
    jobs, whole = len(search.executor.jobs), search.tables("whole")
    patience, kills = 23, 0
    while True:
        try:
            session = search.run(
                by_hash, *GROWING, patience=patience, name="killed", resume=kills > 0
            )
        except Killed:
            kills += 1
            continue
        assert session == 0
        break
    assert kills >= jobs // patience - 1
    tables = search.tables("killed")
    assert tables.keys() == whole.keys()
    for table in whole:
        assert tables[table] == whole[table], table
    assert search.adapters("killed") == search.adapters("whole")
    assert search.faults("killed") == []


def test_a_resumed_run_may_not_ask_for_fewer_games_than_have_joined(
    search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    sampler = Listed([code(7), code(6), code(5)])
    all_three = ("growth.max_candidates=3", "growth.examined_share=1.0")
    settings = (*OPEN, *all_three, "growth.max_accepted=2")
    assert search.run(of_limits(), *settings, sampler=sampler) == 0
    assert search.go_on(of_limits(), "growth.max_accepted=1") == 2
    error = capsys.readouterr().err
    assert "growth.max_accepted: found 1, expected at least 2, since so many games" in error


def test_a_game_that_helps_another_than_its_parent_is_that_ones_child(search: Search) -> None:
    """What a game gains on another than the initial one is the other's ``covered`` here."""
    world = of_limits(l7=Nature(covered=0.5), l6=Nature(teaches=0.0, covered=0.2))
    settings = ("growth.list_size=1", "growth.max_candidates=2", "growth.examined_share=1.0")
    assert search.run(world, *OPEN, *settings, sampler=Listed([code(7), code(6)])) == 0
    first, second = search.rows("decisions")
    assert (first["verdict"], second["verdict"]) == ("accepted", "accepted")
    assert second["parent_game_id"] == first["game_id"]
    assert [row["generation"] for row in search.rows("scopes")][-3:] == [0, 1, 2]
    proposals = {row["game_id"]: row["parent_game_id"] for row in search.rows("proposals")}
    assert proposals[second["game_id"]] == first["parent_game_id"], "it was proposed for another"
    assert search.faults() == []


def test_an_undecided_test_is_repeated_on_twice_the_plays(search: Search) -> None:
    world = of_limits(l7=Nature(covered=0.72))
    settings = (*OPEN, "growth.max_candidates=1", "transfer.acceptance_plays=[4,8]")
    settings = (*settings, "transfer.confirmations=6")
    assert search.run(world, *settings, sampler=Listed([code(7)])) == 0
    [row] = search.rows("decisions")
    assert row["looks"] in ([4, 16], [4, 32], [4, 64], [4, 128])
    assert row["verdict"] == "accepted"
    assert row["script_plays"] == 4, "scripts decide nothing: the first look of a first test"
    assert search.faults() == []


def test_games_that_are_clearly_apart_do_not_play_a_repeated_test_again(search: Search) -> None:
    """Only the help of the last candidate is in doubt. All games of the scope play it at the first
    look; at the last one only those that a cross-ratio is taken with."""
    doubtful = Nature(teaches=0.34, covered=0.05)
    world = of_limits(l7=doubtful, l6=Nature(covered=0.1), l5=Nature(covered=0.1))
    settings = (*OPEN, "growth.list_size=1", "growth.max_candidates=3", "transfer.confirmations=8")
    settings = (*settings, "transfer.acceptance_plays=[32,64]")
    sampler = Listed([code(6), code(5), code(7)])
    assert search.run(world, *settings, sampler=sampler) == 0
    last = search.rows("decisions")[-1]
    assert (last["verdict"], last["scope_size"], last["looks"]) == ("accepted", 3, [32, 128])
    plays = Counter(
        row["policy_id"]
        for row in search.rows("scores")
        if row["game_id"] == last["game_id"] and row["purpose"] == "acceptance"
    )
    finetunes = {row["game_id"]: row["finetune_id"] for row in search.rows("finetunes")}
    others = {game: plays[policy] for game, policy in finetunes.items() if game != last["game_id"]}
    assert others[last["parent_game_id"]] == 128
    assert 32 in others.values()
    assert search.faults() == []
