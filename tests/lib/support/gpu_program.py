"""``python -m support.gpu_program WHAT MODE DEVICE MORE… + WHAT…``: jobs, a growth under more
settings, or fine-tunes, so many at a time, on a pretended GPU or, by the same program, on the CPU;
prints the outcomes of each and what was counted as a line of JSON."""

from __future__ import annotations

# isort: off
from support.pretended_gpu import PretendedGPU, counts, moved  # changes torch: before all others

# isort: on
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import torch
from accelerate import hooks
from safetensors.torch import load
from support.search import SerialExecutor

import evo.run
from archive import Archive
from evo.config import models
from evo.config.schema import GameConfig
from evo.growth.initial_scope import metadata, read_task
from evo.jobs import model_host
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.jobs.job import Evaluation, Finetune, Job, Result, Training, Trainings, content
from evo.runner import Services
from xgl.judge import loading
from xgl.lm import captured
from xgl.lm.language_model import LanguageModel, keeps_caches
from xgl.models import resolve
from xgl.models.references import devices_of, placement

GAME = "assign(s=story())\nelicit(t, 8)\nreward(xed(t | s))\n"
GROWTH = [
    *("+experiment=scope_growth", "growth.initial_scope=[game.xent]", "archive.root=runs"),
    *("name=growth", "growth.max_candidates=3", "growth.list_size=3", "growth.generations=1"),
    *("growth.examined_share=1.0", "growth.alpha1=0.01", "growth.alpha2=0.01"),
    *("player.lora_layers=2", "transfer.calibration_plays=4", "transfer.script_plays=4"),
    *("transfer.selection_plays=[16]", "transfer.acceptance_plays=[8]", "transfer.headroom=null"),
    *("transfer.min_steps=1", "transfer.gain=total", "transfer.max_forfeit_rate=1"),
    *("transfer.confidence=0.51", "transfer.attempts=1", "transfer.scope_attempts=1"),
    *("finetune.tokens=5000", "finetune.bfloat16_rewards=false", "finetune.steps=3"),
    *("finetune.maps=4", "finetune.rollouts=4", "finetune.warm_start.maps=16"),
    *("finetune.warm_start.edits=0", "finetune.warm_start.rollouts=8"),
]


def load_model(reference: str, dtype: str, where: str) -> LanguageModel:
    """As a worker does: one on several GPUs has a part of its blocks on each."""
    model, tokenizer = resolve.load(reference)
    devices = devices_of(where)
    if where != "cpu":
        size = sum(each.nbytes for each in (*model.parameters(), *model.buffers()))
        places = placement(model, devices, [size / len(devices) + 1] * len(devices))
        if devices != ["gpu:0"]:
            model.set_attn_implementation("eager")
        model = dispatched(moved(model, places), places)
    return LanguageModel(model, tokenizer, torch.device(devices[0]))


def dispatched(model: Any, places: dict[str, str]) -> Any:
    """``model`` with what ``from_pretrained`` adds to bring inputs to each part."""
    if len(places) == 1:
        return model
    model.hf_device_map, main = places, {"": places["model.norm"]}
    skip = model._skip_keys_device_placement
    with patch.object(hooks, "set_module_tensor_to_device"):  # they are there
        stay = dict.fromkeys(places, False)
        hooks.attach_align_device_hook_on_blocks(model, places | main, stay, skip_keys=skip)
    return model


def loaded_host(device: str, **changes: Any) -> model_host.ModelHost:
    """A model host whose fine-tunes are short. ``device``: of judge and player, or those of both,
    as ``gpu:0/gpu:1``."""
    judge, _, player = device.partition("/")
    small: dict[str, Any] = {"tokens": 2000, "steps": 2, "maps": 2, "rollouts": 4}
    small["warm_start"] = models.WarmStartConfig(maps=2, rollouts=4, edits=1)
    small["bfloat16_rewards"] = False  # which only a CPU has
    finetune = models.FinetuneConfig(**{**small, **changes})
    settings = models.ModelHostSettings(
        models.JudgeConfig(), models.PlayerConfig(lora_layers=2), finetune, judge
    )
    places = {models.JudgeConfig: judge, models.PlayerConfig: player or judge}
    with patch.object(
        models.ModelHostSettings, "device_of", lambda _, section: places[type(section)]
    ):
        return model_host.ModelHost(settings)


def library_task(name: str) -> Task:
    return replace(read_task("game", name, metadata(GameConfig())), floor=-60.0)


def finetunes(device: str, *sizes: str) -> dict[str, Any]:
    """Four fine-tunes of two games, so many at a time in lockstep: their curves and counts, and the
    largest difference of their adapters from the first ones."""
    host = loaded_host(device, tokens=10**6, steps=4)
    trainings = [
        Training(library_task(name), seed) for seed in (0, 1) for name in ("rival", "quote")
    ]
    told, alone = dict[str, Any](), list[Finetune]()
    for size in map(int, sizes):
        counts.clear()
        outcomes = [
            each
            for n in range(0, 4, size)
            for each in host.do(Trainings(trainings[n].task, (*trainings[n : n + size],))).outcome
        ]
        alone = alone or outcomes
        pairs = [
            (load(one.adapter), load(own.adapter)) for one, own in zip(outcomes, alone, strict=True)
        ]
        told[f"{size}"] = {
            **passes(counts),
            "curves": [each.curve for each in outcomes],
            "tokens": [each.tokens for each in outcomes],
            "least trained": min(
                max(float(value.abs().max()) for name, value in own.items() if "lora_B" in name)
                for _, own in pairs
            ),
            "difference": max(
                float((one[name] - own[name]).abs().max()) for one, own in pairs for name in own
            ),
        }
    return told


