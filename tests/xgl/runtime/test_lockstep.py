"""Many machines in lockstep: merging, order, and no trace of one game in another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.programs import PROGRAMS

from xgl import Cast, Instance, Play, Program, Seeds, analyse, game, parse, play_all
from xgl.errors import JudgeError
from xgl.language import syntax as syn
from xgl.runtime.requests import ScoreRequest, TokenScores

SINGLE = game(parse("assign(s=story())\nelicit(t, 4)\nreward(xed(s | t))"))


def instances(game_: Any, map_seeds: list[int]) -> list[Instance]:
    return [Instance(game_, Seeds(seed, index)) for index, seed in enumerate(map_seeds)]


def test_equal_score_requests_are_asked_once(
    echo_player: Callable[[], Any], seat: Callable[[Any], Cast]
) -> None:
    cast = seat(echo_player())
    plays = play_all(instances(SINGLE, [5, 5, 5, 5]), cast)
    [batch] = cast.judge.scored  # type: ignore[attr-defined]
    assert [request.context for request in batch] == [(), batch[1].context]
    assert len(set(batch)) == len(batch) == 2
    assert len({play.scores["black"] for play in plays}) == 1
    assert plays[0].scores["black"] != 0


def test_equal_statements_are_asked_once(
    echo_player: Callable[[], Any], seat: Callable[[Any], Cast]
) -> None:
    cast = seat(echo_player())
    play_all(instances(game(parse('elicit(s)\nensure("so")\nelicit(t)')), [1, 2, 3]), cast)
    assert [len(batch) for batch in cast.judge.judged] == [1]  # type: ignore[attr-defined]


def test_moves_and_stories_are_never_merged(
    echo_player: Callable[[], Any], seat: Callable[[Any], Cast]
) -> None:
    player = echo_player()
    cast = seat(player)
    play_all([Instance(SINGLE, Seeds(5, 5))] * 3, cast)
    assert len(player.views[Seeds(5, 5)]) == 3
    assert len(cast.stories.asked) == 3  # type: ignore[attr-defined]


def test_each_player_gets_one_batch_and_every_move_is_cut(table: Any) -> None:
    code = "elicit(s, 2)\nelicit(bob, t, 1)"
    table.play(code, "a b c", bob=["d e"])
    for player in table.players.values():
        player.move_counts.clear()
        player.turns.clear()
    cast = Cast(table.judge, table.stories, dict(table.players))
    plays = play_all(instances(game(parse(code)), [1, 2]), cast)
    assert [play.registers for play in plays] == [{"s": "a b", "t": "d"}] * 2
    for player in table.players.values():
        assert [turn.seeds for turn in player.turns] == [Seeds(1, 0), Seeds(2, 1)]


def test_results_are_in_the_order_given_though_games_end_at_different_times(
    echo_player: Callable[[], Any], seat: Callable[[Any], Cast]
) -> None:
    long = game(parse("elicit(s)\nbeacon(flag_1)\nreward(xent(s))\nreplay(flag_1, 9)"))
    short = game(parse("elicit(s)"))
    batch = [Instance(game_, Seeds(1, 1)) for game_ in (long, short, SINGLE, short, long)]
    plays = play_all(batch, seat(echo_player()))
    assert [play.steps for play in plays] == [31, 1, 3, 1, 31]


def test_an_oversize_game_leaves_the_others_alone(
    echo_player: Callable[[], Any], seat: Callable[[Any], Cast]
) -> None:
    cast = seat(echo_player())
    cast.judge.window = 5  # type: ignore[attr-defined]
    long = game(parse('elicit(s)\nreward(xent("a b c d e f"))'))
    short = game(parse('elicit(s)\nreward(xent("a b c d e"))'))
    plays = play_all([Instance(game_, Seeds(1, 1)) for game_ in (short, long, short)], cast)
    assert [play.outcome for play in plays] == ["finished", "oversize", "finished"]
    assert plays[0] == plays[2]


def test_a_judge_that_fails_is_never_a_score(table: Any) -> None:
    def fail(requests: list[ScoreRequest]) -> list[TokenScores]:
        raise JudgeError(f"no number for {requests[0].text!r}")

    table.judge.score = fail
    with pytest.raises(JudgeError, match="no number for 'a b'"):
        table.play('elicit(s)\nreward(xent("a b"))', "m")


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mixed_games_play_as_they_do_one_by_one(
    echo_player: Callable[[], Any],
    seat: Callable[[Any], Cast],
    data: st.DataObject,
) -> None:
    sample = data.draw(st.lists(PROGRAMS.filter(_can_be_played), min_size=2, max_size=4))
    map_seeds = st.integers(0, 1)
    batch = [Instance(game(each), Seeds(data.draw(map_seeds), 0)) for each in [*sample, *sample]]
    together = play_all(batch, seat(echo_player()))
    apart = [play_all([each], seat(echo_player()))[0] for each in batch]
    assert together == apart
    assert all(isinstance(play, Play) for play in together)
    assert {play.outcome for play in together} <= {"finished", "forfeit", "oversize"}


def _can_be_played(program: Program) -> bool:
    ensures = sum(isinstance(line, syn.Ensure) for line in program.instructions)
    return ensures <= 3 and not analyse(program).faults
