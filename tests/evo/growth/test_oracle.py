"""The search from the entry down, on an executor that knows the true gains: every verdict and the
rows behind it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.search import PARENT, Listed, Nature, Search, code, limit, of_limits

from evo.jobs.job import ScriptedEvaluation, Training
from evo.record.playability import UNLIKELY
from xgl.players.scripts import SCRIPTS

VERDICTS = [
    (Nature(forfeits=0.6), "refused", "forfeit rate", True, None),
    (Nature(constant=True), "refused", "constant score", True, None),
    (Nature(tokens=1000), "refused", "too long to learn", True, None),
    (Nature(own=0.0), "refused", "not playable", False, "selection"),
    (Nature(own=-3.0), "refused", "not playable", True, "selection"),
    (Nature(teaches=0.0), "refused", "does not help its parent", True, "selection"),
    (Nature(covered=1.1), "refused", "covered by the scope", True, "selection"),
    (Nature(), "accepted", "helps and is new", True, "acceptance"),
    (
        Nature(teaches=0.28, lucky={"teaches": 0.6}),
        "undecided",
        "help to its parent not settled",
        False,
        "acceptance",
    ),
    (
        Nature(covered=0.79, lucky={"covered": 0.2}),
        "undecided",
        "coverage not settled",
        False,
        "acceptance",
    ),
    (
        Nature(own=-0.5, lucky={"own": 10.0}),
        "undecided",
        "own gain not confirmed",
        False,
        "acceptance",
    ),
    (
        Nature(teaches=0.0, lucky={"teaches": 0.6}),
        "refused",
        "does not help its parent",
        True,
        "acceptance",
    ),
    (
        Nature(covered=1.0, lucky={"covered": 0.2}),
        "refused",
        "covered by the scope",
        True,
        "acceptance",
    ),
]
DETAILS = {
    "forfeit rate": r"0\.\d+ above 0\.25",
    "too long to learn": r"finetune\.tokens pays for \d+ gradient steps, .* asks for \d+",
}


@pytest.mark.parametrize(("nature", "verdict", "reason", "is_decided", "purpose"), VERDICTS)
def test_verdicts(
    search: Search, nature: Nature, verdict: str, reason: str, is_decided: bool, purpose: str | None
) -> None:
    sampler = Listed([code(7)])
    assert search.run(of_limits(l7=nature), "growth.list_size=1", sampler=sampler) == 0
    [row] = search.rows("decisions")
    assert (row["verdict"], row["decided"], row["purpose"]) == (verdict, is_decided, purpose)
    assert row["reason"] == reason
    assert re.fullmatch(DETAILS.get(reason, ""), row["detail"] or "")
    assert (row["finetune_id"] is None) == (purpose is None)
    assert (row["generation"], row["round"], row["index"]) == (1, 0, 0)
    assert row["plays"] > 0
    assert row["tokens"] == nature.tokens * row["plays"] + (1000 if row["finetune_id"] else 0)
    sizes = [sum(r["scope"] == k for r in search.rows("scopes")) for k in (0, 1)]
    assert sizes == [1, 2 if verdict == "accepted" else 1]
    assert [each.accepted for each in sampler.told] in ([], [verdict == "accepted"])
    _check_adapters(search, row)


def _check_adapters(search: Search, row: dict[str, Any]) -> None:
    """The scope's are kept, those of the refused dropped."""
    hashes = {each["finetune_id"]: each["adapter_hash"] for each in search.rows("finetunes")}
    refusals = set() if row["verdict"] == "accepted" else {row["finetune_id"]}
    scope_hashes = {digest for name, digest in hashes.items() if name not in refusals}
    assert set(search.adapters()) == scope_hashes


def test_the_newest_of_a_list_is_taken(search: Search) -> None:
    world = of_limits(l7=Nature(covered=0.6), l6=Nature(covered=0.1), l5=Nature(covered=0.4))
    search.run(world, "growth.list_size=3", sampler=Listed([code(7), code(6), code(5)]))
    verdicts = {row["index"]: (row["verdict"], row["reason"]) for row in search.rows("decisions")}
    newer = ("refused", "another of its list was accepted")
    assert verdicts == {0: newer, 1: ("accepted", "helps and is new"), 2: newer}


def test_an_accepted_row_tells_the_whole_story(search: Search) -> None:
    search.run(of_limits(), "growth.list_size=1", sampler=Listed([code(7)]))
    [row] = search.rows("decisions")
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


