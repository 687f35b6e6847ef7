"""Samplers by name."""

from __future__ import annotations

from typing import Any

import pytest

from meta_sampler import Mutate, MutateSettings, SamplerError, make
from meta_sampler.mutate.sampler import OPERATORS
from xgl import game, parse


def test_make_builds_from_plain_settings() -> None:
    sampler = make("mutate", {"max_lines": 9, "players": ["black", "bob"]})
    assert isinstance(sampler, Mutate)
    assert sampler.settings == MutateSettings(max_lines=9, players=("black", "bob"))


def test_weights_lead_the_draws() -> None:
    parent = game(parse("assign(s=story())\nelicit(x, 8)\nreward(xed(s | x))", "xent"))
    only = dict.fromkeys(OPERATORS, 0) | {"insert_distractor": 1}
    proposals = make("mutate", {"weights": only}).propose(parent, [parent], 2, 1)
    assert {o for proposal in proposals for o in proposal.provenance.operators} == {
        "insert_distractor"
    }
    nothing = make("mutate", {"weights": dict.fromkeys(OPERATORS, 0)})
    assert nothing.propose(parent, [parent], 2, 1) == []


@pytest.mark.parametrize("state", [{}, {"tried": {}, "accepted": {}}, {"tried": 3}])
def test_a_foreign_state_is_refused(state: dict[str, Any]) -> None:
    with pytest.raises(SamplerError, match="operators"):
        make("mutate").restore(state)


def test_an_unknown_name_or_operator_is_reported_with_the_known_ones() -> None:
    with pytest.raises(SamplerError, match="'mutant', expected one of: chat, local"):
        make("mutant")
    with pytest.raises(SamplerError, match="'drop_terms', did you mean 'drop_term'"):
        make("mutate", {"weights": {"drop_terms": 2}})
