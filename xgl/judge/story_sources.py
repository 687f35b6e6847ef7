"""Sources of the texts of maps (docs/specification.md, "Maps"): a corpus, or the judge itself.

Even map seeds are for training, odd ones for evaluation. A corpus is
divided in the same way, so training and evaluation share neither a seed nor a text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

import numpy as np

from xgl.lm.language_model import LanguageModel
from xgl.lm.memory import retry_in_halves
from xgl.lm.sampling import sample, stop_tokens
from xgl.random_streams import stream
from xgl.runtime.requests import StoryRequest

TRAINING, EVALUATION = 0, 1


def division(map_seed: int) -> int:
    """``TRAINING`` or ``EVALUATION``."""
    return map_seed & 1


class CorpusStories:
    """Passages of a corpus that begin at a sentence; each text belongs to one division.

    ``truncate(text, tokens)`` cuts to judge tokens. The sites of one map tell different texts.
    """

    def __init__(self, texts: Sequence[str], truncate: Callable[[str, int], str]) -> None:
        self.truncate = truncate
        self.divisions: tuple[list[str], list[str]] = ([], [])
        for text in texts:
            bit = hashlib.sha256(text.encode()).digest()[-1] & 1
            self.divisions[bit].append(text)
        if not all(self.divisions):
            raise ValueError("the corpus has too few texts to train and to evaluate on")

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """A passage for each (map seed, request), a function of both."""
        return [self._passage(map_seed, request) for map_seed, request in requests]

    def _passage(self, map_seed: int, request: StoryRequest) -> str:
        texts = self.divisions[division(map_seed)]
        first = int(stream("map", map_seed).integers(len(texts)))
        # Sites step through the corpus by a seventh of it, so that the few of one map never meet.
        text = texts[(first + request.site * (1 + len(texts) // 7)) % len(texts)]
        starts = _sentence_starts(text, enough=4 * request.tokens)
        start = starts[int(stream("site", map_seed, request.site).integers(len(starts)))]
        return self.truncate(text[start:], request.tokens).strip()


def _sentence_starts(text: str, enough: int) -> list[int]:
    """Offsets of sentences with at least ``enough`` characters after them (0 always)."""
    starts = [0] + [match.end() for match in re.finditer(r"[.!?]\s+", text)]
    return [0] + [start for start in starts[1:] if len(text) - start >= enough]


STORY_ROWS = 64
"""Stories that are written at once."""


class JudgeStories:
    """Stories that the judge's own model writes at temperature 1, one for each map and site."""

    def __init__(self, lm: LanguageModel, truncate: Callable[[str, int], str]) -> None:
        self.lm = lm
        self.truncate = truncate
        self._stops = stop_tokens(lm, "\n")
        self._texts: dict[tuple[int, StoryRequest], str] = {}

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """A story for each (map seed, request); each is written once."""
        new = [key for key in dict.fromkeys(requests) if key not in self._texts]
        for first in range(0, len(new), STORY_ROWS):
            batch = new[first : first + STORY_ROWS]
            texts = retry_in_halves(self._write, batch, "stories to write")
            self._texts.update(zip(batch, texts, strict=True))
        return [self._texts[key] for key in requests]

    def forget(self) -> None:
        """Drop the stories written so far: they change the batches of later ones."""
        self._texts.clear()

    def _write(self, batch: Sequence[tuple[int, StoryRequest]]) -> list[str]:
        limits = [request.tokens for _, request in batch]
        prompts = [(self.lm.bos, *self.lm.encode(request.prompt)) for _, request in batch]
        uniforms = [stream("story", seed, r.site).random(max(limits)) for seed, r in batch]
        continuations = sample(self.lm, prompts, limits, np.stack(uniforms), self._stops)
        texts = [
            " ".join(self.lm.decode(continuation.ids).split()) for continuation in continuations
        ]
        return [self.truncate(text, limit) for text, limit in zip(texts, limits, strict=True)]
