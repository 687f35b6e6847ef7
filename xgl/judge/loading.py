"""Load a judge, or a source of stories, by its reference."""

from __future__ import annotations

from collections.abc import Mapping

from xgl.errors import ConfigError, JudgeError, ModelNotFoundError
from xgl.judge.server_judge import connect
from xgl.judge.stories import CorpusStories, JudgeStories, read_texts
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.dialects import PAPER
from xgl.lm.language_model import LanguageModel
from xgl.models import corpus, resolve
from xgl.models.references import CORPUS, JUDGE, is_server, is_text_file
from xgl.runtime.requests import ScoreRequest, StorySource


def check_judge(
    reference: str, tokenizer: str | None = None, key_variable: str | None = None
) -> None:
    """Raises ModelNotFoundError if a judge's weights are not available, or its server does not
    score a text."""
    if is_server(reference):
        try:
            judge = connect(reference, tokenizer=tokenizer, key_variable=key_variable)
            judge.score([ScoreRequest("yes", (), PAPER.scoring)])
        except JudgeError as error:
            raise ModelNotFoundError(str(error)) from None
    else:
        resolve.resolve(reference)


def load_judge(
    reference: str,
    device: str = "cpu",
    dtype: str = "auto",
    tokenizer: str | None = None,
    key_variable: str | None = None,
    others: Mapping[str, str] | None = None,
) -> TransformerJudge:
    """The judge of a model reference (``embedded``, ``smollm2``, a folder, a hub id), on one
    ``device``, or of a server (``vllm:MODEL@URL``), with the name of its ``tokenizer`` if that is
    not MODEL, and of the variable with its key; ``dtype`` as in :func:`xgl.models.resolve.load`.
    ``others``: references of the models under the judge, by name. Raises ModelNotFoundError."""
    if is_server(reference):
        judge = connect(reference, tokenizer=tokenizer, key_variable=key_variable)
    else:
        judge = TransformerJudge(load_model(reference, dtype, device))
    judge.others = {name: load_judge(each, device, dtype) for name, each in (others or {}).items()}
    return judge


def load_model(reference: str, dtype: str = "auto", device: str = "cpu") -> LanguageModel:
    """A model for inference; its weights need no gradient. Raises ModelNotFoundError."""
    model, tokenizer = resolve.load(reference, device=device, dtype=dtype)
    model.requires_grad_(False)
    return LanguageModel(model, tokenizer, model.device)


def load_stories(
    reference: str,
    judge: TransformerJudge,
    device: str = "cpu",
    dtype: str = "auto",
) -> StorySource:
    """The source of the texts of maps: ``corpus``, a file of texts, ``judge`` (its own model
    writes), or the reference of a model that writes.

    Raises StoryError for a file, ModelNotFoundError for a model, ConfigError for other names.
    """
    if reference == CORPUS:
        texts = [story.text for story in corpus.stories("held_out")]
        return CorpusStories(texts, judge.truncate)
    if is_text_file(reference):
        return CorpusStories(read_texts(reference), judge.truncate)
    if reference == JUDGE:
        if not callable(judge.lm.model):
            raise ConfigError(f"stories: found {JUDGE}, and a judge behind a server writes none")
        return JudgeStories(judge.lm, judge.truncate)
    return JudgeStories(load_model(reference, dtype, device), judge.truncate)