def test_acceptance_is_on_fresh_maps(search: Search) -> None:
    search.run(of_limits(), "growth.list_size=1", sampler=Listed([code(7)]))
    map_seeds: dict[str, set[int]] = {}
    for row in search.rows("scores"):
        map_seeds.setdefault(row["purpose"], set()).add(row["map_seed"])
    assert set(map_seeds) == {"calibration", "selection", "acceptance"}
    assert sum(map(len, map_seeds.values())) == len(set.union(*map_seeds.values()))
    assert len(map_seeds["acceptance"]) == 16, "the first look was enough"


def test_cheap_stages_come_first(search: Search) -> None:
    """What calibration refuses is not fine-tuned; what cannot pass is not crossed."""
    for nature, training_count in ((Nature(constant=True), 1), (Nature(own=0.0), 2)):
        name = f"run{training_count}"
        sampler = Listed([code(7)])
        search.run(of_limits(l7=nature), "growth.list_size=1", sampler=sampler, name=name)
        assert sum(isinstance(job, Training) for job in search.executor.jobs) == training_count
        parent = next(row["game_id"] for row in search.rows("scopes", name))
        cross_plays = [
            row
            for row in search.rows("scores", name)
            if row["game_id"] == parent and not row["policy_id"].startswith(("base", "script:"))
        ]
        policies = {row["policy_id"] for row in cross_plays}
        assert len(policies) == 1, "only the parent's own adapter played the parent"


@pytest.mark.parametrize(
    ("nature", "reason"),
    [(Nature(own=0.0), "not playable"), (Nature(forfeits=1.0), "never feasible")],
)
def test_an_initial_game_that_cannot_be_learned_stops_the_run_by_name(
    search: Search, capsys: pytest.CaptureFixture[str], nature: Nature, reason: str
) -> None:
    assert search.run(of_limits(l8=nature), sampler=Listed([])) == 2
    output = capsys.readouterr().err
    assert re.match(rf"error: growth.initial_scope: .*{reason}", output)
    assert output.count("error:") == 1


def test_an_initial_game_that_cannot_be_learned_may_stay_out_of_the_scope(search: Search) -> None:
    files = [search.folder / "parent.xent", search.folder / "other.xent"]
    for file, size in zip(files, (PARENT, 9), strict=True):
        file.write_text(code(size))
    scope = f"growth.initial_scope=[{','.join(map(str, files))}]"
    settings = ["growth.unplayable_initial=keep", "growth.max_candidates=1"]
    assert search.run(of_limits(l9=Nature(own=0.0)), scope, *settings, sampler=Listed([])) == 0
    assert len(search.rows("games")) == 2
    assert len({row["game_id"] for row in search.rows("scopes")}) == 1


