"""Solvers against the optimum, which enumeration finds on a judge of a dozen words."""

from __future__ import annotations

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import stats
from support.tiny_model import WORDS, tiny_judge, trials_of

from xgl.errors import OversizeError
from xgl.judge.transformer_judge import TransformerJudge
from xgl.players import FixedMovesPlayer
from xgl.players.scripts import SCRIPTS, ScriptPlayer
from xgl.random_streams import stream
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import Move, Turn
from xgl.solvers import Solvers

EVERY_MOVE = [(" ".join(words),) for size in range(3) for words in product(WORDS, repeat=size)]
"""Of at most two tokens."""


class RandomPlayer:
    """Says random words, one for each token that it may use, as the seeds of its turn say."""

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        draws = [(each, stream("random player", *each.key)) for each in turns]
        return [Move(" ".join(rng.choice(WORDS, size=t.request.max_len))) for t, rng in draws]


@pytest.fixture(scope="module")
def judge() -> TransformerJudge:
    return tiny_judge(0)


GAMES = {
    "a prefix that helps": "assign(s=story())\nelicit(x, 2)\nreward(xed(s | x))",
    "what a text makes likely": "assign(s=story())\nelicit(x, 2)\nreward(xed(x | s))",
    "between words": "assign(s=story())\nelicit(x, 2)\nreward(nex(s + ' ' + x + ' ' + s))",
    "without the text's words": (
        "assign(s=story())\nelicit(x, 2)\nensure(len(common_word_set(s, x)) == 0)\n"
        "reward(xed(s | x))"
    ),
    "paid in parts": (
        "assign(s=story())\nelicit(x, 2)\nreward(xed(s | x))\nreward(nex(x + ' ' + s) - nex(s))"
    ),
}


MAPS, CALLS = range(20, 26), 200
THREE_TOKENS = [
    GAMES[name].replace("elicit(x, 2)", "elicit(x, 3)")
    for name in ("a prefix that helps", "what a text makes likely")
]


@pytest.mark.long
def test_a_tenth_of_the_calls_leads_further_than_as_many_random_moves() -> None:
    """Of all 1,885 moves of at most three tokens, on 12 maps, each with random weights of the
    judge. The best of 200 moves drawn at random has on average 8.4 better ones; it is the optimum
    on 10.6 % of maps, and on 6 of 12 or more with a chance below 0.1 %."""
    every, ranks = [(" ".join(w),) for n in range(4) for w in product(WORDS, repeat=n)], []
    for code, seed in product(THREE_TOKENS, MAPS):
        judge = tiny_judge(seed)
        make = partial(trials_of, judge, code, seed, max_len=3)
        scores = np.array([attempt.score for attempt in make().play_moves(every)])
        best = max(each.best.score for each in Solvers(judge, CALLS).solve(make()))
        ranks.append(int(np.sum(scores > best + 1e-3)))
    assert np.mean(ranks) < (1885 - CALLS) / (CALLS + 1)
    assert stats.binom.sf(5, 12, CALLS / 1885) < 0.001
    assert sum(rank == 0 for rank in ranks) >= 6
    assert max(ranks) < 0.01 * 1885


@pytest.mark.parametrize("code", GAMES.values(), ids=GAMES)
def test_a_beam_as_wide_as_the_vocabulary_is_exhaustive(code: str) -> None:
    judge = tiny_judge(4)
    best = max(each.score for each in trials_of(judge, code, 4).play_moves(EVERY_MOVE))
    solutions = Solvers(judge, 1000, width=len(WORDS)).solve(trials_of(judge, code, 4))
    [beam] = [each for each in solutions if each.solver == "beam"]
    assert beam.best.score == pytest.approx(best, abs=1e-3)


def test_a_script_that_fails_an_ensure_has_no_second_attempt(judge: TransformerJudge) -> None:
    code = (
        "assign(s=story())\nelicit(x, 4)\nreward(xent(x))\n"
        'ensure("no common words between " + s + " & " + x)'
    )
    for seed in range(4):
        trials = trials_of(judge, code, seed)
        tried = trials.play_policies(ScriptPlayer(judge.count), list(SCRIPTS))
        finished = [each for each in tried if each.finished]
        assert 0 < len(finished) < len(tried)
        assert trials_of(judge, code, seed).play_moves([e.moves for e in finished]) == finished


def test_what_is_found_can_be_played_and_curves_rise_to_it_within_the_budget(
    judge: TransformerJudge,
) -> None:
    """By a player who says the moves, under all rules, for the same score."""
    for code in GAMES.values():
        trials = trials_of(judge, code)
        for each in Solvers(judge, 60, RandomPlayer()).solve(trials):
            player = FixedMovesPlayer({trials.seeds: each.best.moves})
            cast = Cast(judge, trials.cast.stories, {"black": player})
            [play] = play_all([Instance(trials.game, trials.seeds)], cast)
            assert play.outcome == "finished"
            assert play.scores["black"] == pytest.approx(each.best.score, abs=1e-3)
            assert all(judge.count(move) <= 2 for move in each.best.moves)
            assert play.accepted_moves("black") == list(each.best.moves)
            calls, scores = zip(*each.curve, strict=True)
            assert list(calls) == sorted(set(calls))
            assert list(scores) == sorted(set(scores))
            assert scores[-1] == each.best.score
            assert calls[-1] <= each.calls <= 60


def test_moves_that_break_a_rule_are_no_solution(judge: TransformerJudge) -> None:
    trials = trials_of(judge, GAMES["without the text's words"], map_seed=0)
    bad, good = trials.play_moves([("dog",), ("cat",)])
    assert (bad.score, bad.finished) == (-math.inf, False)
    assert good.finished
    assert trials.play_moves([("cat sea king",)])[0].moves == ("cat sea",), "cut at its limit"
    assert trials.play_moves([("cat\nsea",)])[0].moves == ("cat",), "it ends with the line"


def test_a_game_of_two_moves_is_searched_move_by_move(judge: TransformerJudge) -> None:
    code = "assign(s=story())\nelicit(x, 1)\nelicit(y, 1)\nreward(xed(s | x) - xed(s | y))"
    trials = trials_of(judge, code)
    pairs = [(a, b) for a in ("", *WORDS) for b in ("", *WORDS)]
    best = max(attempt.score for attempt in trials_of(judge, code).play_moves(pairs))
    solutions = Solvers(judge, 100).solve(trials)
    assert max(each.best.score for each in solutions) == pytest.approx(best, abs=1e-3)


def test_it_is_a_function_of_map_and_settings() -> None:
    one, other = (
        Solvers(tiny_judge(0), 50, RandomPlayer()).solve(
            trials_of(tiny_judge(0), GAMES["between words"])
        )
        for _ in range(2)
    )
    assert one == other
