"""The filters of calibrated games: repeated play on the embedded model, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from archive import Reason
from archive.statistics.rule import Answer, Decision
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.jobs.job import Evaluation, Repetition
from evo.jobs.model_host import ModelHost
from evo.jobs.repeated_play import RoundScore, round_rows, series
from evo.record.ledger import score_rows
from evo.record.playability import (
    PlayabilityConfig,
    evidence_columns,
    few_shot,
    ill_posed,
    not_few_shot,
    well_posed,
)

MakeTask = Callable[..., Task]
MakeModelHost = Callable[..., ModelHost]
SEEDS = tuple(evaluation_seeds("calibration", 0, 6))
CONFIG = PlayabilityConfig(few_shot_rounds=4, few_shot_maps=6)


@pytest.fixture(scope="module")
def lab(make_model_host: MakeModelHost) -> ModelHost:
    return make_model_host()


def repetition_scores(lab: ModelHost, task: Task, rounds: int = 4) -> list[RoundScore]:
    outcome: Any = lab.do(Repetition(task, None, SEEDS, rounds)).outcome
    return list(outcome)


def test_repetition_gives_rows_of_both_kinds(lab: ModelHost, make_task: MakeTask) -> None:
    scores = repetition_scores(lab, make_task(), 3)
    assert [(s.number, s.control) for s in scores[:: len(SEEDS)]] == [
        (1, False),
        (2, False),
        (2, True),
        (3, False),
        (3, True),
    ]
    round_series = series(round_rows("base", make_task(), "calibration", scores))
    assert round_series.own.shape == (6, 3)
    assert round_series.control is not None
    assert round_series.clipped_scores is not None
    assert (round_series.own[:, 0] == round_series.control[:, 0]).all()
    assert (round_series.own[:, 1:] != round_series.control[:, 1:]).any()
    assert all(s.new_tokens < s.tokens for s in scores)
    assert repetition_scores(lab, make_task(), 3)[0].score == scores[0].score


def test_clipping_bounds_scores_and_never_raises_an_xent(
    lab: ModelHost, make_task: MakeTask
) -> None:
    """The vocabulary has 4096 tokens: at most 12 bits each."""
    task = make_task("assign(s=story())\nelicit(t, 8)\nreward(xent(t))\n")
    outcome: Any = lab.do(Evaluation(task, (None,), (SEEDS,))).outcome
    for score in outcome[0]:
        assert score.clipped_score is not None
        assert score.clipped_score <= score.score + 1e-6
        assert score.clipped_score <= 12 * 8
    rows = score_rows("base", task, "calibration", outcome[0])
    assert well_posed(rows) is not None


def _rows(plain: list[float], clipped_scores: list[float]) -> list[dict[str, Any]]:
    """The move made for another map scores 0 either way."""
    return [
        {"score": s, "permuted_score": 0.0, "clipped_score": c, "permuted_clipped_score": 0.0}
        for s, c in zip(plain, clipped_scores, strict=True)
    ]


def test_a_game_whose_best_moves_are_artifacts_is_ill_posed() -> None:
    stable = well_posed(_rows([1.0] * 20, [1.0] * 20))
    unstable = well_posed(_rows([1.0] * 20, [-1.0] * 16 + [1.0] * 4))
    assert stable
    assert unstable
    assert ill_posed([stable], CONFIG, 0.95) is None
    detail = "clipping keeps the best move on 4 of 20 maps"
    assert ill_posed([stable, unstable], CONFIG, 0.95) == Decision(Reason.ILL_POSED, True, detail)
    unsure = well_posed(_rows([1.0] * 20, [-1.0] * 12 + [1.0] * 8))
    assert unsure
    assert ill_posed([unsure], CONFIG, 0.95) is None, "8 of 20 may still be a half"
    assert ill_posed([], CONFIG, 0.95) is None
    assert evidence_columns([stable, unstable], None)["best_kept"] == 0.2


def _series(own: np.ndarray, control: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"map_seed": n, "play_seed": n, "round": k + 1, "control": kind}
        | {"score": float(scores[n, k]), "clipped_score": None}
        for kind, scores in ((False, own), (True, control))
        for n in range(len(scores))
        for k in range(kind, scores.shape[1])
    ]


def test_few_shot_play_is_judged_from_rows() -> None:
    luck = np.random.default_rng(0).normal(size=(40, 4))
    scores = luck + np.arange(4.0)
    evidence = few_shot(_series(scores, luck), CONFIG, 0.95)
    assert evidence is not None
    assert evidence.rises.answer is Answer.YES
    assert evidence.above.low > 0
    assert not_few_shot(evidence, CONFIG) is None
    flat = few_shot(_series(np.zeros((40, 4)), np.zeros((40, 4))), CONFIG, 0.95)
    refusal = not_few_shot(flat, CONFIG)
    assert refusal
    assert refusal.reason is Reason.NOT_FEW_SHOT
    lucky = few_shot(_series(luck, luck), CONFIG, 0.95)
    assert not_few_shot(lucky, CONFIG) is None
    strict = replace(CONFIG, few_shot_above_control=True)
    refusal = not_few_shot(lucky, strict)
    assert refusal
    assert refusal.reason is Reason.FEW_SHOT_LUCK
    assert few_shot([], CONFIG, 0.95) is None
    columns = evidence_columns([], evidence)
    assert columns["few_shot_low"] == evidence.rises.low
    assert columns["few_shot_above_control"] == pytest.approx(3, abs=1)
