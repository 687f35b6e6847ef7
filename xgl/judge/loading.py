"""Load a judge, or a source of stories, by its reference; the stories that a model writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from xgl.errors import ConfigError, JudgeError, ModelNotFoundError, StoryError, check_kind
from xgl.judge.engine import MEMORY_BYTES
from xgl.judge.server_judge import connect
from xgl.judge.stories import CorpusStories, read_texts
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.dialects import PAPER
from xgl.lm.language_model import LanguageModel
from xgl.lm.memory import few_threads, retry_in_halves
from xgl.lm.sampling import sample, stop_tokens
from xgl.models import corpus, resolve
from xgl.models.references import CORPUS, JUDGE, is_server, is_text_file
from xgl.random_streams import stream
from xgl.runtime.requests import ScoreRequest, StoryRequest, StorySource


def check_judge(
    reference: str, tokenizer: str | None = None, key_variable: str | None = None, key: str = ""
) -> None:
    """Raises ModelNotFoundError if a judge's weights are not available, a sentence that begins with
    the ``key`` that holds the reference, or its server does not score a text."""
    if is_server(reference):
        try:
            judge = connect(reference, tokenizer=tokenizer, key_variable=key_variable)
            judge.score([ScoreRequest("yes", (), PAPER.scoring)])
        except JudgeError as error:
            raise ModelNotFoundError(str(error)) from None
    else:
        resolve.resolve(reference, key)


def load_judge(
    reference: str | Path,
    device: str = "cpu",
    dtype: str = "auto",
    tokenizer: str | None = None,
    key_variable: str | None = None,
    others: Mapping[str, str] | None = None,
    memory_bytes: int = MEMORY_BYTES,
    lm: LanguageModel | None = None,
) -> TransformerJudge:
    """The judge of a model reference (``embedded``, ``smollm2``, a folder, a hub id), on one
    ``device``, or of a server (``vllm:MODEL@URL``), with the name of its ``tokenizer`` if that is
    not MODEL, and of the variable with its key; ``dtype`` as in :func:`xgl.models.resolve.load`.
    ``others``: references of the models under the judge, by name; ``memory_bytes``: of a pass;
    ``lm``: its model, if that is loaded already. Raises ModelNotFoundError."""
    if is_server(reference := str(reference)):
        judge = connect(reference, tokenizer=tokenizer, key_variable=key_variable)
    else:
        judge = TransformerJudge(lm or load_model(reference, dtype, device), memory_bytes)
    if not judge.lm.tokenizer.is_fast:
        raise ModelNotFoundError(
            f"judge {reference!r}: its tokenizer is one in Python, which does not tell where its "
            "tokens are in a text, expected a model with a fast one"
        )
    for name, each in (others or {}).items():
        judge.others[name] = load_judge(each, device, dtype, memory_bytes=memory_bytes)
    return judge


def load_model(reference: str | Path, dtype: str = "auto", device: str = "cpu") -> LanguageModel:
    """A model for inference; its weights need no gradient. Raises ModelNotFoundError."""
    model, tokenizer = resolve.load(str(reference), device=device, dtype=dtype)
    model.requires_grad_(False)
    return LanguageModel(model, tokenizer, model.device)


def load_stories(
    reference: str | Path, judge: TransformerJudge, device: str = "cpu", dtype: str = "auto"
) -> StorySource:
    """The source of the texts of maps: ``corpus``, a file of texts, ``judge`` (its own model
    writes), or the reference of a model that writes.

    Raises StoryError for a file, ModelNotFoundError for a model, ConfigError for other names.
    """
    check_kind("judge", judge, TransformerJudge, "load_judge(…)")
    if (reference := str(reference)) == CORPUS:
        return CorpusStories([story.text for story in corpus.stories("held_out")], judge.truncate)
    if is_text_file(reference):
        return CorpusStories(read_texts(reference), judge.truncate)
    if reference == JUDGE:
        if not callable(judge.lm.model):
            raise ConfigError(f"stories: found {JUDGE}, and a judge behind a server writes none")
        return JudgeStories(judge.lm, judge.truncate)
    lm = load_model(reference, dtype, device)
    same = lm.tokenizer.get_vocab() == judge.lm.tokenizer.get_vocab()
    return JudgeStories(lm, judge.truncate, ratio=1 if same else 2)


STORY_ROWS = 64
"""Stories that are written at once."""
DRAFTS = 16
"""Most drafts of a story: one that is empty, or a program, which the embedded model writes too, is
written again."""
_NO_STORY = re.compile(r"(assign|elicit|ensure|reward|reveal|beacon|replay)\(|\Z")


class JudgeStories:
    """Stories that a model of this machine writes at temperature 1, one for each map and site: the
    judge's own, or another one. ``truncate(text, tokens)`` cuts to judge tokens, of which the model
    writes at most ``ratio`` times as many of its own."""

    def __init__(
        self, lm: LanguageModel, truncate: Callable[[str, int], str], ratio: int = 1
    ) -> None:
        self.lm, self.truncate, self.ratio = lm, truncate, ratio
        self._stops = stop_tokens(lm, "\n")
        self._texts: dict[tuple[int, StoryRequest], str] = {}

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """A story for each (map seed, request); each is written once."""
        requests = [(request.map_of(seed), request) for seed, request in requests]
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
        texts, left = [""] * len(batch), [*range(len(batch))]
        for number in range(DRAFTS):
            drafts = self._drafts([batch[place] for place in left], number)
            for place, text in zip(left, drafts, strict=True):
                texts[place] = text
            left = [place for place in left if _NO_STORY.match(texts[place])]
            if not left:
                break
        return texts

    def _drafts(self, batch: Sequence[tuple[int, StoryRequest]], number: int) -> list[str]:
        prompts = [(self.lm.bos, *self.lm.encode(request.prompt)) for _, request in batch]
        left = [self.lm.window - len(prompt) for prompt in prompts]
        if min(left) < 1:
            raise StoryError(
                f"story: found a prompt of {self.lm.window - min(left):,} tokens, expected less "
                f"than the writer's window of {self.lm.window:,}"
            )
        tokens = [request.tokens for _, request in batch]
        limits = [min(one, self.ratio * most) for one, most in zip(left, tokens, strict=True)]
        again = (number,) if number else ()
        uniforms = [stream("story", seed, r.site, *again).random(max(limits)) for seed, r in batch]
        with few_threads(self.lm):
            continuations = sample(self.lm, prompts, limits, np.stack(uniforms), self._stops)
        texts = [" ".join(self.lm.decode(each.ids).split()) for each in continuations]
        return [self.truncate(text, most) for text, most in zip(texts, tokens, strict=True)]
