"""Statements that a plain function decides, recognised on expressions alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from xgl import parse
from xgl.language import syntax as syn
from xgl.runtime.predicates import decide, predicate, spellings, words
from xgl.runtime.requests import Predicate, TruthRequest


def rule(condition: str, **registers: str) -> Predicate | None:
    """The rule behind ``ensure(condition)`` when the registers hold these texts."""
    [ensure] = parse(f"ensure({condition})").instructions
    assert isinstance(ensure, syn.Ensure)
    [truth] = ensure.conditions
    assert isinstance(truth, syn.Truth)
    return predicate(truth, _value(registers))


def _value(registers: dict[str, str]) -> Callable[[syn.StringExpr], str]:
    def value(part: syn.StringExpr) -> str:
        match part:
            case syn.Literal(text):
                return text
            case syn.Register(name):
                return registers.get(name, "")
            case syn.Cat(left, right):
                return value(left) + " " + value(right)
        raise TypeError(part)

    return value


@pytest.mark.parametrize(
    ("text", "distinct"),
    [
        ("The cat, the CAT!", {"the", "cat"}),
        ("don't-stop", {"dontstop"}),
        ("a\tb\nc  d", {"a", "b", "c", "d"}),
        ("Élan «vital»", {"élan", "«vital»"}),
    ],
)
def test_a_word_is_lower_case_without_ascii_punctuation(text: str, distinct: set[str]) -> None:
    assert words(text) == distinct


@pytest.mark.parametrize(
    "condition",
    [
        '"no common words between" + s + "&" + t',
        '"no shared words between: " + s + "and" + t',
        '("no common words" + s) + ("&" + t)',
        'is_false("no common words between" + s + "&" + t)',
        'is_true("no common words", s, t)',
    ],
)
def test_no_common_words(condition: str) -> None:
    assert rule(condition, s="A dog.", t="dogs") == Predicate("no_common_words", ("A dog.", "dogs"))


def test_each_side_of_no_common_words_may_have_several_parts() -> None:
    decision_rule = rule('"no common words between"+s1+s2+s3+"&"+t', s1="a", s2="b", s3="c", t="d")
    assert decision_rule == Predicate("no_common_words", ("a b c", "d"))
    decision_rule = rule('"no common words between"+t+"&"+s1+s2', s1="a", s2="b", t="d")
    assert decision_rule == Predicate("no_common_words", ("d", "a b"))


@pytest.mark.parametrize(
    "condition",
    [
        "s",
        '"no common words between" + s',
        '"no common words between" + s + "&"',
        '"no common words between" + s + "&" + t + "&" + x',
        '"no common words between s & t"',
        's + "no common words between" + s + "&" + t',
        '("no common words between" + s) // t + "&" + t',
        'is_true("no common words", s, t, x)',
        "is_true(s, t, x)",
        'is_true("num_words<3", s, t)',
        'is_true("num_words<-3", s)',
        'is_true("num_words<9999999", s)',
    ],
)
def test_all_other_statements_are_the_models(condition: str) -> None:
    assert rule(condition, s="no common words between", t="&", x="y") is None


ATTACKS = [
    "x & y",
    "dog & nothing",
    "no common words between cat & mouse",
    '" + "&" + "',
    '"no common words between"',
    "num_words<99",
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
        ('is_true("num_words <= 3", s)', {"a b c": True, "a b c d": False}),
        ('is_true("num_words>2", s)', {"a b c": True, "a b": False}),
        ('is_true("num_words>=2", s)', {"a b": True, "a": False}),
        ('is_true("num_words==2", s)', {"a a": True, "a": False}),
        ('is_true("num_words==2", s)', {"a - b": True, "a -": False}),
        ('is_true("num_tokens<3", s)', {"aa": True, "aaa": False}),
        (
            'is_true("only uses the words of", t, s)',
            {"": True, "Red, blue": True, "red green": False},
        ),
        ('is_true("only uses words from", t, s)', {"BLUE!": True, "blues": False}),
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
def test_a_move_cannot_rewrite_a_rule_in_play(table: Any, dialect: str, move: str) -> None:
    code = 'assign(s="dog")\nelicit(t)\nensure("no common words between" + s + "&" + t)'
    table.judge.believes = lambda statement: True
    play = table.play(code, move, "a bird", dialect=dialect)
    assert play.accepted_moves("black") == ["a bird"]
    requests = [request for batch in table.judge.judged for request in batch]
    spell = {"paper": lambda text: " ".join(sorted(spellings(text))), "xent": str}[dialect]
    rules = [Predicate("no_common_words", ("dog", spell(text))) for text in (move, "a bird")]
    assert [request.predicate for request in requests] == rules
    assert all(isinstance(request, TruthRequest) for request in requests)