def test_without_a_game_that_was_learned_there_is_no_growth(
    search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    world = of_limits(**{f"l{PARENT}": Nature(own=0.0)})
    keep = ("growth.unplayable_initial=keep", "growth.initial_attempts=1")
    assert search.run(world, *keep, sampler=Listed([code(7)])) == 2
    assert "not playable: own gain" in capsys.readouterr().err
    assert search.rows("proposals") == []


def test_under_def37_every_scope_game_has_its_denominator_on_fresh_seeds(search: Search) -> None:
    files = [search.folder / "parent.xent", search.folder / "other.xent"]
    for file, size in zip(files, (PARENT, 9), strict=True):
        file.write_text(code(size))
    scope = f"growth.initial_scope=[{','.join(map(str, files))}]"
    settings = ["growth.list_size=1", "growth.max_candidates=1", "transfer.definition=def37"]
    search.run(of_limits(), scope, *settings, sampler=Listed([code(7)]))
    (row,) = search.rows("decisions")
    assert row["purpose"] == "acceptance"
    policies = {r["game_id"]: r["finetune_id"] for r in search.rows("finetunes")}
    fresh = {
        (r["game_id"], r["policy_id"])
        for r in search.rows("scores")
        if r["purpose"] == "acceptance"
    }
    initial = {r["game_id"] for r in search.rows("scopes") if r["scope"] == 0}
    assert {(game_id, policies[game_id]) for game_id in initial} <= fresh


def test_scripts_play_every_game_before_its_fine_tune_in_one_job(search: Search) -> None:
    """But for a game that its calibration plays refuse. An accepted game is played once more by
    those that may be the best."""
    texts = [code(7), code(6), code(5)]
    world = of_limits(l7=Nature(), l6=Nature(own=0.0), l5=Nature(forfeits=1.0))
    assert search.run(world, sampler=Listed(texts)) == 0
    jobs = [job for job in search.executor.jobs if type(job) is ScriptedEvaluation]
    assert [(limit(job.task.game), len(job.seeds)) for job in jobs] == [
        (PARENT, 8),
        (7, 8),
        (6, 8),
        (7, 16),
    ]
    assert all(job.scripts == tuple(SCRIPTS) for job in jobs[:3])
    assert jobs[3].scripts == ("content_words",), "all others are surely worse"
    rows = [row for row in search.rows("scores") if row["policy_id"].startswith("script:")]
    searched = [row for row in rows if row["purpose"] == "calibration"]
    assert {row["policy_id"] for row in searched} == {f"script:{name}" for name in UNLIKELY}
    rows = [row for row in rows if row not in searched]
    assert {row["policy_id"] for row in rows} == {f"script:{name}" for name in SCRIPTS}
    assert {(row["purpose"], len(row["moves"])) for row in rows} == {
        ("selection", 1),
        ("acceptance", 1),
    }
    base = {
        (row["game_id"], row["map_seed"], row["play_seed"])
        for row in search.rows("scores")
        if row["policy_id"] == "base"
    }
    assert {(row["game_id"], row["map_seed"], row["play_seed"]) for row in rows} <= base


@pytest.mark.parametrize(
    ("script_gain", "reason"),
    [
        (5.0, "helps and is new"),
        (15.0, "no more than a script"),
        (10.0, "gain beyond scripts not settled"),
    ],
)
def test_a_game_may_have_to_be_beyond_every_script(
    search: Search, script_gain: float, reason: str
) -> None:
    world = of_limits(l7=Nature(scripted=script_gain))
    for gate, expected in (("false", "helps and is new"), ("true", reason)):
        name = f"gate-{gate}"
        overrides = (f"growth.beyond_scripts={gate}", "growth.list_size=1")
        assert search.run(world, *overrides, sampler=Listed([code(7)]), name=name) == 0
        (row,) = search.rows("decisions", name)
        assert row["reason"] == expected
        assert row["best_script"] == "content_words"
        assert row["script_gain"] == pytest.approx(script_gain)
        assert row["beyond_scripts"] == pytest.approx(10 - script_gain, abs=0.5)
        assert row["beyond_scripts_low"] < row["beyond_scripts"] < row["beyond_scripts_high"]
        assert row["script_plays"] in row["looks"]
        *_, last = (job for job in search.executor.jobs if isinstance(job, ScriptedEvaluation))
        assert (last.scripts == tuple(SCRIPTS)) == (gate == "true"), "then a verdict depends on all"
        assert search.faults(name) == []


def test_where_looking_at_the_map_pays_nothing_there_is_no_fine_tune(search: Search) -> None:
    """What the best script earns with its own moves and with those for other maps differs by half
    a bit."""
    world = of_limits(l7=Nature(scripted=0.0, flat=True))
    assert search.run(world, "growth.list_size=1", sampler=Listed([code(7)])) == 0
    [row] = search.rows("decisions")
    assert row["reason"] == "nothing about the map to learn"
    assert row["detail"] == "0.5 bits, transfer.headroom asks for 1"
    assert all(each["game_id"] != row["game_id"] for each in search.rows("finetunes"))
    assert search.faults() == []


def test_every_list_is_accepted_on_maps_of_its_own(search: Search) -> None:
    sampler = Listed([code(7), code(6), code(5)])
    world = of_limits(l6=Nature(covered=0.3), l5=Nature(covered=0.4))
    limits = ("growth.list_size=1", "growth.max_candidates=null")
    search.run(world, *limits, sampler=sampler)
    first = {
        row["round"]: row["first_play"]
        for row in search.rows("decisions")
        if row["purpose"] == "acceptance"
    }
    assert len(set(first.values())) == len(first) > 1
    maps: dict[int, set[int]] = {}
    for row in search.rows("scores"):
        if row["purpose"] == "acceptance":
            [place] = [k for k, start in first.items() if 0 <= row["play_seed"] - start < 1000]
            maps.setdefault(place, set()).add(row["map_seed"])
    assert not set.intersection(*maps.values())
    assert search.faults() == []
