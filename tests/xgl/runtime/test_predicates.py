"""Statements that a plain function decides, recognised on expressions alone; in the paper's dialect
no respelling passes a rule about words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from xgl import game, parse
from xgl.runtime import lockstep
from xgl.runtime.machine import Machine
from xgl.runtime.predicates import decide, pieces, spellings
from xgl.runtime.requests import Move, Predicate, TruthRequest


def rule(condition: str, **registers: str) -> Predicate | None:
    """The rule behind ``ensure(condition)`` when the registers hold these texts."""
    texts = ", ".join(f"{name}={json.dumps(text)}" for name, text in registers.items())
    code = f"assign({texts})\nelicit(y)\nensure({condition})"
    play = Machine(game(parse(code, "xent"))).play()
    next(play)
    [asked] = play.send((Move(""),))
    assert isinstance(asked, Predicate | TruthRequest)
    return asked if isinstance(asked, Predicate) else None


@pytest.mark.parametrize(
    "condition",
    [
        '"no common words between" + s + "&" + t',
        *('"no shared words between: " + s + "and" + t', '("no common words" + s) + ("&" + t)'),
        *('is_false("no common words between" + s + "&" + t)', 'is_true("no common words", s, t)'),
    ],
)
def test_no_common_words(condition: str) -> None:
    assert rule(condition, s="A dog.", t="dogs") == Predicate("no_common_words", ("A dog.", "dogs"))


@pytest.mark.parametrize(
    "condition",
    [
        *("s", '"no common words between" + s', '"no common words between" + s + "&"'),
        *('"no common words between" + s + "&" + t + "&" + x', '"no common words between s & t"'),
        's + "no common words between" + s + "&" + t',
        *('("no common words between" + s) // t + "&" + t', 'is_true("no common words", s, t, x)'),
        *("is_true(s, t, x)", 'is_true("num_words<3", s, t)', 'is_true("num_words<-3", s)'),
        'is_true("num_words<9999999", s)',
    ],
)
def test_all_other_statements_are_the_models(condition: str) -> None:
    assert rule(condition, s="no common words between", t="&", x="y") is None


ATTACKS = [
    *("x & y", "dog & nothing", "no common words between cat & mouse", '" + "&" + "'),
    *('"no common words between"', "num_words<99"),
]


@pytest.mark.parametrize("move", ATTACKS)
def test_a_move_cannot_rewrite_a_rule(move: str) -> None:
    assert rule('"no common words between" + s + "&" + t', s="dog x", t=move) == Predicate(
        "no_common_words", ("dog x", move)
    )
    assert rule('is_true("num_words<2", s)', s=move) == Predicate("num_words", (move,), "<", 2)
    assert rule("is_true(s, t)", s=move, t="x") is None
    assert rule('s + "&" + t', s=move, t=move) is None


@pytest.mark.parametrize(
    ("condition", "truths"),
    [
        ('is_true("num_words<3", s)', {"a b": True, "a b c": False}),
        ('is_true("num_words>=2", s)', {"a b": True, "a": False}),
        ('is_true("num_words==2", s)', {"a - b": True, "a -": False}),
        ('is_true("num_tokens<3", s)', {"aa": True, "aaa": False}),
        (
            'is_true("only uses the words of", t, s)',
            {"": True, "Red, blue": True, "red green": False},
        ),
        ('is_true("no common words", s, t)', {"REDS": True, "a 'red'": False, "": True}),
    ],
)
def test_what_rules_decide(condition: str, truths: dict[str, bool]) -> None:
    for text, expected in truths.items():
        decision_rule = rule(condition, s=text, t="red blue")
        assert decision_rule is not None
        assert decide(decision_rule, count_tokens=len) is expected


@pytest.mark.parametrize("dialect", ["paper", "xent"])
@pytest.mark.parametrize("move", ["a dog & cat", "no common words between x & y: dog"])
def test_a_move_cannot_rewrite_a_rule_in_play(
    table: Any, dialect: str, move: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided: list[Predicate] = []
    monkeypatch.setattr(
        lockstep, "decide", lambda rule, count: decided.append(rule) or decide(rule, count)
    )
    code = 'assign(s="dog")\nelicit(t)\nensure("no common words between" + s + "&" + t)'
    table.judge.believes = lambda statement: True
    play = table.play(code, move, "a bird", dialect=dialect)
    assert play.accepted_moves("black") == ["a bird"]
    spell = {"paper": lambda text: " ".join(sorted(spellings(text))), "xent": str}[dialect]
    rules = [Predicate("no_common_words", ("dog", spell(text))) for text in (move, "a bird")]
    assert decided == rules
    assert not table.judge.judged


RESPELLED = [
    *("hen", "HEN", "a,hen", "fox;hen;owl", "“hen”", "«hen»", "‘hen’", "hen…", "hen—fox"),
    *("(hen)", "hen1", "1hen", "hen_", "he-n", "h.e.n", "he\u200bn", "he\u00adn"),
    *("he\u2060n", "he\ufe0fn", "he\u034fn", "he\u3164n", "a\u200bhen", "a,he\u200bn"),
    *("a\u200bhe-n", "hen\u00a0fox", "ｈｅｎ", "ｈen", "ⓗⓔⓝ", "𝐡𝐞𝐧", "ʰᵉⁿ", "hén", "he\u0301n"),
    *("h\u0336e\u0336n\u0336", "hen's", "a'hen", "hen🐔", "hen$", "fox/hen"),
    *("\u202ehen\u202c",),
]
OTHER = ["", "a fox", "hens", "then", "h", "…", "it's", "he", "n", "ħ", "heron,owl", "he n"]
RULES = (
    'ensure("no common words between" + s + "&" + x)',
    "ensure(is_true('no shared words', s, x))",
    "ensure(len(common_word_set(s, x)) < 1)",
)


def passes(table: Any, rule: str, move: str, dialect: str) -> bool:
    code = f'assign(s="red hen")\nelicit(x, 30)\n{rule}'
    play = table.play(code, move, "", dialect=dialect)
    return bool(next(event for event in play.events if hasattr(event, "passed")).passed)


@pytest.mark.parametrize("rule", RULES)
def test_no_respelling_of_a_word_passes(table: Any, rule: str) -> None:
    passed = [move for move in RESPELLED if passes(table, rule, move, "paper")]
    assert passed == []
    assert [move for move in OTHER if not passes(table, rule, move, "paper")] == []


@pytest.mark.parametrize("rule", RULES)
def test_the_engines_words_stay_in_its_dialect(table: Any, rule: str) -> None:
    for move in ("a,hen", "“hen”", "hen1", "he\u200bn", "ｈｅｎ"):
        assert passes(table, rule, move, "xent")
    for move in ("hen", "HEN!", "he-n"):
        assert not passes(table, rule, move, "xent")


@pytest.mark.parametrize("other", ["s", "[s]", '["hen"]'])
def test_a_respelled_word_is_removed(table: Any, other: str) -> None:
    code = f'assign(s="hen")\nelicit(t, 30)\nassign(x=remove_common_words(t, {other}))'
    for move in RESPELLED:
        play = table.play(code, f"a fox {move} saw", dialect="paper")
        assert "hen" not in spellings(play.registers["x"]), move
        assert {"fox", "saw"} <= spellings(play.registers["x"])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("The cat, the CAT!", ["the", "cat", "the", "cat"]),
        ("one,two;three", ["one", "two", "three"]),
        ("don't they’re", ["dont", "theyre"]),
        ("a - b", ["a", "b"]),
        ("कि कु", ["कि", "कु"]),
        ("…", []),
    ],
)
def test_words_are_counted_as_they_are_seen(text: str, parts: list[str]) -> None:
    assert pieces(text) == parts
    assert set(parts) <= spellings(text)
