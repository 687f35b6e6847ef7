"""How well judges decide statements: the measure is right about a judge that knows, and about one
that does not."""

from __future__ import annotations

from typing import Any

from xgl.judge.reliability import CHANCE, reliability, statement_pairs
from xgl.runtime.requests import TruthRequest


class Oracle:
    """A judge with a margin of its own for each statement."""

    def __init__(self, margin: Any) -> None:
        self.margin = margin

    def margins(self, requests: list[TruthRequest]) -> list[float]:
        return [self.margin(request.named) for request in requests]


def test_a_judge_that_knows_is_reliable_and_one_that_knows_nothing_is_not() -> None:
    true = {pair[0] for pair in statement_pairs()}
    knows: Any = Oracle(lambda statement: 1.0 if statement in true else -1.0)
    found = reliability(knows)
    assert (found.area, found.low) == (1.0, 1.0)
    always: Any = Oracle(lambda statement: 1.0)
    found = reliability(always)
    assert (found.called_true, found.called_false, found.area) == (found.pairs, 0, 0.5)
    assert found.low <= CHANCE


def test_a_bias_is_no_knowledge_and_no_ignorance() -> None:
    """The area tells what the verdicts hide: which statement of two has the larger margin."""
    pairs = [("a is a.", "a is b."), ("b is b.", "b is a."), ("c is c.", "c is a.")]
    shy: Any = Oracle(lambda statement: -2.0 if statement[0] == statement[-2] else -3.0)
    found = reliability(shy, pairs)
    assert (found.called_true, found.called_false, found.area) == (0, 3, 1.0)
