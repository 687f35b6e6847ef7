"""Lists and the package's helper functions, by hand; ``tests/peer`` has them beside the wheel."""

from __future__ import annotations

import doctest
import re
import string
from random import Random
from typing import Any

import pytest

from xgl.runtime import helpers, predicates

SETUP = 'assign(s="abcabc", t="bc", x="", y="a, b", l=["abc", "bc", ""])\n'
PLAYER = "elicit(y1, 9)\n"


@pytest.mark.parametrize("module", [helpers, predicates])
def test_what_the_docstrings_say(module: Any) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('remove_common_words("The A, the b; B-a c", y)', "The , the ; - c"),
        ('remove_common_words("New York, new york x", ["new york", "x"])', ","),
        ('remove_common_words(x, "a")', ""),
        ("first_n_tokens(y, 1)", "a,"),
        ("first_n_tokens(y, 0)", ""),
        ("sample([s])", "abcabc"),
        ("sample([])", ""),
        ('"-".join(l)', "abc-bc-"),
        ("t.join([])", ""),
        ('"|".join(y.split())', "a,|b"),
        ('"|".join(s.split(t))', "a|a|"),
        ('"|".join(s.split(""))', "abcabc"),
        ('"".join(shuffle(l + [])) // "zz" % ""', ""),
    ],
)
def test_strings_from_helpers(expression: str, value: str, table: Any) -> None:
    play = table.play(f"{SETUP}assign(p={expression})", dialect="xent")
    assert play.registers.get("p", "") == value


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("len(s) == 6", True),
        ("len(l) == 3", True),
        ("len(word_set(y)) == num_words(y)", True),
        ("len(common_word_set(y, t)) > 0", False),
        ('word_set("a b") <= word_set("b, c, a")', True),
        ('common_word_set(y, "b") != word_set("b")', False),
        ("only_uses_words(l, t)", True),
        ('only_uses_words("a b", y)', False),
        ('only_uses_chars("ab, ", y)', True),
        ("t in l", True),
        ("t in s and not (s in t)", True),
        ("s == t or t not in s", False),
        ("l == l + []", True),
        ("not x", True),
        ("1 < len(t) < 3", True),
        ("len(t) < 1.5", False),
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


def test_chance_is_the_same_for_the_same_seeds(table: Any) -> None:
    code = 'assign(l=["a", "b", "c", "d", "e"])\nassign(l1=shuffle(l), s=sample(l))'
    plays = [table.play(code, dialect="xent", map_seed=seed).registers for seed in (1, 1, 2, 3)]
    assert plays[0] == plays[1]
    assert len({tuple(play.items()) for play in plays}) > 1


_MARK = rf"[\s{re.escape(string.punctuation)}]"


def _removed_by_patterns(text: str, items: list[str]) -> str:
    """As the released package removes them: one regular expression for each item."""
    for item in items:
        pattern = rf"(^|{_MARK})(?:{re.escape(item)})(?=$|{_MARK})"
        text = re.sub(pattern, r"\1", text, flags=re.IGNORECASE)
    return re.sub(r"\s\s+", " ", text).strip()


def test_words_and_phrases_are_removed_as_by_one_pattern_each() -> None:
    rng, letters = Random(1), "aAbBkK\u212a \u017fsS\u0131\u0130iI -,.\n\tß\u1e9eςσΣ  aab  "
    for _ in range(5_000):
        text = "".join(rng.choices(letters, k=rng.randint(0, 14)))
        items = ["".join(rng.choices(letters, k=rng.randint(0, 4))) for _ in range(3)]
        assert helpers.remove_words(text, items) == _removed_by_patterns(text, items)
        common = sorted(predicates.words(text) & predicates.words("".join(items)))
        expected = _removed_by_patterns(text, common)
        assert helpers.remove_common_words(text, "".join(items)) == expected
