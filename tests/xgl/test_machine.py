"""The machine instruction by instruction, against a judge whose numbers are known."""

from __future__ import annotations

from typing import Any

import pytest

from xgl import Metadata, game, parse
from xgl.errors import EarlyEnsureError, FlagOrderError, OversizeError
from xgl.machine import Machine
from xgl.requests import (
    Assigned,
    Ensured,
    Move,
    Moved,
    MoveRequest,
    Play,
    Revealed,
    Rewarded,
    TokenScores,
)
from xgl.values import cut

DIALECTS = pytest.mark.parametrize("dialect", ["paper", "xent"])
SETTING = 'assign(s="the cat sat", t="a dog ran", x="once upon")\nelicit(y)\n'


def events(play: Play, kind: type) -> list[Any]:
    return [event for event in play.events if isinstance(event, kind)]


# -- assign --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "paper", "xent"),
    [
        ('"a" + "b"', "a b", "ab"),
        ('"a" + ""', "a ", "a"),
        ('"" + "a"', " a", "a"),
        ('"" + ""', " ", ""),
        ('"a " + " b"', "a   b", "a  b"),
        ('"a" + ("b" + "c")', "a b c", "abc"),
        ('("a" + "b") // " "', "a", "ab"),
    ],
)
def test_cat_sandwiches_a_space_in_the_paper_and_none_in_xent(
    table: Any, expression: str, paper: str, xent: str
) -> None:
    code = f"assign(s={expression})"
    assert table.play(code).events == (Assigned((("s", paper),)),)
    assert table.play(code, dialect="xent").events == (Assigned((("s", xent),)),)


@DIALECTS
@pytest.mark.parametrize(
    ("text", "mark", "before", "after"),
    [
        ("ab#cd", "#", "ab", "cd"),
        ("a##b", "#", "a", "#b"),
        ("a##b", "##", "a", "b"),
        ("#a", "#", "", "a"),
        ("a#", "#", "a", ""),
        ("ab", "#", "ab", ""),
        ("ab", "", "ab", ""),
        ("", "#", "", ""),
        ("", "", "", ""),
        ("#", "#", "", ""),
        ("Ab", "a", "Ab", ""),
    ],
)
def test_cut(table: Any, dialect: str, text: str, mark: str, before: str, after: str) -> None:
    assert (cut(text, mark, "before"), cut(text, mark, "after")) == (before, after)
    code = f'assign(s="{text}", t="{mark}")\nassign(x=s // t, y=s % t)'
    [_, event] = table.play(code, dialect=dialect).events
    assert event == Assigned((("x", before), ("y", after)))


def test_assign_stores_left_to_right_in_the_paper_and_all_at_once_in_xent(table: Any) -> None:
    code = 'assign(s="a", t=s + "b", x=t)'
    assert table.play(code).registers == {"s": "a", "t": "a b", "x": "a b"}
    assert table.play(code, dialect="xent").registers == {"s": "a", "t": "b", "x": "b"}
    swap = 'assign(s="a", t="b")\nassign(s=t + "", t=s + "")'
    assert table.play(swap, dialect="xent").registers == {"s": "b", "t": "a"}


@DIALECTS
def test_a_register_by_itself_is_read_as_it_is_stored(table: Any, dialect: str) -> None:
    swap = 'assign(s="a", t="b")\nassign(s=t, t=s)'
    assert table.play(swap, dialect=dialect).registers == {"s": "b", "t": "b"}


@DIALECTS
def test_a_target_named_twice_keeps_the_last_value(table: Any, dialect: str) -> None:
    assert table.play('assign(s="a", s="b")', dialect=dialect).registers == {"s": "b"}


@DIALECTS
def test_a_story_is_drawn_once_for_a_map_and_site_also_in_loops(table: Any, dialect: str) -> None:
    code = (
        "beacon(flag_1)\nassign(s=story() // story(), t=story())\nassign(x=story())\n"
        "replay(flag_1, 1)"
    )
    play = table.play(code, dialect=dialect, map_seed=3)
    told = [event.values for event in events(play, Assigned)]
    assert told == [(("s", "tale 3 0"), ("t", "tale 3 2")), (("x", "tale 3 3"),)] * 2
    assert [request.site for _, request in table.stories.asked] == [0, 1, 2, 3] * 2
    assert table.play(code, dialect=dialect, map_seed=4).registers["t"] == "tale 4 2"


def test_story_heeds_its_argument_in_the_paper_only(table: Any) -> None:
    code = 'assign(s=story(), t=story(5), x=story("of owls"))'
    metadata = Metadata(story_tokens=9)
    assert table.play(code, metadata=metadata).registers["x"] == "tale 7 2 of owls"
    assert table.play(code, dialect="xent", metadata=metadata).registers["x"] == "tale 7 2"
    asked = [(request.tokens, request.prompt) for _, request in table.stories.asked]
    assert asked == [(9, ""), (5, ""), (9, "of owls"), (9, ""), (9, ""), (9, "")]


