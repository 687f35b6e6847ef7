"""Whole jobs on a pretended GPU: no tensor is left on the CPU, and the host reads little."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
from support.pretended_gpu import GPU, PretendedGPU, counts, moved
import json, sys
from dataclasses import replace
from unittest.mock import patch
import torch
torch.set_num_threads(1)
from evo.config.models import FinetuneConfig, JudgeConfig, PlayerConfig, WarmStartConfig
from evo.config.schema import GameConfig
from evo.growth.initial_scope import metadata, read_task
from evo.jobs import model_host
from evo.jobs.evaluation import evaluation_seeds
from evo.config.models import ModelHostSettings
from evo.jobs.job import Evaluation, Training
from xgl.lm import captured
from xgl.lm.language_model import LanguageModel
from xgl.models import resolve

captured.DEVICES = ("gpu",) if sys.argv[1] == "in place" else ()
device = sys.argv[2]

def load_model(reference, dtype, where):
    model, tokenizer = resolve.load(reference)
    return LanguageModel(moved(model) if device == "gpu" else model, tokenizer, torch.device(where))

warm = WarmStartConfig(maps=2, rollouts=4, demonstrations=2)
finetune = FinetuneConfig(tokens=2000, steps=2, maps=2, rollouts=4, warm_start=warm)
settings = ModelHostSettings(JudgeConfig(), PlayerConfig(lora_layers=2), finetune, device)
task = replace(read_task("game", "rival", metadata(GameConfig())), floor=-60.0)
seeds = tuple(evaluation_seeds("x", 0, 6))
told = {}

def do(name, job):
    counts.clear()
    told[name] = host.do(job).outcome
    told[name + " counts"] = dict(counts)

with PretendedGPU(), patch.object(model_host, "load_model", load_model):
    host = model_host.ModelHost(settings)
    do("training", Training(task, 0))
    adapter = told["training"].adapter
    do("evaluation", Evaluation(task, (adapter,), seeds))
    do("two policies", Evaluation(task, (adapter, None), seeds))
told["training"] = told["training"].curve
for name in ("evaluation", "two policies"):
    told[name] = [[play.moves for play in plays] for plays in told[name]]
told["refused"] = bool(host.adapted_model.base.captured.get("refused"))
print(json.dumps(told))
"""


def jobs(mode: str, device: str) -> dict[str, Any]:
    """Outcomes and counts of three jobs, in a process of their own."""
    root = Path(__file__).parents[3]
    paths = os.pathsep.join([str(root), str(root / "tests" / "lib")])
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, mode, device]
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture(scope="module")
def runs() -> dict[str, dict[str, Any]]:
    return {
        "cpu": jobs("as before", "cpu"),
        "gpu": jobs("in place", "gpu"),
    }


@pytest.mark.parametrize("job", ["training", "evaluation", "two policies"])
def test_a_job_gives_on_a_gpu_what_it_gives_on_a_cpu(
    runs: dict[str, dict[str, Any]], job: str
) -> None:
    outcome, expected = runs["gpu"][job], runs["cpu"][job]
    assert outcome == (pytest.approx(expected, abs=0.05) if job == "training" else expected)
    assert not runs["gpu"]["refused"]


def test_the_host_reads_once_a_batch_of_moves_not_five_times_a_token(
    runs: dict[str, dict[str, Any]],
) -> None:
    """Without places it read 46 times in an evaluation of twelve plays, now nine times."""
    assert 0 < runs["gpu"]["evaluation counts"]["reads"] <= 12
