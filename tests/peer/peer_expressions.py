"""Expressions and conditions by hand: each operator and helper function at its edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """``moves``: each player's lines, said in turn and from the start again."""

    name: str
    code: str
    moves: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def case(name: str, code: str, *black: str, **others: tuple[str, ...]) -> Case:
    lines = "\n".join(line.strip() for line in code.strip().split("\n"))
    return Case(name, lines, ({"black": black} if black else {}) | others)


def operator(name: str, expression: str) -> Case:
    """One expression over strings that hold overlapping, empty and repeated text."""
    code = f"""
        assign(s="abcabc", t="bc", x="", y="a, b", l=["abc", "bc", ""])
        assign(s1={expression})
        elicit(x, 4)
        assign(s2={expression})
        reward(xent("It is " + s1 + "."))
        reward(xed(x | s2))"""
    return case(name, code, "bc and a")


OPERATORS = [
    operator(f"string {expression}", expression)
    for expression in (
        *("s", '""', "s + t", "s + x", "x + x", 'x + "" + s', '"a" "b"', '"a\\n\\tb" + "\\"q\\""'),
        *('"é😀" + s', "s // t", "s // x", "x // s", "x // x", "s // s", 's // "zz"', "s % t"),
        *("s % x", "x % s", "s % s", 's % "zz"', 's % "c"', "s // t % s", "s % t // t"),
        *("s + t // t", "(s + t) // t", "s + (t + x)", "(s // t) + (s % t)", "y // t + x", "s | t"),
        *("s | t | x", "s | (t | y)", "(s | t) + x", "(s | t) // x", '"said" | s + t'),
        *("remove_common_words(s + y, y)", 'remove_common_words("The A, the b; B-a c", y)'),
        *('remove_common_words(" a  b ", "zz")', 'remove_common_words("a a a b-b", "A")'),
        *('remove_common_words("a,b a", "b")', 'remove_common_words(x, "a")'),
        *('remove_common_words("don\'t stop", "dont don t")', "remove_common_words(y, l)"),
        *('remove_common_words("New York, new york x", ["new york", "x"])',),
        *('remove_common_words("abc Bc b c abc", l + ["B"])', "first_n_tokens(s + y, 2)"),
        *("first_n_tokens(s, 0)", "first_n_tokens(s | t, 50)", "first_n_tokens(s | t, 1)"),
        *('first_n_tokens("é😀 and more", 3)', "first_n_tokens(first_n_tokens(y + s, 4) + t, 3)"),
        *("sample(l)", "sample([s])", "sample([])", "sample(l1)", "sample(shuffle(l)) + sample(l)"),
        *('"-".join(l)', '"".join(shuffle(l + [s, t]))', "t.join([])", "t.join(l1 + l1)"),
        *("x.join(y.split())", '"|".join(y.split(","))', '"|".join(s.split(t))'),
        *('"|".join(x.split())', '"|".join(x.split("a"))', '"|".join((s + " " + y).split(" "))'),
        *('" ".join(shuffle([s, t, x, y]) + ["end"])',),
    )
]


def _condition(condition: str) -> Case:
    """One condition that two of three moves may fail, and what the game comes to."""
    code = f"""
        assign(s=story(), l=["rain on a red boat", "a key"])
        elicit(x, 8)
        elicit(y, 3)
        ensure({condition})
        reward(xed(s | x))"""
    return case(f"ensure {condition}", code, "the hen", "zz", "rain on a red boat", "rain", "a key")


CONDITIONS = [
    _condition(condition)
    for condition in (
        *("xent(x) < xent(y)", "xent(x | s) <= xent(x)", "xed(x | s) > xed(y | s)"),
        *("nex(x) >= dex(y | s)", "xent(x) < 20", "xent(x) < 20.5, xent(y) >= 0", "20 < xent(x)"),
        *("1 < xent(x) < 60", "xent(x) == xent(x)", "xent(x) != xent(y)"),
        *("xent(x, s) < xent(x | s)", "-xent(x) < -xent(y)", "xent(x | s) - xent(x) < 0"),
        *("len(x) < len(y)", "len(x) + 2 > len(y) - 1", "len(x.split()) <= 2", "len(l) == 2"),
        *("num_words(x) >= 2", "num_words(x + x) == num_words(x)"),
        *("len(word_set(x)) == num_words(x)", "len(common_word_set(x, s)) == 0"),
        *("word_set(x) == word_set(y)", 'word_set(y) <= word_set("a rain")'),
        *("common_word_set(x, y) != word_set(x)", 'only_uses_words("rain on a red boat key", x)'),
        *("only_uses_words(l, y)", "only_uses_words(x, y)"),
        *('only_uses_chars("abcdefghijklmnopqrstuvwxyz ", x)', 'only_uses_chars("", y)', "x == y"),
        *('x != ""', 'x == "a key"', '"a" in x', '"z" not in x', '"" in y', "x in l", "x not in l"),
        *('l == ["a key"]', "l != [x, y]", "not x", "not l", "not xent(x) < 5"),
        *("not (x == y or x in l)", 'x == y or "a" in x', 'x == y or "a" in x and len(y) < 4'),
        *("(x == y or num_words(x) > 1) and len(y) < 5", "is_true(x)", "is_false(y)"),
        *("not is_true(x)", "is_true(x + y), is_false(x)", "is_true(x) or len(x) < 6"),
    )
]
