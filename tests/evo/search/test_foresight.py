"""Which proposals are likely to be covered."""

from __future__ import annotations

import pytest

from evo.search.foresight import Judged, coverage_risk
from xgl import Program, parse


def program(limit: int, reward: str = "xed(s | t)") -> Program:
    return parse(f"assign(s=story())\nelicit(t, {limit})\nreward({reward})", "xent")


COVERED = [Judged(program(n), covered=True) for n in (5, 6)]
NEW = [Judged(program(n, "xent(t | s) + xed(t | s) - nex(t)"), covered=False) for n in (5, 6)]


def test_without_a_covered_game_nothing_is_a_risk() -> None:
    assert coverage_risk(program(7), []) == 0.0
    assert coverage_risk(program(7), NEW) == 0.0


def test_what_is_like_covered_games_is_the_greater_risk() -> None:
    like_covered = coverage_risk(program(7), COVERED + NEW)
    like_new = coverage_risk(NEW[0].program, COVERED + NEW)
    assert 1 > like_covered > 0.5 > like_new > 0


def test_far_from_everything_the_risk_is_the_common_rate() -> None:
    far = parse("assign(s=story(), x=story())\n" + "reveal(black, s)\n" * 30, "xent")
    assert coverage_risk(far, COVERED + NEW) == pytest.approx(0.5, abs=1e-3)
