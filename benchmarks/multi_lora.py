"""Evaluating A adapters on one game: one after another, in one pass, and peft's mixed batches.

    python benchmarks/multi_lora.py [--model embedded] [--adapters 2 4 8 16] [--plays 32]

Forward passes of A × 8 rows of 64 tokens (prompts) and of A × 96 rows of one token (a step of
sampling), and evaluations of Rival as a run does them (sampling, scoring, permuted control). One
thread, as in a worker, where there is no GPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from machine import describe_machine, median
from peft import get_peft_model, set_peft_model_state_dict
from safetensors.torch import load, save

from evo.jobs.evaluation import Task, evaluate, evaluate_together, evaluation_seeds
from evo.jobs.lora import AdaptedModel, LoraSettings
from xgl import game, parse
from xgl.judge.story_sources import CorpusStories
from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel
from xgl.models import corpus, resolve
from xgl.players.local import BATCH_ROWS, LocalPolicy
from xgl.runtime.lockstep import Cast

SHAPES = ((8, 64), (96, 1))
REPEATS = 5
RIVAL = """\
assign(s=story())
elicit(x, 8)
assign(t=story())
reward(xed(s | x) - xed(t | x))
"""
LORA = LoraSettings(rank=16, alpha=32)


def adapters(adapted: AdaptedModel, count: int) -> list[bytes]:
    """Adapters with noise in place of training."""
    noisy = []
    for seed in range(count):
        with adapted.new_adapter(seed):
            weights = load(adapted.adapter_bytes())
        noise = torch.Generator().manual_seed(seed)
        noisy.append(
            save({k: 0.02 * torch.randn(t.shape, generator=noise) for k, t in weights.items()})
        )
    return noisy


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return median(times[1:])


@torch.inference_mode()
def forwards(
    adapted: AdaptedModel, saved_adapters: Sequence[bytes], shape: tuple[int, int]
) -> tuple[float, float]:
    """Seconds of a pass over all rows: one adapter after another, and together."""
    ids = torch.randint(5, 4000, shape, device=adapted.base.device)
    each = 0.0
    for adapter in saved_adapters:
        with adapted.with_adapter(adapter) as lm:
            each += seconds(lambda lm=lm: lm.backbone(input_ids=ids, use_cache=False))  # type: ignore[misc]
    names = {str(index): adapter for index, adapter in enumerate(saved_adapters)}
    policies = [name for name in names for _ in range(shape[0])]
    every = ids.repeat(len(saved_adapters), 1)
    with adapted.with_adapters(names) as lm:
        together = seconds(lambda: lm.backbone(policies, input_ids=every, use_cache=False))
    return each, together


@torch.inference_mode()
def peft_forwards(
    lm: LanguageModel, adapted: AdaptedModel, saved_adapters: Sequence[bytes]
) -> list[float]:
    """Seconds of the same passes with peft's ``adapter_names``."""
    config = adapted._config()
    model: Any = get_peft_model(lm.model, config, adapter_name="0")
    for index, adapter in enumerate(saved_adapters):
        if index:
            model.add_adapter(str(index), config)
        set_peft_model_state_dict(model, load(adapter), adapter_name=str(index))
    model.eval()
    times = []
    for shape in SHAPES:
        ids = torch.randint(5, 4000, shape, device=lm.device).repeat(len(saved_adapters), 1)
        names = [str(index) for index in range(len(saved_adapters)) for _ in range(shape[0])]
        inputs = {"input_ids": ids, "adapter_names": names, "use_cache": False}
        times.append(seconds(lambda inputs=inputs: model(**inputs, logits_to_keep=1)))  # type: ignore[misc]
    model.unload()
    return times


def evaluations(
    adapted: AdaptedModel, cast: Cast, saved_adapters: Sequence[bytes], plays: int
) -> tuple[float, float]:
    """Seconds of evaluating all adapters: one after another, and together."""
    task = Task(game(parse(RIVAL, "xent")), "black", -50.0)
    seeds = evaluation_seeds("benchmark", 0, plays)
    names = {str(index): adapter for index, adapter in enumerate(saved_adapters)}

    def one_by_one() -> None:
        for adapter in saved_adapters:
            with adapted.with_adapter(adapter) as lm:
                evaluate(LocalPolicy(lm), cast, task, seeds)

    def at_once() -> None:
        with adapted.with_adapters(names) as lm:
            player = LocalPolicy(lm, batch_rows=BATCH_ROWS * len(names))
            evaluate_together(player, tuple(names), cast, task, seeds)

    def fresh(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            cast.judge.forget()  # type: ignore[attr-defined]
            work()

        return run

    return seconds(fresh(one_by_one), 2), seconds(fresh(at_once), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--adapters", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--plays", type=int, default=32)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lms = [
        LanguageModel(*resolve.load(arguments.model, device=device), torch.device(device))
        for _ in range(3)
    ]
    adapted = AdaptedModel(lms[0], LORA)
    judge = TransformerJudge(lms[1])
    texts = [story.text for story in corpus.stories("held_out")]
    cast = Cast(judge, CorpusStories(texts, judge.truncate), {})
    print(f"{arguments.model}; {describe_machine()}\n")
    each_shape = [f"A × {rows} × {tokens}: one by one | together | peft" for rows, tokens in SHAPES]
    print(f"| A | {' | '.join(each_shape)} |", end=" ")
    print(f"{arguments.plays} plays of Rival: one by one | together | gain |")
    print("|" + " --- |" * 10)
    for count in arguments.adapters:
        saved_adapters = adapters(adapted, count)
        ours = [forwards(adapted, saved_adapters, shape) for shape in SHAPES]
        pairs = zip(ours, peft_forwards(lms[2], adapted, saved_adapters), strict=True)
        cells = [f"{one:.3f} s | {all_:.3f} s | {peft:.3f} s" for (one, all_), peft in pairs]
        one, at_once = evaluations(adapted, cast, saved_adapters, arguments.plays)
        print(
            f"| {count} | {' | '.join(cells)} | {one:.2f} s | {at_once:.2f} s "
            f"| {one / at_once:.2f}× |",
            flush=True,
        )


if __name__ == "__main__":
    main()
