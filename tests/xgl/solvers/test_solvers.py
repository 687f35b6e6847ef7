"""Solvers against the optimum, which enumeration finds on a judge of a dozen words; and the
gradient of a score by a move's tokens, against the score itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.stats import spearmanr
from support.random_player import RandomPlayer
from support.solved_maps import trials_of
from support.tiny_model import WORDS, tiny_judge

from xgl.judge.transformer_judge import TransformerJudge
from xgl.players import FixedMovesPlayer
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.solvers.solvers import Solvers, bits_of_soft_move, token_gradient
from xgl.solvers.trials import MapTrials, Search

MakeTrials = Callable[..., MapTrials]


@pytest.fixture(scope="module")
def judge() -> TransformerJudge:
    return tiny_judge(0)


@pytest.fixture
def make_trials(judge: TransformerJudge) -> MakeTrials:
    """make_trials(code, map_seed=…, judge=…): a game of the xent dialect on one map."""

    def make(
        code: str, map_seed: int = 1, of: TransformerJudge | None = None, dialect: str = "xent"
    ) -> MapTrials:
        return trials_of(of or judge, code, map_seed, dialect)

    return make


@pytest.fixture
def every_move() -> list[tuple[str]]:
    """All moves of at most two tokens."""
    return [(" ".join(words),) for size in range(3) for words in product(WORDS, repeat=size)]


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


def optimum(trials: MapTrials, every_move: list[tuple[str]]) -> float:
    return max(attempt.score for attempt in trials.play_moves(every_move))


MAPS, CALLS = range(20, 32), 200
THREE_TOKENS = [
    GAMES[name].replace("elicit(x, 2)", "elicit(x, 3)")
    for name in ("a prefix that helps", "what a text makes likely")
]


@pytest.fixture(scope="module")
def ranks() -> dict[str, list[int]]:
    """How many of all 1,885 moves of at most three tokens are better than the best that 200 calls
    led to: of all solvers together, and of the gradient alone, from one word; on 24 maps, each
    with random weights of the judge."""
    every = [(" ".join(words),) for size in range(4) for words in product(WORDS, repeat=size)]
    ranks: dict[str, list[int]] = {"together": [], "gradient": []}
    for code, seed in product(THREE_TOKENS, MAPS):
        judge = tiny_judge(seed)
        make = partial(trials_of, judge, code, seed, max_len=3)
        scores = np.array([attempt.score for attempt in make().play_moves(every)])
        solvers, trials = Solvers(judge, CALLS), make()
        trials.play_moves([("dog",)])
        search = Search(trials, CALLS)
        solvers.climb(search)
        assert search.best is not None
        best = max(each.best.score for each in solvers.solve(make()))
        ranks["together"].append(int(np.sum(scores > best + 1e-3)))
        ranks["gradient"].append(int(np.sum(scores > search.best.score + 1e-3)))
    return ranks


@pytest.mark.long
@pytest.mark.parametrize("solver", ["together", "gradient"])
def test_a_tenth_of_the_calls_leads_further_than_as_many_random_moves(
    ranks: dict[str, list[int]], solver: str
) -> None:
    """The best of 200 moves drawn at random has on average 8.4 better ones among the 1,885; it is
    the optimum on 10.6 % of maps, and on 9 of 24 or more with a chance below 0.1 %."""
    assert np.mean(ranks[solver]) < (1885 - CALLS) / (CALLS + 1)
    assert stats.binom.sf(8, 24, CALLS / 1885) < 0.001
    assert sum(rank == 0 for rank in ranks[solver]) >= 9


@pytest.mark.long
def test_the_solvers_together_lead_to_the_best_percent_everywhere(
    ranks: dict[str, list[int]],
) -> None:
    assert max(ranks["together"]) < 0.01 * 1885


@pytest.mark.parametrize("code", GAMES.values(), ids=GAMES)
def test_a_beam_as_wide_as_the_vocabulary_is_exhaustive(
    make_trials: MakeTrials, every_move: list[tuple[str]], code: str
) -> None:
    judge = tiny_judge(4)
    best = optimum(make_trials(code, 4, judge), every_move)
    solutions = Solvers(judge, 1000, width=len(WORDS)).solve(make_trials(code, 4, judge))
    [beam] = [each for each in solutions if each.solver == "beam"]
    assert beam.best.score == pytest.approx(best, abs=1e-3)


def test_what_is_found_can_be_played_and_curves_rise_to_it_within_the_budget(
    make_trials: MakeTrials,
) -> None:
    """By a player who says the moves, under all rules, for the same score."""
    for code in GAMES.values():
        trials = make_trials(code)
        for each in Solvers(trials.cast.judge, 60, RandomPlayer(WORDS)).solve(trials):
            player = FixedMovesPlayer({trials.seeds: each.best.moves})
            cast = Cast(trials.cast.judge, trials.cast.stories, {"black": player})
            [play] = play_all([Instance(trials.game, trials.seeds)], cast)
            assert play.outcome == "finished"
            assert play.scores["black"] == pytest.approx(each.best.score, abs=1e-3)
            assert all(trials.cast.judge.count(move) <= 2 for move in each.best.moves)
            assert play.accepted_moves("black") == list(each.best.moves)
            calls, scores = zip(*each.curve, strict=True)
            assert list(calls) == sorted(set(calls))
            assert list(scores) == sorted(set(scores))
            assert scores[-1] == each.best.score
            assert calls[-1] <= each.calls <= 60


def test_moves_that_break_a_rule_are_no_solution(make_trials: MakeTrials) -> None:
    trials = make_trials(GAMES["without the text's words"], map_seed=0)
    bad, good = trials.play_moves([("dog",), ("cat",)])
    assert (bad.score, bad.finished) == (-math.inf, False)
    assert good.finished
    assert trials.play_moves([("cat sea king",)])[0].moves == ("cat sea",), "cut at its limit"
    assert trials.play_moves([("cat\nsea",)])[0].moves == ("cat",), "it ends with the line"


def test_a_game_of_two_moves_is_searched_move_by_move(make_trials: MakeTrials) -> None:
    code = "assign(s=story())\nelicit(x, 1)\nelicit(y, 1)\nreward(xed(s | x) - xed(s | y))"
    trials = make_trials(code)
    pairs = [(a, b) for a in ("", *WORDS) for b in ("", *WORDS)]
    best = max(attempt.score for attempt in make_trials(code).play_moves(pairs))
    solutions = Solvers(trials.cast.judge, 100).solve(trials)
    assert max(each.best.score for each in solutions) == pytest.approx(best, abs=1e-3)


def test_it_is_a_function_of_map_and_settings(make_trials: MakeTrials) -> None:
    one, other = (
        Solvers(tiny_judge(0), 50, RandomPlayer(WORDS)).solve(
            make_trials(GAMES["between words"], of=tiny_judge(0))
        )
        for _ in range(2)
    )
    assert one == other


SUMS = (
    "assign(s=story())\nelicit(x, 2)\nreward(nex(s | x))",
    "assign(s=story())\nelicit(x, 2)\nreward(xent(x | s) - xent(x + ' ' + s))",
    "assign(s=story())\nelicit(x, 2)\nreward(white, nex(s + ' ' + x + ' ' + s))",
)


def one_hot(judge: TransformerJudge, text: str) -> torch.Tensor:
    size = judge.lm.model.config.vocab_size
    return torch.nn.functional.one_hot(torch.tensor(judge.tokens(text)), size).float()


@pytest.mark.parametrize("dialect", ["paper", "xent"])
@pytest.mark.parametrize("code", SUMS)
def test_at_the_move_itself_the_soft_score_is_the_score(
    make_trials: MakeTrials, judge: TransformerJudge, code: str, dialect: str
) -> None:
    """Also for the player who pays what another is paid."""
    trials = make_trials(code if dialect == "xent" else code.replace(" + ' '", ""), dialect=dialect)
    [attempt] = trials.play_moves([("dog sails",)])
    scores = trials.signed_scores(attempt.moves)
    soft = bits_of_soft_move(judge, scores, "dog sails", one_hot(judge, "dog sails"))
    assert attempt.score
    assert float(soft) == pytest.approx(attempt.score, abs=1e-3)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", SUMS[:2])
def test_it_is_the_derivative(make_trials: MakeTrials, judge: TransformerJudge, code: str) -> None:
    trials = make_trials(code)
    scores, at = trials.signed_scores(("dog sails",)), one_hot(judge, "dog sails")
    gradient = token_gradient(judge, scores, "dog sails")
    assert gradient is not None
    rng = torch.Generator().manual_seed(0)
    for _ in range(5):
        along = torch.randn(at.shape, generator=rng)
        step = 1e-3 * along
        ahead, behind = (
            bits_of_soft_move(judge, scores, "dog sails", at + sign * step) for sign in (1, -1)
        )
        assert ahead is not None
        assert behind is not None
        slope = float(ahead - behind) / 2e-3
        assert slope == pytest.approx(float((gradient * along).sum()), rel=0.05, abs=0.1)


def test_it_ranks_changes_better_than_chance(
    make_trials: MakeTrials, judge: TransformerJudge
) -> None:
    correlations = []
    for seed in range(8):
        trials = make_trials(SUMS[0], map_seed=seed)
        gradient = token_gradient(judge, trials.signed_scores(("cat eats",)), "cat eats")
        assert gradient is not None
        candidates = [(f"{word} eats",) for word in WORDS]
        gains = [attempt.score for attempt in trials.play_moves(candidates)]
        promise = [float(gradient[0, judge.tokens(word)[0]]) for word in WORDS]
        correlations.append(spearmanr(promise, gains).statistic)
    assert np.mean(correlations) > 0.2


def test_there_is_none_for_a_move_that_is_not_read(make_trials: MakeTrials) -> None:
    trials = make_trials("assign(s=story())\nelicit(x, 2)\nreward(nex(s))")
    judge = trials.cast.judge
    assert token_gradient(judge, trials.signed_scores(("dog",)), "dog") is None  # type: ignore[arg-type]
