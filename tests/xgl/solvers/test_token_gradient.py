"""The gradient of a score by a move's tokens, against the score itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from support.tiny_model import WORDS

from xgl.judge.transformer_judge import TransformerJudge
from xgl.solvers.solvers import bits_of_soft_move, token_gradient
from xgl.solvers.trials import MapTrials

MakeTrials = Callable[..., MapTrials]
GAMES = (
    "assign(s=story())\nelicit(x, 2)\nreward(nex(s | x))",
    "assign(s=story())\nelicit(x, 2)\nreward(xent(x | s) - xent(x + ' ' + s))",
    "assign(s=story())\nelicit(x, 2)\nreward(white, nex(s + ' ' + x + ' ' + s))",
)


def one_hot(judge: TransformerJudge, text: str) -> torch.Tensor:
    size = judge.lm.model.config.vocab_size
    return torch.nn.functional.one_hot(torch.tensor(judge.tokens(text)), size).float()


@pytest.mark.parametrize("dialect", ["paper", "xent"])
@pytest.mark.parametrize("code", GAMES)
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


@pytest.mark.parametrize("code", GAMES[:2])
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
        trials = make_trials(GAMES[0], map_seed=seed)
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
