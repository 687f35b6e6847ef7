"""Games on a judge of a dozen words: every move of two tokens can be tried."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from support.solved_maps import trials_of
from support.tiny_model import WORDS, tiny_judge

from xgl.judge.transformer_judge import TransformerJudge
from xgl.solvers.trials import MapTrials

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
