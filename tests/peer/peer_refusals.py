"""What both engines refuse, and what only one of them does."""

from __future__ import annotations

from peer_expressions import case
from support.dialect_examples import examples

REFUSED = [
    case(f"refused {code}", "elicit(y, 3)\n" + code)
    for code in (
        *("s", "s = 1", '"text"', "story()", "print(s)", "assign(s)", "assign(q=s)"),
        *('assign(a="x")', 'assign(c1="x")', "assign(s=1)", "assign(s=None)", "assign(s=q)"),
        *("assign(s=s / t)", 'assign(s="a" * 3)', "assign(s=s - t)", "assign(s=l)", "assign(l=s)"),
        *("assign(l=l + s)", "assign(s=s + l)", "assign(s=black)", "assign(s=xent(y))"),
        *("assign(s=len(y))", "assign(s=word_set(y))", "assign(s=l[0])", "assign(s=open(y))"),
        *("assign(s=alice + y)", "assign(s=join(y, l))", "assign(l=split(y))"),
        *("assign(s=y.join(y))", "assign(s=sample(y))", "assign(s=remove_common_words(y))"),
        *("elicit()", "elicit(a, 3)", "elicit(l, 3)", 'elicit("x", 3)', "elicit(y + s, 3)"),
        *("elicit(y, 1.5)", 'elicit(y, "3")', "elicit(y, max_len=3)", "elicit(zoe, y, 3)"),
        *("ensure()", "ensure(1)", "ensure(len(y))", "ensure(xent(y))", "ensure(num_words(y) + 1)"),
        *("ensure(l)", "ensure(word_set(y))", "ensure(y < s)", "ensure(xent(y) < y)"),
        *("ensure(y in word_set(y))", "ensure(s=True)", "reward()", "reward(y)", "reward(1)"),
        *("reward(len(y))", "reward(xent(y) - 1)", "reward(xent(y), xent(y), xent(y))"),
        *("reward(xent(y) * xent(y))", "reward(xent(y) / 2)", "reward(xent())"),
        *("reward(xent(y, s, t))", "reward(xent(l))", "reward(black, amount=xent(y))"),
        *("reward(is_true(y))", "reveal()", "reveal(q)", "reveal(alice, s=y)", "beacon()"),
        *("beacon(y)", "beacon(flag_3)", "beacon(flag_1, flag_2)", "beacon(flag_1, n=2)"),
        *("replay(flag_1)", "replay(flag_1, 2)", "replay(flag_2, 0)"),
        *('beacon(flag_1)\nreplay(flag_1, "2")', "beacon(flag_1)\nreplay(flag_1, 1.5)"),
        *("beacon(flag_1)\nreplay(1, flag_1)", "elicit(y, 3", "elicit(y, 3))", "elicit y 3"),
        *("import os", "(lambda: y)()", "y.upper()"),
    )
] + [
    case("refused ensure first", 'ensure("a" in "abc")\nelicit(y, 3)'),
    case("refused false ensure first", 'ensure("z" in "abc")\nelicit(y, 3)'),
    case("refused 65 lines", "elicit(y, 3)\n" * 64 + "reward(xent(y))"),
]

ONLY_THERE = [
    # what the authors' engine plays and we refuse: every example of docs/reference/dialects.md, and
    # more
    case(f"only there {code}", "elicit(y, 3)\n" + code)
    for code in (
        *examples("refused"),
        "beacon(flag_1)\nreplay(flag_1, len(y) - len(y))",
        "beacon(flag_1)\nreplay(flag_1, True)",
        "beacon(flag_1)\nreplay(flag_1, -1)",
        "beacon(flag_1)\nreplay(flag_1, 1 + 1)",
        'beacon(flag_1)\nassign(s="a")\nreplay(flag_1, 600)',
    )
] + [case("only there nothing", ""), case("only there comments", "# a comment\n\n# another")]

ONLY_HERE = [
    # what we play and the authors' engine refuses: every example of docs/reference/dialects.md, and
    # more
    case(f"only here {code}", "elicit(y, 3)\n" + code)
    for code in (*examples("played"), 'assign(l=[y], s=" ".join(l))\nassign(s=" ".join(l))')
] + [case("only here comments do not count", "# c\n" * 70 + "elicit(y, 3)\nreward(xent(y))")]
