"""Games lowered to the authors' engine: the same game in other words, or refused by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, assume, given, reject, settings, strategies as st
from support.doubles import NumberedStories, WordJudge
from support.programs import PROGRAMS

from xgl import Cast, Instance, Metadata, Play, Program, Seeds, XGLError, game, parse, play_all
from xgl.language.canonical import Game
from xgl.language.dialects import XENT
from xgl.language.syntax import PLAYERS
from xgl.library import read_game
from xgl.lowering import LoweredProgram, LoweringError, lower
from xgl.players import FixedMovesPlayer
from xgl.runtime.requests import ScoreRequest, TokenScores

SEEDS = Seeds(3, 0)


def lowered_program(
    code: str, role: str = "black", lenient: bool = False, **metadata: object
) -> LoweredProgram:
    game_ = game(parse(code, "paper"), Metadata(**metadata))  # type: ignore[arg-type]
    return lower(game_, role, lenient)


@pytest.mark.parametrize(
    "targets",
    ['s="a", s="b"', 's="a", t=s, s="b"', 's="a", t="c", s=t, s="b", t=s', 't=story(), s=t, s="e"'],
)
@pytest.mark.parametrize("dialect", ["xent", "paper"])
def test_no_keyword_stands_twice_in_a_line(dialect: str, targets: str) -> None:
    """Python does not evaluate such a call; the last value counts, as here."""
    code = f'assign(t="d")\nassign({targets})\nelicit(y, 3)\nreward(xed(y | s + t))'
    source = game(parse(code, dialect))
    result = lower(source)
    for line in result.text.splitlines():
        compile(line, "game", "eval")
    lowered = replace(game(result.program), metadata=source.metadata)
    assert play_game(lowered, ["a b"]).scores == play_game(source, ["a b"]).scores


@pytest.mark.parametrize("value", ["story()", "sample([t])"])
def test_a_draw_that_is_overwritten_is_not_left_out(value: str) -> None:
    with pytest.raises(LoweringError, match="drawn and overwritten in one line"):
        lower(game(parse(f'assign(s={value}, s="b")\nelicit(y, 3)\nreward(xent(y | s))', "xent")))


def test_a_fault_is_named_by_the_line_of_the_game() -> None:
    """Although one reward before it becomes two."""
    code = "elicit(s, t, 3)\nreward(xent(s) - xent(t))\nreplay(flag_1, 2)"
    with pytest.raises(LoweringError, match=r"^line 3: flag_1 was never placed$"):
        lower(game(parse(code, "xent")))


def test_a_game_that_needs_nothing_stays_as_it_is() -> None:
    game_ = read_game("echo")
    result = lower(game_)
    assert (result.text, result.changes, result.inexact) == (game_.code, (), ())
    notes = lowered_program("elicit(s, t, 5)\nassign(x=remove_common_words(s, t))").notes
    assert "words are compared as they are spelled there" in notes


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ('elicit(s, 5)\nensure(is_false("no common words", s, "a b"))',
         'ensure(len(common_word_set(s, "a b")) != 0)'),
        ('elicit(s, 5)\nensure(is_true("only uses words of", "a b", s))',
         'ensure(word_set(s) <= word_set("a b"))'),
        ('elicit(s, 5)\nensure(is_true("num_tokens<4", s))', "ensure(first_n_tokens(s, 3) == s)"),
        ('elicit(s, 5)\nensure(is_true("num_tokens>=4", s))', "ensure(first_n_tokens(s, 3) != s)"),
        ('elicit(s, 5)\nensure(is_true("num_tokens==4", s))',
         "ensure(first_n_tokens(s, 4) == s and first_n_tokens(s, 3) != s)"),
        ("elicit(s, 5)\nensure(xent(s) - 2 < 60)", "ensure(xent(s) < 2 + 60)"),
        ("elicit(s, t, 5)\nensure(xent(s) - xent(t) < xent(s))",
         "ensure(xent(s) - xent(s) < xent(t))"),
        ("elicit(s, t, 5)\nensure(xent(s) - xent(t) < 0)", "ensure(xent(s) < xent(t))"),
        ("elicit(s)\nreward(xent(s))", "elicit(s, 10)"),
        ("elicit(s, t, 5)\nreveal(alice, [s, t])\nelicit(s)", 'assign(l=[s + "", t + ""])'),
        ("beacon(flag_1)\nelicit(s, 5)\nreward(xent(t))\nassign(t=s)\nreplay(flag_1, 1)",
         'reward(xent(t, "." // ((t + ".") % t)))'),
        ("elicit(s, 5)\nreplay(flag_1, 2)", "beacon(flag_1)"),
        ('elicit(s, 5)\nassign(l=[s])', 'assign(l=[s + ""])'),
        ('elicit(s, 5)\nassign(t="a" + s, x=t)', "assign(x=t)"),
        ("elicit(s, 5)\nreveal(alice, s + s)\nreveal(s)", "reveal(alice, t)"),
        ('elicit(s, 5)\nassign(t=s // "a")\nreward(xent(t))',
         'reward(xent(t, "." // ((t + ".") % t)))'),
        ("assign(s=story(7))", "assign(s=story())"),
    ],
)  # fmt: skip
def test_each_difference_is_said_otherwise(code: str, line: str) -> None:
    assert line in lowered_program(code).text.split("\n")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('elicit(s, 5)\nensure("It rains: " + s)', "line 2: a model judges the statement"),
        ('elicit(s, 5)\nensure("It rains")\nreward(xent(s, "Hm."))', "line 2: a model judges"),
        ('elicit(s, 5)\nreward(xent(s | s, "Listen."))', "line 2: a pre-instruction is joined"),
        ('elicit(s, 5)\nensure(is_true("num_words<4", s))', "line 2: num_words counts words with"),
    ],
)
def test_what_is_nearly_the_same_is_refused_unless_allowed(code: str, reason: str) -> None:
    with pytest.raises(LoweringError) as refusal:
        lowered_program(code)
    text, *others = refusal.value.reasons
    assert len(others) == ("Hm." in code), "all reasons are reported at once"
    assert text.startswith(reason)
    assert lowered_program(code, lenient=True).inexact == (text, *others)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('elicit(s, 5)\nassign(l=s.split(""))', "line 2: a text cannot be split by an empty one"),
        ("elicit(s, t, 5)\nensure(xent(s) - xent(t) < 1)", "line 2: it compares more"),
        ("elicit(s, 5)\nelicit(david, t, 5)", "line 2: there is no player david there"),
        ("replay(flag_1, 1)\nreplay(flag_2, 1)\nreward(xent(s))", "line 2: two flags that are"),
        ('elicit(s, 5)\nensure(is_true("num_tokens<0", s))', "line 2: num_tokens<0 cannot be"),
        ("\n".join(["elicit(s, t, 5)"] + ["reward(xent(s) - xent(t))"] * 40), "lowered, line 65"),
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_refused_always(code: str, reason: str) -> None:
    for lenient in (False, True):
        with pytest.raises(LoweringError, match=reason):
            lowered_program(code, lenient=lenient)


@pytest.mark.parametrize("rule", ["xent(s) != 0", "9 == xent(s)", "xent(s) - 2 == xent(s | t)"])
def test_no_xent_equals_a_number_there(rule: str) -> None:
    with pytest.raises(LoweringError, match=r"line 2: (there no xent equals|it compares more)"):
        lower(game(parse(f"elicit(s, t, 5)\nensure({rule})", "xent")), "black")


def test_what_is_written_after_it_was_shown_stays_hidden() -> None:
    text = lowered_program("reveal(bob, t)\nelicit(alice, t, 5)\nelicit(bob, x, 5)").text
    assert "elicit(alice, t," not in text, "bob would see it"


def test_black_is_named_where_another_player_is_measured() -> None:
    code = "elicit(s, 5)\nelicit(alice, t, 5)\nreward(alice, xed(s | t))\nreward(xent(t))"
    first, *others, last = lowered_program(code, "alice").text.split("\n")
    assert others == ["elicit(alice, t, 5)", "reward(alice, xed(s | t))"]
    assert (first, last) == ("elicit(black, s, 5)", "reward(black, xent(t))")


def test_constants_become_literals_unless_that_tells_a_secret() -> None:
    code = "elicit(alice, s, 5)\nreward(alice, xed(a | s))"
    text = lowered_program(code, "alice", constants={"a": "hen"}).text
    assert 'reward(alice, xed("hen" | s))' in text
    with pytest.raises(LoweringError, match="a private constant would be read in the program"):
        lowered_program(code.replace("a |", "c |"), "alice", constants={"c": "hen"})


@dataclass
class OneScoring(WordJudge):
    """Scores strings alike, whatever the dialect: what is left is what the program says."""

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores]:  # type: ignore[override]
        alike = [
            replace(each, context=("".join(each.context),), scoring=XENT.scoring)
            for each in requests
        ]
        return super().score(alike)  # type: ignore[return-value]


def play_game(game_: Game, moves: list[str]) -> Play:
    players = {name: FixedMovesPlayer({SEEDS: moves}) for name in PLAYERS}
    [play] = play_all([Instance(game_, SEEDS)], Cast(OneScoring(), NumberedStories(), players))
    return play


WORDS = st.lists(
    st.sampled_from(["hen", "a red hen", "tale 3", "and, so", "hen & tale"]), min_size=1
)


@given(PROGRAMS, WORDS)
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
def test_a_lowered_game_pays_as_it_did(program: Program, moves: list[str]) -> None:
    game_ = game(program)
    try:
        result = lower(game_, allow_inexact=True)
        before = play_game(game_, moves)
    except XGLError:
        reject()
    remarks = " ".join(result.inexact + result.notes)
    assume("num_words" not in remarks and "sample and shuffle" not in remarks)
    assume(before.outcome == "finished")
    after = play_game(Game(result.program, result.metadata, "", result.text), moves)
    assert after.outcome == "finished", result.text
    for player in PLAYERS:
        score = 0.0 if player == "env" and program.dialect == "paper" else before.scores.get(player)
        assert after.scores.get(player, 0.0) == pytest.approx(score or 0.0), result.text