def test_constants_come_from_the_metadata(table: Any) -> None:
    play = table.play("assign(s=a + c2)", metadata=Metadata(constants={"a": "x", "c2": "y"}))
    assert play.registers == {"s": "x y", "a": "x", "c2": "y"}


# -- elicit --------------------------------------------------------------------------------------


def test_the_default_limit_is_the_metadatas(table: Any) -> None:
    play = table.play("elicit(s)\nelicit(t, 2)", "a b c d", "e f g", metadata=Metadata(max_len=3))
    assert play.registers == {"s": "a b c", "t": "e f"}
    assert [turn.request.max_len for turn in table.players["black"].turns] == [3, 2]


def test_several_registers_are_asked_one_after_another(table: Any) -> None:
    play = table.play("elicit(bob, s, t, p, 1)", bob=["one 1", "two 2", "three 3"])
    assert play.registers == {"s": "one", "t": "two", "p": "three"}
    views = table.views("bob")
    assert [view.register for view in views] == ["s", "t", "p"]
    assert [[item.text for item in view.items] for view in views] == [[], ["one"], ["one", "two"]]
    assert [turn.request.turn for turn in table.players["bob"].turns] == [0, 1, 2]
    assert events(play, Moved) == [
        Moved("bob", register, Move(text), 0)
        for register, text in [("s", "one"), ("t", "two"), ("p", "three")]
    ]


def test_every_player_answers_for_itself(table: Any) -> None:
    names = ["white", "alice", "bob", "carol", "env", "david"]
    turns = [f"elicit({name}, t)\nassign(s=s + t)" for name in names]
    play = table.play("\n".join(["elicit(s)", *turns]), "black", **{name: [name] for name in names})
    assert play.registers["s"] == "black white alice bob carol env david"
    assert play.scores == dict.fromkeys([*names, "black"], 0.0)


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


# -- ensure --------------------------------------------------------------------------------------


@DIALECTS
def test_a_failed_ensure_goes_back_to_its_elicit(table: Any, dialect: str) -> None:
    code = 'elicit(s, t)\nassign(x=s)\nensure("so " + s)\nelicit(y)'
    play = table.play(code, "bad", "1", "good", "2", "end", dialect=dialect)
    assert play.outcome == "finished"
    assert play.registers == {"s": "good", "t": "2", "x": "good", "y": "end"}
    counted = 1 if dialect == "paper" else 0
    assert events(play, Ensured) == [Ensured("black", False, 1), Ensured("black", True, counted)]
    assert play.steps == 7
    assert play.accepted_moves("black") == ["good", "2", "end"]


@DIALECTS
def test_the_last_executed_elicit_may_stand_after_the_ensure(table: Any, dialect: str) -> None:
    code = (
        'elicit(s)\nbeacon(flag_1)\nensure("so " + t)\nelicit(bob, t)\nreplay(flag_1, 1)\nelicit(x)'
    )
    play = table.play(code, "first", "last", bob=["bad", "good"], dialect=dialect)
    assert [(event.player, event.line) for event in events(play, Moved)] == [
        ("black", 0),
        ("bob", 3),
        ("bob", 3),
        ("black", 5),
    ]
    assert events(play, Ensured)[1] == Ensured("bob", False, 1)
    assert play.registers == {"s": "first", "t": "good", "x": "last"}
    assert play.accepted_moves("bob") == ["good"]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("1 < 2", True),
        ("2 < 2", False),
        ("2 <= 2", True),
        ("3 <= 2", False),
        ("2 > 1", True),
        ("2 > 2", False),
        ("2 >= 2", True),
        ("1 >= 2", False),
        ("-1 < 0", True),
        ("xent(s | t) - xent(s | t) <= 0", True),
        ("xed(s | t) < xent(s) - xent(s | t)", False),
        ("xed(s | t) >= xent(s) - xent(s | t)", True),
        ("xent(s) + 1 > xent(s)", True),
        ('"good"', True),
        ('"bad"', False),
        ('is_true("good", s)', True),
        ('is_true("good", "bad")', False),
        ('is_false("bad")', True),
        ('is_false("good")', False),
        ('"good", "good"', True),
        ('"good", "bad"', False),
        ("2 < 1, 1 < 2", False),
        ('1 < 2, "bad"', False),
    ],
)
def test_conditions(table: Any, condition: str, holds: bool) -> None:
    code = f'assign(s="the cat", t="a dog")\nelicit(x)\nensure({condition})'
    play = table.play(code, "m", metadata=Metadata(max_failures=0))
    assert play.outcome == ("finished" if holds else "forfeit")


