"""Paired seeds, the permuted control and the floor, by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from archive import Purpose
from archive.plays import floor_of
from evo.jobs import evaluation
from evo.jobs.policy_gradient import training_seeds
from xgl import Cast, Instance, play_all
from xgl.errors import OversizeError
from xgl.players import FixedMovesPlayer
from xgl.runtime.requests import Move, Player, Seeds, Turn

MakeTask = Callable[..., evaluation.Task]
SEEDS = evaluation.evaluation_seeds("selection", 0, 6)
PICKY = 'assign(s=story())\nelicit(t, 8)\nensure(is_true("num_words<2", t))\nreward(xed(s | t))\n'
UNLIKE = (
    'assign(s=story())\nelicit(t, 8)\nensure("no common words between" + s + "&" + t)\n'
    "reward(xed(s | t))\n"
)


@dataclass
class Sayer:
    """Says what a function makes of the seeds."""

    say: Callable[[Seeds], str]
    asked: list[Turn] = field(default_factory=list)

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        self.asked += turns
        return [Move(self.say(turn.seeds), prompt_tokens=5, new_tokens=2) for turn in turns]


def by_map(seeds: Seeds) -> str:
    return f"word {seeds.map_seed}"


def evaluate(
    player: Player, cast: Cast, task: evaluation.Task, seeds: Sequence[Seeds]
) -> list[evaluation.ScoredPlay]:
    return evaluation.evaluate_together(player, [("", seeds)], cast, task, most_bits=20.0)[0]


def literal(task: evaluation.Task, cast: Cast, seeds: Seeds, move: str) -> float:
    """One play alone with one scripted move."""
    alone = Cast(cast.judge, cast.stories, {"black": FixedMovesPlayer({seeds: (move,)})})
    return evaluation.finite_score(play_all([Instance(task.game, seeds)], alone)[0], task)


def test_scores_and_control_are_single_plays(cast: Cast, make_task: MakeTask) -> None:
    task = make_task()
    scores = evaluate(Sayer(by_map), cast, task, SEEDS)
    assert [score.seeds for score in scores] == SEEDS
    for place, score in enumerate(scores):
        own, other = by_map(score.seeds), by_map(SEEDS[(place + 1) % len(SEEDS)])
        assert score.moves == (own,)
        assert score.score == score.raw_score == literal(task, cast, score.seeds, own)
        assert score.permuted_score == literal(task, cast, score.seeds, other)
        assert score.outcome == "finished"
        assert score.tokens == 7
    assert any(score.score != score.permuted_score for score in scores)


def test_others_are_asked_once_for_what_they_see_alike(cast: Cast, make_task: MakeTask) -> None:
    """White moves first and sees nothing of black's move, also where that is another map's."""
    code = "assign(s=story())\nelicit(white, x, 4)\nelicit(t, 4)\nreward(xed(s | t) - xed(s | x))"
    task = make_task(code)
    asked: list[Turn] = []

    def plays(one_seed: bool | None) -> list[tuple[float, float | None]]:
        white = Sayer(lambda seeds: f"hen {seeds.map_seed} {seeds.play_seed}", asked)
        shared = white if one_seed is None else evaluation.SharedMoves(white, one_seed)
        asked.clear()
        scores = evaluate(Sayer(by_map), replace(cast, players={"white": shared}), task, SEEDS)
        return [(each.score, each.permuted_score) for each in scores]

    expected, twice = plays(None), len(asked)
    assert plays(False) == expected
    assert 2 * len(asked) == twice == 2 * len(SEEDS)
    plays(True)
    assert {turn.seeds.play_seed for turn in asked} == {0}


def test_a_forfeit_is_minus_infinity_raw_and_the_floor_for_means(
    cast: Cast, make_task: MakeTask
) -> None:
    task = make_task(PICKY, floor=-33.0)
    fault_seeds = SEEDS[2]
    scores = evaluate(
        Sayer(lambda seeds: "two words" if seeds == fault_seeds else "one"), cast, task, SEEDS
    )
    for place, score in enumerate(scores):
        is_forfeit = place == 2
        assert score.outcome == ("forfeit" if is_forfeit else "finished")
        assert (score.score == -33.0) == is_forfeit
        assert (score.raw_score == -math.inf) == is_forfeit


def test_a_replay_has_no_second_attempt(cast: Cast, make_task: MakeTask) -> None:
    """The move for map i + 1 says the number in the story of map i, which must not be said; else
    the second move would be the first one's second attempt."""
    before = {each: SEEDS[place - 1].map_seed for place, each in enumerate(SEEDS)}
    code = UNLIKE.replace("reward(xed(s | t))", "elicit(x, 8)\nreward(xed(s | x))")
    task = make_task(code, floor=-33.0, dialect="paper")
    player = FixedMovesPlayer({each: (f"say {before[each]}", "plain words") for each in SEEDS})
    scores = evaluate(player, cast, task, SEEDS)
    assert [score.outcome for score in scores] == ["finished"] * len(SEEDS)
    assert [score.permuted_score for score in scores] == [-33.0] * len(SEEDS)


def test_the_last_attempt_of_a_forfeit_has_all_its_registers(
    cast: Cast, make_task: MakeTask
) -> None:
    task = make_task("elicit(x, y, 4)\nensure(x == y)\nreward(xed(x | y))\n", floor=-33.0)
    player = FixedMovesPlayer(dict.fromkeys(SEEDS, ("a", "b") * 40))
    for score in evaluate(player, cast, task, SEEDS):
        assert (score.outcome, score.moves) == ("forfeit", ("a", "b"))
        assert score.score == score.permuted_score == -33.0


def test_seeds_are_odd_named_by_purpose_and_grow_at_the_end() -> None:
    sets = {purpose: evaluation.evaluation_seeds(purpose, 3, 40) for purpose in Purpose}
    maps = [{each.map_seed for each in seeds} for seeds in sets.values()]
    assert sum(map(len, maps)) == len(set().union(*maps)) == 40 * len(Purpose)
    assert all(seed % 2 == 1 for part in maps for seed in part)
    assert evaluation.evaluation_seeds("selection", 3, 25) == sets[Purpose.SELECTION][:25]
    assert evaluation.evaluation_seeds("selection", 3, 15, start=25) == sets[Purpose.SELECTION][25:]
    assert evaluation.evaluation_seeds("selection", 4, 40) != sets[Purpose.SELECTION]
    assert not {each.map_seed for each in training_seeds(3, 0, 40, 1)} & set().union(*maps)


def test_the_floor_is_the_worst_feasible_score_less_a_bit_for_each_token(
    make_task: MakeTask,
) -> None:
    task = make_task("elicit(s, 5)\nelicit(t, 3)\nreward(xed(s | t))\n")
    plays = [("finished", -2.0), ("forfeit", -99.0), ("finished", 7.0), ("oversize", -80.0)]
    assert floor_of(plays, task.game, task.role) == -2.0 - 8
    assert floor_of(plays[1:2], task.game, task.role) == 0 == floor_of([], task.game, task.role)
