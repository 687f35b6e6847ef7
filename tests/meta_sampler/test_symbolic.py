"""Programs with one normal form are one game: on a map, what they pay differs by a constant.

Whatever the moves are, as long as they meet all conditions: what was paid before a failed ensure
stays paid, which the normal form leaves out. And each lint rule, in the smallest game that breaks
it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings, strategies as st
from support import parents
from support.doubles import NumberedStories, WordJudge, number

import xgl
from meta_sampler import MutateSettings
from meta_sampler.lint import RULES, lint_warnings
from meta_sampler.mutate import NEEDS, OPERATORS
from meta_sampler.program_editor import EditContext, NothingError, donor_lines
from meta_sampler.soundness import filled_constants
from meta_sampler.symbolic import LinearForm, NormalForm, Quantity, StoryText, normal_form
from xgl import Cast, Instance, play_all
from xgl.analysis.static_facts import plain_xents
from xgl.errors import OversizeError
from xgl.language import syntax as syn
from xgl.language.visitors import rename
from xgl.runtime.requests import Ensured, Move, ScoreRequest, Seeds, TokenScores, Turn

PLAYERS = ("black", "white", "alice", "bob")


class TextJudge(WordJudge):
    """A score depends on target and context as texts, wherever their tokens end."""

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores | OversizeError]:
        return [self._bits(request.text, "".join(request.context)) for request in requests]

    def _bits(self, text: str, context: str) -> TokenScores:
        target, condition = "".join(text.split()), "".join(context.split())
        return TokenScores((number(target, condition) % 128 / 8,) if target else ())


class Writer:
    """Its moves depend on seeds, player and turn; a few words, so that cuts occur."""

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        return [Move(self._text(turn)) for turn in turns]

    def _text(self, turn: Turn) -> str:
        draw = number(turn.seeds, turn.request.turn, turn.request.view.player)
        return ("tale", "1", "0", "cat")[draw % 4] + ("", " cat", " 0")[draw // 4 % 3]


SEEDS = [Seeds(map_seed, play) for map_seed in (0, 2) for play in range(4)]


def assert_equal_games(programs: Sequence[syn.Program]) -> int:
    """Plays all on the same maps with the same moves; how many plays could be compared."""
    cast = Cast(TextJudge(), NumberedStories(), dict.fromkeys(syn.PLAYERS, Writer()))
    games = [xgl.game(program) for program in programs]
    plays = iter(play_all([Instance(game, each) for game in games for each in SEEDS], cast))
    play_count = 0
    first: dict[Seeds, dict[str, float]] = {}
    for game in games:
        offsets = defaultdict[int, set[tuple[tuple[str, float], ...]]](set)
        for seeds in SEEDS:
            play = next(plays)
            failed = any(isinstance(each, Ensured) and not each.passed for each in play.events)
            if failed or play.outcome != "finished":
                continue
            scores = first.setdefault(seeds, play.scores)
            movers = sorted(play.scores.keys() & scores.keys())
            offset = tuple((name, play.scores[name] - scores[name]) for name in movers)
            offsets[seeds.map_seed].add(offset)
            play_count += 1
        assert all(len(each) == 1 for each in offsets.values()), f"{games[0].code}\n\n{game.code}"
    return play_count


Lines = tuple[syn.Instruction, ...]
Rewrite = Callable[[Lines, Random], Lines]


def expansion(lines: Lines, rng: Random) -> Lines:
    """Differences as the scores that they are made of: xed(s|t) = xent(s) - xent(s|t)."""

    def plain(line: syn.Reward) -> list[syn.Reward]:
        parts = ((s, each) for s, each in line.amount.terms)
        terms = tuple((s * own, xent) for s, each in parts for own, xent in plain_xents(each))
        return [replace(line, amount=syn.Sum(terms))]

    return _with_rewards(lines, plain)


def split_rewards(lines: Lines, rng: Random) -> Lines:
    """A reward for each term, in any order."""

    def alone(line: syn.Reward) -> list[syn.Reward]:
        terms = rng.sample(line.amount.terms, len(line.amount.terms))
        return [replace(line, amount=syn.Sum((term,))) for term in terms]

    return _with_rewards(lines, alone)


def beside_a_constant(lines: Lines, rng: Random) -> Lines:
    """One more term, about a story that was drawn before; its score is the same for all moves."""
    first = lines[0]
    if not isinstance(first, syn.Assign) or not isinstance(first.targets[0][1], syn.Story):
        return lines
    name = first.targets[0][0]
    if any(name in getattr(line, "registers", ()) for line in lines) or len(first.targets) > 1:
        return lines
    if any(isinstance(x, syn.Assign) and name in dict(x.targets) for x in lines[1:]):
        return lines
    constant = (rng.choice((1, -1)), syn.Xent("xent", syn.Register(name)))
    return _with_rewards(
        lines, lambda line: [replace(line, amount=syn.Sum((*line.amount.terms, constant)))]
    )


def renaming(lines: Lines, rng: Random) -> Lines:
    """Other names for private registers."""
    private = [name for name in syn.REGISTERS if name[0] in "stxy"]
    names = dict(zip(private, rng.sample(private, len(private)), strict=True))
    return tuple(rename(line, names) for line in lines)


def _with_rewards(lines: Lines, change: Callable[[syn.Reward], list[syn.Reward]]) -> Lines:
    groups = ([*change(line)] if isinstance(line, syn.Reward) else [line] for line in lines)
    return tuple(line for group in groups for line in group)


REWRITES: tuple[Rewrite, ...] = (expansion, split_rewards, beside_a_constant, renaming)


@settings(max_examples=25)
@given(
    st.sampled_from(parents.EVERY), st.lists(st.sampled_from(REWRITES), min_size=1), st.randoms()
)
def test_rewriting_what_is_paid_keeps_the_game(
    parent: xgl.Game, rewrites: list[Rewrite], rng: Random
) -> None:
    lines = parent.program.instructions
    for rewrite in rewrites:
        lines = rewrite(lines, rng)
    program = syn.Program(lines, parent.dialect)
    assert normal_form(program) == normal_form(parent.program)
    assert_equal_games([parent.program, program])


@pytest.mark.parametrize("dialect", ["paper", "xent"])
def test_edits_of_one_normal_form_are_one_game(dialect: str) -> None:
    """Whatever edits made them: hundreds of raw edits, compared where their forms coincide."""
    pool = [game for game in parents.EVERY if game.dialect == dialect]
    forms: dict[NormalForm, dict[str, syn.Program]] = {}
    for name, apply in OPERATORS.items():
        for number_ in range(20):
            rng = Random(f"{name}/{number_}")
            parent = rng.choice(pool)
            constants = filled_constants(parent)
            context = EditContext(MutateSettings(players=PLAYERS), PLAYERS, constants, dialect)
            context = replace(context, donor=donor_lines(rng.choice(pool).program, context))
            lines = parent.program.instructions
            if NEEDS.get(name) == "loops":
                continue
            with suppress(NothingError):
                game = xgl.game(syn.Program(apply(lines, context, rng), dialect))
                form = normal_form(game.program)
                if isinstance(form[0], tuple):  # it could be played symbolically
                    forms.setdefault(form, {})[game.code] = game.program
    groups = [list(group.values()) for group in forms.values() if len(group) > 1]
    assert len(groups) > 10
    assert sum(assert_equal_games(group) for group in groups) > 200


QUANTITIES = st.builds(
    Quantity,
    st.lists(st.builds(StoryText, st.integers(0, 1), st.none(), st.just(""))).map(tuple),
    unit=st.sampled_from(("xent", "count", "bit")),
)
FORMS = st.lists(st.tuples(QUANTITIES, st.integers(-2, 2))).map(LinearForm.of)


@settings(max_examples=25)
@given(FORMS, FORMS, FORMS)
def test_linear_forms_are_an_abelian_group(a: LinearForm, b: LinearForm, c: LinearForm) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + LinearForm() == a
    assert a - a == LinearForm()
    assert -a + a == LinearForm()
    assert all(coefficient for _, coefficient in (a + b).terms)


HEAD = "assign(s=story(), t=story())\nelicit(x, 8)\n"


def program(text: str) -> xgl.Program:
    return xgl.parse(text, "xent")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("reward(xed(s | x))", "reward(nex(s | x))"),
        ("reward(xed(s | x) - xed(t | x))", "reward(xed(s | x))\nreward(dex(t | x))"),
        ("reward(xed(s + t | x))", "assign(y=s + t)\nreward(xed(y | x))"),
        [f"assign(y=story({a}))\nelicit(t, 8)\nreward(xed(y | t))" for a in ("", "30")],
        ("ensure(xed(x | s) > 0)\nreward(xed(t|x))", "ensure(xent(x|s)<xent(x))\nreward(xed(t|x))"),
    ],
)
def test_one_normal_form(one: str, other: str) -> None:
    assert normal_form(program(HEAD + one)) == normal_form(program(HEAD + other))


FIRST = "y=first_n_tokens(s, 99)"
ORDERED = [('is_true("only uses the words of", s, x)', 'is_true("only uses the words of", x, s)')]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("reward(xed(s | x) - xed(t | x))", "reward(xed(s | x) + xed(t | x))"),
        ("reward(xed(s | x) - xed(t | x))", "reward(xed(t | x) - xed(s | x))"),
        ("reward(xed(x | s))", "reward(nex(x | s))"),
        ("reward(xed(s | x))", "ensure(xed(s | x) > 4)\nreward(xed(s | x))"),
        ("reward(xed(s // x | x))", "reward(xed(s % x | x))"),
        ("reward(xed(s | x))", "elicit(x, 8)\nreward(xed(s | x))"),
        ("reward(xent(s | x, t))", "reward(xent(s | t + x))"),
        ("assign(y=s | x)\nreward(xed(y) + xed(t | x))", "reward(xed(t | x))"),
        [f"assign(y={y})\nreward(xed(y) + xed(t | x))" for y in ("s | x", "(s | x) + ''")],
        [f"assign(s={s})\nassign({FIRST})\nreward(xed(y) + xed(t | x))" for s in ("s | x", "s")],
        [f"assign(y=s | x)\nreward(xed(y{a}) + xed(t | x))" for a in ("", " | ''")],
        [f"assign({','.join(a)})\nreward(xed(t | y))" for a in permutations((FIRST, "s=x"))],
        [f"assign(y=s, x1={a}, y=x)\nreward(xed(t | x1))" for a in "sy"],
        [f"assign(l=[{a}])\nelicit(x, 8)\nreward(xed(s | ''.join(l)))" for a in ("x", "x + ''")],
        *[(f"ensure({one})", f"ensure({other})") for one, other in ORDERED],
    ],
)
def test_two_normal_forms(one: str, other: str) -> None:
    assert normal_form(program(HEAD + one)) != normal_form(program(HEAD + other))


def test_what_a_move_sees_is_part_of_the_normal_form() -> None:
    alone, before, after = (
        normal_form(program(f"assign({stories})\nelicit(x, 8)\nreward(xed(s | x))"))
        for stories in ("s=story()", "s=story(), t=story()", "t=story(), s=story()")
    )
    assert len({alone, before, after}) == 3
    talk = "assign(t=story())\nelicit(alice, {}, 5)\nelicit(bob, x, 8)\nreward(bob, xed(t | x))"
    heard, unheard = (normal_form(program(talk.format(register))) for register in ("p", "s"))
    assert heard != unheard
    show = "assign(s=story())\nreveal(alice, s)\nelicit(x, 8)\nassign({}=x)\nelicit(alice, y, 8)"
    pay = "\nreward(xed(y | x))\nreward(alice, xed(y | x))"
    seen, hidden = (normal_form(program(show.format(name) + pay)) for name in "st")
    assert seen != hidden, "who is shown a register sees it change"
    notes = "assign(s=story())\nelicit(x, 4)\nassign(p=s {} x)\nelicit(alice, y, 8)"
    cut, whole = (normal_form(program(notes.format(op) + pay)) for op in ("//", "+"))
    assert cut != whole, "a note says other things of the same texts"


BROKEN = {
    "elicit(y, y, 4)\nreward(xed(s | x + y))": "two moves for one register",
    "reward(xed(s | s + x))": "a string is scored against itself",
    "reward(xed(s | x + x))": "a string stands beside itself in a prefix",
    "reward(xed(s) + xed(t | x))": "a term is always zero",
    "reward(xed(s | x) + xent(t))": "a reward term that no move can change",
    "reward(xed(s | x) + dex(s | x))": "two reward terms cancel",
    "reward(xed(s | x))\nreward(-xed(s | x))": "two reward terms cancel",
    "reward(xed(s|x) + xed(s|x) + xed(s|x))": "a term is paid more than twice",
    "reward(xed(s | x) + xent(x | t))": "gibberish is paid for",
    "elicit(white, y, 8)\nreward(white, xed(s | y) - xent(x))": "gibberish is paid for",
    "reward(-xent(x))": "no reward ties a move to the map",
    "elicit(y, 8)\nreward(xed(s|x) + xed(y|x))": "a player is paid for repeating itself",
    "reward(xed(s // t | x))": "a cut at a mark that hardly occurs",
    "ensure(xent(s) < xent(t))\nreward(xed(s|x))": "a condition that the last move",
    "ensure(xent(x) >= 0)\nreward(xed(s|x))": "a condition that always or never holds",
    "ensure(xed(s|x) > 4)\nreward(xed(s|x))": "a condition asks for what is paid anyway",
    "ensure(xent(x) < 9)\nensure(xent(x) < 9)\nreward(xed(s|x))": "a condition stands twice",
    "ensure(s + s + x)\nreward(xed(s|x))": "a statement about a string and itself",
    "reward(xed(s | x))\nensure(xent(x) < 9)": "a failed condition pays again",
    "reward(xed(s | x))\nassign(y=story())": "a stored value is never used",
    "assign(y=story())\nreward(xed(y | x))": "a move is scored on stories drawn later only",
    "assign(y=x)\nreward(xed(s | y))": "an assignment that only copies",
    "assign(y=s, y=t)\nreward(xed(y | x))": "two values for one register",
    "elicit(y, 3)\nensure(xent(y) < 9)\nreward(xed(s|x))": "a move that is neither",
    "reward(xed(s | x))\nreward(bob, xed(s | x))": "a reward to someone who makes no move",
    "reveal(bob, s)\nreward(xed(s | x))": "a reveal that informs nobody",
    "reveal(bob, x)\nelicit(bob, y, 4)\nreward(xed(s | x + y))": "a player who earns nothing",
    "elicit(bob, y, 4)\nreward(bob, xed(s | x + y))": "a move by someone who knows nothing",
    "replay(flag_1, 2)\nreward(xed(s | x))": "a flag without its beacon",
    "beacon(flag_1)\nreward(xed(s|x))\nreplay(flag_1, 2)": "a loop without a move",
    "beacon(flag_1)\nassign(s=s+s)\nreplay(flag_1, 9)\nreward(xed(s|x))": "a string grows",
}
"""What follows the head of a game, and the beginning of a warning that it has."""


@pytest.mark.parametrize(("rest", "warning"), BROKEN.items(), ids=BROKEN.values())
def test_each_rule(rest: str, warning: str) -> None:
    assert any(found.startswith(warning) for found in lint_warnings(program(HEAD + rest)))


@pytest.mark.parametrize(("dialect", "is_used"), [("paper", True), ("xent", False)])
def test_a_value_is_used_by_what_its_dialect_stores_behind_it(dialect: str, is_used: bool) -> None:
    text = f"{HEAD}assign(y=t // s, s1=y + x)\nreward(xed(s | s1))"
    assert ("a stored value is never used" in lint_warnings(xgl.parse(text, dialect))) != is_used


def test_flags_out_of_order_are_the_only_warning_of_a_game() -> None:
    text = "beacon(flag_2)\nbeacon(flag_1)\nreplay(flag_1, 1)"
    assert lint_warnings(xgl.parse(text, "paper")) == {RULES["flag_order"]}


def test_every_rule_is_broken_above() -> None:
    found = {each for rest in BROKEN for each in lint_warnings(program(HEAD + rest))}
    assert {*found, RULES["flag_order"]} == {*RULES.values()}


@pytest.mark.parametrize(
    "rest",
    [
        "assign(y=story())\nreward(xed(s | x) - xed(y | x))",
        "assign(y=s//x, s1=s%x)\nreward(xed(y | s1) - xed(t | x))",
        "ensure(xent(x | t) < xent(x))\nreward(xed(s + t | x))",
        'ensure("no common words between"+s+"&"+x)\nreward(xed(s | x) - xent(x | t))',
        "reveal(bob, x)\nelicit(bob, y, 4)\nreward(bob, xed(s | y))\nreward(xed(t | x))",
        "reveal(bob, t)\nreward(xed(t | x))\nbeacon(flag_1)\nelicit(bob, y, 4)\n"
        "reward(bob, xed(s | y))\nreveal(bob, s)\nreplay(flag_1, 1)",
        "elicit(white, y, 4)\nensure(xed(y | x) < 8)\nreward(xed(s + t | y))",
        "assign(p=s//x)\nelicit(alice, y, 8)\nreward(xed(s|y) + xed(t|x))\nreward(alice, xed(s|y))",
        "ensure(len(common_word_set(s, x)) > 0)\nreward(xed(s | x) - xed(t | x))",
        "reward(-xent(s | x))\nensure(len(common_word_set(s, x)) > 0)\nreward(xed(t | x))",
        "reveal(bob, y)\nassign(y=x + t)\nelicit(bob, p)\nreward(xed(s|p))\nreward(bob, xed(s|p))",
        "elicit(bob, p, 4)\nelicit(y, 4)\nreward(bob, xed(t | y))\nreward(xed(s | x) + xed(t | y))",
    ],
)
def test_sensible_games_have_no_warnings(rest: str) -> None:
    assert not lint_warnings(program(HEAD + rest))
