"""Xents and the rewards that they make, against a judge whose numbers are known."""

from __future__ import annotations

from typing import Any

import pytest

from xgl.requests import (
    Play,
    Rewarded,
    TokenScores,
)

DIALECTS = pytest.mark.parametrize("dialect", ["paper", "xent"])
SETTING = 'assign(s="the cat sat", t="a dog ran", x="once upon")\nelicit(y)\n'


def events(play: Play, kind: type) -> list[Any]:
    return [event for event in play.events if isinstance(event, kind)]


# -- xents ---------------------------------------------------------------------------------------


def test_xent_conditions_on_outer_then_prefix_in_the_paper(table: Any) -> None:
    for written, context in [
        ("s", ()),
        ("s | t", ("a dog ran",)),
        ("s | t, x", ("once upon", "a dog ran")),
        ("s, x", ("once upon",)),
        ('s | "", x', ("once upon",)),
    ]:
        play = table.play(SETTING + f"reward(xent({written}))", "m")
        assert play.scores == {"black": table.bits("the cat sat", *context)}


def test_xent_joins_outer_and_prefix_as_text_in_xent(table: Any) -> None:
    for written, context in [
        ("s", ()),
        ("s | t", ("a dog ran",)),
        ("s | t, x", ("once upona dog ran",)),
        ("s, x", ("once upon",)),
    ]:
        play = table.play(SETTING + f"reward(xent({written}))", "m", dialect="xent")
        assert play.scores == {"black": table.bits("the cat sat", *context, dialect="xent")}


@DIALECTS
@pytest.mark.parametrize("given", ["s", "s | t", "s | t, x", "s, x"])
def test_identities_of_the_four_xents(table: Any, dialect: str, given: str) -> None:
    def score(amount: str) -> float:
        play = table.play(SETTING + f"reward({amount})", "m", dialect=dialect)
        return float(play.scores["black"])

    before = given.replace(" | t", "")
    assert score(f"nex({given})") == -score(f"xent({given})") != 0
    assert score(f"xed({given})") == score(f"xent({before})") - score(f"xent({given})")
    assert score(f"dex({given})") == -score(f"xed({given})")
    assert (score(f"xed({given})") == 0) == (given == before)
    assert score(f"xed({given}) - dex({given})") == 2 * score(f"xed({given})")


@DIALECTS
def test_sums_keep_their_terms_with_sign_and_kind(table: Any, dialect: str) -> None:
    play = table.play(SETTING + "reward(nex(s) - xed(t | x) + xent(y))", "m", dialect=dialect)
    s, t = (table.bits(text, dialect=dialect) for text in ("the cat sat", "a dog ran"))
    given = table.bits("a dog ran", "once upon", dialect=dialect)
    y = table.bits("m", dialect=dialect)
    [reward] = events(play, Rewarded)
    assert reward.bits == play.scores["black"] == -s - (t - given) + y
    assert [(sign, kind) for sign, kind, _ in reward.terms] == [
        (1, "nex"),
        (-1, "xed"),
        (1, "xent"),
    ]
    assert [scores.total for _, _, scores in reward.terms] == [-s, t - given, y]
    counted = 3 if dialect == "paper" else 2
    assert [len(scores.bits) for _, _, scores in reward.terms] == [counted, counted, counted - 2]


@DIALECTS
def test_the_empty_string_has_no_bits(table: Any, dialect: str) -> None:
    play = table.play(SETTING + "reward(xent(x1 | s) + xed(x1 | s))", "m", dialect=dialect)
    assert play.scores == {"black": 0.0}


def test_token_scores_add_up() -> None:
    scores = TokenScores((1.0, 2.5))
    assert scores.total == 3.5
    assert scores - TokenScores((0.5, 0.5)) == TokenScores((0.5, 2.0))
    assert -scores == TokenScores((-1.0, -2.5))
    with pytest.raises(ValueError, match="zip"):
        _ = scores - TokenScores((1.0,))


# -- reward --------------------------------------------------------------------------------------


@DIALECTS
@pytest.mark.parametrize(("paid", "other"), [("black", "white"), ("white", "black")])
def test_black_and_white_are_zero_sum_both_ways(
    table: Any, dialect: str, paid: str, other: str
) -> None:
    code = f"elicit(s)\nelicit(white, t)\nreward({paid}, xent(s | t))"
    play = table.play(code, "a b", white=["c d"], dialect=dialect)
    bits = table.bits("a b", "c d", dialect=dialect)
    assert bits > 0
    assert play.scores == {paid: bits, other: -bits}
    mine, theirs = events(play, Rewarded)
    assert (mine.player, mine.bits, theirs.player, theirs.bits) == (paid, bits, other, -bits)
    [(sign, kind, scores)] = theirs.terms
    assert (sign, kind, scores.total) == (-1, "xent", bits)


def test_the_other_half_is_discarded_when_it_plays_nowhere(table: Any) -> None:
    play = table.play('elicit(s)\nreward(xent("a b"))', "m")
    assert play.scores == {"black": table.bits("a b")}
    assert [event.player for event in events(play, Rewarded)] == ["black"]
    play = table.play('elicit(white, s)\nreward(white, xent("a b"))', white=["m"])
    assert play.scores == {"white": table.bits("a b")}


def test_a_reward_to_an_absent_white_still_costs_black(table: Any) -> None:
    play = table.play('elicit(s)\nreward(white, xent("a b"))', "m")
    assert play.scores == {"black": -table.bits("a b")}


def test_other_players_are_no_pair(table: Any) -> None:
    play = table.play('elicit(alice, s)\nelicit(t)\nreward(alice, xent("a b"))', "m", alice=["n"])
    assert play.scores == {"alice": table.bits("a b"), "black": 0.0}


def test_env_is_unrewarded_in_the_paper_only(table: Any) -> None:
    code = 'elicit(env, s)\nreward(env, xent("a b"))'
    play = table.play(code, env=["m"])
    assert play.scores == {"env": 0.0}
    assert events(play, Rewarded) == []
    play = table.play(code, env=["m"], dialect="xent")
    assert play.scores == {"env": table.bits("a b", dialect="xent")} != {"env": 0.0}


def test_rewards_add_up_over_a_loop(table: Any) -> None:
    code = 'elicit(s)\nbeacon(flag_1)\nreward(xent("a b"))\nreplay(flag_1, 2)'
    play = table.play(code, "m")
    assert play.scores == {"black": 3 * table.bits("a b")}
    assert play.steps == 10
