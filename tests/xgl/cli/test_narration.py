"""A player is told what the rules let it know, and the right text behind each number."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.programs import PROGRAMS

from xgl import Cast, Instance, Metadata, Program, Seeds, analyse, game, parse, play_all
from xgl.cli import main
from xgl.cli.files import MAX_OUTPUT, CommandError, within_limit
from xgl.cli.narration import FailedEnsure, Narrator, Notice, PaidReward, ShownText, WatchedMachine
from xgl.language.dialects import DIALECTS
from xgl.language.syntax import OMNISCIENT, PLAYERS
from xgl.runtime.presentation import visible
from xgl.runtime.requests import Ensured, Move, Moved, Play, Rewarded, Turn


class Talker:
    """Says what it is told to, one line after another."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)

    def moves(self, turns: list[Turn]) -> list[Move]:
        return [Move(self.lines.pop(0) if self.lines else "sea") for _ in turns]


def notices_of(
    seat: Callable[..., Cast],
    code: str,
    player: str,
    *lines: str,
    dialect: str = "paper",
    token_bits: bool = True,
) -> tuple[list[Notice], Play]:
    whole = game(parse(code, dialect), Metadata(token_bits=token_bits))
    machine = WatchedMachine(whole)
    [play] = play_all([Instance(whole, Seeds(1, 0))], seat(Talker(*lines)), [machine])
    return list(Narrator(whole, player).notices(machine.log())), play


def paid_rewards(notices: list[Notice]) -> list[PaidReward]:
    return [one for one in notices if isinstance(one, PaidReward)]


def test_people_see_the_bits_of_tokens_where_models_see_sums_alone(
    seat: Callable[..., Cast],
) -> None:
    code = "assign(s=story())\nelicit(x, 4)\nreward(xed(s | x))"
    whole, alone = [
        paid_rewards(notices_of(seat, code, "black", "one two", token_bits=each)[0])
        for each in (True, False)
    ]
    assert whole == alone
    assert alone[0].terms


def test_the_zero_sum_pair_line_by_line(seat: Callable[..., Cast]) -> None:
    code = (
        "elicit(x, 4)\nelicit(white, t, 4)\nreward(xent(x))\nreward(white, xent(t))\n"
        "reward(env, xent(x))\nreward(xent(x + t))"
    )
    for player, sign in (("black", ""), ("white", "−")):
        notices, play = notices_of(seat, code, player, "one", "two")
        own = [reward for reward in paid_rewards(notices) if reward.player == player]
        other = "−" if sign == "" else ""
        labels = [term.label for reward in own for term in reward.terms]
        assert labels == [sign + "xent(s)", other + "xent(t)", sign + "xent(s + t)"]
        texts = [term.text for reward in own for term in reward.terms]
        assert texts == ["one", "two", "one two"]
        assert sum(reward.bits for reward in own) == play.scores[player]


def test_a_failed_ensure_is_explained(seat: Callable[..., Cast]) -> None:
    code = (
        'elicit(white, t, 4)\nelicit(x, 4)\nensure("no common words between" + t + "&" + x, '
        "xent(x) >= 0)\nreward(xent(x))"
    )
    notices, _ = notices_of(seat, code, "black", "the sea", "a sea", "hills")
    [failure] = [one for one in notices if isinstance(one, FailedEnsure)]
    assert failure.line == 3
    assert '"no common words between" + s' in failure.reasons[0]
    assert re.fullmatch(r"xent\(t\) >= 0: \d+\.\d against 0\.0 bits", failure.reasons[1])
    assert (failure.failures, failure.remaining) == (1, 9)
    assert not any(
        isinstance(one, FailedEnsure) for one in notices_of(seat, code, "white", "b", "b", "c")[0]
    )


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(PROGRAMS, st.sampled_from(PLAYERS))
def test_any_game_is_followed_to_its_end(
    seat: Callable[..., Cast], echo_player: Callable[[], object], program: Program, player: str
) -> None:
    """What is shown is what ``presentation.visible`` lets through, reward for reward."""
    assume(not analyse(program).faults)
    whole = game(program)
    machine = WatchedMachine(whole)
    [play] = play_all([Instance(whole, Seeds(1, 0))], seat(echo_player()), [machine])
    log = machine.log()
    assert tuple(event for _, event in log) == play.events
    assert all(line == event.line for line, event in log if isinstance(event, Moved))
    notices = list(Narrator(whole, player).notices(log))
    items = [one.item for one in notices if isinstance(one, ShownText)]
    facts = [e for e in play.events if not isinstance(e, Rewarded | Ensured)]
    assert items == list(visible(facts, player, DIALECTS[whole.dialect].live_reveal))
    own = [e for e in play.events if isinstance(e, Rewarded) and e.player == player]
    mine = [one for one in paid_rewards(notices) if one.player == player]
    assert [one.bits for one in mine] == [event.bits for event in own]
    for one, event in zip(mine, own, strict=True):
        assert [len(t.bits) for t in one.terms] == [len(s.bits) for _, _, s in event.terms]
    if player not in OMNISCIENT:
        assert len(paid_rewards(notices)) == len(mine)


# -- What commands write is bounded, whatever the game is ------------------------------------------


def test_an_output_has_at_most_a_megabyte_for_each_game() -> None:
    assert within_limit("é" * (MAX_OUTPUT // 2)) == "é" * (MAX_OUTPUT // 2)
    assert within_limit("a" * 2 * MAX_OUTPUT, count=2)
    with pytest.raises(CommandError, match="1,000,002 bytes; at most 1,000,000"):
        within_limit("é" * (MAX_OUTPUT // 2 + 1))


def test_a_game_that_ends_for_its_size_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game, moves = tmp_path / "game.xent", tmp_path / "moves.json"
    game.write_text("beacon(flag_1)\nelicit(s, 9)\nassign(t=t + t + s)\nreplay(flag_1, 20)")
    moves.write_text(json.dumps([["a hen"]]))
    assert main(["play", str(game), "--moves", str(moves), "--json"]) == 0
    [round_] = json.loads(capsys.readouterr().out)["rounds"]
    assert round_["outcome"] == "oversize"
    pattern = r"line 3: a string of \d+ characters, at most 4096 may stand"
    assert re.fullmatch(pattern, round_["reason"])
