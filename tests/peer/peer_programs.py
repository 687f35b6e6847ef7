"""Programs by hand: every instruction, every operator's edge cases, what both engines refuse,
and what only one of them does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """``moves``: each player's lines, said in turn and from the start again."""

    name: str
    code: str
    moves: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _case(name: str, code: str, *black: str, **others: tuple[str, ...]) -> Case:
    lines = "\n".join(line.strip() for line in code.strip().split("\n"))
    return Case(name, lines, ({"black": black} if black else {}) | others)


def _operator(name: str, expression: str) -> Case:
    """One expression over strings that hold overlapping, empty and repeated text."""
    code = f"""
        assign(s="abcabc", t="bc", x="", y="a, b", l=["abc", "bc", ""])
        assign(s1={expression})
        elicit(x, 4)
        assign(s2={expression})
        reward(xent("It is " + s1 + "."))
        reward(xed(x | s2))"""
    return _case(name, code, "bc and a")


OPERATORS = [
    _operator(f"string {expression}", expression)
    for expression in (
        "s",
        '""',
        "s + t",
        "s + x",
        "x + x",
        'x + "" + s',
        '"a" "b"',
        '"a\\n\\tb" + "\\"q\\""',
        '"é😀" + s',
        "s // t",
        "s // x",
        "x // s",
        "x // x",
        "s // s",
        's // "zz"',
        "s % t",
        "s % x",
        "x % s",
        "s % s",
        's % "zz"',
        's % "c"',
        "s // t % s",
        "s % t // t",
        "s + t // t",
        "(s + t) // t",
        "s + (t + x)",
        "(s // t) + (s % t)",
        "y // t + x",
        "s | t",
        "s | t | x",
        "s | (t | y)",
        "(s | t) + x",
        "(s | t) // x",
        '"said" | s + t',
        "remove_common_words(s + y, y)",
        'remove_common_words("The A, the b; B-a c", y)',
        'remove_common_words(" a  b ", "zz")',
        'remove_common_words("a a a b-b", "A")',
        'remove_common_words("a,b a", "b")',
        'remove_common_words(x, "a")',
        'remove_common_words("don\'t stop", "dont don t")',
        "remove_common_words(y, l)",
        'remove_common_words("New York, new york x", ["new york", "x"])',
        'remove_common_words("abc Bc b c abc", l + ["B"])',
        "first_n_tokens(s + y, 2)",
        "first_n_tokens(s, 0)",
        "first_n_tokens(s | t, 50)",
        "first_n_tokens(s | t, 1)",
        'first_n_tokens("é😀 and more", 3)',
        "first_n_tokens(first_n_tokens(y + s, 4) + t, 3)",
        "sample(l)",
        "sample([s])",
        "sample([])",
        "sample(l1)",
        "sample(shuffle(l)) + sample(l)",
        '"-".join(l)',
        '"".join(shuffle(l + [s, t]))',
        "t.join([])",
        "t.join(l1 + l1)",
        "x.join(y.split())",
        '"|".join(y.split(","))',
        '"|".join(s.split(t))',
        '"|".join(x.split())',
        '"|".join(x.split("a"))',
        '"|".join((s + " " + y).split(" "))',
        '" ".join(shuffle([s, t, x, y]) + ["end"])',
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
    return _case(
        f"ensure {condition}", code, "the hen", "zz", "rain on a red boat", "rain", "a key"
    )


CONDITIONS = [
    _condition(condition)
    for condition in (
        "xent(x) < xent(y)",
        "xent(x | s) <= xent(x)",
        "xed(x | s) > xed(y | s)",
        "nex(x) >= dex(y | s)",
        "xent(x) < 20",
        "xent(x) < 20.5, xent(y) >= 0",
        "20 < xent(x)",
        "1 < xent(x) < 60",
        "xent(x) == xent(x)",
        "xent(x) != xent(y)",
        "xent(x, s) < xent(x | s)",
        "-xent(x) < -xent(y)",
        "xent(x | s) - xent(x) < 0",
        "len(x) < len(y)",
        "len(x) + 2 > len(y) - 1",
        "len(x.split()) <= 2",
        "len(l) == 2",
        "num_words(x) >= 2",
        "num_words(x + x) == num_words(x)",
        "len(word_set(x)) == num_words(x)",
        "len(common_word_set(x, s)) == 0",
        "word_set(x) == word_set(y)",
        'word_set(y) <= word_set("a rain")',
        "common_word_set(x, y) != word_set(x)",
        'only_uses_words("rain on a red boat key", x)',
        "only_uses_words(l, y)",
        "only_uses_words(x, y)",
        'only_uses_chars("abcdefghijklmnopqrstuvwxyz ", x)',
        'only_uses_chars("", y)',
        "x == y",
        'x != ""',
        'x == "a key"',
        '"a" in x',
        '"z" not in x',
        '"" in y',
        "x in l",
        "x not in l",
        'l == ["a key"]',
        "l != [x, y]",
        "not x",
        "not l",
        "not xent(x) < 5",
        "not (x == y or x in l)",
        'x == y or "a" in x',
        'x == y or "a" in x and len(y) < 4',
        "(x == y or num_words(x) > 1) and len(y) < 5",
        "is_true(x)",
        "is_false(y)",
        "not is_true(x)",
        "is_true(x + y), is_false(x)",
        "is_true(x) or len(x) < 6",
    )
]

INSTRUCTIONS = [
    _case("assign all at once", 'assign(s="a", t=s+"b", x=t+"c")'),
    _case("assign aliases", 'assign(s="a", t="b")\nassign(s=t, t=s, x=s, y=s+"!")'),
    _case("assign twice", 'assign(s="a", t=s, s="b")\nassign(t1=s+"c", t1=t, x=t1)'),
    _case("assign a swap", 'assign(s="a", t="b")\nassign(s=t+"", t=s+"")'),
    _case(
        "assign keeps a prefix",
        "assign(s=story()|story())\nassign(t=s)\nreward(xed(s))\nreward(xed(t))",
    ),
    _case(
        "a cat drops a prefix",
        'assign(s="a b c"|"a b")\nassign(t=s+"")\nreward(xed(s))\nreward(xed(t))',
    ),
    _case(
        "a named prefix wins",
        'assign(s="a b c"|"a b")\nreward(xed(s | "zz"))\nreward(xent(s))\nreward(xent(s, "o"))',
    ),
    _case(
        "a move drops a prefix", 'assign(s="a"|"b")\nelicit(s, 9)\nreward(xed(s))\nreward(xent(s))'
    ),
    _case(
        "a list holds registers",
        'assign(s="a", l=[s, "b", s+"!"])\nassign(s="c")\nassign(t="".join(l))',
    ),
    _case(
        "a drawn register",
        'assign(s="a" | "b")\nassign(l=[s])\nassign(t=sample(l), s="z")\nassign(x=sample(l))\nreward(xent("a " + t))',
    ),
    _case(
        "lists alias",
        'assign(l=["a"])\nassign(l1=l, l=["b"], l2=l)\nassign(l=l+l1, l3=l)\nassign(s=" ".join(l + l1 + l2 + l3))',
    ),
    _case(
        "a list through a loop",
        'beacon(flag_1)\nelicit(x, 2)\nassign(l=l + [x + ""])\nreplay(flag_1, 4)\nreward(xent(",".join(l)))',
    ),
    _case(
        "a list of one register through a loop",
        'beacon(flag_1)\nelicit(x, 2)\nassign(l=l + [x])\nreplay(flag_1, 3)\nreward(xent(",".join(l)))',
        "a",
        "b",
        "c",
    ),
    _case(
        "story draws",
        'assign(s=story(), t=story(5))\nassign(x=story() // " ", y=story("hint"))\nassign(l=[story(), story()])',
    ),
    _case("story in a loop", "beacon(flag_1)\nassign(s=s + story())\nreplay(flag_1, 2)"),
    _case("elicit several", "elicit(s, t, x, 3)\nreward(xent(s + t + x))"),
    _case("elicit one register twice", "elicit(s, s, 3)\nreward(xent(s))"),
    _case(
        "elicit cuts",
        "elicit(s, 1)\nelicit(t, 2)\nelicit(x, 100)\nreward(xent(t + x))",
        "unbelievable indeed, é😀 boats",
    ),
    _case(
        "elicit cuts inside a letter",
        "elicit(s, 1)\nelicit(s1, 2)\nelicit(t, 3)\nelicit(t1, 4)",
        "😀🦊 fox",
        "☃☃☃",
        "naïveté",
    ),
    _case(
        "elicit keeps space",
        "elicit(s, 3)\nelicit(t, 3)\nreward(xent(s + t))",
        "  two  spaces ",
        "\tTab\nline",
    ),
    _case("an empty move", 'elicit(s, 3)\nreward(xent("x" + s))\nreward(xent(s | "y"))', ""),
    _case("a long move", "elicit(s, 40)\nreward(xent(s))", "word " * 200),
    _case(
        "every player",
        "\n".join(
            f"elicit({p}, s, 4)\nreward({p}, xent(s))\nreveal({p}, s)"
            for p in ("black", "white", "alice", "bob", "carol", "env")
        ),
    ),
    _case(
        "env is rewarded",
        "elicit(env, s, 4)\nreward(env, xent(s))\nelicit(t, 4)\nreward(env, xed(t | s))",
    ),
    _case(
        "zero sum both ways",
        "elicit(s, 4)\nelicit(white, t, 4)\nreward(xent(s))\nreward(white, xent(t))\nreward(alice, xent(t))",
        white=("boat", "key"),
    ),
    _case("white plays nowhere", "elicit(s, 4)\nreward(xent(s))\nreward(white, xent(s))"),
    _case(
        "reward kinds",
        "assign(s=story())\nelicit(x, 6)\n"
        + "\n".join(
            f"reward({k}({a}))"
            for k in ("xent", "nex", "xed", "dex")
            for a in ("s", "s | x", 's | x, "So: "', "s, x")
        ),
    ),
    _case(
        "reward sums",
        "assign(s=story())\nelicit(x, 6)\nreward(xent(s) - xent(s | x))\nreward(-xed(s | x) + dex(s | x) - nex(s))\nreward(-(xent(s) - xed(s, x)))",
    ),
    _case(
        "a difference without a prefix is zero",
        'assign(s=story())\nreward(xed(s))\nreward(dex(s))\nreward(xed(s, "o"))',
    ),
    _case(
        "one token scores nothing",
        'reward(xent("a"))\nreward(xent("" | "abc"))\nreward(xent("a" | "b"))',
    ),
    _case(
        "context is joined as text",
        'reward(xent("boat" | " the red ", "rain on"))\nreward(xent("boat" | "", "rain on the red "))\nreward(xent(" a boat", "rain"))',
    ),
    _case(
        "reveal forms",
        "assign(s=story(), t=story())\nreveal(s)\nreveal(alice, s, t)\nreveal(black, t)\nelicit(alice, x, 3)\nelicit(y, 3)",
    ),
    _case(
        "reveal stays live",
        'assign(s="one")\nreveal(alice, s)\nelicit(alice, x, 3)\nassign(s="two")\nelicit(alice, x, 3)\nelicit(bob, s, 3)\nelicit(alice, x, 3)\nelicit(bob, y, 3)',
    ),
    _case(
        "reveal before it is set",
        'reveal(bob, t)\nelicit(bob, x, 3)\nassign(t="now")\nelicit(bob, x, 3)',
    ),
    _case(
        "reveal a list",
        'assign(l=["a", "b"], s="c")\nreveal(carol, l)\nelicit(carol, x, 3)\nassign(l=l + [s + ""])\nelicit(carol, x, 3)',
    ),
    _case(
        "reveal an expression",
        'assign(s="one", t="two")\nreveal(alice, s + t)\nelicit(alice, x, 3)',
    ),
    _case(
        "public and private",
        'assign(p="all", p1=story(), s="secret", l=["hidden"])\n'
        + "\n".join(f"elicit({q}, x, 3)" for q in ("alice", "bob", "carol", "white", "env"))
        + "\nelicit(alice, p2, 3)\nelicit(bob, y, 3)",
    ),
    _case(
        "a move is private",
        "elicit(alice, s, 3)\nelicit(bob, t, 3)\nelicit(bob, x, 3)\nreveal(bob, s)\nelicit(bob, y, 3)",
    ),
    _case(
        "a hidden story pays",
        "assign(s=story())\nelicit(alice, x, 5)\nreward(alice, xed(s | x))\nelicit(alice, x, 5)\nreward(alice, xed(s | x))",
    ),
    _case("a loop", "beacon(flag_1)\nelicit(s, 3)\nreward(xent(s))\nreplay(flag_1, 3)"),
    _case("no jump", "beacon(flag_1)\nelicit(s, 3)\nreplay(flag_1, 0)\nreward(xent(s))"),
    _case(
        "nested loops",
        "beacon(flag_1)\nelicit(s, 2)\nbeacon(flag_2)\nelicit(t, 2)\nreward(xed(t | s))\nreplay(flag_2, 2)\nreward(xent(s))\nreplay(flag_1, 2)",
    ),
    _case(
        "loops that cross",
        "beacon(flag_1)\nelicit(s, 2)\nbeacon(flag_2)\nreward(xent(s))\nreplay(flag_1, 1)\nelicit(t, 2)\nreplay(flag_2, 1)\nreward(xent(t))",
    ),
    _case(
        "one flag, two replays",
        "beacon(flag_1)\nelicit(s, 2)\nreplay(flag_1, 1)\nreplay(flag_1, 2)\nreward(xent(s))",
    ),
    _case(
        "a flag moves",
        "beacon(flag_1)\nelicit(s, 2)\nreplay(flag_1, 1)\nbeacon(flag_1)\nelicit(t, 2)\nreplay(flag_1, 2)\nreward(xed(s | t))",
    ),
    _case(
        "flag 1 after flag 2",
        "beacon(flag_2)\nelicit(s, 2)\nbeacon(flag_1)\nelicit(t, 2)\nreplay(flag_2, 1)\nreplay(flag_1, 1)\nreward(xent(t))",
    ),
    _case(
        "ensure to the last allowed failure",
        'elicit(s, 3)\nensure(s == "good")\nreward(xent(s))',
        *["bad"] * 10,
        "good",
    ),
    _case(
        "ensure beyond the limit",
        'elicit(s, 3)\nreward(xent(s))\nensure(s == "good")\nreward(xent(s))',
        "bad",
    ),
    _case(
        "ensure counts by line",
        'elicit(s, 3)\nensure(len(s) > 2)\nensure(s == "good")\nreward(xent(s))',
        *["a", "bad"] * 9,
        "good",
    ),
    _case(
        "ensure forgets when it passes",
        'beacon(flag_1)\nelicit(s, 3)\nensure(s == "good")\nreplay(flag_1, 2)',
        *["bad"] * 9,
        "good",
    ),
    _case(
        "ensure goes to the elicit that ran last",
        "beacon(flag_1)\nelicit(s, 3)\nensure(len(s) < 4)\nelicit(t, 3)\nreplay(flag_1, 1)\nreward(xent(s + t))",
        "abc",
        "long one",
        "many words",
        "x",
        "y",
    ),
    _case(
        "ensure after a later elicit in a loop",
        'elicit(s, 2)\nbeacon(flag_1)\nensure(t == "" or t == "go")\nelicit(t, 2)\nreplay(flag_1, 2)',
        "s",
        "no",
        "stop",
        "go",
    ),
    _case(
        "ensure asks another player",
        "elicit(s, 3)\nelicit(alice, t, 3)\nensure(t != s)\nreward(alice, xed(t | s))",
        "same",
        alice=("same", "same", "other"),
    ),
    _case(
        "ensure with several registers",
        "elicit(s, t, 3)\nensure(s != t, len(s) > 1)\nreward(xent(s + t))",
        "a",
        "a",
        "bb",
        "bb",
        "cc",
        "dd",
    ),
    _case(
        "ensure keeps rewards",
        'elicit(s, 3)\nreward(xent(s))\nensure(s == "good")',
        "bad",
        "worse",
        "good",
    ),
    _case(
        "comments and blanks",
        '# a comment\n\nassign(s="# no comment")  # a comment\n   \nelicit(x, 3) # another\nreward(xed(s | x))',
    ),
    _case("spacing", ' assign( s = "a" , t="b" ) \nelicit( x,3 )\nreward( xed( s|x ) )'),
    _case("single quotes", "assign(s='it\"s', t=\"it's\")\nreward(xent(s + t))"),
    _case(
        "all registers",
        "\n".join(f'assign({kind}{i}="{kind}{i}")' for kind in "stxyp" for i in ("", 1, 2, 3))
        + "\n"
        + "\n".join(f'assign(l{i}=["{i}"])' for i in ("", 1, 2, 3))
        + '\nreward(xent(s + s1 + t2 + x3 + y + p + " ".join(l + l1 + l2 + l3)))',
    ),
    _case("constants are empty", 'assign(s=a + b1 + c2 + "x")\nreward(xent("y" + s))'),
    _case(
        "rewards add up",
        "assign(s=story())\nbeacon(flag_1)\nelicit(x, 4)\nreward(xed(s | x))\nreward(xed(x | s))\nreplay(flag_1, 4)",
    ),
    _case(
        "a game with everything",
        'assign(s=story(), t=story(), l=["red", "boat"])\nreveal(alice, t)\nbeacon(flag_1)\nelicit(x, 6)\nassign(x1=remove_common_words(x, s), l=l + [x1 + ""])\nensure(num_words(x) > 1, len(l) < 9)\nelicit(alice, y, 4)\nreward(xed(s | x1))\nreward(alice, xed(t | y) - xent(t))\nreplay(flag_1, 2)\nreward(xed(s | " ".join(l)))',
    ),
]

AGREED = OPERATORS + CONDITIONS + INSTRUCTIONS

REFUSED = [
    _case(f"refused {code}", "elicit(y, 3)\n" + code)
    for code in (
        "s",
        "s = 1",
        '"text"',
        "story()",
        "print(s)",
        "assign(s)",
        "assign(q=s)",
        'assign(a="x")',
        'assign(c1="x")',
        "assign(s=1)",
        "assign(s=None)",
        "assign(s=q)",
        "assign(s=s / t)",
        'assign(s="a" * 3)',
        "assign(s=s - t)",
        "assign(s=l)",
        "assign(l=s)",
        "assign(l=l + s)",
        "assign(s=s + l)",
        "assign(s=black)",
        "assign(s=xent(y))",
        "assign(s=len(y))",
        "assign(s=word_set(y))",
        "assign(s=l[0])",
        "assign(s=open(y))",
        "assign(s=alice + y)",
        "assign(s=join(y, l))",
        "assign(l=split(y))",
        "assign(s=y.join(y))",
        "assign(s=sample(y))",
        "assign(s=remove_common_words(y))",
        "elicit()",
        "elicit(a, 3)",
        "elicit(l, 3)",
        'elicit("x", 3)',
        "elicit(y + s, 3)",
        "elicit(y, 1.5)",
        'elicit(y, "3")',
        "elicit(y, max_len=3)",
        "elicit(zoe, y, 3)",
        "ensure()",
        "ensure(1)",
        "ensure(len(y))",
        "ensure(xent(y))",
        "ensure(num_words(y) + 1)",
        "ensure(l)",
        "ensure(word_set(y))",
        "ensure(y < s)",
        "ensure(xent(y) < y)",
        "ensure(y in word_set(y))",
        "ensure(s=True)",
        "reward()",
        "reward(y)",
        "reward(1)",
        "reward(len(y))",
        "reward(xent(y) - 1)",
        "reward(xent(y), xent(y), xent(y))",
        "reward(xent(y) * xent(y))",
        "reward(xent(y) / 2)",
        "reward(xent())",
        "reward(xent(y, s, t))",
        "reward(xent(l))",
        "reward(black, amount=xent(y))",
        "reward(is_true(y))",
        "reveal()",
        "reveal(q)",
        "reveal(alice, s=y)",
        "beacon()",
        "beacon(y)",
        "beacon(flag_3)",
        "beacon(flag_1, flag_2)",
        "beacon(flag_1, n=2)",
        "replay(flag_1)",
        "replay(flag_1, 2)",
        "replay(flag_2, 0)",
        'beacon(flag_1)\nreplay(flag_1, "2")',
        "beacon(flag_1)\nreplay(flag_1, 1.5)",
        "beacon(flag_1)\nreplay(1, flag_1)",
        "elicit(y, 3",
        "elicit(y, 3))",
        "elicit y 3",
        "import os",
        "(lambda: y)()",
        "y.upper()",
    )
] + [
    _case("refused ensure first", 'ensure("a" in "abc")\nelicit(y, 3)'),
    _case("refused false ensure first", 'ensure("z" in "abc")\nelicit(y, 3)'),
    _case("refused 65 lines", "elicit(y, 3)\n" * 64 + "reward(xent(y))"),
]

ONLY_THERE = [
    # what the authors' engine plays and we refuse, each with its reason in docs/dialects.md
    _case(f"only there {code}", "elicit(y, 3)\n" + code)
    for code in (
        "reward(xent(y) * 2)",
        "reward(2 * xent(y))",
        "reward(+xent(y))",
        "elicit(y, 3); elicit(y, 3)",
        "ensure(True)",
        "ensure((lambda: True)())",
        "assign(l=[z + y for z in l])",
        "assign(s=y.primary_string)",
        "assign(s=XString(y + s))",
        "assign(s=y if len(y) > 2 else s)",
        "reveal(black)",
        "elicit(y, 0)",
        "elicit(y, -1)",
        "elicit(y, len(y))",
        "elicit(y, True)",
        "elicit(y, 2 + 1)",
        "beacon(flag_1)\nreplay(flag_1, len(y) - len(y))",
        "ensure(punish_negative(xent(y)) < 1e9)",
        "ensure((xent(y) < 1) == (xent(y) < 1))",
        "ensure(len(story()) > 0)",
        "reward(xent(story() + y))",
        'assign(s="\\x00")',
        'beacon(flag_1)\nassign(s="a")\nreplay(flag_1, 600)',
    )
]

ONLY_HERE = [
    # what we play and the authors' engine refuses
    _case(f"only here {code}", "elicit(y, 3)\n" + code)
    for code in (
        'reward(xent("one" + y) + xent(y + "two and three"))',
        "ensure(xent(y) - 2 < 60)",
        "elicit(s)",
        "elicit(david, s, 3)",
        'assign(s0="x")\nassign(l0=["x"])',
        'ensure("a statement about " + y)',
        'ensure(is_true("num_words<90", y))',
        'reward(xent(""))',
        'reveal(alice, "a, b")',
        'assign(l=s.split(""))',
        'assign(s=y // "and")',
        'assign(s=y % "the")',
        'assign(l=[y], s=" ".join(l))\nassign(s=" ".join(l))',
        "elicit(y, y)",
    )
] + [_case("only here comments do not count", "# c\n" * 70 + "elicit(y, 3)\nreward(xent(y))")]
