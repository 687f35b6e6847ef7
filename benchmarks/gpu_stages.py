"""Every stage of a run on one GPU: scoring, sampling, a step of training, whole jobs.

    python benchmarks/gpu_stages.py --shape 0.6B --out results   # or 1.7B, 8B; needs a GPU
    python benchmarks/gpu_stages.py --shape tiny                 # tries the script anywhere

Models: random weights in the shapes of Qwen3, with the embedded tokenizer stretched to their
vocabulary. ``--eager`` launches each kernel by itself, as before passes were captured. Each stage
is a Markdown table, and ``--out`` gets a JSON file after each. Times are the fewest of some calls,
after one or two to warm up and to capture.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from evo.config.models import (
    FinetuneConfig,
    JudgeConfig,
    ModelHostSettings,
    PlayerConfig,
    WarmStartConfig,
)
from evo.config.schema import GameConfig
from evo.growth.initial_scope import metadata, read_task
from evo.jobs import model_host
from evo.jobs.evaluation import evaluation_seeds
from evo.jobs.job import Evaluation, Training
from evo.jobs.lora import AdaptedModel, LoraSettings, weight_sharing_copy
from evo.jobs.policy_gradient import Credit, update
from xgl.judge.engine import EngineSettings, ScoringEngine
from xgl.lm import captured
from xgl.lm.language_model import LanguageModel
from xgl.lm.prefix_sharing import ScoredSequence
from xgl.lm.sampling import sample
from xgl.models import resolve
from xgl.runtime.requests import Move

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
SHAPES = {  # hidden, intermediate, layers, heads, key heads, tied
    "0.6B": (1024, 3072, 28, 16, 8, True),
    "1.7B": (2048, 6144, 28, 16, 8, True),
    "8B": (4096, 12288, 36, 32, 8, False),
    "tiny": (64, 128, 2, 4, 2, True),
}
RULE = FinetuneConfig(steps=None, warm_start=WarmStartConfig(rounds=0), averaged_share=0.0)


def tokenizer(size: int) -> PreTrainedTokenizerFast:
    """The embedded tokenizer with further words, up to ``size`` tokens, that no text makes."""
    data = json.loads((resolve.EMBEDDED / "tokenizer.json").read_text())
    words = data["model"]["vocab"]
    words |= {f"Ġq{index}": index for index in range(len(words), size)}
    path = Path(tempfile.mkdtemp()) / "tokenizer.json"
    path.write_text(json.dumps(data))
    names = {"bos_token": "<|bos|>", "eos_token": "<|eos|>", "pad_token": "<|eos|>"}
    return PreTrainedTokenizerFast(tokenizer_file=str(path), **names)


def random_model(shape: str) -> LanguageModel:
    """Random weights, bfloat16 on a GPU."""
    hidden, between, layers, heads, key_heads, tied = SHAPES[shape]
    vocabulary = 4352 if shape == "tiny" else 151936
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=between,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        head_dim=16 if shape == "tiny" else 128,
        tie_word_embeddings=tied,
        max_position_embeddings=40960,
        bos_token_id=0,
        eos_token_id=1,
    )
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16 if GPU else torch.float32)
    with DEVICE:
        model = Qwen3ForCausalLM(config).eval().requires_grad_(False)
    torch.set_default_dtype(before)
    if GPU:  # what loading a folder does
        torch.backends.cuda.enable_cudnn_sdp(False)
        resolve.fuse_norms(model)
    return LanguageModel(model, tokenizer(vocabulary - 293 if GPU else vocabulary - 3), DEVICE)


def seconds(work: Callable[[], object], repeats: int = 3, warm: int = 2) -> float:
    """Fewest seconds of a call."""
    times = []
    for _ in range(repeats + warm):
        synchronize()
        start = time.perf_counter()
        work()
        synchronize()
        times.append(time.perf_counter() - start)
    return min(times[warm:])


def synchronize() -> None:
    if GPU:
        torch.cuda.synchronize()


@contextmanager
def peak(row: dict[str, Any]) -> Any:
    """Adds to ``row`` the peak of memory above what was taken before."""
    before = torch.cuda.memory_allocated() if GPU else 0
    if GPU:
        torch.cuda.reset_peak_memory_stats()
    yield
    if GPU:
        row["peak GiB"] = (torch.cuda.max_memory_allocated() - before) / 2**30


def machine() -> list[dict[str, Any]]:
    """Rates of the card: the ceilings of the other stages."""
    size = 8192 if GPU else 512
    a, b = (torch.randn(size, size, device=DEVICE).to(torch.bfloat16) for _ in range(2))
    one, block = torch.zeros(8, device=DEVICE), torch.empty(size * size * 8, device=DEVICE)
    copy = torch.empty_like(block)
    return [
        {
            "device": torch.cuda.get_device_name() if GPU else "cpu",
            "torch": torch.__version__,
            "matrix Tflop/s": 2e-12 * size**3 / seconds(lambda: a @ b, 10),
            "copy GB/s": 2e-9 * block.nbytes / seconds(lambda: copy.copy_(block), 10),
            "µs a launch": 1e3 * seconds(lambda: [one + 1.0 for _ in range(1000)]),
        }
    ]


def scoring(lm: LanguageModel, memory: int, rate: float) -> list[dict[str, Any]]:
    """The judge: tokens a second, share of the matrix rate."""
    rng, scale, rows = np.random.default_rng(1), 64 if GPU else 2, []

    def ids(count: int) -> tuple[int, ...]:
        return tuple(rng.integers(2, 4000, count).tolist())

    loads = {
        "33 tokens, 24 scored": [ScoredSequence(ids(33), 24) for _ in range(32 * scale)],
        "512 tokens, 128 scored": [ScoredSequence(ids(512), 128) for _ in range(2 * scale)],
        "trees: 400 shared, 8 × 12": [
            ScoredSequence((*context, *ids(12)), 12)
            for context in (ids(400) for _ in range(scale))
            for _ in range(8)
        ],
    }
    for name, sequences in loads.items():
        bounds = EngineSettings(memory_bytes=memory, score_cache_bytes=0, prefix_cache_bytes=0)
        row: dict[str, Any] = {"load": name}
        engine = ScoringEngine(lm, bounds)
        with peak(row):
            taken = seconds(partial(engine.bits, sequences), 1)
        read = engine.statistics.read_tokens / 3
        attended = read / (engine.statistics.trees / 3) / 2
        scored = sum(each.target_count for each in sequences)
        row |= {"tokens read": read, "passes": engine.statistics.forwards // 3}
        row |= {"tokens/s": read / taken}
        row["of the matrix rate"] = operations(lm, read, scored, attended) / taken / rate
        rows.append(row)
    return rows


def operations(lm: LanguageModel, tokens: float, scored: int, attended: float) -> float:
    """Floating-point operations of a pass: blocks, attention, head."""
    config, size = lm.model.config, sum(p.numel() for p in lm.model.model.layers.parameters())
    width = config.num_attention_heads * config.head_dim
    attention = 4.0 * width * config.num_hidden_layers * tokens * attended
    return 2.0 * size * tokens + attention + 2.0 * config.hidden_size * config.vocab_size * scored


def sampling(lm: LanguageModel, adapted: AdaptedModel) -> list[dict[str, Any]]:
    """Moves of 16 tokens after prompts of 76, base player and adapter."""
    never = torch.zeros(int(lm.model.config.vocab_size), dtype=torch.bool, device=DEVICE)
    rng, rows = np.random.default_rng(2), []
    for batch in (32, 128, 512) if GPU else (4,):
        maps = [(0, *rng.integers(2, 4000, 75).tolist()) for _ in range(max(4, batch // 8))]
        prompts = [maps[index * len(maps) // batch] for index in range(batch)]
        numbers = rng.random((batch, 16))
        for name, player in (
            ("base", adapted.without_adapter()),
            ("adapter", adapted.new_adapter(0)),
        ):
            row: dict[str, Any] = {"rows": batch, "player": name}
            with player as model, peak(row):
                model, times = model or lm, {}
                for steps in (1, 16):
                    limits = [steps] * batch
                    work = partial(sample, model, prompts, limits, numbers, never)
                    times[steps] = seconds(work)
                row |= {
                    "prompts ms": 1e3 * times[1],
                    "ms a step": 1e3 * (times[16] - times[1]) / 15,
                }
                row["tokens/s"] = 16 * batch / times[16]
                if batch != 512:
                    row |= profile(partial(sample, model, prompts, [4] * batch, numbers, never))
            rows.append(row)
    return rows


def profile(work: Callable[[], object]) -> dict[str, Any]:
    """Kernels of a call, by the profiler, and the share of its time in which they run."""
    if not GPU:
        return {}
    taken = seconds(work, 2, 1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as record:
        work()
        synchronize()
    events = [e for e in record.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    busy = sum(e.time_range.elapsed_us() for e in events) / 1e6
    return {"kernels of 4 tokens": len(events), "GPU busy": busy / taken}


def training(adapted: AdaptedModel, memory: int) -> list[dict[str, Any]]:
    """A gradient step on moves of 9 tokens after prompts of 76."""
    rng, rows = np.random.default_rng(3), []
    for maps, rollouts in ((4, 8), (8, 16), (16, 16)) if GPU else ((2, 3),):
        credits = []
        for place in range(maps):
            prompt = (0, *rng.integers(2, 4000, 75).tolist())
            for _ in range(rollouts):
                move = Move("", prompt, tuple(rng.integers(2, 4000, 9).tolist()))
                credits.append(Credit(move, float(rng.normal()), (place, 1, 0)))
        row: dict[str, Any] = {"rollouts": f"{maps} × {rollouts}"}
        with adapted.new_adapter(0) as lm, peak(row):
            optimizer = torch.optim.AdamW(adapted.parameters(), lr=1e-4)
            row["ms"] = 1e3 * seconds(
                partial(update, lm, adapted, optimizer, credits, RULE, memory), 2
            )
        rows.append(row)
    return rows


def jobs(lm: LanguageModel, memory: int, tokens: int) -> list[dict[str, Any]]:
    """Jobs as a worker does them: fine-tunes on Rival, evaluations of 96 plays."""
    read = read_task("game", "rival", metadata(GameConfig()))
    rows, task = [], replace(read, floor=-400.0)
    seeds = tuple(evaluation_seeds("stages", 0, 96 if GPU else 6))
    mib, original = memory >> 20, model_host.load_model
    for maps, rollouts in ((4, 8), (8, 16)) if GPU else ((2, 3),):
        settings = ModelHostSettings(
            JudgeConfig(memory_mib=mib),
            PlayerConfig(memory_mib=mib),
            replace(RULE, tokens=tokens, maps=maps, rollouts=rollouts, learning_rate=1e-4),
            str(DEVICE),
        )
        model_host.load_model = lambda *_: weight_sharing_copy(lm)
        host = model_host.ModelHost(settings)
        model_host.load_model = original
        row: dict[str, Any] = {"rollouts": f"{maps} × {rollouts}"}
        with peak(row):
            for number, name in enumerate(("first fine-tune s", "next fine-tune s")):
                start = time.perf_counter()
                made = host.do(Training(task, number)).outcome
                row[name] = time.perf_counter() - start
        row |= {"tokens": made.tokens, "steps": len(made.curve)}
        adapters = (made.adapter, *(host.do(Training(task, n)).outcome.adapter for n in (2, 3, 4)))
        for count in (1, 4):
            work = partial(host.do, Evaluation(task, adapters[:count], (seeds,) * count))
            row[f"96 plays of {count} adapters s"] = seconds(work, 1)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="0.6B")
    parser.add_argument("--stages", default="machine,scoring,sampling,training,jobs")
    parser.add_argument("--tokens", type=int, default=100_000, help="of a fine-tune")
    parser.add_argument("--eager", action="store_true", help="capture no passes")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.eager:
        captured.DEVICES = ()
    memory = torch.cuda.get_device_properties(0).total_memory // 8 if GPU else 1 << 30
    lm, results = random_model(args.shape), {"machine": machine()}
    adapted = AdaptedModel(weight_sharing_copy(lm), LoraSettings(16, 32.0))
    stages: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "machine": lambda: results["machine"],
        "scoring": lambda: scoring(lm, memory, 1e12 * results["machine"][0]["matrix Tflop/s"]),
        "sampling": lambda: sampling(adapted.base, adapted),
        "training": lambda: training(adapted, memory),
        "jobs": lambda: jobs(lm, memory, args.tokens),
    }
    for name in args.stages.split(","):
        results[name] = stages[name]()
        keys = list(dict.fromkeys(key for row in results[name] for key in row))
        cells = [[row.get(key, "") for key in keys] for row in results[name]]
        lines = [keys, ["---"] * len(keys), *cells]
        text = [[f"{c:,.3g}" if isinstance(c, float) else str(c) for c in row] for row in lines]
        print(
            f"\n**{args.shape}: {name}**\n\n" + "\n".join(f"| {' | '.join(r)} |" for r in text),
            flush=True,
        )
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
            path = args.out / f"{args.shape}{'-eager' if args.eager else ''}.json"
            path.write_text(json.dumps(results, indent=1))
        if GPU:
            captured.Places.of(adapted.base).places.clear()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
