"""Many machines in lockstep: merging, order, and no trace of one game in another; a game one step
at a time; repeated play."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support.doubles import EchoPlayer, NumberedStories, WordJudge, seated
from support.programs import PROGRAMS

import xgl
from xgl.errors import FlowError, JudgeError, OversizeError, PlayerError
from xgl.language import syntax as syn
from xgl.lm.language_model import LanguageModel
from xgl.players import FixedMovesPlayer
from xgl.players.local import LocalPolicy
from xgl.runtime.lockstep import play_rounds, visible_items
from xgl.runtime.presentation import render, view_text
from xgl.runtime.requests import Item, Move, MoveRequest, Rewarded, TokenScores, Turn, View

SINGLE = xgl.game(xgl.parse("assign(s=story())\nelicit(t, 4)\nreward(xed(s | t))"))


def instances(game_: Any, map_seeds: list[int]) -> list[xgl.Instance]:
    return [xgl.Instance(game_, xgl.Seeds(seed, index)) for index, seed in enumerate(map_seeds)]


def test_equal_score_requests_are_asked_once() -> None:
    cast = seated(EchoPlayer())
    plays = xgl.play_all(instances(SINGLE, [5, 5, 5, 5]), cast)
    [batch] = cast.judge.scored  # type: ignore[attr-defined]
    assert [request.context for request in batch] == [(), batch[1].context]
    assert len(set(batch)) == len(batch) == 2
    assert len({play.scores["black"] for play in plays}) == 1
    assert plays[0].scores["black"] != 0


def test_moves_and_stories_are_never_merged() -> None:
    player = EchoPlayer()
    cast = seated(player)
    xgl.play_all([xgl.Instance(SINGLE, xgl.Seeds(5, 5))] * 3, cast)
    assert len(player.views[xgl.Seeds(5, 5)]) == 3
    assert len(cast.stories.asked) == 3  # type: ignore[attr-defined]


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mixed_games_play_as_they_do_one_by_one(data: st.DataObject) -> None:
    sample = data.draw(st.lists(PROGRAMS.filter(_can_be_played), min_size=2, max_size=4))
    map_seeds = st.integers(0, 1)
    batch = [
        xgl.Instance(xgl.game(each), xgl.Seeds(data.draw(map_seeds), 0))
        for each in [*sample, *sample]
    ]
    together = xgl.play_all(iter(batch), seated(EchoPlayer()))
    apart = [xgl.play_all([each], seated(EchoPlayer()))[0] for each in batch]
    assert together == apart
    assert all(isinstance(play, xgl.Play) for play in together)
    assert {play.outcome for play in together} <= {"finished", "forfeit", "oversize"}


def _can_be_played(program: xgl.Program) -> bool:
    ensures = sum(isinstance(line, syn.Ensure) for line in program.instructions)
    return ensures <= 3 and not xgl.analyse(program).faults


SCRIPT = ("good words & more", "a hen", "", "rain fell on the old red boat", "no")
PAIR = xgl.game(xgl.parse("elicit(alice, x, 3)\nelicit(bob, y, 3)\nreward(alice, xed(x | y))"))


def episode(game_: xgl.Game, map_seed: int = 7, **options: Any) -> xgl.Episode:
    return xgl.Episode(game_, map_seed, WordJudge(), NumberedStories(), **options)


def script_play(game_: xgl.Game, map_seed: int, script: tuple[str, ...]) -> xgl.Play:
    """The play of ``play_all``."""
    seeds = xgl.Seeds(map_seed, 0)
    player = FixedMovesPlayer({seeds: script})
    cast = xgl.Cast(WordJudge(), NumberedStories(), dict.fromkeys(syn.PLAYERS, player))
    return xgl.play_all([xgl.Instance(game_, seeds)], cast)[0]


def step_play(game_: xgl.Game, map_seed: int, script: tuple[str, ...]) -> xgl.Play:
    """The play of the same moves, one step after another."""
    episode_, move_count = episode(game_, map_seed), 0
    while not episode_.done:
        assert episode_.player
        assert episode_.prompt[-1]["content"].endswith("as <move>...</move>.")
        episode_.step(script[min(move_count, len(script) - 1)])
        move_count += 1
    assert episode_.scores == episode_.play.scores
    return episode_.play


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(PROGRAMS, st.permutations(SCRIPT).map(tuple))
def test_scripted_moves_are_the_play_of_play_all_in_generated_games(
    program: xgl.Program, script: tuple[str, ...]
) -> None:
    game_ = xgl.game(program)
    try:
        expected = script_play(game_, 5, script)
    except FlowError as error:
        with pytest.raises(type(error)):
            step_play(game_, 5, script)
        return
    assert step_play(game_, 5, script) == expected


def test_many_step_together_in_the_batches_of_play_all() -> None:
    judge, stories = WordJudge(), NumberedStories()
    many = [xgl.Episode(SINGLE, seed, judge, stories) for seed in (1, 1, 2)]
    xgl.start_all(many)
    xgl.step_all(many, ["a", "b", "a"])
    assert [len(batch) for batch in judge.scored] == [5]
    assert [each.play for each in many] == [
        script_play(SINGLE, seed, (move,)) for seed, move in ((1, "a"), (1, "b"), (2, "a"))
    ]
    with pytest.raises(PlayerError):
        xgl.step_all([fresh := episode(SINGLE), *many], ["a"] * 4)
    with pytest.raises(ValueError, match="longer"):
        xgl.step_all(iter([fresh]), ["a", "b"])
    assert not fresh.done


def test_coroutines_share_batches_and_keep_their_own_errors() -> None:
    judge, stories = WordJudge(), NumberedStories()
    early = xgl.game(xgl.parse('ensure(len("a") == 1)\nelicit(t)', "xent"))
    late = xgl.game(xgl.parse("elicit(t)\nreplay(flag_1, 1)", "xent"))

    async def play_out(queue: xgl.EpisodeQueue, episode_: xgl.Episode) -> xgl.Play:
        await queue.start(episode_)
        while not episode_.done:
            await queue.step(episode_, "a word")
        return episode_.play

    async def play_together() -> list[Any]:
        queue = xgl.EpisodeQueue()
        many = [
            xgl.Episode(game_, 1, judge, stories) for game_ in (SINGLE, SINGLE, early, PAIR, late)
        ]
        return await asyncio.gather(*(play_out(queue, e) for e in many), return_exceptions=True)

    one, two, error, pair, later = asyncio.run(play_together())
    assert isinstance(error, FlowError)
    assert isinstance(later, FlowError)
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
    episode_ = xgl.Episode(SINGLE, 1, judge, NumberedStories())
    with pytest.raises(JudgeError):
        episode_.step("a hen")
    assert episode_.play == script_play(SINGLE, 1, ("a hen",))


GAME = xgl.game(xgl.parse("assign(s=story())\nelicit(t, 4)\nreward(xed(s | t))", "xent"))
MAPS = [xgl.Seeds(1, 0), xgl.Seeds(3, 1), xgl.Seeds(5, 2)]


def test_earlier_rounds_of_the_map_are_in_view() -> None:
    player = EchoPlayer()
    rounds = play_rounds(GAME, "black", seated(player), MAPS, 3, control=False)
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


def test_the_control_shows_the_rounds_of_the_next_map() -> None:
    player = EchoPlayer()
    rounds = play_rounds(GAME, "black", seated(player), MAPS, 3)
    assert [(r.number, r.control) for r in rounds[::3]] == [
        *((1, False), (2, False), (2, True), (3, False), (3, True))
    ]
    own = {(r.seeds, r.number): r.play for r in rounds if not r.control}
    _, second, control, third, third_control = player.views[MAPS[0]]
    assert control.items == second.items, "it plays its own map"
    assert control.earlier == (visible_items(GAME, own[MAPS[1], 1], "black"),)
    assert third_control.earlier[1] == visible_items(GAME, own[MAPS[1], 2], "black")
    assert third.earlier[1] == visible_items(GAME, own[MAPS[0], 2], "black")


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


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from([1, -1]), st.lists(st.floats(0, 40), max_size=4))))
def test_clipping_caps_every_token(xents: list[tuple[int, list[float]]]) -> None:
    parts = tuple((sign, TokenScores(tuple(bits))) for sign, bits in xents)
    event = Rewarded("black", sum(s * t.total for s, t in parts), (), parts)
    capped_sum = sum(sign * sum(min(bit, 12.0) for bit in bits) for sign, bits in xents)
    assert event.clipped_bits(12.0) == pytest.approx(capped_sum, abs=1e-9)
    assert event.clipped_bits(1e9) == event.bits


@pytest.mark.parametrize("player", ["black", "white"])
def test_a_reward_names_the_cross_entropies_it_is_made_of(player: str) -> None:
    sums = ("xent(t)", "nex(t)", "xed(s | t)", "dex(s | t)", "xent(t) - dex(s | t)")
    lines = "\n".join(f"reward({player}, {each})" for each in sums)
    code = f"assign(s=story())\nelicit(t, 4)\nelicit(white, x, 4)\n{lines}"
    [play] = xgl.play_all(
        [xgl.Instance(xgl.game(xgl.parse(code, "xent")), MAPS[0])], seated(EchoPlayer())
    )
    rewards = [event for event in play.events if isinstance(event, Rewarded)]
    assert len(rewards) == 2 * len(sums)
    for event in rewards:
        made_of = sum(sign * scores.total for sign, scores in event.xents)
        assert event.bits == pytest.approx(made_of)
