"""The replayed selections of ``benchmarks/search_baselines.py``, on growths made up here and on the
example run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import finding_figures
import numpy as np
import pytest
import search_baselines
from search_baselines import Growth, affordable, coverages, farthest, read_growth, strongest

from archive import Reason
from archive.schema import TaskId
from xgl import parse
from xgl.diagram.svg import render

EXAMPLE = Path(__file__).parents[1] / "docs" / "example" / "run"
ROOT = "assign(s=story())\nelicit(x, 8)\nreward(xed(s | x))"
NEAR = "assign(s=story())\nelicit(x, 4)\nreward(xed(s | x))"
FAR = (
    "assign(s=story(), t=story())\nelicit(x, 8)\nelicit(y, 4)\n"
    "reward(xed(s | x) - xed(t | x))\nreward(xed(y | s))"
)
PROGRAMS = {"root": ROOT, "near": NEAR, "same": ROOT, "far": FAR, "weak": FAR}


def task_id(name: str) -> TaskId:
    return TaskId(name, "black")


def decision(own_gain: float, reason: Reason, low: float = 1.0) -> dict[str, Any]:
    return {
        "own_gain": own_gain,
        "own_gain_low": low,
        "total_gain_low": low,
        "verdict": reason.verdict,
        "reason": reason,
    }


def proposal(name: str, seconds: float, parent: str = "root", candidate: bool = True) -> Any:
    return {
        "game_id": name,
        "role": "black",
        "outcome": "candidate" if candidate else "seen",
        "seconds": seconds,
        "parent_game_id": parent,
        "parent_role": "black",
    }


GROWTH = Growth(
    initial=(task_id("root"),),
    programs={name: parse(code, "xent") for name, code in PROGRAMS.items()},
    proposals=[
        proposal("near", 1.0),
        proposal("root", 2.0, candidate=False),
        proposal("far", 1.0, parent="near"),
        proposal("unjudged", 50.0),
        proposal("near", 1.0),
        proposal("weak", 1.0),
    ],
    decisions={
        task_id("near"): decision(3.0, Reason.COVERED),
        task_id("far"): decision(5.0, Reason.NEW_AND_USEFUL),
        task_id("weak"): decision(0.5, Reason.NOT_LEARNED, low=-1.0),
    },
    finetuned=frozenset(map(task_id, ("root", "near", "far", "weak"))),
    own_seconds={
        task_id("root"): 10.0,
        task_id("near"): 20.0,
        task_id("far"): 30.0,
        task_id("weak"): 40.0,
    },
    seconds=200.0,
)


@pytest.mark.parametrize(
    ("seconds", "playable", "finetune_ids", "seconds_spent", "is_exhausted"),
    [
        (30.0, [], [], 0.0, False),  # the initial game takes 10, the first candidate 21
        (31.0, ["near"], ["near"], 31.0, False),
        (33.0, ["near"], ["near"], 33.0, False),  # a game that was seen costs its proposal
        (64.0, ["near", "far"], ["near", "far"], 64.0, False),
        (106.0, ["near", "far"], ["near", "far", "weak"], 106.0, True),  # again: its proposal alone
    ],
)
def test_a_search_without_transfer_pays_for_each_candidate_in_turn(
    seconds: float,
    playable: list[str],
    finetune_ids: list[str],
    seconds_spent: float,
    is_exhausted: bool,
) -> None:
    pool = affordable(GROWTH, seconds)
    assert [task.game_id for task in pool.playable] == playable
    assert [task.game_id for task in pool.finetuned] == finetune_ids
    assert (pool.seconds, pool.exhausted) == (seconds_spent, is_exhausted)


def test_what_was_not_learned_for_certain_is_not_playable() -> None:
    assert GROWTH.playable == [task_id("near"), task_id("far")]
    assert GROWTH.accepted_games == [task_id("far")]


def test_games_are_kept_by_distance_or_by_gain() -> None:
    tasks = [task_id("same"), task_id("near"), task_id("far")]
    assert farthest(GROWTH, tasks, 1) == [task_id("far")]
    assert farthest(GROWTH, tasks, 3) == [task_id("far"), task_id("near"), task_id("same")]
    assert strongest(GROWTH, [task_id("near"), task_id("far")], 1) == [task_id("far")]
    assert strongest(GROWTH, [task_id("near"), task_id("far")], 9) == [
        task_id("far"),
        task_id("near"),
    ]


def test_kept_games_are_counted_by_their_verdicts() -> None:
    assert GROWTH.verdicts([task_id("near"), task_id("far")]) == (1, 1)
    assert GROWTH.verdicts([task_id("weak")]) == (0, 0)
    assert GROWTH.verdicts([]) == (0, 0)


def test_the_figure_shows_games_and_coverage_of_each_search(tmp_path: Path) -> None:
    results = [
        search_baselines.search_result("mutate", 1, GROWTH),
        *search_baselines.selection_results(1, GROWTH, 64.0, 1),
    ]
    nothing = asdict(results[0]) | {"search": "chat", "kept": [], "new": 0, "coverage": np.nan}
    rows = [asdict(each) | {"coverage": 0.5} for each in results] + [nothing]
    lines = "\n".join(map(json.dumps, rows))
    (tmp_path / "rows.jsonl").write_text(lines, encoding="utf-8")
    drawing = render(finding_figures.searches([tmp_path]))
    assert all(f">{result.search}</text>" in drawing for result in results)
    assert ">chat</text>" in drawing
    assert "every playable, seed 1: 0.50" in drawing
    assert "chat, seed 1" not in drawing, "no game, no coverage"
    assert drawing.count("1 covered by the scope") == 1, "only every playable keeps near"


def test_a_family_is_the_initial_game_at_the_root() -> None:
    assert GROWTH.families([task_id("far"), task_id("near")]) == 1
    assert GROWTH.families([task_id("far"), task_id("stranger")]) == 2


def test_coverage_is_the_best_kept_game_of_each_program() -> None:
    shares = {
        task_id("near"): np.array([[0.2, 0.8]] * 2),
        task_id("far"): np.array([[0.6, -0.4]] * 2),
        task_id("weak"): np.array([[0.0, 0.0]] * 2),
    }
    of_all, of_two = coverages(shares, [task_id("near"), task_id("far")], 2)
    assert [of_all, of_two] == pytest.approx([0.7, 0.7])
    _, of_one = coverages(shares, [task_id("near"), task_id("far")], 1)
    assert 0.1 < of_one < 0.5, "the mean of 0.5 and 0.1"
    assert np.isnan(coverages(shares, [task_id("near")], 2)[1])
    assert np.isnan(coverages(shares, [], 1)).all()
    assert np.isnan(coverages({}, [task_id("near")], 1)).all(), "nothing was measured"


def test_the_best_game_is_not_measured_where_it_was_chosen() -> None:
    """The largest of twenty shares that are noise is far above 0."""
    noise = np.random.default_rng(0).normal(size=(20, 2, 400))
    assert noise.max(0).mean() > 1.5
    assert search_baselines.coverage(noise) == pytest.approx(0.0, abs=0.15)


def test_the_example_run_is_read_and_replayed() -> None:
    growth = read_growth(EXAMPLE)
    assert growth.accepted_games
    assert set(growth.accepted_games) <= set(growth.playable)
    assert growth.families(growth.accepted_games) <= len(growth.initial)
    most = [affordable(growth, share * growth.seconds) for share in (0.25, 0.5, 1.0)]
    counts = [len(pool.playable) for pool in most]
    assert counts == sorted(counts)
    assert set(most[-1].playable) == set(growth.playable), "transfer costs more than nothing"
    for name, selection in search_baselines.SELECTIONS.items():
        tasks = selection(growth, most[-1].playable, len(growth.accepted_games))
        assert len(tasks) == len(set(tasks)) >= len(growth.accepted_games), name
