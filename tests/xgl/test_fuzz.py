"""Programs that nobody checked see only the language's own errors and bounded work."""

from __future__ import annotations

from random import Random

import pytest
from support.fuzz import OUTCOMES, SOURCES, count_outcomes, outcome

from xgl.language.dialects import DIALECTS


def test_a_few_of_each_kind() -> None:
    assert set(count_outcomes(600, seed=1)) == set(OUTCOMES)


@pytest.mark.long
def test_many_of_each_kind() -> None:
    """21,000 texts; docs/reference/dialects.md has the outcome of a million."""
    outcomes = count_outcomes(21_000, seed=2)
    assert sum(outcomes.values()) == 21_000
    assert min(outcomes[each] for each in OUTCOMES) > 100


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_text_has_the_same_outcome(source: object, dialect: str) -> None:
    assert callable(source)
    for seed in range(20):
        text = source(Random(seed))
        assert outcome(text, dialect, Random(seed)) == outcome(text, dialect, Random(seed))
