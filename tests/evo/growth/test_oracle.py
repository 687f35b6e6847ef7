"""The search from the entry down, on an executor that knows the true gains: every verdict and the
rows behind it."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import pytest
from support.search import (
    GROWING,
    PARENT,
    PURPOSES,
    Listed,
    Nature,
    Search,
    by_hash,
    code,
    of_limits,
)

from archive import Purpose, Reason
from archive.schema import BASE_POLICY, SCRIPT_POLICY, TaskId
from archive.statistics.race import selection
from evo.growth.oracle import TransferOracle
from evo.jobs.job import Evaluation, ScriptedEvaluation, Training
from evo.jobs.merged import adapter_of
from meta_sampler import Progress
from xgl.models.references import AdapterName
from xgl.players.scripts import SCRIPTS

Capsys = pytest.CaptureFixture[str]

VERDICTS = [
    (Nature(forfeits=0.6), "refused", "forfeit rate"),
    (Nature(constant=True), "refused", "constant score"),
    (Nature(tokens=20_000), "refused", "too long to learn"),
    (Nature(own=0.0), "refused", "not playable"),
    (Nature(teaches=0.0), "refused", "does not help its parent"),
    (Nature(covered=1.1), "refused", "covered by the scope"),
    (Nature(), "accepted", "helps and is new"),
    (Nature(teaches=0.28, lucky={"teaches": 0.6}), "undecided", "help to its parent not settled"),
    (Nature(covered=0.79, lucky={"covered": 0.2}), "undecided", "coverage not settled"),
    (Nature(own=-0.5, lucky={"own": 10.0}), "undecided", "own gain not confirmed"),
    (Nature(covered=1.0, lucky={"covered": 0.2}), "refused", "covered by the scope"),
]
BEFORE_FINE_TUNING = ("forfeit rate", "constant score", "too long to learn")
DETAILS = {
    "forfeit rate": r"0\.\d+ above 0\.25",
    "too long to learn": r"finetune\.tokens pays for \d+ steps, .* asks for \d+",
}


@pytest.mark.parametrize(("nature", "verdict", "reason"), VERDICTS)
def test_verdicts(search: Search, nature: Nature, verdict: str, reason: str) -> None:
    purpose = "acceptance" if nature.lucky or verdict == "accepted" else "selection"
    purpose = None if reason in BEFORE_FINE_TUNING else purpose
    is_decided = verdict != "undecided" and nature.own != 0
    sampler = Listed([code(7)])
    [row] = search.decisions(of_limits(l7=nature), "growth.list_size=1", sampler=sampler)
    assert (row["verdict"], row["decided"], row["purpose"]) == (verdict, is_decided, purpose)
    assert row["reason"] == reason
    assert re.fullmatch(DETAILS.get(reason, ""), row["detail"] or "")
    assert (row["finetune_id"] is None) == (purpose is None)
    assert (row["generation"], row["round"], row["index"]) == (1, 0, 0)
    assert row["plays"] > 0
    assert row["tokens"] == nature.tokens * row["plays"] + (1000 if row["finetune_id"] else 0)
    sizes = [sum(r["scope"] == k for r in search.rows("scopes")) for k in (0, 1)]
    assert sizes == [1, 2 if verdict == "accepted" else 1]
    progress = [each.progress is Progress.ACCEPTED for each in sampler.told]
    assert progress in ([], [verdict == "accepted"])
    _check_adapters(search, row)
    _check_cheap_stages(search, row)


def _check_adapters(search: Search, row: dict[str, Any]) -> None:
    """The scope's are kept, those of the refused dropped."""
    hashes = {each["finetune_id"]: each["adapter_hash"] for each in search.rows("finetunes")}
    refusals = set() if row["verdict"] == "accepted" else {row["finetune_id"]}
    scope_hashes = {digest for name, digest in hashes.items() if name not in refusals}
    assert set(search.adapters()) == scope_hashes


