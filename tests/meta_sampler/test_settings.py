"""Settings of the samplers: one sentence for each value that cannot be."""

from __future__ import annotations

import pickle
from dataclasses import asdict, fields, replace
from typing import Any

import pytest

from meta_sampler import Mutate, MutateSettings, SamplerError, make
from meta_sampler.mutate.sampler import OPERATORS
from meta_sampler.settings import (
    SETTINGS,
    ChatSamplerSettings,
    GrammarSettings,
    LocalSettings,
    settings_of,
)
from xgl import game, parse
from xgl.errors import ConfigError
from xgl.settings import Role, role_of

MISTAKES = [
    ("mutate", {"max_line": 9}, "max_line: unknown key, did you mean max_lines?"),
    ("mutate", {"zebra": 9, "loops": 3}, "zebra: unknown key"),
    ("mutate", {"max_lines": 0}, "max_lines: found 0, expected at least 1 and at most 64"),
    ("mutate", {"max_lines": 6.0}, "max_lines: found 6.0, expected a whole number"),
    ("mutate", {"loops": "no"}, "loops: found 'no', expected true or false"),
    ("mutate", {"players": "black"}, "players: found 'black', expected a list such as [black]"),
    ("mutate", {"players": ["bob"]}, "players: found ['bob'], expected a list with black"),
    ("mutate", {"players": ["black", "rob"]}, "players: unknown player 'rob', expected some of"),
    ("mutate", {"decay": 1.5}, "decay: found 1.5, expected more than 0 and at most 1"),
    ("mutate", {"weights": 2}, "weights: found 2, expected settings such as {key: value}"),
    (
        "mutate",
        {"weights": {"drop_term": -1}},
        "weights.drop_term: found -1, expected a number, at least 0",
    ),
    ("local", {"max_tokens": 0}, "max_tokens: found 0, expected at least 1"),
    ("local", {"temperature": -1.0}, "temperature: found -1.0, expected at least 0"),
    ("local", {"top_p": 0.0}, "top_p: found 0.0, expected more than 0 and at most 1"),
    ("local", {"max_lines": 2}, "max_lines: found 2, expected at least 3 and at most 64"),
    ("local", {"dtype": "int8"}, "dtype: found 'int8', expected auto, float32 or bfloat16"),
    ("chat", {"model": ""}, "model: found '', expected the name of a model"),
    ("chat", {"library_games": -1}, "library_games: found -1, expected at least 0"),
    ("chat", {"base_url": "example.com"}, "base_url: found 'example.com', expected http"),
    ("chat", {"model": "m@localhost:8000/v1"}, "model: found 'm@localhost:8000/v1', in wh"),
    ("chat", {"model": "localhost:8000/v1"}, "model: found 'localhost:8000/v1', in which"),
    ("chat", {"key_variable": "sk-123"}, "key_variable: expected the name of an environment"),
    ("chat", {"budget_dollars": 1.0}, "budget_dollars: found 1.0 and no prices, expected both"),
]


@pytest.mark.parametrize(("sampler", "values", "sentence"), MISTAKES, ids=str)
def test_a_mistake_is_one_sentence(sampler: str, values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings_of(sampler, values)
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)
    assert "sk-123" not in str(error.value)


@pytest.mark.parametrize("wrong", [{"max_lines": 2}, {"max_lines": 65}, {"max_limit": 0}])
def test_a_grammar_has_bounds_too(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=r"expected at least . and at most"):
        GrammarSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("sampler", SETTINGS)
def test_settings_read_back_from_plain_values_and_from_another_process(sampler: str) -> None:
    default = settings_of(sampler, {})
    assert settings_of(sampler, asdict(default)) == default
    assert pickle.loads(pickle.dumps(default)) == default


def test_a_replaced_value_is_checked_and_a_whole_number_stands_for_a_number() -> None:
    with pytest.raises(ConfigError, match="attempts: found -1"):
        replace(LocalSettings(), attempts=-1)
    assert type(LocalSettings(temperature=1).temperature) is float


def test_what_a_remote_sampler_writes_does_not_depend_on_how_it_is_reached() -> None:
    kind = ChatSamplerSettings
    free = {f.name for f in fields(kind) if role_of(kind, f.name) is Role.RESUMABLE}
    reached = {"base_url", "key_variable", "concurrency", "timeout", "retries", "cache"}
    waits = {"first_backoff", "max_backoff", "budget_tokens", "budget_dollars"}
    assert free == reached | waits


# -- Samplers by name ------------------------------------------------------------------------------


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
