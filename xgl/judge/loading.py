"""Load a judge by its reference."""

from __future__ import annotations

from xgl.errors import JudgeError, ModelNotFoundError
from xgl.judge.server_judge import connect
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.dialects import PAPER
from xgl.lm.language_model import LanguageModel
from xgl.models import resolve
from xgl.models.references import is_server
from xgl.runtime.requests import ScoreRequest


def check_judge(reference: str) -> None:
    """Raises ModelNotFoundError if a judge's weights are not available, or its server does not
    score a text."""
    if is_server(reference):
        try:
            connect(reference).score([ScoreRequest("yes", (), PAPER.scoring)])
        except JudgeError as error:
            raise ModelNotFoundError(str(error)) from None
    else:
        resolve.resolve(reference)


def load_judge(reference: str, device: str = "cpu", dtype: str = "auto") -> TransformerJudge:
    """The judge of a model reference (``embedded``, ``smollm2``, a folder, a hub id), on one
    ``device``, or of a server (``vllm:MODEL@URL``); ``dtype`` as in
    :func:`xgl.models.resolve.load`. Raises ModelNotFoundError."""
    if is_server(reference):
        return connect(reference)
    model, tokenizer = resolve.load(reference, device=device, dtype=dtype)
    model.requires_grad_(False)
    return TransformerJudge(LanguageModel(model, tokenizer, model.device))
