"""The words that columns hold."""

from __future__ import annotations

import pytest

from archive import Reason, Verdict


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_verdict_and_a_meaning(reason: Reason) -> None:
    assert isinstance(reason.verdict, Verdict)
    assert len(reason.meaning) > 20
    assert Reason(str(reason)) is reason


def test_every_verdict_has_a_reason() -> None:
    assert {reason.verdict for reason in Reason} == set(Verdict)