def test_an_accepted_row_tells_the_whole_story_of_plays_on_fresh_maps(search: Search) -> None:
    [row] = search.decisions(of_limits(), "growth.list_size=1", sampler=Listed([code(7)]))
    map_seeds: dict[str, set[int]] = {}
    for play in search.rows("scores"):
        map_seeds.setdefault(play["purpose"], set()).add(play["map_seed"])
    assert set(map_seeds) == {"calibration", "selection", "acceptance"}
    assert sum(map(len, map_seeds.values())) == len(set.union(*map_seeds.values()))
    assert len(map_seeds["acceptance"]) == 16, "the first look was enough"
    # The executor clips nothing, and few-shot play is not asked for.
    may_be_null = {name for name in row if name.startswith("few_shot_")} | {"best_kept", "detail"}
    assert {name for name, value in row.items() if value is None} <= may_be_null
    assert row["captured_low"] <= row["captured"] <= row["captured_high"]
    assert row["captured"] == pytest.approx(0.6, abs=0.1)
    assert row["captured_low"] >= row["alpha1"]
    assert row["gamma"] == pytest.approx(0.2, abs=0.1)
    assert row["gamma_high"] <= 1 - row["alpha2"]
    assert row["own_gain"] == pytest.approx(10, abs=1)
    assert row["specific_share"] == pytest.approx(1, abs=0.01)
    parent = next(r["game_id"] for r in search.rows("scopes") if r["scope"] == 0)
    assert row["parent_game_id"] == row["gamma_game_id"] == parent
    member = next(r for r in search.rows("scopes") if r["generation"] == 1)
    assert (member["gamma"], member["parent_game_id"]) == (row["gamma"], parent)


def _check_cheap_stages(search: Search, row: dict[str, Any]) -> None:
    """What calibration refuses is not fine-tuned; what cannot pass is not crossed."""
    trainings = sum(isinstance(job, Training) for job in search.executor.jobs)
    assert (trainings == 1) == (row["finetune_id"] is None), "of the parent alone"
    if row["finetune_id"] is None or row["reason"] == "not playable":
        scores = search.rows("scores")
        players = {each["policy_id"] for each in scores if each["game_id"] == row["parent_game_id"]}
        assert len([name for name in players if not name.startswith(("base", "script:"))]) == 1


@pytest.mark.parametrize(
    ("nature", "reason"),
    [(Nature(own=0.0), "not playable"), (Nature(forfeits=1.0), "never feasible")],
)
def test_an_initial_game_that_cannot_be_learned_stops_the_run_by_name(
    search: Search, capsys: Capsys, nature: Nature, reason: str
) -> None:
    assert search.run(of_limits(l8=nature), sampler=Listed([])) == 2
    output = capsys.readouterr().err
    assert re.match(rf"error: growth.initial_scope: .*{reason}", output)
    assert output.count("error:") == 1


def test_an_initial_game_that_cannot_be_learned_may_stay_out_of_the_scope(search: Search) -> None:
    scope = search.initial(PARENT, 9)
    settings = ["growth.unplayable_initial=keep", "growth.max_candidates=1"]
    assert search.run(of_limits(l9=Nature(own=0.0)), scope, *settings, sampler=Listed([])) == 0
    assert len(search.rows("games")) == 2
    assert len({row["game_id"] for row in search.rows("scopes")}) == 1


@pytest.mark.parametrize("script_gain", [5.0, 15.0])
def test_what_is_learned_beyond_every_script_is_archived_and_decides_nothing(
    search: Search, script_gain: float
) -> None:
    world = of_limits(l7=Nature(scripted=script_gain))
    [row] = search.decisions(world, "growth.list_size=1", sampler=Listed([code(7)]))
    assert (row["reason"], row["best_script"]) == ("helps and is new", "content_words")
    assert row["script_gain"] == pytest.approx(script_gain)
    assert row["beyond_scripts"] == pytest.approx(10 - script_gain, abs=0.5)
    assert row["beyond_scripts_low"] < row["beyond_scripts"] < row["beyond_scripts_high"]
    assert row["script_plays"] in row["looks"]
    *_, last = (job for job in search.executor.jobs if isinstance(job, ScriptedEvaluation))
    assert last.scripts != tuple(SCRIPTS), "those that may be the best"


def test_where_looking_at_the_map_pays_nothing_there_is_no_fine_tune(search: Search) -> None:
    """What the best script earns with its own moves and with those for other maps differs by half
    a bit."""
    world = of_limits(l7=Nature(scripted=0.0, flat=True))
    [row] = search.decisions(world, "growth.list_size=1", sampler=Listed([code(7)]))
    assert row["reason"] == "nothing about the map to learn"
    assert row["detail"] == "0.5 bits, transfer.headroom asks for 1"
    assert all(each["game_id"] != row["game_id"] for each in search.rows("finetunes"))


