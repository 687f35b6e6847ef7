"""Rounds in the terminal, by a typing person, by a script, and by a model: a player is told what
the rules let it know, and the right text behind each number."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from rich.console import Console
from support.chat_server import ChatServer, in_order, move, reply
from support.doubles import EchoPlayer, seated
from support.programs import PROGRAMS
from support.refusal import error_of

from xgl import Cast, Game, Instance, Program, Seeds, analyse, game, parse, play_all
from xgl.cli import main
from xgl.cli.narration import Narrator, Term
from xgl.cli.session import Session, _seats
from xgl.language.syntax import PLAYERS
from xgl.runtime.lockstep import machines_of, visible_items
from xgl.runtime.requests import Event, Item, Move, Moved, Play, Rewarded, Turn

SUM_UP = (
    'assign(s=story())\nelicit(x, 3)\nensure("no common words between" + s + "&" + x)\n'
    "reward(xed(s | x))"
)
NOTE = (
    "assign(s=story())\nreveal(alice, s)\nelicit(alice, t, 4)\nreveal(bob, t)\n"
    "elicit(bob, x, 4)\nreward(bob, xed(s | x))"
)


class Speaker:
    """A model that says who it is and how many earlier rounds it sees; keeps its turns."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []

    def moves(self, turns: list[Turn]) -> list[Move]:
        self.turns += turns
        views = [turn.request.view for turn in turns]
        return [Move(f"said by {view.player} {len(view.earlier)}") for view in views]


def cast_of(table: Any, others: Any) -> Cast:
    return Cast(table.judge, table.stories, dict.fromkeys(PLAYERS, others))


Seat = Callable[..., tuple[list[Play], str, Session]]


@pytest.fixture
def sit(table: object, monkeypatch: pytest.MonkeyPatch) -> Seat:
    """Plays ``code`` as ``role``, typing ``lines``; returns the rounds and all that was shown."""

    def sit_down(
        code: str, role: str, *lines: str, rounds: int = 1
    ) -> tuple[list[Play], str, Session]:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(line + "\n" for line in lines)))
        screen = io.StringIO()
        console = Console(file=screen, width=100, highlight=False, markup=False)
        monkeypatch.setattr("builtins.input", lambda prompt: _line(sys.stdin))
        session = Session(game(parse(code)), role, cast_of(table, Speaker()), console, 3)
        session.screen.open("A Game", f"You are {role}")
        session.play(rounds)
        return session.rounds, screen.getvalue(), session

    return sit_down


def _line(stream: io.TextIOBase) -> str:
    line = stream.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def test_a_failed_ensure_is_explained_and_a_long_move_is_cut(sit: Seat) -> None:
    [round_], screen, session = sit(SUM_UP, "black", "a tale", "hills and hills and more")
    assert '"no common words between" + s + "&" + t\n' in screen
    assert "failures left before a forfeit: 9" in screen
    assert "t (black): hills and hills\n" in screen  # registers are canonical
    assert round_.accepted_moves("black") == ["hills and hills"]
    assert f"Score of black: {session.score(round_):+.1f} bits" in screen


def test_a_round_without_an_end_has_no_score(sit: Seat) -> None:
    [first, second], screen, session = sit(SUM_UP, "black", *["tale"] * 11, "hills", rounds=2)
    assert (session.score(first), first.outcome) == (None, "forfeit")
    assert session.score(second) is not None
    assert "black has failed too often: a forfeit." in screen


def test_the_person_may_leave(sit: Seat) -> None:
    rounds, screen, session = sit(SUM_UP, "black", "red\x1b[31m \udcff x y z", rounds=3)
    assert "You have left the game." in screen
    assert len(rounds) == len(session.record()["rounds"]) == 1
    assert "\x1b" not in screen  # control characters do not reach the terminal
    assert "\udcff" not in rounds[0].accepted_moves("black")[0]


def test_what_a_player_may_not_see_is_never_on_its_screen(sit: Seat) -> None:
    assert _seats(game(parse(NOTE)), None)[1] == "bob", "whom the game pays"
    _, screen, _ = sit(NOTE, "bob", "a guess")
    assert "tale" not in screen
    assert "t: said by alice" in screen
    assert "of a text that is not shown:" in screen
    _, screen, _ = sit(NOTE, "alice", "a note")
    assert "s: tale 3 0" in screen
    assert "said by bob" not in screen
    assert "reward" not in screen.split("You are alice")[1]


