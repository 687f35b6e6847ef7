"""Programs: what is read and what is refused, how they are printed, the order of their lines."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
import regex
from support.dialect_examples import PAGE, examples

from xgl import ProgramError, parse, to_text
from xgl.errors import FlowError
from xgl.escaping import is_visible, well_formed
from xgl.language.control_flow import path, unrolled
from xgl.language.dialects import DIALECTS

STRING = "a string: a literal, a register, + // or %"
PLAYERS = "a player (black white alice bob carol env david)"
SUM = "a sum of xent, nex, xed and dex; they add and subtract, never multiply"

REFUSED: dict[tuple[str, str], list[tuple[str, int, str]]] = {
    # (found, expected): [(malformed line, column, a valid line like it), …]
    ("no call", "a call such as elicit(s, 10)"): [("s", 1, "elicit(s)")],
    ("'(' was never closed", "one instruction"): [("  elicit(s, 10", 9, "  elicit(s, 10)")],
    ("the constant 'a'", "a register of s t x y p"): [
        ('assign(s="", a="")', 16, 'assign(s="", p="")')
    ],
    ("the operator /", "// (what precedes) or % (what follows)"): [
        ("assign(s=s/t)", 10, "assign(s=s//t)")
    ],
    ("an f-string", STRING): [('assign(s=f"{t}")', 10, 'assign(s="{t}")')],
    ("this comparison", "one of < <= > >= between xent sums"): [
        ("ensure(xent(s) == 1)", 8, "ensure(xent(s) <= 1)")
    ],
    ("an operation", SUM): [("reward(2*xent(s) - xent(t))", 8, "reward(xent(s) - xent(t))")],
    ("unknown name 'Bob'", f"{PLAYERS} or register (s t x y p a b c s0 … c3)"): [
        ("elicit(Bob, s, 3)", 8, "elicit(bob, s, 3)"),
        ("reward(Bob, xent(s))", 8, "reward(bob, xent(s))"),
    ],
    ("the player 'Bob'", "a register (s t x y p a b c, plain or with 0-3); a player is first"): [
        ("elicit(Bob)", 8, "elicit(s)"),
        ("reveal(s, Bob)", 11, "reveal(s, bob)"),
    ],
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
    ("4010 characters", "at most 4000 characters in a line"): [
        ("elicit(s)" + " " * 4001, 1, "elicit(s)" + " " * 3991)
    ],
    ("the letters of 'ｓ'", "plain letters: s"): [
        ("elicit(ｓ)", 8, "elicit(s)"),
        ("assign( ｓ = t)", 9, "assign( s = t)"),
    ],
    ("the character '\\u202e'", "printable text"): [
        ('assign(s="\u202eabc")', 11, 'assign(s="abc")'),
        ("elicit(s)  # \u202e", 14, "elicit(s)  # "),
    ],
    ("the character '\\r'", "printable text"): [("elicit(s)\relicit(t)", 10, "elicit(s)\r")],
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


def test_64_lines_are_valid_and_comments_do_not_count() -> None:
    code = "# comment\n\nelicit(s)\n" * 64
    assert len(parse(code).instructions) == 64
    with pytest.raises(ProgramError, match="line 193, column 1: 65 instructions; expected at mo"):
        parse(code + "elicit(s)")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("assign(s=(t+x)+y)", "assign(s=t + x + y)"),
        ("assign(s=t+(x+y))", "assign(s=t + (x + y))"),
        ("assign(s=(t+x)//y)", "assign(s=(t + x) // y)"),
        ('assign(s="a" "b")', 'assign(s="ab")'),
        ("assign(s='\"\\n\\\\')", 'assign(s="\\"\\n\\\\")'),
        ('assign(s=story(""))', "assign(s=story())"),
        ("elicit(black, s, 10)", "elicit(s, 10)"),
        ("reveal(s, alice)", "reveal(alice, s)"),
        ("ensure(is_true('x'))", 'ensure("x")'),
        ("ensure(xent(s)<-(3-xent(t)))", "ensure(xent(s) < -3 + xent(t))"),
        ("reward(-(xent(s)-(nex(t)-xed(s|t))))", "reward(-xent(s) + nex(t) - xed(s | t))"),
    ],
)
def test_one_spelling(source: str, text: str) -> None:
    assert to_text(parse(source)) == text


def test_a_line_that_grows_in_print_is_measured_as_printed() -> None:
    longest = parse(f"""assign(s='{'"' * 990}')""")
    assert len(to_text(longest)) == 1992
    assert parse(to_text(longest)) == longest
    with pytest.raises(ProgramError, match="an instruction of 2012 characters; expected at most"):
        parse(f"""assign(s='{'"' * 1000}')""")
    with pytest.raises(ProgramError, match="an instruction of 2834 characters; expected at most"):
        parse(f"ensure(xent(s)<{'<'.join(['1e5'] * 118)})", "xent")


IGNORED = regex.compile(r"\p{Default_Ignorable_Code_Point}")

INVISIBLE = (
    *("\u3164", "\uffa0", "\u1160", "\u2800", "\ufe0e", "\ufe0f", "\U000e0100", "\u180b", "\u034f"),
    *("\u17b4", "\U0001d159", "\U00016fe4", "\u00a0", "\u3000", "\u200d", "\u00ad"),
)
VISIBLE = ["é", "ñ", "ø", "水", "あ", "한", "ไ", "ع", "א", "😀", "🇫", "∑", "⠁", "é", "“", "”", "…"]