def test_every_list_is_accepted_on_maps_of_its_own(search: Search) -> None:
    sampler = Listed([code(7), code(6), code(5)])
    world = of_limits(l6=Nature(covered=0.3), l5=Nature(covered=0.4))
    limits = ("growth.list_size=1", "growth.max_candidates=null")
    decisions = search.decisions(world, *limits, sampler=sampler)
    tested = [row for row in decisions if row["purpose"] == "acceptance"]
    first = {row["round"]: row["first_play"] for row in tested}
    assert len(set(first.values())) == len(first) > 1
    maps: dict[int, set[int]] = {}
    for row in search.rows("scores"):
        if row["purpose"] == "acceptance":
            [place] = [k for k, start in first.items() if 0 <= row["play_seed"] - start < 1000]
            maps.setdefault(place, set()).add(row["map_seed"])
    assert not set.intersection(*maps.values())


EXAMINED = ("growth.schedule=open_ended", "growth.examined_share=1")


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


def test_a_badly_trained_parent_is_trained_again_and_gamma_is_the_largest(search: Search) -> None:
    """Its first fine-tune learned a third; the candidate, a copy, three times as much of it."""
    world = of_limits(l8=Nature(weak=1 / 3), l7=Nature(teaches=1.0, covered=1.0))
    [row] = search.decisions(world, "growth.list_size=1", sampler=Listed([code(7)]))
    assert row["reason"] == "covered by the scope"
    finetune_ids = [each["finetune_id"] for each in finetunes_of(search, row["parent_game_id"])]
    assert len(finetune_ids) == 2
    assert row["scope_finetunes"] == finetune_ids[::-1], "the better one first"
    assert row["gamma"] == pytest.approx(1, abs=0.1)


def test_no_candidate_is_decided_while_its_parent_is_trained_again(search: Search) -> None:
    more = ("growth.virtual_workers=4", "growth.lookahead=4", "transfer.scope_attempts=2")
    world, sampler = of_limits(l8=Nature(weak=1 / 3)), Listed([code(7), code(6)])
    decisions = search.decisions(world, *EXAMINED, *more, sampler=sampler)
    assert {len(row["scope_finetunes"]) for row in decisions} == {2}


def test_another_parent_is_trained_again_before_the_acceptance_test(search: Search) -> None:
    """Not after it, since a second look at its plays would double its error."""
    world = of_limits(l8=Nature(weak=1 / 3))
    how = (*EXAMINED, search.initial(PARENT, 9))
    [row] = search.decisions(world, *how, sampler=Listed([code(7)]))
    own = finetunes_of(search, row["parent_game_id"])
    assert (row["verdict"], len(own)) == ("accepted", 2)
    jobs = search.executor.jobs
    trained = [at for at, job in enumerate(jobs) if isinstance(job, Training)]
    played = (
        at
        for at, job in enumerate(jobs)
        if isinstance(job, Evaluation) and PURPOSES[job.seeds[0][0].map_seed] is Purpose.ACCEPTANCE
    )
    assert trained[-1] < next(played)


RUNGS = ("growth.first_rung=0.1", "growth.list_size=1", "transfer.attempts=2")
DECIDED_AT_A_PAUSE = {Reason.NOT_LEARNED, Reason.NOT_ABOUT_MAP}


def finetunes_of(search: Search, game_id: str) -> list[dict[str, Any]]:
    return [row for row in search.rows("finetunes") if row["game_id"] == game_id]


def test_a_pause_refuses_while_the_parent_is_trained_again(search: Search) -> None:
    """The parent's own gain is not clear; the candidate has no fine-tune on the whole budget."""
    world = of_limits(l8=Nature(own=0.8), l7=Nature(own=0.0))
    settings = (*RUNGS, *EXAMINED, "growth.initial_attempts=1")
    [row] = search.decisions(world, *settings, sampler=Listed([code(7)]))
    assert row["reason"] in DECIDED_AT_A_PAUSE
    assert len(finetunes_of(search, row["parent_game_id"])) > 1


def test_help_that_appears_after_the_pause_is_enough(search: Search) -> None:
    """Nor does it matter that the scope teaches all of it so far: verdicts are of the whole
    budget."""
    late = Nature(at_pause={"teaches": 0.0, "own": 2.0})
    [row] = search.decisions(of_limits(l7=late), *RUNGS, sampler=Listed([code(7)]))
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


def test_what_learned_nothing_at_the_pause_is_refused_there(search: Search) -> None:
    """After its attempts, which no whole fine-tune follows."""
    world = of_limits(l7=Nature(own=0.0), l6=Nature(unlucky=True))
    settings = ("growth.list_size=2", "transfer.min_steps=2")
    decisions = search.decisions(world, *RUNGS, *settings, sampler=Listed([code(7), code(6)]))
    never, later = sorted(decisions, key=lambda row: str(row["verdict"]))[::-1]
    assert (never["reason"], later["verdict"]) == (Reason.NOT_LEARNED, "accepted")
    shares = [each["share"] for each in finetunes_of(search, never["game_id"])]
    assert shares == [0.1, 0.1]
    assert never["finetune_id"] == finetunes_of(search, never["game_id"])[-1]["finetune_id"]
    rows = finetunes_of(search, later["game_id"])
    assert [(each["replicate"], each["share"]) for each in rows] == [(0, 0.1), (1, 0.1), (1, 1.0)]


