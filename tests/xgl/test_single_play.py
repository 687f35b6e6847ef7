"""One play of one game, as a notebook asks for it."""

from __future__ import annotations

import pytest
from support.doubles import NumberedStories, WordJudge

import xgl
from xgl import Metadata, game, parse, play
from xgl.errors import PlayerError, StoryError
from xgl.runtime.requests import Moved, Rewarded

SINGLE = parse("assign(s=story())\nelicit(t, 3)\nreward(xed(s | t))")  # Fig. 3.1
DUEL = parse('elicit(t, 3)\nelicit(alice, x, 3)\nensure("so " + x)\nreward(alice, xed(t | x))')


def test_scores_events_and_registers_come_back() -> None:
    result = play(SINGLE, {"black": ["a b c d"]}, WordJudge(), 7, stories=NumberedStories())
    assert result.outcome == "finished"
    assert result.registers == {"s": "tale 7 0", "t": "a b c"}
    assert [type(event).__name__ for event in result.events] == ["Assigned", "Moved", "Rewarded"]
    [reward] = [event for event in result.events if isinstance(event, Rewarded)]
    assert result.scores == {"black": reward.bits}
    assert reward.bits == sum(reward.terms[0][2].bits) != 0


def test_a_line_is_said_again_when_a_player_has_no_more() -> None:
    moves = {"black": ["m"], "alice": ["bad", "bad", "good"]}
    result = play(DUEL, moves, WordJudge(), 0)
    texts = [event.move.text for event in result.events if isinstance(event, Moved)]
    assert texts == ["m", "bad", "bad", "good"]
    assert play(DUEL, moves | {"alice": ["bad"]}, WordJudge(), 0).forfeiter == "alice"


def test_who_is_asked_must_be_there() -> None:
    with pytest.raises(PlayerError, match="asks alice for moves"):
        play(DUEL, {"black": ["m"]}, WordJudge(), 0)
    with pytest.raises(PlayerError, match="found a player 'bobb'"):
        play(SINGLE, {"black": ["m"], "bobb": ["m"]}, WordJudge(), 0, stories=NumberedStories())
    with pytest.raises(StoryError, match="pass stories="):
        play(SINGLE, {"black": ["m"]}, WordJudge(), 0)


@pytest.mark.parametrize("dialect", ["paper", "xent"])
def test_whoever_is_paid_has_a_score(dialect: str) -> None:
    """Also where nobody asks it for a move; but the unasked half of black and white has none."""
    code = parse(
        "elicit(t, 3)\nreward(bob, xent(t))\nreward(xent(t))\nreward(env, xent(t))", dialect
    )
    result = play(code, "a b c", WordJudge(), 0)
    rewards = {event.player: event.bits for event in result.events if isinstance(event, Rewarded)}
    assert result.scores == rewards
    assert set(rewards) == {"black", "bob"} | ({"env"} if dialect == "xent" else set())


def test_a_function_plays_from_what_it_is_shown() -> None:
    seen: list[str] = []

    def write(view: str) -> str:
        seen.append(view)
        return "a b"

    result = play(SINGLE, write, WordJudge(), 7, stories=NumberedStories())
    assert result == play(SINGLE, "a b", WordJudge(), 7, stories=NumberedStories())
    assert seen == [f"{game(SINGLE).code}\ns: tale 7 0\nt:"]
    with pytest.raises(PlayerError, match="a function gave 5, expected a text"):
        play(SINGLE, lambda view: 5, WordJudge(), 7, stories=NumberedStories())  # type: ignore[arg-type, return-value]


def test_a_game_has_its_own_metadata() -> None:
    with pytest.raises(ValueError, match="metadata: found some beside a Game"):
        play(game(SINGLE), "a b", WordJudge(), metadata=Metadata())


def test_a_game_is_played_by_its_name_with_the_usual_judge() -> None:
    result = play("single_text", lambda view: "an old king", seed=3)
    assert result.outcome == "finished"
    assert result == play(xgl.read_game("single_text"), ["an old king"], "embedded", seed=3)
    assert result.registers["s"] != play("single_text", "x", seed=4).registers["s"]
