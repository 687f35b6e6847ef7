"""An episode as conversations: what each player is told, and what its answers come to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.doubles import WordJudge

from xgl import EpisodeQueue, Play, game, parse
from xgl.environments.conversation import converse
from xgl.environments.rows import METRICS, Base, Row, metrics, seat_names

RETRY = game(
    parse("assign(s=story())\nelicit(x, 4)\nensure(len(x) < 6)\nreward(xed(s | x))", "xent")
)
PAIR = game(
    parse("assign(s=story())\nelicit(alice, x, 2)\nelicit(bob, y, 2)\nreward(bob, xed(s | x))")
)


def row(game_: Any, role: str = "black") -> Row:
    return Row(game_, role, 3, ("the red hen",), -9.0, Base(1.0, 2.0, 8))


def conversation(of: Row, *answers: str | None) -> tuple[Play, list[tuple[str, str]]]:
    """The play, and each message with its player."""
    rest, messages = list(answers), []

    async def answer(player: str, message: str) -> str | None:
        messages.append((player, message))
        return rest.pop(0) if len(rest) > 1 else rest[0]

    play = asyncio.run(converse(of.episode(WordJudge()), EpisodeQueue(), answer))
    return play, messages


def test_a_retry_is_a_turn_that_tells_only_what_is_new() -> None:
    of = row(RETRY)
    play, messages = conversation(of, "<move>too long a move</move>", "<move>hen</move>")
    assert [player for player, _ in messages] == ["black", "black"]
    assert messages[0][1].startswith("The program:\nassign(s=story())")
    assert messages[1][1].splitlines() == [
        *("What you have seen since:", "t: too long a move", "ensure: failed 1", ""),
        "You are black. Write t, at most 4 tokens, as <move>...</move>.",
    ]
    reward, values = metrics(of, play, "black", normalise=True)
    assert reward == (play.scores["black"] - 1.0) / 2.0 == values["normalised"]
    assert (values["failed_ensures"], values["moves"], values["finished"]) == (1, 2, 1)
    assert set(values) == set(METRICS)


def test_each_seat_reads_what_its_player_may_see_and_is_paid_its_own() -> None:
    of = row(PAIR, "bob")
    play, messages = conversation(of, "<move>a b c</move>")
    assert seat_names(of) == ("bob", "alice")
    assert [player for player, _ in messages] == ["alice", "bob"]
    assert "the red hen" not in messages[0][1] + messages[1][1]
    assert metrics(of, play, "bob")[0] == play.scores["bob"]
    alice, values = metrics(of, play, "alice", normalise=True)
    assert alice == play.scores["alice"] == 0.0
    assert (values["cut_moves"], values["cut_tokens"]) == (1, 1)
    assert "normalised" not in values


def test_an_answer_without_a_move_is_asked_again_and_then_empty() -> None:
    of = row(RETRY)
    play, messages = conversation(of, "<think>I could", "no move", "still none")
    assert [len(messages), messages[1][1]] == [
        3,
        "Your answer held thoughts and nothing after them. "
        "Write your move between <move> and </move>.",
    ]
    assert play.move_counts("black").format_failures == 1
    again, _ = conversation(of, "well", "<move>hen</move>")
    assert again.move_counts("black").format_failures == 0
    assert metrics(of, play, "black")[0] == of.floor <= metrics(of, again, "black")[0]


@pytest.mark.parametrize("silent", ["alice", "bob"])
def test_no_seat_is_paid_more_for_an_answer_without_a_move(silent: str) -> None:
    of, move = row(PAIR, "bob"), "<move>hen</move>"
    play, _ = conversation(of, *(["so"] * 3 + [move] if silent == "alice" else [move, "so"]))
    assert play.move_counts(silent).format_failures == 1
    assert metrics(of, play, silent)[0] <= min(of.floor_of(silent), play.scores[silent])


def test_a_forfeit_and_a_full_window_pay_the_floor() -> None:
    of = row(RETRY)
    forfeit, _ = conversation(of, "<move>too long a move</move>")
    reward, values = metrics(of, forfeit, "black")
    assert (reward, values["forfeit"], values["moves"]) == (-9.0, 1, 11)
    over, _ = conversation(row(PAIR, "bob"), "<move>a</move>", None)
    assert over.outcome == "oversize"
    assert metrics(row(PAIR, "bob"), over, "bob")[0] == -9.0
    assert metrics(row(PAIR, "bob"), over, "alice")[0] == -2.0  # a bit for each token of its move
