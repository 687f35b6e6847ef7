"""Every game of the library: its index, and one play with a deterministic judge."""

from __future__ import annotations

import re

import pytest

from xgl import Cast, Instance, Metadata, Play, ProgramError, Seeds, analyse, game, parse, play_all
from xgl.language import syntax as syn
from xgl.library import Entry, NotInLibraryError, entries, find
from xgl.runtime.requests import Move, Moved, MoveRequest, Rewarded, Turn

PRINTED = {"3.1": 3, "3.3": 6, "3.5": 2, "3.7": 2, "3.9": 1, "3.10": 1, "3.12": 1, "3.13": 4}
PRINTED |= {"4.2": 3}
PLAYABLE = [entry for entry in entries() if not entry.refused]
LONG = Metadata(max_characters=131_072)


class Counting:
    """Says something new at every turn; a piece of the story where the game cuts it."""

    def moves(self, turns: list[Turn]) -> list[Move]:
        return [Move(self._words(turn.request)) for turn in turns]

    def _words(self, request: MoveRequest) -> str:
        # without digits, which are words of the stories however they are joined
        name = "".join(chr(ord("a") + int(digit)) for digit in str(request.turn))
        return "3" if "//" in request.view.code else f"word{name} more{name}"


def play(entry: Entry, seat: object) -> Play:
    cast: Cast = seat(Counting())  # type: ignore[operator]
    # every statement and every bound holds: what is shown is that the game runs to its end
    cast.judge.believes = lambda statement: True  # type: ignore[attr-defined]
    whole = game(parse(entry.text, entry.dialect, entry.name), LONG)
    [result] = play_all([Instance(whole, Seeds(3, 0))], cast)
    return result


def test_every_printed_program_is_there() -> None:
    counts: dict[str, int] = {}
    for entry in entries():
        counts[entry.figure] = counts.get(entry.figure, 0) + 1
    counts.pop("")  # our own
    assert counts == PRINTED


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_a_file_says_what_it_is(entry: Entry) -> None:
    assert entry.description.endswith(".")
    assert 20 < len(entry.description) < 110
    if entry.figure:
        chapter, number = entry.figure.split(".")
        assert entry.name.startswith(f"fig_{chapter}_{int(number):02d}_")
        assert entry.dialect == "paper"


@pytest.mark.parametrize("entry", PLAYABLE, ids=lambda entry: entry.name)
def test_it_plays(entry: Entry, seat: object) -> None:
    program = parse(entry.text, entry.dialect)
    result = play(entry, seat)
    if entry.name == "fig_3_09_naive_sprig":  # its bounds are the judge's to grant
        assert result.outcome in ("finished", "forfeit")
        return
    assert result.outcome == "finished"
    assert result.steps == analyse(program).steps
    assert set(result.scores) == set(analyse(program).players)
    players = {line.player for line in program.instructions if isinstance(line, syn.Elicit)}
    assert {event.player for event in result.events if isinstance(event, Moved)} == players
    assert any(isinstance(event, Rewarded) and event.bits for event in result.events)


def test_sprig_runs_its_hundred_rounds_where_the_bounds_hold(seat: object) -> None:
    """Its xent bounds made idle, the debate goes on to the end and grows by a line a turn."""
    text = re.sub(r"ensure\(xent.*\n", "", find("naive_sprig").text)
    cast: Cast = seat(Counting())  # type: ignore[operator]
    instance = Instance(game(parse(text), LONG), Seeds(3, 0))
    [result] = play_all([instance], cast)
    assert result.outcome == "finished"
    assert sum(isinstance(event, Moved) for event in result.events) == 101 * 3 + 1
    debate = max(result.registers.values(), key=len)
    assert debate.count("black raises a point of contention about  word") == 101


def test_the_mended_games_differ_from_the_print_in_what_they_name() -> None:
    names = {entry.name for entry in entries() if entry.mended}
    assert names == {
        "fig_3_01_multi_texts",
        "fig_4_02_multi_texts",
        "fig_3_09_naive_sprig",
        "fig_3_13_message",
        "fig_3_13_censor",
    }


def test_chess_is_refused_for_its_length() -> None:
    entry = find("chess")
    assert "1024" in entry.refused
    with pytest.raises(ProgramError) as refusal:
        parse(entry.text, entry.dialect)
    [problem] = refusal.value.problems
    assert problem.found == "more than 1024 steps"
    shorter = entry.text.replace("5000", "100")
    assert parse(shorter, entry.dialect)


def test_no_other_game_is_refused() -> None:
    assert [entry.name for entry in entries() if entry.refused] == ["fig_3_07_chess"]


def test_names() -> None:
    assert find("fig_4_02_dex_texts") is find("dex_texts")
    assert find("single_text").figure == "3.1"
    assert find("fig_4_02_single_text").figure == "4.2"
    with pytest.raises(NotInLibraryError, match="did you mean 'dex_texts'"):
        find("dex_text")


def test_games_of_one_name_are_one_game() -> None:
    """So that a name without its figure's number is never ambiguous."""
    ids: dict[str, set[str]] = {}
    for entry in PLAYABLE:
        name = re.sub(r"^fig_\d+_\d+_", "", entry.name)
        game_ = game(parse(entry.text, entry.dialect))
        ids.setdefault(name, set()).add(game_.game_id)
    assert all(len(group) == 1 for group in ids.values())
    assert len(ids) == len(PLAYABLE) - 2  # Single Text and Multi Texts are printed twice