def jobs(device: str) -> dict[str, Any]:
    """Three jobs: curve or moves of each, and its counts."""
    host, task = loaded_host(device), library_task("rival")
    seeds = tuple(evaluation_seeds("x", 0, 6))
    told: dict[str, Any] = {"spread": host.adapted_model.base.is_spread}

    def do(name: str, job: Job[Any]) -> Any:
        counts.clear()
        outcome = host.do(job).outcome
        told[f"{name} counts"] = dict(counts)
        return outcome

    trained = do("training", Training(task, 0))
    told["training"] = trained.curve
    for name, adapters in (
        ("evaluation", (trained.adapter,)),
        ("two policies", (trained.adapter, None)),
    ):
        plays = do(name, Evaluation(task, adapters, (seeds,) * len(adapters)))
        told[name] = [[play.moves for play in own] for own in plays]
    told["keeps caches"] = keeps_caches(host.adapted_model.base)
    told["refused"] = bool(host.adapted_model.base.captured.get("refused"))
    return told


class HostExecutor(SerialExecutor):
    """A model host in this process."""

    def __init__(self, settings: models.ModelHostSettings) -> None:
        self.host, self.done = model_host.ModelHost(settings), Counter[str]()
        self.counts = defaultdict[str, Counter[str]](Counter)

    def do(self, jobs: Sequence[Job[Any]]) -> Iterator[Result[Any]]:
        for job in jobs:
            self.done[job.name] += 1
            before = Counter(counts)
            result = self.host.do(job.with_adapters(content))
            self.counts[job.name] += counts - before
            yield result

    def close(self) -> None:
        pass


def growth(device: str, *settings: str) -> dict[str, Any]:
    """A growth of three candidates: its games, verdicts, jobs and counts, also by job."""
    executors: list[HostExecutor] = []

    def executor(_: object, settings: models.ModelHostSettings) -> HostExecutor:
        executors.append(HostExecutor(replace(settings, device=device)))
        counts.clear()
        return executors[0]

    with TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("game.xent").write_text(GAME)
        code = evo.run.main([*GROWTH, *settings], Services(executor=executor))  # type: ignore[arg-type]
        rows = Archive.open("runs/growth").rows("decisions")
        os.chdir("/")
    host = executors[0].host
    return {
        "exit code": code,
        "decisions": [(row["game_id"], row["verdict"], row["reason"]) for row in rows],
        "jobs": dict(executors[0].done),
        "counts": dict(counts),
        "counts by job": {name: passes(own) for name, own in executors[0].counts.items()},
        "refused": bool(host.adapted_model.base.captured.get("refused")),
    }


def passes(of: Counter[str]) -> dict[str, float]:
    """Passes of the player, moves in each on average, passes of the judge, and kernels."""
    player = of["player's passes"]
    return {
        "player's passes": player,
        "moves a pass": of["rows"] / max(1, player),
        "judge's passes": of["passes"] - player,
        "kernels": of["kernels"],
    }


@contextmanager
def counting() -> Iterator[None]:
    """Count passes without a gradient, those of captured batches of moves, and their moves."""

    def counted(kind: type, method: str, count: Callable[..., None]) -> Any:
        original = getattr(kind, method)

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            before = counts["reads"]
            result = original(self, *args, **kwargs)
            count(self, *args, before=before)
            return result

        return patch.object(kind, method, call)

    def forward(*_: Any, before: int) -> None:
        counts["passes"] += not torch.is_grad_enabled()

    def start(place: Any, prompts: Any, rows: Any, before: int) -> None:
        place.asked = len(rows)
        counts["player's passes"] += 1
        counts["rows"] += place.asked

    def decode(place: Any, before: int) -> None:
        start(place, (), range(place.asked), before)
        counts["decoding steps"] += 1
        counts["reads in decoding steps"] += counts["reads"] - before

    with (
        counted(LanguageModel, "backbone", forward),
        counted(captured.SamplingPlace, "start", start),
        counted(captured.SamplingPlace, "decode", decode),
    ):
        yield


def main() -> None:
    programs: dict[str, Callable[..., Any]]
    programs = {"growth": growth, "jobs": jobs, "finetunes": finetunes}
    torch.set_num_threads(1)
    model_host.load_model = loading.load_model = load_model
    arguments = iter(sys.argv[1:])
    while words := [*takewhile("+".__ne__, arguments)]:
        what, mode, device, *more = words
        captured.DEVICES = ("gpu",) if mode == "in place" else ()
        with PretendedGPU(), counting():
            told = programs[what](device, *more)
        print(json.dumps(told))


if __name__ == "__main__":
    main()
