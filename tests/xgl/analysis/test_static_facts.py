"""Static facts of hand-written programs: what a game may teach, and who is asked, knowing what."""

from __future__ import annotations

import pytest

from xgl import Metadata, analyse, parse
from xgl.analysis.static_facts import ElicitFacts, StaticFacts, analyse_roles

GOOD = "assign(s=story())\nelicit(x, 10)\nreward(xed(s | x))"


def report(code: str, dialect: str = "paper") -> StaticFacts:
    return analyse(parse(code, dialect))


def test_a_good_game() -> None:
    facts = report(GOOD)
    assert (facts.steps, facts.players, facts.stories, facts.move_tokens) == (3, ("black",), 1, 10)
    assert facts.main_reward_depends_on_moves
    assert (facts.rewards_cancel, facts.unused_moves) == (False, ())
    assert (facts.read_before_set, facts.faults) == ((), ())
    assert facts.elicits == (ElicitFacts(2, "black", "x", 10, 1, ("s",), ()),)
    assert facts.degenerate == ""


DEGENERATE = {
    "line 2: flag_1 stands after flag_2": ("beacon(flag_2)\nbeacon(flag_1)\n" + GOOD,),
    "the main player makes no move": ("elicit(bob, x)\nreward(xent(x))",),
    "no reward of the main player depends on a move": (
        *("elicit(x)\nreward(xent(s))", "elicit(x)\nreward(bob, xent(x))"),
        *("reward(xent(x))\nelicit(x)", 'elicit(x)\nassign(x="a")\nreward(xent(x))'),
        "elicit(x)\nelicit(bob, x)\nreward(xent(x))",
    ),
    "the main player's rewards cancel": (
        *("elicit(x)\nreward(xent(x) - xent(x))", "elicit(x)\nreward(xed(s|x))\nreward(dex(s|x))"),
        "elicit(x)\nreward(xed(s | x) - xent(s) + xent(s | x))",
        "elicit(x)\nreward(xent(x))\nreward(white, xent(x))",
    ),
    "the move t is never used": (
        *("elicit(x)\nelicit(t)\nreward(xent(x))", "elicit(t)\nelicit(t)\nreward(xent(t))"),
    ),
}


@pytest.mark.parametrize(
    ("code", "reason"), [(code, why) for why, codes in DEGENERATE.items() for code in codes]
)
def test_degenerate_games(code: str, reason: str) -> None:
    assert report(code).degenerate == reason


@pytest.mark.parametrize(("dialect", "count"), [("paper", 0), ("xent", 1)])
def test_an_ensure_before_any_elicit_is_the_papers_alone(dialect: str, count: int) -> None:
    assert len(report("ensure(xent(s) < 9)\n" + GOOD, dialect).faults) == count


@pytest.mark.parametrize(
    "code",
    [
        "elicit(x)\nassign(s=x // t)\nreward(xent(s))",
        "elicit(x)\nreward(xent(s | t, x))",
        "elicit(x)\nreward(white, xent(x))",
        "elicit(x)\nelicit(white, t)\nreward(white, xent(x))",
        "elicit(x)\nreward(xent(x))\nelicit(x)\nreward(nex(x))",
        "elicit(x)\nreward(xent(x) + xent(x) - xent(x))",
        "elicit(x)\nreward(xed(s | x) - xent(s | x))",
        'elicit(x)\nensure("x" + x)\nelicit(t)\nreward(xent(t))',
        "elicit(x)\nreveal(bob, x)\nelicit(t)\nreward(xent(t))",
        "elicit(x)\nreward(xed(s | x))\nensure(xent(x) > 5)\nreward(dex(s | x))",
        "elicit(p)\nelicit(bob, t)\nreward(xent(t))",
        "elicit(x)\nelicit(white, p)\nelicit(bob, t)\nreward(xent(t))",
        "elicit(x)\nreward(bob, xent(x))\nelicit(bob, t)\nreward(xent(t))",
        "elicit(x)\nelicit(bob, t)\nensure(xed(t | x) > 0)\nreward(xent(t))",
        "elicit(x)\nelicit(bob, t)\nassign(s=t)\nensure(xed(t | x) > 0)\nreward(xent(s))",
        "elicit(x)\nelicit(bob, t)\nreward(xent(t))\nensure(xed(t | x) > 0)",
    ],
)
def test_games_that_may_teach_something(code: str) -> None:
    assert report(code).degenerate == ""


def test_a_loop_carries_a_move_to_a_reward_above_its_elicit() -> None:
    once = "beacon(flag_1)\nreward(xent(x))\nelicit(x)"
    assert not report(once).main_reward_depends_on_moves
    assert report(once + "\nreplay(flag_1, 1)").main_reward_depends_on_moves


