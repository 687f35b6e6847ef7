"""Small settings, one real model host, and a judge that counts words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.doubles import NumberedStories, WordJudge
from support.search import Search

from evo.config import models
from evo.jobs.evaluation import Task
from evo.jobs.model_host import ModelHost
from xgl import Cast, Metadata, game, parse
from xgl.lm.language_model import LanguageModel
from xgl.models import resolve

torch.set_num_threads(1)

LEARNABLE = "assign(s=story())\nelicit(t, 8)\nreward(xed(t | s))\n"


@pytest.fixture
def lm() -> LanguageModel:
    """Of its own for each test: adapters are put into the model."""
    model, tokenizer = resolve.load("embedded")
    model.requires_grad_(False)
    return LanguageModel(model, tokenizer, torch.device("cpu"))


MakeModelHost = Callable[..., ModelHost]


@pytest.fixture(scope="session")
def make_model_host() -> MakeModelHost:
    """make_model_host(tokens=…, …): a model host on the embedded model."""

    def make(**finetune: object) -> ModelHost:
        settings: dict[str, object] = {"tokens": 400, "steps": None, "maps": 2, "rollouts": 2}
        settings |= {"updates": 1, "clipped_ratio": None, "bfloat16_rewards": False}
        settings |= {"learning_rate": 3e-3, "warm_start": models.WarmStartConfig(maps=0), "kl": 0.0}
        settings |= {"decay": 0.0, "averaged_share": 0.0, "entropy_bonus": 0.0, "replicates": 1}
        settings |= {"gradient_clip": 1.0}
        return ModelHost(
            models.ModelHostSettings(
                models.JudgeConfig(dtype="float32"),
                models.PlayerConfig(dtype="float32", lora_rank=4, lora_alpha=8),
                models.FinetuneConfig(**{**settings, "shuffle": False, **finetune}),  # type: ignore[arg-type]
            )
        )

    return make


MakeTask = Callable[..., Task]


@pytest.fixture(scope="session")
def make_task() -> MakeTask:
    """make_task(code, floor=…): the task of an xent program."""

    def make(code: str = LEARNABLE, floor: float = -50.0, dialect: str = "xent") -> Task:
        metadata = Metadata(story_tokens=16, max_len=8, max_failures=1)
        return Task(game(parse(code, dialect), metadata), "black", floor)

    return make


@pytest.fixture
def cast() -> Cast:
    return Cast(WordJudge(), NumberedStories(), {})


@pytest.fixture
def search(tmp_path: Path) -> Search:
    return Search(tmp_path)
