"""Samplers by name: their settings, and a portfolio, by kl-UCB on what candidates came to."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.search import Listed, Nature, Search, code, of_limits

from meta_sampler import Mutate, Outcome, Progress, make
from meta_sampler.registry import Portfolio
from meta_sampler.settings import SETTINGS
from xgl import game, parse
from xgl.errors import ConfigError

MISTAKES = [
    ("mutate", {"max_line": 9}, "max_line: unknown key, did you mean max_lines?"),
    ("mutate", {"players": ["zed"]}, "players: found 'zed', expected black, white"),
    ("chat", {"model": "localhost:8000/v1"}, "model: found 'localhost:8000/v1', expected the end"),
    ("chat", {"key_variable": "sk-123"}, "key_variable: expected the name of an environment"),
    ("chat", {"budget_dollars": 1.0}, "budget_dollars: found 1.0 and no prices, expected both"),
]


@pytest.mark.parametrize(("sampler", "values", "sentence"), MISTAKES, ids=str)
def test_a_mistake_is_one_sentence(sampler: str, values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        SETTINGS[sampler](**values)
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)
    assert "sk-123" not in str(error.value)


GAME = game(parse("assign(s=story())\nelicit(x, 8)\nreward(xed(s | x))", "xent"))


def outcomes(sampler: str, accepted: int, refused: int) -> list[Outcome]:
    yes = [Outcome(f"a{i}", (), Progress.ACCEPTED, sampler=sampler) for i in range(accepted)]
    return yes + [Outcome(f"r{i}", (), Progress.REFUSED, sampler=sampler) for i in range(refused)]


def test_each_proposes_before_any_proposes_by_merit() -> None:
    portfolio = Portfolio({"a": Mutate(), "b": Mutate(), "c": Mutate()})
    firsts = Counter(portfolio.ranking(seed)[0] for seed in range(300))
    assert min(firsts[name] for name in "abc") > 60
    portfolio.observe(outcomes("a", 5, 0))
    assert all(portfolio.ranking(seed)[2] == "a" for seed in range(20)), "the others are untried"


def test_the_better_sampler_gets_most_lists_and_the_other_some() -> None:
    """The law of kl-UCB: a worse arm is drawn O(log N / kl) times, at small rates of both too,
    where UCB1 draws both about equally often."""
    portfolio, chosen = Portfolio({"good": Mutate(), "bad": Mutate()}), Counter[str]()
    for seed in range(200):
        name = portfolio.ranking(seed)[0]
        chosen[name] += 1
        portfolio.observe(outcomes(name, 2 * (name == "good"), 20))
    assert 2 <= chosen["bad"] < 20


def test_a_sampler_that_writes_no_game_does_not_end_the_lists() -> None:
    """Although no candidate of its own is ever decided; its proposals, which cost, are kept."""
    portfolio = Portfolio({"prose": Listed(["no game"], name="prose"), "mutate": Mutate()})
    portfolio.observe(outcomes("mutate", 1, 19))
    proposals = portfolio.propose(GAME, [GAME], 3, 0)
    assert proposals[0].provenance.sampler == "prose"
    assert [each.provenance.sampler for each in proposals if each.game] == ["mutate"] * 3


def test_proposals_are_a_function_of_state_and_seed() -> None:
    first, second = (Portfolio({"mutate": Mutate(), "local": Mutate()}) for _ in range(2))
    for each in (first, second):
        each.observe([*outcomes("mutate", 2, 9), *outcomes("local", 0, 3)])
    for seed in range(3):
        a, b = (each.propose(GAME, [GAME], 2, seed) for each in (first, second))
        assert [each.text for each in a] == [each.text for each in b] != []


def test_a_model_behind_an_endpoint_is_a_member_with_its_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    paid: Any = make("portfolio", {"model": "some", "price_prompt": 1.0, "budget_tokens": 10})
    assert [*paid.members] == ["mutate", "local", "chat"]
    paid.charge("local", 90, 0.0)
    paid.charge("chat", 10, 0.0)
    assert paid.members["chat"].usage.tokens == 10


def test_a_growth_learns_who_proposes_well(tmp_path: Path) -> None:
    """The sampler of each proposal is archived, and each verdict reaches who proposed."""
    (tmp_path / "runs").mkdir()
    search = Search(tmp_path / "runs")
    good, bad = Listed([code(4)], name="good"), Listed([code(5)], name="bad")
    portfolio = Portfolio({"good": good, "bad": bad})  # type: ignore[dict-item]
    search.run(of_limits(l5=Nature(teaches=0.0)), sampler=portfolio)
    rows = search.rows("proposals")
    assert {row["sampler"] for row in rows} <= {"good", "bad"}
    told = [*good.told, *bad.told]
    assert told
    assert all(each.sampler == "good" for each in good.told)
    assert all(each.sampler == "bad" for each in bad.told)
