"""The scripts in benchmarks/, on numbers and archives made up here."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import verdicts
from growths import null_counts, null_row
from held_out import counts, judged_games, p_value
from learning import participation_ratio, skills
from scipy import stats
from support.example import EXAMPLE
from support.rows import row as archive_row, write
from universality import SPLITS, Measured, agreement, answer
from verdicts import QUESTIONS, Decision

import evo
from archive import Purpose, Reason
from archive.schema import TaskId
from archive.statistics.intervals import Scores


def test_the_p_value_is_the_share_of_choices_that_are_at_least_as_good() -> None:
    """Two growths, all choices of as many games of each enumerated."""
    values = np.array([3.0, 1.0, 0.0, 2.0, 5.0, 4.0, 4.5])
    accepted = np.array([True, False, False, False, True, False, True])
    sums = [
        values[first] + values[list(second)].sum()
        for first in range(4)
        for second in combinations((4, 5, 6), 2)
    ]
    observed = values[accepted].sum()
    p = p_value(values, accepted, ["a"] * 4 + ["b"] * 3, 200_000)
    share = np.mean([each >= observed - 1e-9 for each in sums])
    assert p == pytest.approx(share, abs=0.005)


def test_kinds_of_games_are_those_of_a_growths_verdicts() -> None:
    """On the finished run in docs/example, with all that it passed over and with one of them."""
    run = evo.Run.open(EXAMPLE, backend="pyarrow")
    kinds = {each.task.id: each.kind for each in judged_games(run, "growth", passed_over=10**6)}
    scope = {TaskId.of(each) for each in run.table("scopes").to_pylist()}
    assert {each for each, kind in kinds.items() if kind in ("initial", "accepted")} == scope
    assert Counter(kinds.values())["accepted"] == len(scope) - 1
    reasons = Counter(each["reason"] for each in run.table("decisions").to_pylist())
    fewer = Counter(each.kind for each in judged_games(run, "growth", passed_over=1))
    assert Counter(kinds.values())["covered"] - fewer["covered"] == reasons[Reason.PASSED_OVER] - 1
    trained = {TaskId.of(each) for each in run.table("finetunes").to_pylist()}
    assert {each for each, kind in kinds.items() if kind != "covered"} <= trained


def test_a_program_counts_by_both_gains_and_by_what_is_about_the_map() -> None:
    rng = np.random.default_rng(0)
    good = 5.0 + rng.normal(size=(3, 200, 2))
    nothing_about_the_map = good * [1.0, 0.0]
    assert counts(good, good)
    assert not counts(good * [1.0, 0.1] - [0.0, 0.5], good)
    assert not counts(good, nothing_about_the_map)


# -- Whether measures rank models alike (benchmarks/universality.py), on runs made up here ---------

MODELS = tuple(f"m{index}" for index in range(12))


def measure(name: str, levels: np.ndarray, noise: float, seed: int) -> Measured:
    """Values of models at these levels; halves are noisier by √2, as means of half of the maps."""
    draw = np.random.default_rng(seed)
    whole = levels + draw.normal(0, noise, len(levels))
    halves = levels[:, None] + draw.normal(0, 1.4 * noise, (len(levels), 2 * SPLITS))
    return Measured(MODELS, frozenset({name}), np.column_stack([whole, halves]))


def test_a_true_claim_is_supported_and_a_false_one_falsified() -> None:
    levels = np.arange(12.0)
    alike = [measure(str(index), levels, 0.01, index) for index in range(4)]
    assert answer(agreement(alike, [], 200), 0.8) == "supported"
    rng = np.random.default_rng(0)
    apart = [measure(str(index), rng.permutation(levels), 0.01, index) for index in range(4)]
    assert answer(agreement(apart, [], 200), 0.8) == "falsified"
    noisy = [measure(str(index), levels, 30.0, index) for index in range(2)]
    assert answer(agreement(noisy, [], 200), 0.8) == "not decided"


# -- counts of a null control (benchmarks/growths.py) ----------------------------------------------

LISTS = {"a": 0, "b": 0, "c": 1, "d": 1, "e": 2}
"""The list of each candidate; of the last one nothing is decided yet."""
REASONS = {
    "a": Reason.NO_HEADROOM,
    "b": Reason.NOT_LEARNED,
    "c": Reason.NOT_ABOUT_MAP,
    "d": Reason.NEW_AND_USEFUL,
}


def null_run(folder: Path, shuffle: bool = True) -> Path:
    proposals = [proposal(name, number, "candidate") for name, number in LISTS.items()]
    proposals += [proposal("b", 7, "seen"), proposal("d", 8, "passed_over")]
    finetunes = [
        archive_row("finetunes", finetune_id=name * 2, game_id=name, role="black", seed=seed)
        for name, seed in (("initial", 5), ("b", 5), ("c", 5), ("d", 6))
    ]
    decisions = [
        archive_row(
            "decisions",
            **{"run_id": "r", "game_id": name, "role": "black"},
            reason=reason,
            verdict=reason.verdict,
            purpose=Purpose.ACCEPTANCE if name == "d" else Purpose.SELECTION,
            total_gain_low={"b": -1.0, "c": 0.5, "d": 2.0}.get(name),
            specific_gain_low={"b": -1.0, "c": -0.5, "d": 1.0}.get(name),
        )
        for name, reason in REASONS.items()
    ]
    config = json.dumps({"finetune": {"shuffle": shuffle}})
    runs = [archive_row("runs", run_id="r", config_json=config)]
    tables = {"runs": runs, "proposals": proposals, "finetunes": finetunes, "decisions": decisions}
    return write(folder / "archive", **tables).parent


def proposal(name: str, number: int, outcome: str) -> dict[str, Any]:
    return archive_row(
        "proposals",
        run_id="r",
        **{"game_id": name, "role": "black", "parent_game_id": "initial", "round": number},
        outcome=outcome,
    )


def test_lists_are_those_that_candidates_were_proposed_in(tmp_path: Path) -> None:
    assert null_counts(null_run(tmp_path)) == {
        "training seeds": 2,
        "lists": 2,
        "candidates": 4,
        "fine-tuned": 3,
        "gained": 2,
        "gained specifically": 1,
        "tested": 1,
        "accepted": 1,
        "lists with a fine-tune": 2,
        "lists accepting": 1,
    }


def test_the_bound_is_of_lists_with_a_fine_tune(tmp_path: Path) -> None:
    folders = [null_run(tmp_path / "a"), null_run(tmp_path / "b")]
    cells = [cell.strip() for cell in null_row(folders).strip("| ").split("|")]
    rate = float(cells[-1].rstrip("%")) / 100
    assert stats.binom.cdf(2, 4, rate) == pytest.approx(0.05, abs=1e-3), "2 of 4 lists accepted"


# -- effective skills of a growth (benchmarks/learning.py) -----------------------------------------


@pytest.mark.parametrize("mean", [10 * np.eye(6), np.full((6, 6), 10.0)])
def test_bounds_on_effective_skills_hold(mean: Scores) -> None:
    """Of games that each teach themselves alone, and of games that teach the same."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(40):
        _, (low, high) = skills(mean[..., None] + rng.normal(0, 8, (6, 6, 64)))
        held += low <= participation_ratio(mean) <= high
    assert held >= 32


# -- agreement of verdicts under several seeds (benchmarks/verdicts.py) ----------------------------

X = math.nan
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, X, X, X],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, X, 3],
    [X, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, X],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, X],
]
"""Observers and units of his "Computing Krippendorff's Alpha-Reliability" (2011), section C."""


def test_alpha_is_that_of_the_published_example() -> None:
    assert verdicts.agreement(np.array(KRIPPENDORFF).T)[1] == pytest.approx(0.743, abs=5e-4)


@pytest.mark.parametrize(
    ("reason", "decided", "answers"),
    [
        (Reason.NOT_LEARNED, True, (0, X, X)),
        (Reason.NOT_LEARNED, False, (X, X, X)),
        (Reason.NOT_ABOUT_MAP, True, (0, X, X)),
        (Reason.OWN_GAIN_OPEN, False, (X, X, X)),
        (Reason.NO_HELP, True, (1, 0, X)),
        (Reason.ILL_POSED, True, (0, X, X)),
    ],
)
def test_questions_are_answered_in_turn(
    reason: Reason, decided: bool, answers: tuple[float, ...]
) -> None:
    decision = Decision(reason, decided)
    assert [decision.answer(each) for each in QUESTIONS] == pytest.approx(answers, nan_ok=True)
