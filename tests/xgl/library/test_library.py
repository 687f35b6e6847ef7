"""Every game of the library: its index, and one play with a deterministic judge."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from support.doubles import ScriptPlayer, seated

from xgl import Instance, Metadata, Play, Seeds, analyse, game, parse, play_all
from xgl.language import syntax as syn
from xgl.library import Entry, entries, find, short_name
from xgl.runtime.requests import Ensured, Move, Moved, MoveRequest, Rewarded, Turn

PRINTED = {"3.1": 3, "3.3": 6, "3.5": 2, "3.7": 2, "3.9": 1, "3.10": 1, "3.12": 1, "3.13": 4}
PRINTED |= {"4.2": 3}
PRINTED = {f"Figure {number}": count for number, count in PRINTED.items()}
PRINTED |= {"Example 14": 1, "Example 16": 1, "Remark 29": 1, "introduction": 2}
LONG = Metadata(max_characters=131_072)


class Counting:
    """Says something new at every turn; a piece of the story where the game cuts it."""

    def moves(self, turns: list[Turn]) -> list[Move]:
        return [Move(self._words(turn.request)) for turn in turns]

    def _words(self, request: MoveRequest) -> str:
        # without digits, which are words of the stories however they are joined
        name = "".join(chr(ord("a") + int(digit)) for digit in str(request.turn))
        return "3" if "//" in request.view.code else f"word{name} more{name}"


def play(entry: Entry) -> Play:
    cast = seated(Counting())
    # every statement and every bound holds: what is shown is that the game runs to its end
    cast.judge.believes = lambda statement: True  # type: ignore[attr-defined]
    whole = game(parse(entry.text, entry.dialect, entry.name), LONG)
    [result] = play_all([Instance(whole, Seeds(3, 0))], cast)
    return result


def test_every_printed_program_is_there_and_a_file_says_what_it_is() -> None:
    counts = Counter(entry.source for entry in entries() if entry.source)
    assert counts == PRINTED
    for entry in entries():
        assert entry.description.endswith(".")
        assert 20 < len(entry.description) < 110
        kind, _, number = entry.source.partition(" ")
        if kind == "Figure":
            chapter, figure = number.split(".")
            assert entry.name.startswith(f"fig_{chapter}_{int(figure):02d}_")
        elif kind:
            assert entry.name.startswith(f"{kind.lower()}_{number}_" if number else "intro_")
        assert (entry.dialect == "paper") == bool(entry.source)


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_it_plays(entry: Entry) -> None:
    program = parse(entry.text, entry.dialect)
    result = play(entry)
    if entry.name == "fig_3_09_naive_sprig":  # its bounds are the judge's to grant
        assert result.outcome in ("finished", "forfeit")
        return
    assert result.outcome == "finished"
    assert result.steps == analyse(program).steps
    assert set(result.scores) == set(analyse(program).players)
    players = {line.player for line in program.instructions if isinstance(line, syn.Elicit)}
    assert {event.player for event in result.events if isinstance(event, Moved)} == players
    assert any(isinstance(event, Rewarded) and event.bits for event in result.events)


def test_sprig_runs_its_hundred_rounds_where_the_bounds_hold() -> None:
    """Its xent bounds made idle, the debate goes on to the end and grows by a line a turn."""
    text = re.sub(r"ensure\(xent.*\n", "", find("naive_sprig").text)
    cast = seated(Counting())
    instance = Instance(game(parse(text), LONG), Seeds(3, 0))
    [result] = play_all([instance], cast)
    assert result.outcome == "finished"
    assert sum(isinstance(event, Moved) for event in result.events) == 101 * 3 + 1
    debate = max(result.registers.values(), key=len)
    assert debate.count("black raises a point of contention about  word") == 101


def test_the_mended_games_differ_from_the_print_in_what_they_name() -> None:
    names = {entry.name for entry in entries() if "\n# Mended:" in entry.text}
    assert names == {
        *("fig_3_01_multi_texts", "fig_4_02_multi_texts", "fig_3_09_naive_sprig"),
        *("fig_3_13_message", "fig_3_13_censor", "fig_3_07_chess"),
    }


LONDON_1851 = """e4 e5 f4 exf4 Bc4 Qh4+ Kf1 b5 Bxb5 Nf6 Nf3 Qh6 d3 Nh5 Nh4 Qg5 Nf5 c6 g4 Nf6 Rg1
cxb5 h4 Qg6 h5 Qg5 Qf3 Ng8 Bxf4 Qf6 Nc3 Bc5 Nd5 Qxb2 Bd6 Bxg1 e5 Qxa1+ Ke2 Na6 Nxg7+ Kd8"""
IMMORTAL = LONDON_1851.split()
"""Twenty-one moves of each side (Anderssen and Kieseritzky, London 1851)."""


def test_naive_chess_plays_a_legal_game_to_its_end() -> None:
    def is_legal(statement: str) -> bool:
        rule, _, moves = statement.partition(":")
        played = moves.split()
        to_play = "black" if len(played) % 2 else "white"
        return played == IMMORTAL[: len(played)] and f"{to_play} to play" in rule

    cast = seated(ScriptPlayer(["Ke3", *IMMORTAL]))  # the first of which is illegal
    cast.judge.believes = is_legal  # type: ignore[attr-defined]
    entry = find("naive_chess")
    [result] = play_all([Instance(game(parse(entry.text), LONG), Seeds(3, 0))], cast)
    assert result.outcome == "finished"
    assert result.accepted_moves("white") == IMMORTAL[::2]
    assert result.accepted_moves("black") == IMMORTAL[1::2]
    assert [e.player for e in result.events if isinstance(e, Ensured) and not e.passed] == ["white"]
    assert " ".join(IMMORTAL) in {text.strip() for text in result.registers.values()}


def test_games_of_one_name_are_one_game() -> None:
    """So that a name without its figure's number is never ambiguous."""
    games = {(short_name(e.name), game(parse(e.text, e.dialect)).game_id) for e in entries()}
    assert len(games) == len({name for name, _ in games})
    assert len(games) == len(entries()) - 2  # Single Text and Multi Texts are printed twice
