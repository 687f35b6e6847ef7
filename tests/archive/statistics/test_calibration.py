"""Which games the base player cannot play, from calibration plays made up here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from archive import Reason
from archive.statistics.calibration import (
    REASONS,
    Calibration,
    Limits,
    affordable_steps,
    refusal,
)
from archive.statistics.rule import Decision

LIMITS = Limits(max_forfeit_rate=0.25, tokens=4000, plays=16, min_steps=10)
OWN, PERMUTED = np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4)


def calibration(finished_plays: int = 4, tokens: int = 20, constant: bool = False) -> Calibration:
    """Four plays, of which so many are finished, each of so many tokens."""
    outcomes = ("finished",) * finished_plays + ("forfeit",) * (4 - finished_plays)
    own = np.ones(4) if constant else OWN
    return Calibration(outcomes, (tokens,) * 4, own, own if constant else PERMUTED)


def test_a_game_that_can_be_played_is_not_refused() -> None:
    assert refusal(calibration(), LIMITS) is None
    assert refusal(calibration(finished_plays=3), LIMITS) is None, (
        "a quarter of forfeits is allowed"
    )


@pytest.mark.parametrize(
    ("plays", "reason", "detail"),
    [
        (calibration(finished_plays=0), Reason.NEVER_FEASIBLE, None),
        (calibration(finished_plays=2), Reason.FORFEIT_RATE, "0.50 above 0.25"),
        (
            calibration(tokens=30),
            Reason.TOO_LONG,
            "finetune.tokens pays for 9 gradient steps, transfer.min_steps asks for 10",
        ),
        (calibration(constant=True), Reason.CONSTANT_SCORE, None),
    ],
)
def test_a_refusal_says_why(plays: Calibration, reason: Reason, detail: str | None) -> None:
    assert refusal(plays, LIMITS) == Decision(reason, True, detail)
    assert reason in REASONS


def test_without_a_budget_of_tokens_no_play_is_too_long() -> None:
    endless = Limits(max_forfeit_rate=0.25, tokens=0, plays=16, min_steps=10)
    assert refusal(calibration(tokens=10**6), endless) is None


def test_a_warm_start_takes_its_plays_but_at_most_half_of_the_tokens() -> None:
    """4,000 tokens, steps of 16 plays of 20 tokens: 12.5 steps without a warm start."""
    steps = [affordable_steps(calibration(), replace(LIMITS, warm_plays=n)) for n in (0, 48, 999)]
    assert steps == [13, 10, 7]
