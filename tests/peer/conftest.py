"""The authors' released engine beside ours.

Install it, as CI does (`.ci/run`), with the two commands of `tests/peer/requirements.txt`. With
``XENT_PEER=required`` in the environment a missing peer fails these tests instead of skipping them.
"""

from __future__ import annotations

import importlib.metadata
import os

import pytest
import torch
from peer_engine import BelievingJudge, Peer

from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel
from xgl.models.resolve import EMBEDDED, load

VERSION = "0.5.0"


@pytest.fixture(scope="session")
def peer() -> Peer:
    try:
        version = importlib.metadata.version("xent")
    except importlib.metadata.PackageNotFoundError:
        version = "none"
    if version != VERSION:
        message = f"needs xent=={VERSION}, found {version}: see tests/peer/requirements.txt"
        if os.environ.get("XENT_PEER") == "required":
            pytest.fail(message)
        pytest.skip(message)
    torch.set_num_threads(1)  # so small a model gains nothing from more
    return Peer(EMBEDDED, torch.float32)


@pytest.fixture(scope="session")
def lm() -> LanguageModel:
    model, tokenizer = load("embedded", dtype="float32")
    return LanguageModel(model, tokenizer, torch.device("cpu"))


@pytest.fixture(scope="session")
def judge(lm: LanguageModel) -> TransformerJudge:
    """Believes by rule, as the peer does in these tests: the two preambles differ on purpose."""
    return BelievingJudge(lm)
