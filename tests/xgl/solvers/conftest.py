"""Games on a judge of a dozen words: every move of two tokens can be tried."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from support.tiny_model import WORDS, tiny_judge

from xgl import Cast, Metadata, Seeds, game, parse
from xgl.judge.transformer_judge import TransformerJudge
from xgl.solvers.trials import MapTrials

MakeTrials = Callable[..., MapTrials]


class OneText:
    """The same text at every site of a map, other ones on other maps."""

    def story_texts(self, requests: list[tuple[int, object]]) -> list[str]:
        return [
            " ".join(WORDS[(seed + 3 * k) % len(WORDS)] for k in range(5)) for seed, _ in requests
        ]


@pytest.fixture
def judge() -> TransformerJudge:
    return tiny_judge(0)


@pytest.fixture
def make_trials(judge: TransformerJudge) -> MakeTrials:
    """make_trials(code, map_seed=…, judge=…): a game of the xent dialect on one map."""

    def make(
        code: str, map_seed: int = 1, of: TransformerJudge | None = None, dialect: str = "xent"
    ) -> MapTrials:
        whole = game(parse(code, dialect), Metadata(story_tokens=5, max_len=2, max_failures=1))
        return MapTrials(whole, "black", Seeds(map_seed, 0), Cast(of or judge, OneText(), {}))

    return make


@pytest.fixture
def every_move() -> list[tuple[str]]:
    """All moves of at most two tokens."""
    return [(" ".join(words),) for size in range(3) for words in product(WORDS, repeat=size)]
