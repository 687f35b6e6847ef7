"""Reading: what is valid, what is refused with which words, and what cannot break out."""

from __future__ import annotations

import pytest

from xgl import ProgramError, parse, parse_line, to_text
from xgl.errors import Problem
from xgl.language import syntax as syn
from xgl.language.syntax import NOWHERE

STRING = "a string: a literal, a register, + // or %"
SUM = "a sum of xent, nex, xed and dex; they add and subtract, never multiply"
INSTRUCTIONS = "one of assign, elicit, ensure, reward, reveal, beacon, replay"
REGISTERS = "s t x y p a b c, plain or with 0-3"

REFUSED: dict[tuple[str, str], list[tuple[str, int, str]]] = {
    # (found, expected): [(malformed line, column, a valid line like it), …]
    ("no call", "a call such as elicit(s, 10)"): [
        ("s", 1, "elicit(s)"),
        ('  "elicit(s)"', 3, "  elicit(s)"),
        ("elicit(s)(t)", 1, "elicit(s, t)"),
        ("xgl.elicit(s)", 1, "elicit(s)"),
        ("elicit(s), elicit(t)", 1, "elicit(s, t)"),
        ("[elicit(s) for s in t]", 1, "elicit(s)"),
        ("lambda: elicit(s)", 1, "elicit(s)"),
    ],
    ("invalid syntax", "one instruction"): [
        ("s = 1", 3, 'assign(s="1")'),
        ("elicit(s); elicit(t)", 10, "elicit(s)"),
        ("import os", 1, "elicit(s)"),
    ],
    ("'(' was never closed", "one instruction"): [("  elicit(s, 10", 9, "  elicit(s, 10)")],
    ("unmatched ')'", "one instruction"): [("elicit(s, 10))", 14, "elicit(s, 10)")],
    ("a keyword argument", "plain arguments of elicit"): [
        ("elicit(s, max_len=4)", 19, "elicit(s, 4)")
    ],
    ("a keyword argument", "plain arguments of reward"): [
        ("reward(**s)", 10, "reward(xent(s))"),
        ("reward(black, amount=xent(s))", 22, "reward(black, xent(s))"),
    ],
    # assign
    ("a positional argument", "register=expression"): [("assign(s)", 8, 'assign(s="")')],
    ("nothing to assign", "register=expression"): [("assign()", 1, 'assign(s="")')],
    ("unknown register '**'", REGISTERS): [("assign(**s)", 8, "assign(s=s)")],
    ("unknown register '__class__'", REGISTERS): [("assign(s=__class__)", 10, "assign(s=c)")],
    ("the constant 'a'", "a register of s t x y p"): [
        ('assign(s="", a="")', 16, 'assign(s="", p="")'),
        ("elicit(a, 3)", 8, "elicit(p, 3)"),
    ],
    ("the constant 'c3'", "a register of s t x y p"): [
        ("elicit(s, c3, 3)", 11, "elicit(s, s3, 3)")
    ],
    ("several arguments", 'story(), story(tokens) or story("prompt")'): [
        ("assign(s=story(3, 4))", 10, "assign(s=story(3))"),
        ("assign(s=story(n=3))", 10, "assign(s=story(3))"),
    ],
    ("story() outside assign", "story() on the right of assign only"): [
        ("reveal(story())", 8, "reveal(s)"),
        ("reward(xent(story()))", 13, "reward(xent(s))"),
        ("ensure(story())", 8, "ensure(s)"),
    ],
    ("the value 0", "a number of tokens or a prompt"): [
        ("assign(s=story(0))", 16, "assign(s=story(1))")
    ],
    # strings
    ("the operator /", "// (what precedes) or % (what follows)"): [
        ("assign(s=s/t)", 10, "assign(s=s//t)")
    ],
    ("the operator Mult", "+ // or % between strings"): [
        ('assign(s="a"*9)', 10, 'assign(s="a"+"9")'),
        ('assign(s=t + "a"*99999999)', 14, 'assign(s=t + "a")'),
    ],
    ("the operator Pow", "+ // or % between strings"): [("reveal(s**t)", 8, "reveal(s+t)")],
    ("the operator BitOr", "+ // or % between strings"): [
        ("reward(xent(s | t | x))", 13, "reward(xent(s | t, x))"),
        ("reward(xent(s | t, x | y))", 20, "reward(xent(s | t, x // y))"),
        ("assign(s=s | t)", 10, "assign(s=s + t)"),
    ],
    ("an attribute", STRING): [
        ("assign(s=s.upper)", 10, "assign(s=s)"),
        ("reveal(s.__class__.__mro__)", 8, "reveal(s)"),
    ],
    ("a call", STRING): [
        ("assign(s=s.upper())", 10, "assign(s=s)"),
        ('assign(s="{}".format(t))', 10, 'assign(s="{}" + t)'),
        ("reveal((lambda: s)())", 8, "reveal(s)"),
    ],
    ("a call of 'open'", STRING): [('assign(s=open("x"))', 10, 'assign(s=story("x"))')],
    ("a call of '__import__'", STRING): [
        ('assign(s=__import__("os"))', 10, 'assign(s="os")'),
        ('assign(s="x" + __import__("os"))', 16, 'assign(s="x" + "os")'),
    ],
    ("an f-string", STRING): [('assign(s=f"{t}")', 10, 'assign(s="{t}")')],
    ("an assignment with :=", STRING): [
        ("assign(s=(a:=1))", 11, "assign(s=(a))"),
        ("reveal((s:=t))", 9, "reveal((s))"),
    ],
    ("a lambda", STRING): [("assign(s=lambda: t)", 10, "assign(s=t)")],
    ("a comprehension", STRING): [
        ("assign(s=[t for t in s])", 10, "assign(s=t)"),
        ("assign(s={t for t in s})", 10, "assign(s=t)"),
        ("assign(s={t: t for t in s})", 10, "assign(s=t)"),
        ("reveal((t for t in s))", 8, "reveal((t))"),
    ],
    ("a starred argument", STRING): [
        ("reveal(*s)", 8, "reveal(s)"),
        ("ensure(*s)", 8, "ensure(s)"),
    ],
    ("a subscript", STRING): [("assign(s=t[0])", 10, "assign(s=t)")],
    ("a list", STRING): [("assign(s=[])", 10, 'assign(s="")')],
    ("a tuple", STRING): [("assign(s=(t,))", 10, "assign(s=(t))")],
    ("a ifexp", STRING): [("assign(s=t if x else y)", 10, "assign(s=t)")],
    ("a boolop", STRING): [("ensure(s and t)", 8, "ensure(s, t)")],
    ("an operation", STRING): [
        ("ensure(not s)", 8, "ensure(is_false(s))"),
        ("reveal(-s)", 8, "reveal(s)"),
    ],
    ("the value 1", STRING): [
        ("assign(s=1)", 10, 'assign(s="1")'),
        ("ensure(1)", 8, "ensure(1 < 2)"),
    ],
    ("the value b'x'", STRING): [('assign(s=b"x")', 10, 'assign(s=u"x")')],
    ("the value None", STRING): [("assign(s=None)", 10, 'assign(s="None")')],
    ("the value Ellipsis", STRING): [("assign(s=...)", 10, 'assign(s="...")')],
    ("the value True", STRING): [("ensure(True)", 8, 'ensure("True")')],
    # elicit
    ("no register to fill", "elicit([player,] register, max_len)"): [
        ("elicit()", 1, "elicit(s)"),
        ("elicit(10)", 1, "elicit(s, 10)"),
        ("elicit(bob, 10)", 1, "elicit(bob, s, 10)"),
    ],
    ("the value 0", "a limit of at least 1 token"): [("elicit(s, 0)", 11, "elicit(s, 1)")],
    ("the value True", "a limit of at least 1 token"): [("elicit(s, True)", 11, "elicit(s, 1)")],
    ("the value 1.5", "a limit of at least 1 token"): [("elicit(s, 1.5)", 11, "elicit(s, 2)")],
    ("the value 'ten'", "a limit of at least 1 token"): [('elicit(s, "ten")', 11, "elicit(s, 10)")],
    ("an expression", "a register to store the move in"): [
        ("elicit(s, -1)", 11, "elicit(s, 1)"),
        ("elicit(*s)", 8, "elicit(s)"),
        ("elicit(s + t, 3)", 8, "elicit(s, t, 3)"),
        ("elicit(3, s)", 8, "elicit(s, 3)"),
        ("elicit(s, (t:=1))", 12, "elicit(s, t)"),
    ],
    ("unknown register 'zoe'", REGISTERS): [("elicit(zoe, s, 3)", 8, "elicit(bob, s, 3)")],
    # ensure
    ("no condition", "ensure(condition, …)"): [("ensure()", 1, "ensure(s)")],
    ("no statement", 'is_true("statement", …)'): [
        ("ensure(is_true())", 8, "ensure(is_true(s))"),
        ("ensure(is_true(s, of=t))", 8, "ensure(is_true(s, t))"),
    ],
    ("this comparison", "one of < <= > >= between xent sums"): [
        ("ensure(xent(s) == 1)", 8, "ensure(xent(s) <= 1)"),
        ("ensure(1 < xent(s) < 3)", 8, "ensure(1 < xent(s), xent(s) < 3)"),
        ('ensure("a" in s)', 8, 'ensure("a in" + s)'),
        ("ensure(s is t)", 8, "ensure(s + t)"),
    ],
    ("an attribute", SUM): [("ensure(xent(s) < s.x)", 18, "ensure(xent(s) < xent(t))")],
    ("a name", SUM): [("ensure(s < xent(t))", 8, "ensure(xent(s) < xent(t))")],
    # reward
    ("0 amounts", "reward([player,] xent sum)"): [("reward(bob)", 1, "reward(bob, xent(s))")],
    ("2 amounts", "reward([player,] xent sum)"): [
        ("reward(xent(s), xent(t))", 1, "reward(xent(s) + xent(t))")
    ],
    ("an operation", SUM): [
        ("reward(xent(s)*2)", 8, "reward(xent(s)+xent(s))"),
        ("reward(2*xent(s) - xent(t))", 8, "reward(xent(s) - xent(t))"),
        ("reward(+xent(s))", 8, "reward(-xent(s))"),
        ("reward(xent(s)/xent(t))", 8, "reward(xent(s)-xent(t))"),
    ],
    ("the value 1", SUM): [("reward(xent(s) - 1)", 18, "reward(xent(s) - xent(t))")],
    ("the value 'x'", SUM): [('reward("x")', 8, 'reward(xent("x"))')],
    ("a starred argument", SUM): [("reward(*s)", 8, "reward(xent(s))")],
    ("0 arguments", "xent(s), xent(s | t) or with , o"): [("reward(xent())", 8, "reward(xent(s))")],
    ("3 arguments", "xed(s), xed(s | t) or with , o"): [
        ("reward(xed(s, t, x))", 8, "reward(xed(s | t, x))")
    ],
    ("1 arguments", "xed(s), xed(s | t) or with , o"): [
        ("reward(xed(s, o=t))", 8, "reward(xed(s, t))")
    ],
    # reveal, beacon, replay
    ("nothing to show", "reveal([player,] expression, …)"): [
        ("reveal()", 1, "reveal(s)"),
        ("reveal(bob)", 1, "reveal(bob, s)"),
    ],
    ("unknown register 'alice'", REGISTERS): [
        ("reveal(s, t, alice)", 14, "reveal(alice, s, t)"),
        ("reveal(bob, s, alice)", 16, "reveal(bob, s)"),
        ("reveal(black, s, alice)", 18, "reveal(s, alice)"),
    ],
    ("0 arguments", "beacon(flag_1)"): [("beacon()", 1, "beacon(flag_2)")],
    ("2 arguments", "beacon(flag_1)"): [("beacon(flag_1, 2)", 1, "beacon(flag_1)")],
    ("1 arguments", "replay(flag_1, n)"): [("replay(flag_1)", 1, "replay(flag_1, 1)")],
    ("no flag", "flag_1 or flag_2"): [
        ("beacon(flag_3)", 8, "beacon(flag_1)"),
        ('beacon("flag_1")', 8, "beacon(flag_1)"),
        ("replay(s, 1)", 8, "replay(flag_1, 1)"),
    ],
    ("the value '1'", "a number of jumps"): [('replay(flag_1, "1")', 16, "replay(flag_1, 1)")],
    ("an operation", "a number of jumps"): [("replay(flag_1, -1)", 16, "replay(flag_1, 0)")],
    # sizes
    ("a number too large", "at most 100000"): [
        ("elicit(s, 100001)", 11, "elicit(s, 100000)"),
        ("assign(s=story(" + "9" * 500 + "))", 16, "assign(s=story(9))"),
        ("ensure(xent(s) < 1" + "0" * 400 + ")", 18, "ensure(xent(s) < 10)"),
        ("replay(flag_1, 0xFFFFFFFF)", 16, "replay(flag_1, 0xF)"),
    ],
    ("a sum of 33 terms", "at most 32"): [
        (f"reward({'+'.join(['xent(s)'] * 33)})", 8, f"reward({'+'.join(['xent(s)'] * 32)})"),
    ],
    ("an expression too deep", "at most 32 levels"): [
        (f"assign(s={'+'.join('s' * 34)})", 10, f"assign(s={'+'.join('s' * 33)})"),
        (f"assign(s={'s//(' * 33}s{')' * 33})", 138, f"assign(s={'s//(' * 32}s{')' * 32})"),
        (f"reward({'-' * 33}xent(s))", 41, f"reward({'-' * 32}xent(s))"),
    ],
    ("too many nested parentheses", "one instruction"): [
        (f"assign(s={'(' * 300}s{')' * 300})", 209, f"assign(s={'(' * 100}s{')' * 100})"),
    ],
    ("4010 characters", "at most 4000 characters in a line"): [
        ("elicit(s)" + " " * 4001, 1, "elicit(s)" + " " * 3991)
    ],
    # letters
    ("the letters of 'ｅlicit'", "plain letters: elicit"): [("ｅlicit(s)", 1, "elicit(s)")],
    ("the letters of 'ｓ'", "plain letters: s"): [
        ("elicit(ｓ)", 8, "elicit(s)"),
        ("assign( ｓ = t)", 9, "assign( s = t)"),
        ('assign(t="é", s=ｓ)', 17, 'assign(t="é", s=s)'),
    ],
    ("unknown register 'ѕ'", REGISTERS): [("elicit(ѕ)", 8, "elicit(s)")],  # Cyrillic
    ("unknown instruction 'еlicit'", INSTRUCTIONS): [("еlicit(s)", 1, "elicit(s)")],
    ("the character '\\x00'", "printable text"): [
        ("elicit(s\0)", 9, "elicit(s)"),
        ("# \0", 3, "# "),
    ],
    ("the character '\\u202e'", "printable text"): [
        ('assign(s="\u202eabc")', 11, 'assign(s="abc")'),
        ("elicit(s)  # \u202e", 14, "elicit(s)  # "),
    ],
    ("the character '\\u2066'", "printable text"): [("elicit(\u2066s)", 8, "elicit(s)")],
    ("the character '\\u200b'", "printable text"): [("elicit(s\u200b)", 9, "elicit(s)")],
    ("the character '\\u2028'", "printable text"): [
        ("# a comment\u2028elicit(s)", 12, "# a comment elicit(s)")
    ],
    ("the character '\\x0c'", "printable text"): [("elicit(s)\x0celicit(t)", 10, "elicit(s)")],
    ("the character '\\r'", "printable text"): [("elicit(s)\relicit(t)", 10, "elicit(s)\r")],
    ("the character '\\u202e' in a literal", "printable text, \\n or \\t"): [
        (r'assign(s="\u202e")', 10, r'assign(s="\u0041")'),
        (r'assign(s=story("\u202e"))', 16, r'assign(s=story("\t\n"))'),
    ],
    ("the character '\\x00' in a literal", "printable text, \\n or \\t"): [
        (r'assign(s="a\0")', 10, r'assign(s="a\\0")')
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
        ("rewards(xent(s))", "unknown instruction 'rewards'", "reward"),
        ("eval(s)", "unknown instruction 'eval'", "reveal"),
        ("exec(s)", "unknown instruction 'exec'", ""),
        ("reward(zent(s))", "unknown function 'zent'", "xent"),
        ("reward(print(s))", "unknown function 'print'", ""),
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


def test_a_beacon_alone_is_a_valid_line_whatever_its_order() -> None:
    assert len(parse("beacon(flag_2)\nbeacon(flag_1)").instructions) == 2


def test_blank_lines_and_comments_are_no_instructions() -> None:
    assert parse_line("") is parse_line("   ") is parse_line("\t# elicit(s)") is None


def test_windows_line_ends_and_a_last_newline() -> None:
    assert parse("elicit(s)\r\n\r\nelicit(t)\r\n") == parse("elicit(s)\nelicit(t)")


def test_the_dialect_is_carried() -> None:
    assert parse("elicit(s)").dialect == "paper"
    assert parse("elicit(s)", "xent").dialect == "xent"
    assert parse("elicit(s)") != parse("elicit(s)", "xent")


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


@pytest.mark.parametrize("player", ["black", "white", "alice", "bob", "carol", "env", "david"])
def test_all_players(player: str) -> None:
    code = f"elicit({player}, s, 3)\nreward({player}, xent(s))\nreveal({player}, s)"
    assert {line.player for line in parse(code).instructions} == {player}  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["s", "t", "x", "y", "p", "a", "b", "c"])
@pytest.mark.parametrize("suffix", ["", "0", "1", "2", "3"])
def test_both_ways_of_numbering_registers(kind: str, suffix: str) -> None:
    assert parse(f"reveal({kind}{suffix})").instructions == (
        syn.Reveal("black", (syn.Register(kind + suffix),)),
    )


def test_spans_count_characters_of_the_whole_text() -> None:
    [_, assign] = parse('elicit(s)\n  assign(t="é😀" + x)').instructions
    assert isinstance(assign, syn.Assign)
    [(_, cat)] = assign.targets
    assert isinstance(cat, syn.Cat)
    assert assign.span == syn.Span(2, 3, 21)
    assert cat.span == syn.Span(2, 12, 20)
    assert cat.right.span == syn.Span(2, 19, 20)
    assert syn.Register("x", NOWHERE) == cat.right


@pytest.mark.parametrize(
    "line",
    [
        "assign(s=" + "(" * 1900,
        "elicit(" + "-" * 1900 + "1)",
        "assign(s=s" + ".s" * 1900 + ")",
        "assign(s=" + "s[" * 190 + "]" * 190 + ")",
        "assign(s=" + "lambda:" * 500 + "s)",
        "ensure(" + "not " * 900 + "s)",
        "reward(" + "xent(" * 190 + ")" * 190 + ")",
        "ensure(" + "is_true(" * 190 + ")" * 190 + ")",
        "f(" * 190 + ")" * 190,
        "assign(s=" + "s if s else " * 300 + "s)",
        "assign(s=1" + "0" * 3900 + ")",
        "assign(s=" + "9**" * 1000 + "9)",
        'assign(s="\\N{no such letter}")',
        'assign(s="\\x")',
        "await elicit(s)",
        "yield",
        "elicit(s) if s else t",
        "\\",
        "\ud800",
    ],
)
def test_deep_huge_and_broken_lines_are_refused(line: str) -> None:
    with pytest.raises(ProgramError, match=r"^program: 1 problem\nline 1, column "):
        parse(line)


def test_braces_and_escapes_in_literals_are_only_text() -> None:
    [line] = parse(r"assign(s='{0.__class__} %s {{' + '\x41\t')").instructions
    assert to_text(parse(r"assign(s='{0.__class__}' + '\x41')")) == (
        'assign(s="{0.__class__}" + "A")'
    )
    assert line == syn.Assign(
        (("s", syn.Cat(syn.Literal("{0.__class__} %s {{"), syn.Literal("A\t"))),)
    )
