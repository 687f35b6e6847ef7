"""How much of a model's raw speed a judge keeps, and what every stage of a run takes on one GPU.

    python benchmarks/speed.py judge [--model smollm2] [--dtype float32] [--scale 1] [--repeats 3]
    python benchmarks/speed.py stages --shape 0.6B [--stages machine,scoring] [--eager]

``judge``: three loads: short xeds (45-token maps, 4-token moves), long contexts (400-token maps,
12-token moves), statements for ``is_true``; ``--scale`` multiplies their numbers. For each: tokens
that the engine read a second, over what the bare model reads a second in rows of the same mean
length, in its best batch. Both compute logits for the tokens that are scored.

``stages``: scoring, sampling, a step of training, whole jobs, each a table. Models: random weights
in the shapes of Qwen3 (0.6B, 1.7B or 8B on a GPU; ``tiny`` tries the script anywhere), with the
embedded tokenizer stretched to their vocabulary. ``--eager`` launches each kernel by itself, as
before passes were captured. Times are the fewest of some calls, after one or two to warm up and to
capture.
"""

from __future__ import annotations

import json
import logging
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from study import command_line, describe_machine, table
from torch import Tensor
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
from evo.jobs.lora import AdaptedModel
from evo.jobs.policy_gradient import Credit, update
from xgl.judge.engine import Bits, ScoringEngine
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.dialects import XENT
from xgl.lm import captured
from xgl.lm.language_model import LanguageModel
from xgl.lm.prefix_sharing import ScoredSequence
from xgl.lm.sampling import sample
from xgl.models import corpus, resolve
from xgl.random_streams import stream
from xgl.runtime.requests import Move, ScoreRequest, TruthRequest

# -- a judge beside its bare model -----------------------------------------------------------------

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
LARGEST = {"cpu": 3072}
"""Tokens of the bare model's largest batch that is tried; on a CPU more are slower."""
Load = Callable[[TransformerJudge], object]


def loads(judge: TransformerJudge, scale: int) -> Mapping[str, Load]:
    """By name, what asks the judge."""
    stories = [story.text for story in corpus.stories("held_out")]
    rng = stream("judge_efficiency")
    texts = [stories[int(i)] for i in rng.permutation(len(stories))]
    words = " ".join(texts[200:]).split()

    def move(tokens: int) -> str:
        start = int(rng.integers(len(words) - tokens))
        return judge.truncate(" ".join(words[start : start + tokens]), tokens)

    short = [
        ScoreRequest(story, context, XENT.scoring)
        for story in (judge.truncate(text, 45) for text in texts[: 8 * scale])
        for m in [move(4) for _ in range(8)]
        for context in ((), (m,))
    ]
    several = [" ".join(texts[8 * k : 8 * k + 8]) for k in range(4 * scale)]
    long = [
        ScoreRequest(move(12), (story,), XENT.scoring)
        for story in (judge.truncate(text, 400) for text in several)
        for _ in range(8)
    ]
    moves = [" ".join(move(8).split()) for _ in range(64 * scale)]
    statements = [TruthRequest(each, "the text is new", (("the text", each),)) for each in moves]
    return {
        "short xeds": lambda j: j.score(short),
        "long contexts": lambda j: j.score(long),
        "is_true": lambda j: j.truths(statements),
    }


def raw(lm: LanguageModel, length: int, scored_share: float) -> tuple[float, int]:
    """Tokens a second of the bare model at its best batch of rows of ``length`` tokens, and that
    batch; logits for the share ``scored_share`` of the positions."""
    best = (0.0, 0)
    for rows in BATCHES:
        if best[1] and rows * length > LARGEST.get(lm.device.type, 65536):
            break
        ids = torch.randint(5, int(lm.model.config.vocab_size), (rows, length), device=lm.device)

        @torch.inference_mode()
        def read(ids: Tensor = ids) -> None:
            hidden = lm.backbone(input_ids=ids, use_cache=False).last_hidden_state
            lm.head(hidden[:, : max(1, round(length * scored_share))]).sum().item()

        best = max(best, (rows * length / seconds(read, 2, 1), rows))
    return best


class Requested(ScoringEngine):
    """An engine that counts the tokens that it is asked to read."""

    tokens = 0

    def bits(self, sequences: Sequence[ScoredSequence]) -> list[Bits]:
        self.tokens += sum(len(each.ids) - 1 for each in sequences)
        return super().bits(sequences)


def measure(judge: TransformerJudge, name: str, load: Load, repeats: int) -> dict[str, str]:
    """One load's row: what was read, and how fast, nothing cached: the best of some calls, as it is
    the bare model's best."""
    engine, taken = Requested(judge.lm), list[float]()
    judge.engine = engine
    for _ in range(repeats):
        judge.forget()
        start = time.perf_counter()
        load(judge)
        taken.append(time.perf_counter() - start)
    did = {key: count / repeats for key, count in engine.counts.items()}
    own, length = did["read_tokens"] / min(taken), round(did["padded_tokens"] / did["trees"])
    best, batch = raw(judge.lm, max(2, length), did["scored_tokens"] / did["read_tokens"])
    return {
        "load": name,
        "tokens requested": f"{engine.tokens / repeats:,.0f}",
        "read": f"{did['read_tokens']:,.0f}",
        "padding": f"{1 - did['read_tokens'] / did['padded_tokens']:.0%}",
        "read a second": f"{own:,.0f}",
        "bare model (batch)": f"{best:,.0f} ({batch} × {length})",
        "ratio": f"{own / best:.2f}",
    }


