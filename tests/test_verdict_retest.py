"""Agreement of verdicts under several seeds (benchmarks/verdicts.py)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from verdicts import QUESTIONS, Decision, agreement

from archive import Reason

X = math.nan
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, X, X, X],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, X, 3],
    [X, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, X],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, X],
]
"""Observers and units of his "Computing Krippendorff's Alpha-Reliability" (2011), section C."""


def test_alpha_is_that_of_the_published_example() -> None:
    assert agreement(np.array(KRIPPENDORFF).T)[1] == pytest.approx(0.743, abs=5e-4)


def test_same_answers_agree_wholly_and_random_ones_by_chance() -> None:
    column = np.array([0.0, 1, 1, 0, 1])
    assert agreement(np.stack([column] * 3, axis=1)) == (1.0, 1.0)
    assert agreement(np.ones((4, 2)))[0] == 1.0
    assert math.isnan(agreement(np.ones((4, 2)))[1])
    share, alpha = agreement(np.random.default_rng(0).integers(0, 2, (4000, 3)).astype(float))
    assert (share, alpha) == (pytest.approx(0.5, abs=0.02), pytest.approx(0.0, abs=0.04))


@pytest.mark.parametrize(
    ("reason", "decided", "answers"),
    [
        (Reason.NOT_LEARNED, True, (0, X, X)),
        (Reason.NOT_LEARNED, False, (X, X, X)),
        (Reason.NOT_ABOUT_MAP, True, (0, X, X)),
        (Reason.OWN_GAIN_OPEN, False, (X, X, X)),
        (Reason.NO_HELP, True, (1, 0, X)),
    ],
)
def test_questions_are_answered_in_turn(
    reason: Reason, decided: bool, answers: tuple[float, ...]
) -> None:
    decision = Decision(reason, decided)
    assert [decision.answer(each) for each in QUESTIONS] == pytest.approx(answers, nan_ok=True)