def test_a_statement_is_joined_as_the_dialect_joins(table: Any) -> None:
    code = 'elicit(s)\nensure("so" + s, is_true("so", s))'
    table.play(code, "m")
    table.play(code, "m", dialect="xent")
    asked = [[request.statement for request in batch] for batch in table.judge.judged]
    assert asked == [["so m"], ["som", "so m"]]  # equal statements are asked once


LOOP = 'beacon(flag_1)\nelicit(s)\nensure("so " + s)\nreplay(flag_1, 1)'


def test_ten_failures_are_allowed_and_the_next_is_a_forfeit(table: Any) -> None:
    code = 'elicit(s)\nensure("so " + s)\nreward(xent(s))'
    play = table.play(code, *["bad"] * 10, "good")
    assert (play.outcome, play.forfeiter) == ("finished", "")
    assert play.scores == {"black": table.bits("good")}
    play = table.play(code, *["bad"] * 11)
    assert (play.outcome, play.forfeiter, play.scores) == ("forfeit", "black", {"black": 0.0})
    assert events(play, Ensured)[-1] == Ensured("black", False, 11)


def test_failures_add_up_over_a_game_in_the_paper(table: Any) -> None:
    script = [*["bad"] * 6, "good", *["bad"] * 4, "good"]
    assert table.play(LOOP, *script).outcome == "finished"
    script = [*["bad"] * 6, "good", *["bad"] * 5]
    assert table.play(LOOP, *script).outcome == "forfeit"


def test_failures_are_forgotten_when_a_line_passes_in_xent(table: Any) -> None:
    script = [*["bad"] * 10, "good"]
    assert table.play(LOOP, *script * 2, dialect="xent").outcome == "finished"
    assert table.play(LOOP, *script, *["bad"] * 11, dialect="xent").outcome == "forfeit"


TWO_LINES = 'elicit(s)\nensure("so " + s)\nelicit(t)\nensure("so " + t)'


def test_failures_are_counted_by_player_in_the_paper_and_by_line_in_xent(table: Any) -> None:
    script = [*["bad"] * 6, "good"]
    assert table.play(TWO_LINES, *script, *["bad"] * 5).outcome == "forfeit"
    assert table.play(TWO_LINES, *script * 2, dialect="xent").outcome == "finished"
    two_players = TWO_LINES.replace("(t)", "(bob, t)")
    ten = [*["bad"] * 10, "good"]
    assert table.play(two_players, *ten, bob=ten).outcome == "finished"
    play = table.play(two_players, *ten, bob=["bad"] * 11)
    assert (play.outcome, play.forfeiter) == ("forfeit", "bob")


def test_two_lines_that_fail_in_turn_each_keep_their_count_in_xent(table: Any) -> None:
    code = 'elicit(s)\nensure("1 " + s)\nensure("2 " + s)'
    table.judge.believes = lambda statement: statement[0] in statement[2:]
    assert table.play(code, *["1"] * 11, dialect="xent").outcome == "forfeit"
    assert table.play(code, *["1"] * 10, "1 2", dialect="xent").outcome == "finished"
    alternating = ["1", "2"] * 5
    assert table.play(code, *alternating, "1 2", dialect="xent").outcome == "finished"


def test_the_others_keep_what_they_have_at_a_forfeit(table: Any) -> None:
    code = "elicit(alice, s)\nreward(alice, xent(s))\nelicit(t)\nensure(2 < 1)\nreward(xent(s))"
    play = table.play(code, *"0123456789A", alice=["a b"])
    assert play.scores == {"alice": table.bits("a b"), "black": 0.0}
    assert play.outcome == play.outcome_for("black") == "forfeit"
    assert play.outcome_for("alice") == "finished"


def test_an_ensure_before_any_elicit_must_hold_in_the_paper(table: Any) -> None:
    assert table.play('ensure("good")\nelicit(s)', "m").outcome == "finished"
    play = table.play('ensure("bad")\nelicit(s)', "m")
    assert (play.outcome, play.forfeiter, events(play, Moved)) == ("forfeit", "black", [])


@pytest.mark.parametrize("statement", ["good", "bad"])
def test_an_ensure_before_any_elicit_is_an_error_in_xent(table: Any, statement: str) -> None:
    with pytest.raises(EarlyEnsureError, match=r"^line 1: an ensure before any elicit$"):
        table.play(f'ensure("{statement}")\nelicit(s)', "m", dialect="xent")


def test_accepted_moves_of_earlier_turns_of_a_loop_stay(table: Any) -> None:
    code = 'beacon(flag_1)\nelicit(s, t)\nensure("so " + s)\nreplay(flag_1, 2)'
    script = ["a", "1", "bad", "2", "bad", "3", "b", "4", "bad", "5", "c", "6"]
    play = table.play(code, *script)
    assert play.accepted_moves("black") == ["a", "1", "b", "4", "c", "6"]