def test_left_to_right_and_parallel_assigns_flow_differently() -> None:
    source = 'elicit(x)\nassign(x="a", t=x + "")\nreward(xent(t))'
    assert not report(source).main_reward_depends_on_moves
    assert report(source).unused_moves == ("x",)
    assert report(source, "xent").main_reward_depends_on_moves
    assert report(source, "xent").unused_moves == ()
    chain = 'elicit(x)\nassign(t=x, y=t + "")\nreward(xent(y))'
    assert report(chain).main_reward_depends_on_moves
    assert not report(chain, "xent").main_reward_depends_on_moves
    assert report("assign(s=story(), t=s)\n" + GOOD, "xent").read_before_set == ()
    assert report(chain).read_before_set == ()
    assert report(chain, "xent").read_before_set == ("t",)


@pytest.mark.parametrize(
    "code",
    [
        "assign(s=story())\nelicit(x)\nassign(y=s | x)\nreward(xed(y))",
        "assign(l=[s, t])\nelicit(x)\nreward(xent(sample(l) | x) - xent(sample(l) | x))",
        "assign(x=s)\nreveal(bob, x)\nelicit(x)\nelicit(bob, y)\nreward(xent(y))",
        'assign(l=[x])\nelicit(x)\nreward(xent("".join(l)))\nelicit(x)\nreward(nex("".join(l)))',
        'assign(l=[first_n_tokens(x, 3)])\nelicit(x)\nreward(xent("".join(l)))',
        "elicit(x)\nassign(s=x, t=first_n_tokens(s, 3))\nreward(xent(t))",
        "assign(l=[s])\nelicit(x)\nassign(s=x, t=sample(l))\nreward(xent(t))",
        "assign(l=[s])\nreveal(bob, l)\nelicit(x)\nassign(s=x)\nelicit(bob, y)\nreward(xent(y))",
        "assign(l=[x])\nreveal(bob, l)\nelicit(x)\nelicit(bob, y)\nreward(xent(y))",
    ],
)
def test_what_the_xent_dialect_alone_can_say_is_no_game_for_nobody(code: str) -> None:
    assert report(code, "xent").degenerate == ""


def test_steps_moves_players_and_stories_count_loops() -> None:
    code = (
        "beacon(flag_1)\nassign(s=story(), t=story() + story(4))\nelicit(x, y, 5)\n"
        "elicit(bob, x1, 7)\nelicit(x2)\nreplay(flag_1, 2)\nelicit(alice, p)"
    )
    facts = report(code)
    assert facts.steps == 19
    assert facts.move_tokens == 3 * (2 * 5 + Metadata().max_len)
    assert facts.players == ("black", "bob", "alice")
    assert facts.stories == 3
    assert report("elicit(x, x, 5)").move_tokens == 10


def test_a_replay_of_a_flag_never_placed_is_a_fault_in_the_xent_dialect_only() -> None:
    code = GOOD + "\nreplay(flag_2, 1)"
    assert report(code).faults == ()
    assert report(code, "xent").faults == ("line 4: flag_2 was never placed",)
    assert report("# a note\n\n" + code, "xent").faults == ("line 6: flag_2 was never placed",)
    assert report("beacon(flag_2)\n" + code, "xent").faults == ()
    assert report(code + "\nbeacon(flag_2)", "xent").degenerate == "line 4: flag_2 was never placed"


def test_reports_of_all_roles_are_those_of_each() -> None:
    code = (
        "elicit(alice, s)\nreveal(bob, s)\nelicit(bob, t)\nassign(x=t, y=x)\nreward(white, xent(y))"
    )
    code += "\nelicit(bob, t)\nreward(alice, xent(t))\nreward(bob, xed(x | s))\nelicit(y)"
    for dialect in ("paper", "xent"):
        program = parse(code, dialect)
        reports = analyse_roles(program)
        assert [each.role for each in reports] == ["alice", "bob", "black"]
        assert reports == [analyse(program, role=each.role) for each in reports]
        assert [each.main_reward_depends_on_moves for each in reports] == [True, True, False]
        assert [each.unused_moves for each in reports] == [(), (), ("y",)]


def test_the_omniscient_see_all_the_others_what_they_are_shown() -> None:
    code = (
        "assign(s=story(), t=story(), p=story())\nreveal(bob, s)\nelicit(bob, x, 5)\n"
        "elicit(alice, y)\nelicit(y1, 3)"
    )
    bob, alice, black = report(code).elicits
    assert bob == ElicitFacts(3, "bob", "x", 5, 1, ("s", "p"), ("t",))
    assert alice == ElicitFacts(4, "alice", "y", 10, 1, ("p",), ("s", "t", "x"))
    assert black == ElicitFacts(5, "black", "y1", 3, 1, ("s", "t", "p", "x", "y"), ())
