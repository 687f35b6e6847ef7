"""Games on a judge of a dozen words: every move of a few tokens can be tried."""

from __future__ import annotations

from support.tiny_model import WORDS

from xgl import Cast, Metadata, Seeds, game, parse
from xgl.judge.transformer_judge import TransformerJudge
from xgl.solvers import MapTrials


class OneText:
    """The same text at every site of a map, other ones on other maps."""

    def story_texts(self, requests: list[tuple[int, object]]) -> list[str]:
        return [
            " ".join(WORDS[(seed + 3 * k) % len(WORDS)] for k in range(5)) for seed, _ in requests
        ]


def trials_of(
    judge: TransformerJudge, code: str, map_seed: int, dialect: str = "xent", max_len: int = 2
) -> MapTrials:
    """A game on one map."""
    settings = Metadata(story_tokens=5, max_len=max_len, max_failures=1)
    whole = game(parse(code, dialect), settings)
    return MapTrials(whole, "black", Seeds(map_seed, 0), Cast(judge, OneText(), {}))
