"""What samplers hear of their proposals."""

from __future__ import annotations

from archive import Reason, Verdict
from evo.search.proposals import PROGRESS
from meta_sampler import Progress


def test_every_reason_says_how_far_a_candidate_came() -> None:
    assert set(PROGRESS) == set(Reason)
    assert set(PROGRESS.values()) == set(Progress)


def test_progress_is_acceptance_where_the_verdict_is() -> None:
    for reason, progress in PROGRESS.items():
        assert (reason.verdict is Verdict.ACCEPTED) == (progress is Progress.ACCEPTED)
