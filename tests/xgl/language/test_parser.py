"""Reading: what is valid, what is refused with which words, and what cannot break out."""

from __future__ import annotations

import pytest

from xgl import ProgramError, parse
from xgl.errors import Problem
from xgl.language import syntax as syn

STRING = "a string: a literal, a register, + // or %"
SUM = "a sum of xent, nex, xed and dex; they add and subtract, never multiply"
REGISTERS = "s t x y p a b c, plain or with 0-3"

REFUSED: dict[tuple[str, str], list[tuple[str, int, str]]] = {
    # (found, expected): [(malformed line, column, a valid line like it), …]
    ("no call", "a call such as elicit(s, 10)"): [("s", 1, "elicit(s)")],
    ("invalid syntax", "one instruction"): [("s = 1", 3, 'assign(s="1")')],
    ("'(' was never closed", "one instruction"): [("  elicit(s, 10", 9, "  elicit(s, 10)")],
    ("unmatched ')'", "one instruction"): [("elicit(s, 10))", 14, "elicit(s, 10)")],
    ("a keyword argument", "plain arguments of elicit"): [
        ("elicit(s, max_len=4)", 19, "elicit(s, 4)")
    ],
    ("a keyword argument", "plain arguments of reward"): [
        ("reward(**s)", 10, "reward(xent(s))"),
        ("reward(black, amount=xent(s))", 22, "reward(black, xent(s))"),
    ],
    ("a positional argument", "register=expression"): [("assign(s)", 8, 'assign(s="")')],
    ("nothing to assign", "register=expression"): [("assign()", 1, 'assign(s="")')],
    ("unknown register '**'", REGISTERS): [("assign(**s)", 8, "assign(s=s)")],
    ("unknown register '__class__'", REGISTERS): [("assign(s=__class__)", 10, "assign(s=c)")],
    ("the constant 'a'", "a register of s t x y p"): [
        ('assign(s="", a="")', 16, 'assign(s="", p="")')
    ],
    ("the constant 'c3'", "a register of s t x y p"): [
        ("elicit(s, c3, 3)", 11, "elicit(s, s3, 3)")
    ],
    ("several arguments", 'story(), story(tokens) or story("prompt")'): [
        ("assign(s=story(3, 4))", 10, "assign(s=story(3))")
    ],
    ("story() outside assign", "story() on the right of assign only"): [
        ("reveal(story())", 8, "reveal(s)")
    ],
    ("the value 0", "a number of tokens or a prompt"): [
        ("assign(s=story(0))", 16, "assign(s=story(1))")
    ],
    ("the operator /", "// (what precedes) or % (what follows)"): [
        ("assign(s=s/t)", 10, "assign(s=s//t)")
    ],
    ("the operator Mult", "+ // or % between strings"): [
        ('assign(s="a"*9)', 10, 'assign(s="a"+"9")')
    ],
    ("the operator BitOr", "+ // or % between strings"): [
        ("reward(xent(s | t | x))", 13, "reward(xent(s | t, x))"),
        ("reward(xent(s | t, x | y))", 20, "reward(xent(s | t, x // y))"),
    ],
    ("an attribute", STRING): [("assign(s=s.upper)", 10, "assign(s=s)")],
    ("a call", STRING): [("assign(s=s.upper())", 10, "assign(s=s)")],
    ("a call of 'open'", STRING): [('assign(s=open("x"))', 10, 'assign(s=story("x"))')],
    ("a call of '__import__'", STRING): [('assign(s=__import__("os"))', 10, 'assign(s="os")')],
    ("an f-string", STRING): [('assign(s=f"{t}")', 10, 'assign(s="{t}")')],
    ("an assignment with :=", STRING): [("assign(s=(a:=1))", 11, "assign(s=(a))")],
    ("a comprehension", STRING): [("assign(s=[t for t in s])", 10, "assign(s=t)")],
    ("a starred argument", STRING): [("reveal(*s)", 8, "reveal(s)")],
    ("a tuple", STRING): [("assign(s=(t,))", 10, "assign(s=(t))")],
    ("a boolop", STRING): [("ensure(s and t)", 8, "ensure(s, t)")],
    ("an operation", STRING): [
        ("ensure(not s)", 8, "ensure(is_false(s))"),
        ("reveal(-s)", 8, "reveal(s)"),
    ],
    ("the value 1", STRING): [("assign(s=1)", 10, 'assign(s="1")')],
    ("the value True", STRING): [("ensure(True)", 8, 'ensure("True")')],
    ("no register to fill", "elicit([player,] register, max_len)"): [("elicit()", 1, "elicit(s)")],
    ("the value 0", "a limit of at least 1 token"): [("elicit(s, 0)", 11, "elicit(s, 1)")],
    ("the value True", "a limit of at least 1 token"): [("elicit(s, True)", 11, "elicit(s, 1)")],
    ("the value 'ten'", "a limit of at least 1 token"): [('elicit(s, "ten")', 11, "elicit(s, 10)")],
    ("an expression", "a register to store the move in"): [
        ("elicit(s, -1)", 11, "elicit(s, 1)"),
        ("elicit(*s)", 8, "elicit(s)"),
    ],
    ("unknown register 'zoe'", REGISTERS): [("elicit(zoe, s, 3)", 8, "elicit(bob, s, 3)")],
    ("no condition", "ensure(condition, …)"): [("ensure()", 1, "ensure(s)")],
    ("no statement", 'is_true("statement", …)'): [("ensure(is_true())", 8, "ensure(is_true(s))")],
    ("this comparison", "one of < <= > >= between xent sums"): [
        ("ensure(xent(s) == 1)", 8, "ensure(xent(s) <= 1)")
    ],
    ("a name", SUM): [("ensure(s < xent(t))", 8, "ensure(xent(s) < xent(t))")],
    ("0 amounts", "reward([player,] xent sum)"): [("reward(bob)", 1, "reward(bob, xent(s))")],
    ("2 amounts", "reward([player,] xent sum)"): [
        ("reward(xent(s), xent(t))", 1, "reward(xent(s) + xent(t))")
    ],
    ("an operation", SUM): [
        ("reward(xent(s)*2)", 8, "reward(xent(s)+xent(s))"),
        ("reward(2*xent(s) - xent(t))", 8, "reward(xent(s) - xent(t))"),
    ],
    ("0 arguments", "xent(s), xent(s | t) or with , o"): [("reward(xent())", 8, "reward(xent(s))")],
    ("3 arguments", "xed(s), xed(s | t) or with , o"): [
        ("reward(xed(s, t, x))", 8, "reward(xed(s | t, x))")
    ],
    ("nothing to show", "reveal([player,] expression, …)"): [("reveal()", 1, "reveal(s)")],
    ("unknown register 'alice'", REGISTERS): [
        ("reveal(s, t, alice)", 14, "reveal(alice, s, t)"),
        ("reveal(bob, s, alice)", 16, "reveal(bob, s)"),
    ],
    ("0 arguments", "beacon(flag_1)"): [("beacon()", 1, "beacon(flag_2)")],
    ("1 arguments", "replay(flag_1, n)"): [("replay(flag_1)", 1, "replay(flag_1, 1)")],
    ("no flag", "flag_1 or flag_2"): [("beacon(flag_3)", 8, "beacon(flag_1)")],
    ("a number too large", "at most 100000"): [
        ("elicit(s, 100001)", 11, "elicit(s, 100000)"),
        ("assign(s=story(" + "9" * 500 + "))", 16, "assign(s=story(9))"),
    ],
    ("a sum of 33 terms", "at most 32"): [
        (f"reward({'+'.join(['xent(s)'] * 33)})", 8, f"reward({'+'.join(['xent(s)'] * 32)})")
    ],
    ("an expression too deep", "at most 32 levels"): [
        (f"assign(s={'+'.join('s' * 34)})", 10, f"assign(s={'+'.join('s' * 33)})"),
        (f"assign(s={'s//(' * 33}s{')' * 33})", 138, f"assign(s={'s//(' * 32}s{')' * 32})"),
    ],
    ("too many nested parentheses", "one instruction"): [
        (f"assign(s={'(' * 300}s{')' * 300})", 209, f"assign(s={'(' * 100}s{')' * 100})")
    ],
    ("4010 characters", "at most 4000 characters in a line"): [
        ("elicit(s)" + " " * 4001, 1, "elicit(s)" + " " * 3991)
    ],
    ("the letters of 'ｅlicit'", "plain letters: elicit"): [("ｅlicit(s)", 1, "elicit(s)")],
    ("the letters of 'ｓ'", "plain letters: s"): [
        ("elicit(ｓ)", 8, "elicit(s)"),
        ("assign( ｓ = t)", 9, "assign( s = t)"),
    ],
    ("unknown register 'ѕ'", REGISTERS): [("elicit(ѕ)", 8, "elicit(s)")],
    ("the character '\\x00'", "printable text"): [("elicit(s\0)", 9, "elicit(s)")],
    ("the character '\\u202e'", "printable text"): [
        ('assign(s="\u202eabc")', 11, 'assign(s="abc")'),
        ("elicit(s)  # \u202e", 14, "elicit(s)  # "),
    ],
    ("the character '\\u2028'", "printable text"): [
        ("# a comment\u2028elicit(s)", 12, "# a comment elicit(s)")
    ],
    ("the character '\\r'", "printable text"): [("elicit(s)\relicit(t)", 10, "elicit(s)\r")],
    ("the character '\\u202e' in a literal", "printable text, \\n or \\t"): [
        (r'assign(s="\u202e")', 10, r'assign(s="\u0041")'),
        (r'assign(s=story("\u202e"))', 16, r'assign(s=story("\t\n"))'),
    ],
    ("the character '\\ud800' in a literal", "printable text, \\n or \\t"): [
        (r'assign(s="\ud800")', 10, r'assign(s="\U0001f600")')
    ],
}
CASES = [(*what, *case) for what, cases in REFUSED.items() for case in cases]


