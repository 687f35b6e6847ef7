"""Repeated play: what is remembered, by whom, of which map, and what a window leaves of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.doubles import NumberedStories, WordJudge

from xgl import Cast, Instance, Seeds, analyse, game, parse, play_all
from xgl.errors import OversizeError
from xgl.lm.language_model import LanguageModel
from xgl.players.local import LocalPolicy
from xgl.runtime.lockstep import play_rounds, visible_items
from xgl.runtime.presentation import item_lines, render, view_text
from xgl.runtime.requests import Item, Move, MoveRequest, Rewarded, TokenScores, Turn, View

GAME = game(parse("assign(s=story())\nelicit(t, 4)\nreward(xed(s | t))", "xent"))
MAPS = [Seeds(1, 0), Seeds(3, 1), Seeds(5, 2)]
MakePlayer = Callable[[], Any]
Seat = Callable[[Any], Cast]


def test_earlier_rounds_of_the_map_are_in_view(echo_player: MakePlayer, seat: Seat) -> None:
    player = echo_player()
    rounds = play_rounds(GAME, "black", seat(player), MAPS, 3, control=False)
    by_map = {seeds: [r.play for r in rounds if r.seeds == seeds] for seeds in MAPS}
    for seeds, plays in by_map.items():
        views = player.views[seeds]
        assert [len(view.earlier) for view in views] == [0, 1, 2]
        assert views[2].earlier == (
            visible_items(GAME, plays[0], "black"),
            visible_items(GAME, plays[1], "black"),
        )
        first = plays[0]
        assert [item.label for item in views[1].earlier[0]] == ["s", "t", "reward"]
        assert views[1].earlier[0][2].text.startswith(f"{first.scores['black']:.1f} (")


def test_the_control_shows_the_rounds_of_the_next_map(echo_player: MakePlayer, seat: Seat) -> None:
    player = echo_player()
    rounds = play_rounds(GAME, "black", seat(player), MAPS, 3)
    assert [(r.number, r.control) for r in rounds[::3]] == [
        *((1, False), (2, False), (2, True), (3, False), (3, True)),
    ]
    own = {(r.seeds, r.number): r.play for r in rounds if not r.control}
    _, second, control, third, third_control = player.views[MAPS[0]]
    assert control.items == second.items, "it plays its own map"
    assert control.earlier == (visible_items(GAME, own[MAPS[1], 1], "black"),)
    assert third_control.earlier[1] == visible_items(GAME, own[MAPS[1], 2], "black")
    assert third.earlier[1] == visible_items(GAME, own[MAPS[0], 2], "black")


def test_other_players_remember_nothing(echo_player: MakePlayer) -> None:
    game_ = game(parse("elicit(alice, s, 4)\nelicit(t, 4)\nreward(xed(s | t))", "xent"))
    black, alice = echo_player(), echo_player()
    cast = Cast(WordJudge(), NumberedStories(), {"black": black, "alice": alice})
    play_rounds(game_, "black", cast, MAPS, 2)
    assert all(not view.earlier for views in alice.views.values() for view in views)
    assert any(view.earlier for views in black.views.values() for view in views)


def test_chance_is_new_in_each_round_for_the_one_who_remembers(lm: LanguageModel) -> None:
    policy = LocalPolicy(lm)
    view = View("black", GAME.code, (Item("s", "A cat sat."),), "t")
    turn = Turn(MoveRequest(view, 6, 0), MAPS[0])
    first, again, second = policy.moves([turn, replace(turn, round=1), replace(turn, round=2)])
    assert first == again
    assert first != second


def test_a_window_drops_the_oldest_rounds_first_and_then_refuses(lm: LanguageModel) -> None:
    def turn_with(rounds: int, words: int) -> Turn:
        earlier = tuple((Item("s", "tale " * 60), Item("t", f"move {n}")) for n in range(rounds))
        view = View("black", GAME.code, (Item("s", "word " * words),), "t", earlier)
        return Turn(MoveRequest(view, 6, 0), MAPS[0])

    policy = LocalPolicy(lm)
    [some] = policy.moves([turn_with(20, 10)])
    assert isinstance(some, Move)
    assert 1 <= some.rounds_shown < 20
    prompt = lm.decode(some.prompt_ids)
    assert "move 19" in prompt
    assert f"move {19 - some.rounds_shown}\n" not in prompt
    assert len(some.prompt_ids) + 6 <= lm.window
    view = turn_with(20, 10).request.view
    more = lm.encode(render(view.latest(some.rounds_shown + 1)))
    assert 1 + len(more) + 6 > lm.window, "one more would not have fitted"
    [none] = policy.moves([turn_with(20, 400)])
    assert isinstance(none, Move)
    assert none.rounds_shown == 0
    [oversize] = policy.moves([turn_with(20, 2000)])
    assert isinstance(oversize, OversizeError)


def test_a_view_without_earlier_rounds_reads_as_ever() -> None:
    view = View("black", "elicit(t)", (Item("s", "A cat."),), "t")
    assert render(view) == "elicit(t)\ns: A cat.\nt:"
    again = replace(view, earlier=((Item("s", "A dog."), Item("reward", "1.0")),))
    assert render(again) == (
        "elicit(t)\nearlier round\ns: A dog.\nreward: 1.0\nthis round\ns: A cat.\nt:"
    )
    assert view_text(view, 4).count("What you") == 1
    assert "What you saw in the round before:\ns: A dog.\nreward: 1.0" in view_text(again, 4)


# -- clipping ----------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from([1, -1]), st.lists(st.floats(0, 40), max_size=4))))
def test_clipping_caps_every_token(xents: list[tuple[int, list[float]]]) -> None:
    parts = tuple((sign, TokenScores(tuple(bits))) for sign, bits in xents)
    event = Rewarded("black", sum(s * t.total for s, t in parts), (), parts)
    capped_sum = sum(sign * sum(min(bit, 12.0) for bit in bits) for sign, bits in xents)
    assert event.clipped_bits(12.0) == pytest.approx(capped_sum, abs=1e-9)
    assert event.clipped_bits(1e9) == event.bits


@pytest.mark.parametrize("player", ["black", "white"])
def test_a_reward_names_the_cross_entropies_it_is_made_of(
    player: str, echo_player: MakePlayer, seat: Seat
) -> None:
    sums = ("xent(t)", "nex(t)", "xed(s | t)", "dex(s | t)", "xent(t) - dex(s | t)")
    lines = "\n".join(f"reward({player}, {each})" for each in sums)
    code = f"assign(s=story())\nelicit(t, 4)\nelicit(white, x, 4)\n{lines}"
    [play] = play_all([Instance(game(parse(code, "xent")), MAPS[0])], seat(echo_player()))
    rewards = [event for event in play.events if isinstance(event, Rewarded)]
    assert len(rewards) == 2 * len(sums)
    for event in rewards:
        made_of = sum(sign * scores.total for sign, scores in event.xents)
        assert event.bits == pytest.approx(made_of)


def test_what_a_round_shows_is_bounded_beforehand(lm: LanguageModel) -> None:
    cast = Cast(WordJudge(), NumberedStories(), {"black": LocalPolicy(lm)})
    most = analyse(GAME.program, GAME.metadata).shown_tokens["black"]
    for round_ in play_rounds(GAME, "black", cast, MAPS[:2], 2):
        text = "\n".join(item_lines(visible_items(GAME, round_.play, "black")))
        assert 0 < len(lm.encode(text)) <= most
