"""Samplers by name, and one sentence for each wrong setting."""

from __future__ import annotations

from typing import Any

import pytest

from meta_sampler import Mutate, MutateSettings, SamplerError, make
from meta_sampler.mutate.operators import OPERATORS
from xgl import game, parse


def test_make_builds_from_plain_settings() -> None:
    sampler = make("mutate", {"max_lines": 9, "players": ["black", "bob"]})
    assert isinstance(sampler, Mutate)
    assert sampler.settings == MutateSettings(max_lines=9, players=("black", "bob"))


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("mutant", {}, "mutate"),
        ("mutate", {"max_line": 9}, "max_lines"),
        ("mutate", {"max_lines": 0}, "max_lines is 0"),
        ("mutate", {"max_lines": True}, "max_lines is True"),
        ("mutate", {"max_lines": 65}, "64 lines"),
        ("mutate", {"loops": "no"}, "loops is 'no'"),
        ("mutate", {"players": "black"}, "list of players"),
        ("mutate", {"players": ["bob"]}, "list of players"),
        ("mutate", {"players": ["black", "rob"]}, "unknown player 'rob'"),
        ("mutate", {"memory": 1.5}, "memory is 1.5"),
        ("mutate", {"weights": 2}, "weights is 2"),
        ("mutate", {"weights": {"drop_terms": 2}}, "'drop_terms', did you mean 'drop_term'"),
        ("mutate", {"weights": {"drop_term": -1}}, "drop_term is -1"),
    ],
)
def test_wrong_settings_are_named_in_one_sentence(
    name: str, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(SamplerError, match=told) as caught:
        make(name, given)
    assert "\n" not in str(caught.value)


def test_weights_lead_the_draws() -> None:
    parent = game(parse("assign(s=story())\nelicit(x, 8)\nreward(xed(s | x))", "xent"))
    only = dict.fromkeys(OPERATORS, 0) | {"insert_distractor": 1}
    drawn = make("mutate", {"weights": only}).propose(parent, [parent], 2, 1)
    assert {o for proposal in drawn for o in proposal.provenance.operators} == {"insert_distractor"}
    nothing = make("mutate", {"weights": dict.fromkeys(OPERATORS, 0)})
    assert nothing.propose(parent, [parent], 2, 1) == []


@pytest.mark.parametrize("state", [{}, {"tried": {}, "accepted": {}}, {"tried": 3}])
def test_a_foreign_state_is_refused(state: dict[str, Any]) -> None:
    with pytest.raises(SamplerError, match="operators"):
        make("mutate").restore(state)
