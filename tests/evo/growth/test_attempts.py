"""Further fine-tunes of a game: of an initial one that was learned badly, of a candidate that
learned nothing, of a parent that a candidate overtakes; and replicates."""

from __future__ import annotations

import pytest
from support.search import Listed, Nature, Search, code, of_limits


@pytest.mark.parametrize("attempts", [1, 3])
def test_an_initial_game_is_trained_again_when_its_first_seed_taught_nothing(
    search: Search, attempts: int
) -> None:
    world = of_limits(l8=Nature(unlucky=True))
    exit_code = search.run(world, f"growth.initial_attempts={attempts}", sampler=Listed([]))
    finetunes = search.rows("finetunes")
    assert (exit_code, len(finetunes)) == ((2, 1) if attempts == 1 else (0, 2))
    assert [row["replicate"] for row in finetunes] == list(range(len(finetunes)))
    assert len({row["seed"] for row in finetunes}) == len({row["finetune_id"] for row in finetunes})
    assert len({row["finetune_id"] for row in finetunes}) == len(finetunes)
    assert search.adapters() == [finetunes[-1]["adapter_hash"]], "of the last attempt alone"


def test_replicates_are_fine_tunes_under_seeds_of_their_own(search: Search) -> None:
    settings = ["growth.list_size=1", "finetune.replicates=3"]
    assert search.run(of_limits(), *settings, sampler=Listed([code(7)])) == 0
    finetunes = search.rows("finetunes")
    by_game: dict[str, list[int]] = {}
    for row in finetunes:
        by_game.setdefault(row["game_id"], []).append(row["replicate"])
    assert list(by_game.values()) == [[0, 1, 2], [0, 1, 2]]
    assert len({row["finetune_id"] for row in finetunes}) == 6
    assert len({row["seed"] for row in finetunes}) == 3, "the same three for every game"
    (row,) = search.rows("decisions")
    assert row["purpose"] == "acceptance"
    ids = {one["finetune_id"] for one in finetunes if one["game_id"] == row["game_id"]}
    assert {r["policy_id"] for r in search.rows("scores") if r["purpose"] == "acceptance"} >= ids
    assert row["tokens"] == 10 * row["plays"] + 3 * 1000


def test_a_candidate_that_learned_nothing_gets_a_second_attempt(search: Search) -> None:
    """Its first fine-tune, under the training seed that it shares with its parent, is unlucky. A
    fine-tune makes two steps."""
    world = of_limits(l7=Nature(unlucky=True))
    sampler = Listed([code(7)])
    settings = ("growth.list_size=1", "transfer.attempts=2", "transfer.min_steps=2")
    assert search.run(world, *settings, sampler=sampler) == 0
    [row] = search.rows("decisions")
    finetunes = [each for each in search.rows("finetunes") if each["game_id"] == row["game_id"]]
    assert [each["replicate"] for each in finetunes] == [0, 1]
    assert (row["verdict"], row["finetune_id"]) == ("accepted", finetunes[1]["finetune_id"])
    assert row["tokens"] == 10 * row["plays"] + 2 * 1000
    assert search.faults() == []


def test_without_headroom_there_is_no_second_attempt(search: Search) -> None:
    world = of_limits(l7=Nature(unlucky=True, flat=True))
    settings = ("growth.list_size=1", "transfer.attempts=2", "transfer.headroom=null")
    search.run(world, *settings, sampler=Listed([code(7)]))
    [row] = search.rows("decisions")
    assert row["reason"] == "not playable"
    assert sum(each["game_id"] == row["game_id"] for each in search.rows("finetunes")) == 1


def test_a_badly_trained_parent_is_trained_again_and_gamma_is_the_largest(search: Search) -> None:
    """Its first fine-tune learned a third; the candidate, a copy, three times as much of it."""
    copy = Nature(teaches=1.0, covered=1.0)
    world = of_limits(l8=Nature(weak=1 / 3), l7=copy)
    sampler = Listed([code(7)])
    assert search.run(world, "growth.list_size=1", sampler=sampler) == 0
    [row] = search.rows("decisions")
    assert row["reason"] == "covered by the scope"
    parent = row["parent_game_id"]
    finetune_ids = [
        each["finetune_id"] for each in search.rows("finetunes") if each["game_id"] == parent
    ]
    assert len(finetune_ids) == 2
    assert row["scope_finetunes"] == finetune_ids[::-1], "the better one first"
    assert row["gamma"] == pytest.approx(1, abs=0.1)
    assert search.faults() == []
    by_gamma_alone = "transfer.rule=values"
    search.run(world, "growth.list_size=1", by_gamma_alone, sampler=sampler, name="values")
    [row] = search.rows("decisions", "values")
    assert row["verdict"] == "accepted"