def test_a_failure_takes_back_the_last_elicit_only(table: Any) -> None:
    code = 'elicit(bob, s)\nelicit(t)\nensure("so " + t)'
    play = table.play(code, "bad", "good", bob=["kept"])
    assert play.accepted_moves("bob") == ["kept"]
    assert play.accepted_moves("black") == ["good"]


# -- reveal, flags -------------------------------------------------------------------------------


def test_reveal_logs_the_values_under_their_expressions(table: Any) -> None:
    play = table.play('assign(s="a#b")\nreveal(bob, s, s // "#", "x")')
    assert events(play, Revealed) == [
        Revealed("bob", (("s", "a#b"), ('s // "#"', "a"), ('"x"', "x")))
    ]


@DIALECTS
def test_nested_loops_run_and_count(table: Any, dialect: str) -> None:
    code = (
        'beacon(flag_1)\nbeacon(flag_2)\nassign(s=s + "i")\nreplay(flag_2, 2)\n'
        'assign(s=s + "o")\nreplay(flag_1, 1)'
    )
    play = table.play(code, dialect=dialect)
    assert play.registers["s"].replace(" ", "") == "iiioiiio"
    assert play.steps == 2 * (1 + 3 * 3 + 2)


def test_a_misplaced_flag_ends_the_play_with_an_error(table: Any) -> None:
    with pytest.raises(FlagOrderError, match="line 3: flag_1 stands after flag_2"):
        table.play("elicit(s)\nbeacon(flag_2)\nbeacon(flag_1)", "m")


# -- oversize ------------------------------------------------------------------------------------

CAPPED = Metadata(max_characters=12)


@pytest.mark.parametrize(
    ("code", "script", "fits"),
    [
        ('assign(s="twelve chars")', "", True),
        ('assign(s="thirteen char")', "", False),
        ('assign(s="sixsix", t="fives")\nassign(s=s + t)', "", True),
        ('assign(s="sixsix", t="sixsix")\nassign(s=s + t)', "", False),
        ('assign(s=("sixsix" + "sixsix") // "x")', "", False),
        ("assign(s=story())", "", True),
        ('assign(s=story("words"))', "", False),
        ("elicit(s)", "twelve chars", True),
        ("elicit(s)", "thirteen char", False),
        ('reveal("sixsix" + "sixsix")', "", False),
        ('reward(xent("sixsix" + "sixsix"))', "", False),
        ('reward(xent("s" | "sixsix" + "sixsix"))', "", False),
        ('ensure("sixsix" + "sixsix")', "", False),
    ],
)
def test_a_string_beyond_the_cap_ends_the_game(
    table: Any, code: str, script: str, fits: bool
) -> None:
    play = table.play(code, script, metadata=CAPPED)
    assert play.outcome == ("finished" if fits else "oversize")


def test_doubling_a_string_in_a_loop_ends_as_oversize(table: Any) -> None:
    play = table.play('beacon(flag_1)\nassign(s=s + s + "x")\nreplay(flag_1, 300)')
    assert play.outcome == "oversize"
    assert max(map(len, play.registers.values())) <= 4096
    assert play.steps < 50


def test_what_the_judge_cannot_read_ends_the_game_and_scores_stay(table: Any) -> None:
    table.judge.window = 4
    code = 'elicit(s)\nreward(xent("a b"))\n{}\nreward(xent("a b"))'
    for line in (
        'reward(xent("a b c d e"))',
        'reward(xed("a" | "b c d e"))',
        'ensure("a b c d e")',
    ):
        play = table.play(code.format(line), "m")
        assert (play.outcome, play.scores) == ("oversize", {"black": table.bits("a b")})
    assert table.play(code.format('reward(xent("a b c d"))'), "m").outcome == "finished"


def test_a_view_beyond_the_players_window_ends_the_game(table: Any) -> None:
    code = 'elicit(s)\nreward(xent("a b"))\nelicit(t)'
    play = table.play(code, "m", OversizeError("a view of 9999 tokens"))
    assert (play.outcome, play.scores) == ("oversize", {"black": table.bits("a b")})
    assert play.outcome_for("black") == "oversize"
    assert play.registers == {"s": "m"}


# -- the generator itself ------------------------------------------------------------------------


def test_the_machine_yields_requests_and_touches_no_model() -> None:
    running = Machine(game(parse("elicit(bob, s, 4)\nreward(bob, xed(s | t))"))).play()
    [asked] = next(running)
    assert isinstance(asked, MoveRequest)
    assert (asked.view.player, asked.max_len, asked.turn) == ("bob", 4, 0)
    unconditional, conditional = running.send((Move("x"),))
    assert unconditional == conditional
    with pytest.raises(StopIteration, match="Play") as end:
        running.send((TokenScores((3.0,)), TokenScores((1.0,))))
    assert end.value.value.scores == {"bob": 2.0}
