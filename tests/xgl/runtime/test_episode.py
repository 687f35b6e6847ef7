"""A game one step at a time is the game that ``play_all`` plays."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.doubles import NumberedStories, WordJudge
from support.programs import PROGRAMS

import xgl
from xgl import Cast, Episode, EpisodeQueue, Game, Play, Program, Seeds, game, parse
from xgl.errors import FlowError, JudgeError, OversizeError, PlayerError
from xgl.language import syntax as syn
from xgl.library import entries
from xgl.players import FixedMovesPlayer
from xgl.runtime.lockstep import Instance
from xgl.runtime.requests import Item, TokenScores

SCRIPT = ("good words & more", "a hen", "", "rain fell on the old red boat", "no")
SINGLE = game(parse("assign(s=story())\nelicit(t, 4)\nreward(xed(s | t))"))
PAIR = game(parse("elicit(alice, x, 3)\nelicit(bob, y, 3)\nreward(alice, xed(x | y))"))
STRICT = game(parse('elicit(x, 3)\nensure(x == "yes")\nreward(xent(x))', "xent"))


def episode(game_: Game, map_seed: int = 7, **options: Any) -> Episode:
    return Episode(game_, map_seed, WordJudge(), NumberedStories(), **options)


def script_play(game_: Game, map_seed: int, script: tuple[str, ...]) -> Play:
    """The play of ``play_all``."""
    seeds = Seeds(map_seed, 0)
    player = FixedMovesPlayer({seeds: script})
    cast = Cast(WordJudge(), NumberedStories(), dict.fromkeys(syn.PLAYERS, player))
    return xgl.play_all([Instance(game_, seeds)], cast)[0]


def step_play(game_: Game, map_seed: int, script: tuple[str, ...]) -> Play:
    """The play of the same moves, one step after another."""
    episode_, move_count = episode(game_, map_seed), 0
    while not episode_.done:
        assert episode_.player
        assert episode_.prompt[-1]["content"].endswith("as <move>...</move>.")
        episode_.step(script[min(move_count, len(script) - 1)])
        move_count += 1
    assert episode_.scores == episode_.play.scores
    return episode_.play


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_scripted_moves_are_the_play_of_play_all_in_the_library(entry: Any) -> None:
    game_ = game(parse(entry.text, entry.dialect))
    assert step_play(game_, 1, SCRIPT) == script_play(game_, 1, SCRIPT)


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(PROGRAMS, st.permutations(SCRIPT).map(tuple))
def test_scripted_moves_are_the_play_of_play_all_in_generated_games(
    program: Program, script: tuple[str, ...]
) -> None:
    game_ = game(program)
    try:
        expected = script_play(game_, 5, script)
    except FlowError as error:
        with pytest.raises(type(error)):
            step_play(game_, 5, script)
        return
    assert step_play(game_, 5, script) == expected


def test_retries_forfeits_and_views_too_long_end_as_plays_do() -> None:
    episode_ = episode(STRICT)
    episode_.step("no")
    assert episode_.view.items[-1] == Item("ensure", "failed 1")
    episode_.step("yes")
    assert episode_.play.outcome == "finished"
    forfeit = episode(STRICT)
    while not forfeit.done:
        forfeit.step("no")
    assert (forfeit.play.outcome, forfeit.play.forfeiter) == ("forfeit", "black")
    oversize = episode(STRICT)
    oversize.step(OversizeError("the view is too long"))
    assert oversize.play.outcome == "oversize"


def test_many_step_together_in_the_batches_of_play_all() -> None:
    judge, stories = WordJudge(), NumberedStories()
    many = [Episode(SINGLE, seed, judge, stories) for seed in (1, 1, 2)]
    xgl.start_all(many)
    xgl.step_all(many, ["a", "b", "a"])
    assert [len(batch) for batch in judge.scored] == [5]
    assert [each.play for each in many] == [
        script_play(SINGLE, seed, (move,)) for seed, move in ((1, "a"), (1, "b"), (2, "a"))
    ]
    with pytest.raises(PlayerError):
        xgl.step_all([*many, fresh := episode(SINGLE)], ["a"] * 4)
    assert not fresh.done


def test_coroutines_share_batches_and_keep_their_own_errors() -> None:
    judge, stories = WordJudge(), NumberedStories()
    early = game(parse('ensure(len("a") == 1)\nelicit(t)', "xent"))

    async def play_out(queue: EpisodeQueue, episode_: Episode) -> Play:
        await queue.start(episode_)
        while not episode_.done:
            await queue.step(episode_, "a word")
        return episode_.play

    async def play_together() -> list[Any]:
        queue = EpisodeQueue()
        many = [Episode(game_, 1, judge, stories) for game_ in (SINGLE, SINGLE, early, PAIR)]
        return await asyncio.gather(*(play_out(queue, e) for e in many), return_exceptions=True)

    one, two, error, pair = asyncio.run(play_together())
    assert isinstance(error, FlowError)
    assert one == two == script_play(SINGLE, 1, ("a word",))
    assert pair == script_play(PAIR, 1, ("a word",))
    assert max(len(batch) for batch in judge.scored) >= 2


def test_a_judge_that_fails_once_is_asked_again_for_the_same_move() -> None:
    judge, faults = WordJudge(), [True]

    def score(requests: list[Any]) -> list[TokenScores | OversizeError]:
        if faults.pop() if faults else False:
            raise JudgeError("no number")
        return WordJudge().score(requests)

    judge.score = score  # type: ignore[method-assign]
    episode_ = Episode(SINGLE, 1, judge, NumberedStories())
    with pytest.raises(JudgeError):
        episode_.step("a hen")
    assert episode_.play == script_play(SINGLE, 1, ("a hen",))
