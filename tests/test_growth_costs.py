"""What a growth spends on the games that it accepts (benchmarks/growth_costs.py)."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from growth_costs import Costs, end_of, read_costs, table

from archive import Archive, Reason

EXAMPLE = Path(__file__).parents[1] / "docs" / "example" / "run"


def test_every_candidate_of_a_run_has_one_end_and_its_seconds() -> None:
    costs = read_costs([EXAMPLE])
    with Archive.open(EXAMPLE / "archive") as archive:
        decisions = archive.rows("decisions")
    accepted = [row for row in decisions if row["verdict"] == "accepted"]
    assert costs.candidates.total() == len(decisions)
    assert costs.candidates["accepted"] == len(accepted)
    assert costs.seconds["accepted"] == pytest.approx(sum(row["seconds"] for row in accepted))
    assert costs.seconds.total() <= costs.total
    twice = read_costs([EXAMPLE, EXAMPLE])
    assert twice.candidates == costs.candidates + costs.candidates
    assert twice.limit == pytest.approx(costs.limit)


def test_an_end_is_told_by_verdict_reason_and_training() -> None:
    for reason, was_trained, end in (
        (Reason.NEW_AND_USEFUL, True, "accepted"),
        (Reason.COVERED, True, "fine-tuned, not accepted"),
        (Reason.PASSED_OVER, False, "passed over"),
        (Reason.TOO_LONG, False, "refused before a fine-tune"),
    ):
        assert end_of(reason.verdict, reason, was_trained) == end


def test_the_limit_is_what_accepted_games_alone_would_cost() -> None:
    costs = Costs(Counter(accepted=2), Counter(accepted=100.0), 400.0)  # type: ignore[arg-type]
    assert costs.limit == 72
    assert "18.0 games per core-hour; 72 if" in table(costs)
    assert math.isnan(Costs(Counter(), Counter(), 10.0).limit)