def test_a_model_sees_its_earlier_rounds_and_others_play_by_the_same_seed(table: object) -> None:
    player, others = Speaker(), Speaker()
    console = Console(file=io.StringIO())
    session = Session(game(parse(NOTE)), "bob", cast_of(table, others), console, 3, (), player)
    session.play(3)
    moves = [one.accepted_moves("bob") for one in session.rounds]
    assert moves == [[f"said by bob {number}"] for number in range(3)]
    assert [len(turn.request.view.earlier) for turn in player.turns] == [0, 1, 2]
    assert {turn.seeds for turn in others.turns} == {turn.seeds for turn in player.turns}
    assert len({turn.seeds for turn in others.turns}) == 1
    assert not any(turn.request.view.earlier for turn in others.turns)


def test_a_script_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moves = tmp_path / "moves.json"
    moves.write_text('[["the sea"], {"black": ["a \\u00adcat"]}]')
    arguments = ["play", "contrast", "--moves", str(moves), "--json", "--seed", "5"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    record = json.loads(captured.out)
    assert [one["moves"] for one in record["rounds"]] == [["the sea"], ["a \xadcat"]]
    first, second = record["rounds"]
    assert first["events"][0] == second["events"][0]  # the same map
    [reward] = [event for event in first["events"] if event["event"] == "rewarded"]
    terms = sum(sign * sum(scores["bits"]) for sign, _, scores in reward["terms"])
    assert terms == pytest.approx(first["score"], abs=1e-9)
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out) == record


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "found no rounds, expected a list in JSON"),
        ("[]", "found no rounds"),
        ('[["a"], {"zed": ["x"]}]', "no 'zed'; expected black"),
    ],
)
def test_moves_that_are_none(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moves = tmp_path / "moves.json"
    moves.write_text(text)
    assert message in error_of(capsys, main, "play", "contrast", "--moves", moves)


def test_a_round_without_the_roles_moves_and_nobody_to_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    game, moves = tmp_path / "note.xgl", tmp_path / "moves.json"
    game.write_text(NOTE)
    moves.write_text('[{"alice": ["a boat"], "bob": ["a ship"]}, {"alice": ["a tree"]}]')
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["play", str(game), "--role", "bob", "--moves", str(moves), "--json"]) == 2
    captured = capfd.readouterr()
    message = "no moves of bob in round 2 of 2, and the input has ended"
    assert captured.err.splitlines()[-1] == f"error: --moves {moves}: {message}"
    record = json.loads(captured.out)
    assert [one["moves"] for one in record["rounds"]] == [["a ship"]]
    assert record["left"] == "round 2 of 2, and the input has ended"
    assert "write x" in captured.err  # a person would see what is asked


def test_a_chat_model_plays(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-2")  # which is for its own address only
    with ChatServer(in_order(move("the sea"), reply("hm"), move("a cat"))) as server:
        asked = ["play", "contrast", "--seed", "5", "--chat", "the-model", "--base-url", server.url]
        assert main([*asked, "--rounds", "2", "--json"]) == 0
        captured = capsys.readouterr()
        assert len({request.body["seed"] for request in server.received}) == 3
        assert not any("authorization" in request.headers for request in server.received)
        assert main([*asked, "--key-variable", "MY_KEY"]) == 0
        assert server.received[-1].headers["authorization"] == "Bearer sk-1"
    assert captured.err == ""
    record = json.loads(captured.out)
    assert [one["moves"] for one in record["rounds"]] == [["the sea"], ["a cat"]]
    assert all(isinstance(one["score"], float) for one in record["rounds"])
    assert (record["chat"]["model"], record["chat"]["base_url"]) == ("the-model", server.url)
    usage = record["chat"]["usage"]
    assert (usage["requests"], usage["prompt_tokens"]) == (3, 90)
    screen = capsys.readouterr().out
    assert "the-model is black. A higher score is better" in screen
    assert "(black): a cat\n" in screen
    assert "Score of black:" in screen
    assert "the-model: 1 request, 30 + 5 tokens" in screen
    assert "You are" not in screen


def told(whole: Game, player: str) -> tuple[list[tuple[int, Event, list[Item], list[Term]]], Play]:
    instance = Instance(whole, Seeds(1, 0))
    [machine] = machines_of([instance])
    [play] = play_all([instance], seated(EchoPlayer()), [machine])
    log = zip(machine.lines, machine.events, strict=True)
    return list(Narrator(whole, player).tell(log)), play


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(PROGRAMS, st.sampled_from(PLAYERS))
def test_any_game_is_followed_to_its_end(program: Program, player: str) -> None:
    """What is told is what ``visible_items`` lets through, with the terms of own rewards."""
    assume(not analyse(program).faults)
    whole = game(program)
    notices, play = told(whole, player)
    items = [item for _, _, items, _ in notices for item in items]
    assert items == list(visible_items(whole, play, player))
    for position, event, _, terms in notices:
        assert not isinstance(event, Moved) or position == event.line
        own = isinstance(event, Rewarded) and event.player == player
        scores = [len(s.bits) for _, _, s in event.terms] if own else []  # type: ignore[union-attr]
        assert [len(term.bits) for term in terms] == scores
