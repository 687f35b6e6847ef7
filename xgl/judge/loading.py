"""Load a judge by its reference."""

from __future__ import annotations

from xgl.judge.server_judge import connect, is_server
from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel
from xgl.models import resolve


def check_judge(reference: str) -> None:
    """Raises ModelNotFoundError if a judge's weights, or its server, are not available."""
    if is_server(reference):
        connect(reference)
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