def show_judge(options: Namespace) -> None:
    """What was read, and how fast."""
    model, tokenizer = resolve.load(options.model, device="auto", dtype=options.dtype)
    judge = TransformerJudge(LanguageModel(model, tokenizer, model.device))
    asked = loads(judge, options.scale)
    rows = [measure(judge, *load, options.repeats) for load in asked.items()]
    print(f"{options.model}, {str(model.dtype).removeprefix('torch.')}; {describe_machine()}\n")
    print(table(rows))


# -- all stages on one GPU -------------------------------------------------------------------------

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
SHAPES = {  # hidden, intermediate, layers, heads, key heads, tied
    "0.6B": (1024, 3072, 28, 16, 8, True),
    "1.7B": (2048, 6144, 28, 16, 8, True),
    "8B": (4096, 12288, 36, 32, 8, False),
    "tiny": (64, 128, 2, 4, 2, True),
}
RULE = FinetuneConfig(steps=None, warm_start=WarmStartConfig(maps=0), averaged_share=0.0)


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
def peak(row: dict[str, Any]) -> Iterator[None]:
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
        row: dict[str, Any] = {"load": name}
        engine = ScoringEngine(lm, memory, cache_bytes=0)
        with peak(row):
            taken = seconds(partial(engine.bits, sequences), 1)
        read = engine.counts["read_tokens"] / 3
        attended = read / (engine.counts["trees"] / 3) / 2
        scored = sum(each.target_count for each in sequences)
        row |= {"tokens read": read, "passes": engine.counts["forwards"] // 3}
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


def sampling(adapted: AdaptedModel) -> list[dict[str, Any]]:
    """Moves of 16 tokens after prompts of 76, base player and adapter."""
    never = torch.zeros(int(adapted.base.model.config.vocab_size), dtype=torch.bool, device=DEVICE)
    rng, rows = np.random.default_rng(2), []
    for batch in (32, 128, 512) if GPU else (4,):
        maps = [(0, *rng.integers(2, 4000, 75).tolist()) for _ in range(max(4, batch // 8))]
        prompts = [maps[index * len(maps) // batch] for index in range(batch)]
        numbers = rng.random((batch, 16))
        players = {
            "base": adapted.with_adapter(None),
            "adapter": adapted.attached(adapted.new_factors(0)),
        }
        for name, player in players.items():
            row: dict[str, Any] = {"rows": batch, "player": name}
            with player as model, peak(row):
                times = dict[int, float]()
                for steps in (1, 16):
                    work = partial(sample, model, prompts, [steps] * batch, numbers, never)
                    times[steps] = seconds(work)
                step = (times[16] - times[1]) / 15
                row |= {"prompts ms": 1e3 * times[1], "ms a step": 1e3 * step}
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
        with adapted.attached(adapted.new_factors(0)), peak(row):
            optimizer = torch.optim.AdamW(adapted.parameters(), lr=1e-4)
            work = partial(update, adapted, optimizer, credits, RULE, memory)
            row["ms"] = 1e3 * seconds(work, 2)
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
        model_host.load_model = lambda *_: replace(lm, captured={})
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


def refuse(record: logging.LogRecord) -> bool:
    raise RuntimeError(record.getMessage())  # of passes whose times would not be captured ones


def show_stages(options: Namespace) -> None:
    """A table for each stage."""
    torch.set_num_threads(1)
    logging.getLogger(captured.__name__).addFilter(refuse)
    if options.eager:
        captured.DEVICES = ()
    memory = torch.cuda.get_device_properties(0).total_memory // 8 if GPU else 1 << 30
    lm, rates = random_model(options.shape), machine()
    adapted = AdaptedModel(replace(lm, captured={}), PlayerConfig())
    stages: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "machine": lambda: rates,
        "scoring": lambda: scoring(lm, memory, 1e12 * rates[0]["matrix Tflop/s"]),
        "sampling": lambda: sampling(adapted),
        "training": lambda: training(adapted, memory),
        "jobs": lambda: jobs(lm, memory, options.tokens),
    }
    for name in options.stages.split(","):
        print(f"\n**{options.shape}: {name}**\n\n{table(stages[name]())}", flush=True)
        if GPU:
            captured.Places.of(adapted.base).places.clear()
            torch.cuda.empty_cache()


def main() -> None:
    parser = command_line(__doc__)
    commands = parser.add_subparsers(required=True)
    judge, stages = commands.add_parser("judge"), commands.add_parser("stages")
    judge.add_argument("--model", default="smollm2")
    judge.add_argument("--dtype", default="auto")
    judge.add_argument("--scale", type=int, default=1)
    judge.add_argument("--repeats", type=int, default=3)
    judge.set_defaults(show=show_judge)
    stages.add_argument("--shape", choices=SHAPES, default="0.6B")
    stages.add_argument("--stages", default="machine,scoring,sampling,training,jobs")
    stages.add_argument("--tokens", type=int, default=100_000, help="of a fine-tune")
    stages.add_argument("--eager", action="store_true", help="capture no passes")
    stages.set_defaults(show=show_stages)
    options = parser.parse_args()
    options.show(options)


if __name__ == "__main__":
    main()
