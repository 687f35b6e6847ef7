"""Lists and the package's helper functions, by hand; ``tests/peer`` has them beside the wheel."""

from __future__ import annotations

import doctest
import re
import string
from random import Random
from typing import Any

import pytest

from xgl.runtime import predicates, values
from xgl.runtime.requests import Revealed

SETUP = 'assign(s="abcabc", t="bc", x="", y="a, b", l=["abc", "bc", ""])\n'
PLAYER = "elicit(y1, 9)\n"


@pytest.mark.parametrize("module", [values, predicates])
def test_what_the_docstrings_say(module: Any) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('remove_common_words("The A, the b; B-a c", y)', "The , the ; - c"),
        ('remove_common_words("New York, new york x", ["new york", "x"])', ","),
        ("first_n_tokens(y, 0)", ""),
        ("sample([])", ""),
        ("t.join([])", ""),
        ('"|".join(s.split(t))', "a|a|"),
        ('"|".join(s.split(""))', "abcabc"),
    ],
)
def test_strings_from_helpers(expression: str, value: str, table: Any) -> None:
    play = table.play(f"{SETUP}assign(p={expression})", dialect="xent")
    assert play.registers.get("p", "") == value


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("len(word_set(y)) == num_words(y)", True),
        ("len(common_word_set(y, t)) > 0", False),
        ('word_set("a b") <= word_set("b, c, a")', True),
        ('common_word_set(y, "b") != word_set("b")', False),
        ("only_uses_words(l, t)", True),
        ('only_uses_chars("ab, ", y)', True),
        ("t in s and not (s in t)", True),
        ("s == t or t not in s", False),
        ("1 < len(t) < 3", True),
    ],
)
def test_conditions_on_strings_and_lists(condition: str, holds: bool, table: Any) -> None:
    play = table.play(f"{SETUP}{PLAYER}ensure({condition})", *["m"] * 11, dialect="xent")
    assert (play.outcome == "finished") == holds


def test_a_list_holds_registers_in_xent_and_values_in_the_paper(table: Any) -> None:
    code = 'assign(s="a", l=[s, "b"])\nassign(s="c")\nassign(t="".join(l))'
    assert table.play(code, dialect="xent").registers["t"] == "cb"
    paper = 'assign(s="a")\nassign(l=[s, "b"])\nassign(s="c")\nassign(t="".join(l))'
    assert table.play(paper).registers["t"] == "ab"


def test_a_string_keeps_its_prefix_until_it_is_joined(table: Any) -> None:
    code = 'assign(s="a b" | "c d")\nreward(alice, xed(s))\nreward(alice, xed(s + "") )'
    first, second = (e for e in table.play(code, dialect="xent").events if hasattr(e, "bits"))
    before, after = (table.bits("a b", *context, dialect="xent") for context in ((), ("c d",)))
    assert (first.bits, second.bits) == (before - after, 0.0)


_MARK = rf"[\s{re.escape(string.punctuation)}]"


def _removed_by_patterns(text: str, items: list[str]) -> str:
    """As the released package removes them: one regular expression for each item."""
    for item in items:
        pattern = rf"(^|{_MARK})(?:{re.escape(item)})(?=$|{_MARK})"
        text = re.sub(pattern, r"\1", text, flags=re.IGNORECASE)
    return re.sub(r"\s\s+", " ", text).strip()


def test_words_and_phrases_are_removed_as_by_one_pattern_each() -> None:
    rng, letters = Random(1), "aAbBkK\u212a \u017fsS\u0131\u0130iI -,.\n\tß\u1e9eςσΣ  aab  "
    for _ in range(200):
        text = "".join(rng.choices(letters, k=rng.randint(0, 14)))
        items = ["".join(rng.choices(letters, k=rng.randint(0, 4))) for _ in range(3)]
        assert values.remove_words(text, items) == _removed_by_patterns(text, items)
        common = sorted(predicates.words(text) & predicates.words("".join(items)))
        expected = _removed_by_patterns(text, common)
        assert values.remove_common_words(text, "".join(items)) == expected


# -- ``sample`` and ``shuffle``: a function of seeds and place, which nobody's retries move --------

LETTERS = 'assign(l=["a", "b", "c", "d", "e", "f", "g", "h"])\n'
ORDER = 'assign(s=" ".join(shuffle(l)))\n'


def order(table: Any, code: str, **arguments: Any) -> str:
    """The longest text in a private register: all the letters in their order."""
    registers = table.play(LETTERS + code, dialect="xent", **arguments).registers
    return max((text for name, text in registers.items() if name in "stxy"), key=len)


def test_chance_is_a_function_of_the_seeds(table: Any) -> None:
    orders = [order(table, ORDER, map_seed=seed) for seed in range(20)]
    assert orders == [order(table, ORDER, map_seed=seed) for seed in range(20)]
    assert len(set(orders)) == 20


def test_every_run_of_a_line_and_every_draw_in_it_is_its_own(table: Any) -> None:
    code = 'assign(s=s + " ".join(shuffle(l)) + "/" + " ".join(shuffle(l)) + "/")\n'
    text = order(table, 'assign(s="")\nbeacon(flag_1)\n' + code + "replay(flag_1, 2)\n")
    assert len(set(text.rstrip("/").split("/"))) == 6


@pytest.mark.parametrize("failures", [0, 1, 3])
def test_a_retry_has_the_same_chance_and_changes_none_after_it(table: Any, failures: int) -> None:
    code = (
        f'elicit(bob, x, 5)\n{ORDER}reveal(s)\nensure(x in ["good"])\n'
        'assign(t=s, s=sample(l) + "".join(shuffle(l)))\n'
    )
    play = table.play(LETTERS + code, dialect="xent", bob=["bad"] * failures + ["good"])
    plain = table.play(LETTERS + code, dialect="xent", bob=["good"])
    assert play.registers == plain.registers
    reveals = [event for event in play.events if isinstance(event, Revealed)]
    assert len(reveals) == failures + 1
    assert len(set(reveals)) == 1


def test_draws_of_an_empty_list_change_none_after_them(table: Any) -> None:
    draws = 'assign(t=sample(l1), s=" ".join(shuffle(l)))\n'
    empty, full = (f"assign(l1={items})\n{draws}" for items in ("[]", '["x"]'))
    assert order(table, empty) == order(table, full)