@pytest.mark.parametrize(("finding", "expected", "bad", "column", "good"), CASES)
def test_refused_lines(finding: str, expected: str, bad: str, column: int, good: str) -> None:
    before = "# line 1\n\n"
    parse(f"elicit(s)\n{before}{good}")
    with pytest.raises(ProgramError, match=r"^program: 1 problem\nline 3, column ") as refusal:
        parse(before + bad)
    [problem] = refusal.value.problems
    assert (problem.found, problem.expected) == (finding, expected)
    assert (problem.line, problem.column) == (3, column)


@pytest.mark.parametrize(
    ("bad", "finding", "suggestion"),
    [
        ("elicti(s)", "unknown instruction 'elicti'", "elicit"),
        ("eval(s)", "unknown instruction 'eval'", "reveal"),
        ("exec(s)", "unknown instruction 'exec'", ""),
        ("elicit(s11)", "unknown register 's11'", "s1"),
        ("assign(s=t/x)", "the operator /", "//"),
    ],
)
def test_the_nearest_valid_name(bad: str, finding: str, suggestion: str) -> None:
    with pytest.raises(ProgramError, match="line 1, column ") as refusal:
        parse(bad)
    [problem] = refusal.value.problems
    assert (problem.found, problem.suggestion) == (finding, suggestion)
    assert (f"did you mean {suggestion!r}?" in str(problem)) == bool(suggestion)


