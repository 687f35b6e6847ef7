"""Programs in plain English, and names made from what they pay for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from support.programs import PROGRAMS

from xgl import Game, Metadata, Program, analyse, game, library, parse
from xgl.analysis.plain_english import MOST_CHARACTERS, in_words, objective, title


def _game(source: str, dialect: str = "xent") -> Game:
    return game(parse(source, dialect))


def test_the_players_view_and_the_pay_are_said() -> None:
    source = "assign(s=story())\nelicit(t, 8)\nassign(x=story())\nreward(xed(s | t) - xed(x | t))"
    assert in_words(_game(source)) == (
        "A story s is drawn.",
        "The player, who sees s, writes t, at most 8 tokens.",
        "A story x is drawn.",
        "The player is paid the bits that t saves on s, minus the bits that t saves on x.",
    )


def test_rules_joins_cuts_and_loops_are_said() -> None:
    source = (
        'assign(s=story() + "!", t="")\nbeacon(flag_1)\nelicit(x, y, 4)\n'
        'ensure(xed(s | x) >= 2, is_false("no word of" + s))\nassign(t=s // x)\n'
        "reward(xent(t + y | s))\nreplay(flag_1, 2)"
    )
    assert in_words(_game(source, "paper")) == (
        "Let s be the join of a story and “!”; let t be the empty text.",
        "This place is called flag_1.",
        "The player, who sees s, t, x and y, writes x and y, at most 4 tokens each.",
        "It must hold that the bits that x saves on s are at least 2 and "
        "“no word of s” is false; or the player has to try again, in the whole game 10 times at "
        "most.",
        "Let t be what stands in s before x.",
        "The player is paid the surprise of the join of t and y after s.",
        "The game goes back to flag_1, 2 times before it goes on.",
    )


def test_who_tries_again_what_counts_and_what_is_read_before() -> None:
    source = (
        "elicit(white, s, 4)\nbeacon(flag_1)\nensure(xent(s) < 9)\nelicit(env, t, 4)\n"
        "ensure(xent(s) < 9)\nassign(s=x, x=s + t)\nreward(env, xed(x | t))\n"
        "replay(flag_1, 1)\nassign(s=t, l=[s])"
    )
    for dialect, end, paid in (("xent", ", with s as before.", "."), ("paper", ".", ", which")):
        _, _, first, move, again, join, pay, _, held = in_words(_game(source, dialect))
        assert "whoever moved last has to try again" in first
        assert "env has to try again" in again
        assert "count" not in move
        assert held == "Let s be t; let l be the list of s."
        assert join == f"Let s be x; let x be the join of s and t{end}"
        assert pay.startswith(f"Env is paid the bits that t saves on x{paid}")
    assert in_words(_game("assign(t=s, x=t, t=y)", "xent")) == ("Let t be y; let x be t.",)


@settings(max_examples=40)
@given(PROGRAMS)
def test_every_program_can_be_said(program: Program) -> None:
    sentences = in_words(game(program))
    assert len(sentences) == len(program.instructions)
    assert all(each.endswith(".") and each[0] == each[0].upper() for each in sentences)


NAMES = {
    "rival": "the story, not an unseen one",
    "contrast": "the first of two stories, not the second",
    "echo": "what the first of two stories calls for, not what the second calls for",
    "pair": "the first and second of three stories, not the third",
    "each": "the first of two stories, then the second",
    "turns": "the first of three stories, not the second, then the third, not the first",
    "rest": "the end of a story, not an unseen story",
    "fig_3_01_single_text": "the story, in other words",
    "fig_3_01_multi_texts": "all three stories, in other words",
}


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_games_of_the_library(name: str, expected: str) -> None:
    entry = library.find(name)
    assert title(_game(entry.text, entry.dialect)) == expected


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        ("xed(s | x) + xed(t | x)", "both stories"),
        ("xed(t | x) - xed(y | x)", "the second of two stories, not an unseen one"),
        ("dex(t | x)", "not the second of two stories"),
        ("xent(x)", "surprising words in the move"),
        ("xed(s | x) - xent(x | s)", "the first of two stories, plain words in the move after"),
        ("xed(s | t + x)", "the first of two stories after the second and the move"),
    ],
)
def test_what_is_paid_for(reward: str, expected: str) -> None:
    lines = "assign(s=story(), t=story())\nelicit(x, 8)\nassign(y=story())\n"
    assert title(_game(f"{lines}reward({reward})")).startswith(expected)
    chain = f"assign(s=story(), t=s)\nelicit(x, 8)\nreward({reward.replace('s |', 't |')})"
    assert ("story" in title(_game(chain, "paper"))) == ("t |" in chain), "one after another"
    assert title(_game(chain)) == title(_game(chain, "paper")), "and as it is stored"
    stored = f"{lines}assign(s=t, t='end')\nreward({reward})"
    assert title(_game(stored)) == title(_game(stored, "paper"))


@pytest.mark.parametrize(
    ("place", "word"), [(9, "ninth"), (11, "11th"), (21, "21st"), (22, "22nd")]
)
def test_a_story_far_on_is_counted_in_figures(place: int, word: str) -> None:
    names = [letter + digit for letter in "stypx" for digit in ("", "0", "1", "2", "3")]
    names.remove("x")
    stories = ", ".join(f"{name}=story()" for name in names)
    game_ = _game(f"assign({stories})\nelicit(x, 8)\nreward(xed({names[place - 1]} | x))")
    assert title(game_) == f"the {word} of 24 stories"


PAID = "reward(xed(t | s))\nassign(t=t + x)\n"  # of nothing in the first turn


def test_turns_of_a_loop_may_differ_in_what_its_lines_leave_equal() -> None:
    head, loop = 'assign(s=story(), t="")\nbeacon(flag_1)\nelicit(x, 4)\n', "replay(flag_1, 2)"
    for lines in (f"assign(t=t + x)\n{loop}\nreward(xed(s | t) - xed(s | x))", PAID + loop):
        assert title(_game(head + lines)) == "what differs between turns"
    assert title(_game(f"{head}{PAID}{loop}\nreward(xed(s | t))")) == "the story"


def test_a_constant_is_a_text_of_the_game() -> None:
    lines = parse("elicit(x, 4)\nreward(xed(a | x) - xed(b | x))", "xent")
    whole = game(lines, Metadata(constants={"a": "hen"}, prompts={"b": "a fox"}))
    assert title(whole) == "“hen”, not a text (b)"
    more = parse("elicit(x, 4)\nreward(xed(a | x) - xed(b | x) + xed(s | b))", "xent")
    assert objective(whole) == objective(game(more, whole.metadata)) != objective(game(lines))


def test_each_seat_is_paid_for_its_own() -> None:
    """In a zero-sum pair one seat wants what the other does not."""
    source = (
        "assign(s=story())\nelicit(white, x, 8)\nelicit(black, y, 8)\nreward(black, xed(s | y))"
    )
    game_ = _game(source, "paper")
    assert title(game_, "black") == "the story"
    assert title(game_, "white") == "not the story after black's move"
    paid = "Black is paid the bits that x saves on s; white is paid the negative."
    assert in_words(game_)[-1] == paid
    hidden = library.find("fig_3_13_message")
    assert title(_game(hidden.text, hidden.dialect), "bob") == "an unseen story"


def test_every_game_of_the_library_has_a_short_name() -> None:
    for entry in library.entries():
        game_ = _game(entry.text, entry.dialect)
        for role in analyse(game_.program).players:
            name = title(game_, role)
            assert 0 < len(name) <= MOST_CHARACTERS + 2, entry.name
            assert "  " not in name


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("xed(s | x)", "xed(s | x) + xed(s | x) - xed(p | x)", True),  # weights, unseen stories
        ("xed(s | x) + xent(s)", "xed(s | x)", True),  # no move enters the second term
        ("xed(s | x)", "-xed(s | x)", False),
        ("xed(s | x)", "xed(t | x)", False),
        ("xed(s | x)", "xed(x | s)", False),
        ("xed(s | x)", "xed(s | t, x)", False),
        ("xed(s // x | t)", "xed(s | x)", False),  # a move enters by a cut
        ("xed(s // x | t)", "xed(s % x | t)", False),
    ],
)
def test_games_with_one_objective_are_won_by_the_same_moves(
    one: str, other: str, equal: bool
) -> None:
    frame = "assign(s=story(), t=story())\nelicit(x, 8)\nassign(p=story())\nreward({})"
    objectives = [objective(_game(frame.format(each))) for each in (one, other)]
    assert all(objectives)
    assert (objectives[0] == objectives[1]) is equal