@pytest.mark.parametrize(
    ("schedule", "replicates"), [("paper", 1), ("open_ended", 2), ("open_ended", 3)]
)
def test_comparisons_are_of_equal_budgets(search: Search, schedule: str, replicates: int) -> None:
    """And no verdict but that nothing was learned is from a pause."""
    settings = (f"growth.schedule={schedule}", f"finetune.replicates={replicates}")
    settings += ("growth.max_candidates=6", "player.policies_per_pass=2")  # replicates are split
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


@pytest.mark.parametrize("patience", [9, pytest.param(1, marks=pytest.mark.long)])
def test_a_run_killed_after_any_job_goes_on_from_where_its_fine_tune_paused(
    search: Search, patience: int
) -> None:
    world, sampler = of_limits(l7=Nature(unlucky=True)), Listed([code(7)])
    settings = (*RUNGS, "transfer.min_steps=2")
    assert search.run(world, *settings, sampler=sampler, name="whole") == 0
    assert [row["share"] for row in search.rows("finetunes", "whole")] == [1.0, 0.1, 0.1, 1.0]
    search.run_by_steps(world, *settings, patience=patience, sampler=sampler)
    assert search.tables("killed") == search.tables("whole")
    assert search.adapters("killed") == search.adapters("whole")


LISTS = ("growth.schedule=open_ended", "growth.list_size=3", "growth.lookahead=2")
OPEN = (*LISTS, "growth.max_accepted=null")


def test_a_game_that_helps_another_than_its_parent_is_that_ones_child(search: Search) -> None:
    """What a game gains on another than the initial one is the other's ``covered`` here."""
    world = of_limits(l7=Nature(covered=0.5), l6=Nature(teaches=0.0, covered=0.2))
    settings = ("growth.list_size=1", "growth.max_candidates=2", "growth.examined_share=1.0")
    first, second = search.decisions(world, *OPEN, *settings, sampler=Listed([code(7), code(6)]))
    assert (first["verdict"], second["verdict"]) == ("accepted", "accepted")
    assert second["parent_game_id"] == first["game_id"]
    assert [row["generation"] for row in search.rows("scopes")][-3:] == [0, 1, 2]
    proposals = {row["game_id"]: row["parent_game_id"] for row in search.rows("proposals")}
    assert proposals[second["game_id"]] == first["parent_game_id"], "it was proposed for another"


def test_an_undecided_test_is_repeated_on_twice_the_plays(search: Search) -> None:
    world = of_limits(l7=Nature(covered=0.72))
    plays = ("transfer.acceptance_plays=[4,8]", "transfer.confirmations=6")
    settings = (*OPEN, "growth.max_candidates=1", *plays)
    [row] = search.decisions(world, *settings, sampler=Listed([code(7)]))
    assert row["looks"] in ([4, 16], [4, 32], [4, 64], [4, 128])
    assert row["verdict"] == "accepted"
    assert row["script_plays"] == 4, "scripts decide nothing: the first look of a first test"


def test_a_candidate_is_compared_first_with_the_games_that_it_was_compared_with(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once: a replay of the archive finds their plays, whatever ended the comparison."""
    race, compared = TransferOracle._race, dict[TaskId, set[TaskId]]()
    repeats: list[int] = []

    def watched(*arguments: Any) -> Any:
        _, kind, stage, task, _, scope = arguments
        known = compared.get(task.id, set()) if kind is selection else set[TaskId]()
        assert {each.id for each in scope[: len(known)]} == known
        assert stage.scan >= len(known)
        result = yield from race(*arguments)
        if kind is selection:
            repeats.append(len(known))
            compared[task.id] = {*result[1].scope_values}
        return result

    monkeypatch.setattr(TransferOracle, "_race", watched)
    how = (*EXAMINED, "transfer.scan=1")
    limits = ("growth.max_accepted=null", "growth.max_candidates=8", "growth.list_size=4")
    sampler = Listed([code(n) for n in (3, 4, 5, 6, 7, 9, 10, 11)])
    assert search.decisions(of_limits(), *how, *limits, sampler=sampler)
    assert max(repeats) > 1