def test_all_errors_at_once() -> None:
    code = "elicti(s)\nelicit(s)\n# x\nreward(s)\n\nassign(a=s)\n" + "elicit(s)\n" * 62
    with pytest.raises(ProgramError, match=r"^game\.xgl: 4 problems\n") as refusal:
        parse(code, origin="game.xgl")
    assert [(p.line, p.column, p.found) for p in refusal.value.problems] == [
        (1, 1, "unknown instruction 'elicti'"),
        (4, 8, "a name"),
        (6, 10, "the constant 'a'"),
        (67, 1, "66 instructions"),
    ]


def test_a_problem_shows_its_line_with_a_caret() -> None:
    with pytest.raises(ProgramError, match="game: 1 problem") as refusal:
        parse('assign(s="é😀" + q)', origin="game")
    assert str(refusal.value) == (
        "game: 1 problem\n"
        "line 1, column 17: unknown register 'q'; expected s t x y p a b c, plain or with 0-3\n"
        '    assign(s="é😀" + q)\n'
        "                    ^"
    )
    assert str(Problem(1, 2, "x", "y", suggestion="z")) == (
        "line 1, column 2: x; expected y; did you mean 'z'?"
    )


@pytest.mark.parametrize("code", ["", "\n\n", "# nothing\n  # else"])
def test_an_empty_program_is_refused(code: str) -> None:
    with pytest.raises(ProgramError, match="no instruction; expected at least one instruction"):
        parse(code)


