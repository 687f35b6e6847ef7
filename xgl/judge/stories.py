"""The texts of maps (docs/specification.md, "Maps"), by the name that a user gives: the package's
corpus, a file of texts, or a model that writes them (``xgl.judge.loading``).

Even map seeds are for training, odd ones for evaluation. A corpus is
divided in the same way, so training and evaluation share neither a seed nor a text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from itertools import count
from math import gcd

from xgl.errors import ConfigError, StoryError, excerpt
from xgl.files import MOST_BYTES, read_bytes, user_path
from xgl.language.canonical import Game
from xgl.models import corpus
from xgl.models.references import JUDGE, check_stories, is_corpus, is_text_file
from xgl.models.resolve import resolve
from xgl.random_streams import stream
from xgl.runtime.machine import asked_stories
from xgl.runtime.requests import StoryRequest

WRITERS = "expected judge or a model of this machine, which write what is asked for"
MOST_FILE_BYTES = 16 * MOST_BYTES


def check_source(reference: str, setting: str) -> None:
    """Raises :class:`ConfigError`, which begins with ``setting``, for a file that cannot be used as
    a corpus, and ModelNotFoundError for a model that is not there."""
    try:
        check_stories(reference)
        if is_text_file(reference):
            read_texts(reference)
    except (StoryError, ValueError) as error:
        raise ConfigError(f"{setting}: {error}") from None
    if not is_corpus(reference) and reference != JUDGE:
        resolve(reference, setting)


def check_prompts(game: Game, reference: str, origin: str, setting: str) -> None:
    """Raises :class:`ConfigError`, which begins with ``origin``, for a game that asks for texts by
    prompts, in its program or its metadata, if the source that ``setting`` names follows none."""
    prompts = [request.prompt for request in asked_stories(game) if request.prompt]
    if prompts and is_corpus(reference):
        raise ConfigError(
            f"{origin}: a corpus ({setting}={reference}) cannot follow the prompt "
            f"{excerpt(prompts[0], 60)!r}, {WRITERS}"
        )


def texts_digest(reference: str) -> str:
    """SHA-256 (hex) of the texts of a file; empty for another source. Raises StoryError."""
    if not is_text_file(reference):
        return ""
    return hashlib.sha256("\n".join(read_texts(reference)).encode()).hexdigest()


def read_texts(file: str) -> list[str]:
    """The different texts of a file, in its order: plain text (UTF-8), one text a line, or several
    lines each with blank lines between them.

    Raises :class:`StoryError`, one sentence, for another file.
    """
    path = user_path(file)
    try:
        text = read_bytes(path, MOST_FILE_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + error.object[: error.start].count(b"\n")
        raise StoryError(f"{path}: line {line}: no UTF-8 text, expected UTF-8") from None
    except OSError as error:
        raise StoryError(f"{path}: cannot be read ({error.strerror or error})") from None
    # With a blank line anywhere inside, texts are paragraphs; otherwise each line is one.
    body = "\n".join(map(str.strip, text.split("\n"))).strip("\n")
    parts = body.split("\n\n" if "\n\n" in body else "\n")
    texts = list(dict.fromkeys(" ".join(part.split()) for part in parts if part.strip()))
    try:
        corpus.divided(texts)
    except ValueError as error:
        raise StoryError(f"{path}: {error}") from None
    return texts


LONGEST = 64
"""Characters of the longest token that is expected in a text."""


class CorpusStories:
    """Passages of a corpus that begin at a sentence; each text belongs to one division.
    ``truncate(text, tokens)`` cuts to judge tokens. The sites of one map tell different texts."""

    def __init__(self, texts: Sequence[str], truncate: Callable[[str, int], str]) -> None:
        self.truncate = truncate
        self.divisions = corpus.divided(texts)

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """A passage for each (map seed, request), a function of both. Raises :class:`StoryError`
        for a request with a prompt: passages are there, and follow none."""
        if prompt := next((request.prompt for _, request in requests if request.prompt), ""):
            raise StoryError(
                f"a corpus cannot follow the prompt {excerpt(prompt, 60)!r}, {WRITERS}"
            )
        return [self._passage(request.map_of(seed), request) for seed, request in requests]

    def _passage(self, map_seed: int, request: StoryRequest) -> str:
        texts = self.divisions[map_seed & 1]
        first = int(stream("map", map_seed).integers(len(texts)))
        if request.site >= len(texts):
            raise StoryError(f"found {len(texts)} texts for a map, expected one for each story")
        # Sites step through the corpus by about a seventh of it, and meet only after all texts.
        step = next(s for s in count(1 + len(texts) // 7) if gcd(s, len(texts)) == 1)
        text = texts[(first + request.site * step) % len(texts)]
        # Sentences with enough after them, and the beginning always.
        ends = [match.end() for match in re.finditer(r"[.!?]\s+|[。！？।]\s*", text)]
        starts = [0, *(end for end in ends if len(text) - end >= 4 * request.tokens)]
        start = starts[int(stream("site", map_seed, request.site).integers(len(starts)))]
        # What is cut off far behind is not worth reading: tokens are seldom longer.
        return self.truncate(text[start : start + LONGEST * request.tokens], request.tokens).strip()
