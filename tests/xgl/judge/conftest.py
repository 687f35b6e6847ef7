"""The embedded model, loaded once: no test hangs on what it has learned."""

from __future__ import annotations

import pytest
import torch

from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel
from xgl.models import resolve

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def lm() -> LanguageModel:
    model, tokenizer = resolve.load("embedded")
    return LanguageModel(model, tokenizer, torch.device("cpu"))


@pytest.fixture(scope="session")
def judge(lm: LanguageModel) -> TransformerJudge:
    return TransformerJudge(lm)