def test_64_lines_are_valid_and_comments_do_not_count() -> None:
    code = "# comment\n\nelicit(s)\n" * 64
    assert len(parse(code).instructions) == 64
    with pytest.raises(ProgramError, match="line 193, column 1: 65 instructions; expected at mo"):
        parse(code + "elicit(s)")


def test_windows_line_ends_and_a_last_newline() -> None:
    assert parse("elicit(s)\r\n\r\nelicit(t)\r\n") == parse("elicit(s)\nelicit(t)")


def test_every_instruction_becomes_its_node() -> None:
    code = """
        assign(s="a", t=story(3) + s)
        elicit(alice, s, t1, 4)
        ensure(is_false("x", t), xent(s) - 2 <= dex(t | s, x), "y" + s)
        reward(bob, -xed(s // t | x % "z", p0))
        reveal(s, carol)
        beacon(flag_2)
        replay(flag_1, 7)"""
    s, t, x, p = (syn.Register(name) for name in ("s", "t", "x", "p0"))
    dex = syn.Xent("dex", t, s, x)
    bound = syn.Sum(((1, syn.Xent("xent", s)), (-1, syn.Number(2))))
    amount = syn.Xent("xed", syn.Cut(s, t, "before"), syn.Cut(x, syn.Literal("z"), "after"), p)
    assert parse(code).instructions == (
        syn.Assign((("s", syn.Literal("a")), ("t", syn.Cat(syn.Story(tokens=3), s)))),
        syn.Elicit("alice", ("s", "t1"), 4),
        syn.Ensure(
            (
                syn.Truth(syn.Literal("x"), (t,), expected=False),
                syn.Comparison(bound, "<=", syn.Sum(((1, dex),))),
                syn.Truth(syn.Cat(syn.Literal("y"), s)),
            )
        ),
        syn.Reward("bob", syn.Sum(((-1, amount),))),
        syn.Reveal("carol", (s,)),
        syn.Beacon("flag_2"),
        syn.Replay("flag_1", 7),
    )


def test_players_and_limits_have_defaults() -> None:
    code = "elicit(s)\nreward(xent(s))\nreveal(s)"
    assert parse(code) == parse("elicit(black, s)\nreward(black, xent(s))\nreveal(black, s)")
    assert parse("elicit(s)").instructions == (syn.Elicit("black", ("s",), None),)


@pytest.mark.parametrize(
    "line",
    [
        "assign(s=" + "(" * 1900,
        "ensure(" + "not " * 900 + "s)",
        "reward(" + "xent(" * 190 + ")" * 190 + ")",
        "assign(s=1" + "0" * 3900 + ")",
        'assign(s="\\N{no such letter}")',
        "\\",
        "\ud800",
    ],
)
def test_deep_huge_and_broken_lines_are_refused(line: str) -> None:
    with pytest.raises(ProgramError, match=r"^program: 1 problem\nline 1, column "):
        parse(line)