def test_all_that_is_refused_is_a_control_a_format_a_space_unassigned_ignored_or_blank() -> None:
    hidden, seen = set[str](), set[str]()
    for character in map(chr, range(sys.maxunicode + 1)):
        (seen if is_visible(character) else hidden).add(character)
    assert not [hex(ord(c)) for c in seen if IGNORED.match(c)]
    letters = {c for c in hidden if unicodedata.category(c)[0] not in "CZ"}
    assert len(letters) < 300
    assert all(IGNORED.match(c) or c in INVISIBLE for c in letters)
    assert {" ", *"".join(VISIBLE)} <= seen


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("character", INVISIBLE, ids=ascii)
def test_an_invisible_character_is_named_wherever_it_stands(character: str, dialect: str) -> None:
    escape = ascii(character)[1:-1]
    for line in (
        *(f'assign(s="a{character}b")', f'assign(s="a{escape}b")', f'assign(s="{character}")'),
        *(f"elicit(s)  # {character}", f"# {character}", f"elicit(s{character})"),
    ):
        with pytest.raises(ProgramError) as refusal:
            parse(line, dialect)
        assert f"the character {character!a}" in refusal.value.problems[0].found
        assert character not in str(refusal.value)


def test_half_a_surrogate_pair_is_a_question_mark() -> None:
    assert well_formed("a\ud83d\ude00b\udc00") == "a??b?"
    assert well_formed("a😀b") == "a😀b"


def order(code: str) -> list[int]:
    """The lines in the order in which they run, from 1."""
    return [position + 1 for position in path(parse(code))]


@pytest.mark.parametrize(("times", "passes"), [(0, 1), (1, 2), (3, 4)])
def test_replay_jumps_at_most_n_times_then_goes_on(times: int, passes: int) -> None:
    code = f"elicit(s)\nbeacon(flag_1)\nelicit(t)\nreplay(flag_1, {times})\nelicit(x)"
    assert order(code) == [1, *[2, 3, 4] * passes, 5]


@pytest.mark.parametrize("flag", ["flag_1", "flag_2"])
def test_a_flag_that_was_never_placed_is_at_line_1(flag: str) -> None:
    assert order(f"elicit(s)\nelicit(t)\nreplay({flag}, 1)") == [1, 2, 3, 1, 2, 3]


def test_nested_replays_start_the_inner_one_again() -> None:
    code = "beacon(flag_1)\nbeacon(flag_2)\nelicit(s)\nreplay(flag_2, 2)\nreplay(flag_1, 1)"
    inner = [2, 3, 4] * 3
    assert order(code) == [1, *inner, 5, 1, *inner, 5]


def test_a_replay_above_its_beacon_goes_to_line_1_until_the_flag_stands() -> None:
    code = "elicit(s)\nreplay(flag_2, 1)\nbeacon(flag_2)\nelicit(t)\nreplay(flag_2, 1)"
    assert order(code) == [1, 2, 1, 2, 3, 4, 5, 3, 4, 5]


@pytest.mark.parametrize(
    ("code", "line"),
    [("beacon(flag_2)\nbeacon(flag_1)", 2), ("beacon(flag_1)\nbeacon(flag_2)\nbeacon(flag_1)", 3)],
)
def test_flag_1_must_not_stand_after_flag_2(code: str, line: int) -> None:
    with pytest.raises(FlowError, match=f"^line {line}: flag_1 stands after flag_2$"):
        order(code)


def test_1024_steps_are_valid_and_one_more_is_not() -> None:
    body = "beacon(flag_1)\nreplay(flag_1, 510)\nelicit(s)\nelicit(t)"
    assert len(unrolled(parse(body))[0]) == len(order(body)) == 1024
    with pytest.raises(ProgramError, match=r"line 5, column 1: more than 1024 steps; expected at"):
        parse(body + "\nelicit(x)")


# -- The differences from the released engine that docs/reference/dialects.md shows ----------------


@pytest.mark.parametrize("code", examples("refused"))
def test_an_example_of_what_we_refuse_is_refused(code: str) -> None:
    parse("elicit(y, 3)", "xent")
    with pytest.raises(ProgramError, match="line 2, column "):
        parse(f"elicit(y, 3)\n{code}", "xent")


@pytest.mark.parametrize("code", examples("played"))
def test_an_example_of_what_we_play_is_valid(code: str) -> None:
    assert len(parse(f"elicit(y, 3)\n{code}", "xent").instructions) == 2


def test_what_the_wheel_alone_has_is_refused() -> None:
    page = PAGE.read_text(encoding="utf-8")
    replays = re.findall(r"`(replay\(flag_1, [^`]+)`", page.partition("* *`replay`.*")[2])
    assert len(replays) == 4
    others = 'assign(l=generate_list("names of colours", 3))', 'ensure("a" == sample([s]) == "b")'
    for code in (*replays, *others):
        with pytest.raises(ProgramError, match="line 3, column "):
            parse(f"elicit(y, 3)\nbeacon(flag_1)\n{code}", "xent")


def test_the_tables_are_read_whole() -> None:
    """A form of the table that the helper cannot read would leave it without examples."""
    assert len(examples("refused")) >= 66
    assert len(examples("played")) >= 15
