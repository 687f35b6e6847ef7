"""A judge by its reference."""

from __future__ import annotations

from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel
from xgl.models import resolve


def load_judge(reference: str, device: str = "cpu", dtype: str = "auto") -> TransformerJudge:
    """The judge of a model reference (``embedded``, ``smollm2``, a folder, a hub id), on one
    ``device``; ``dtype`` as in :func:`xgl.models.resolve.load`. Raises ModelNotFound."""
    model, tokenizer = resolve.load(reference, device=device, dtype=dtype)
    model.requires_grad_(False)
    return TransformerJudge(LanguageModel(model, tokenizer, model.device))
