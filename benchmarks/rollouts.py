"""REINFORCE rollouts and updates a second, here and by TRL's ``GRPOTrainer``.

    pip install trl==1.16.0 datasets
    python benchmarks/rollouts.py [--steps 2] [--model smollm2] [--dtype float32]

Both train LoRA adapters (rank 16, all linear layers) on the same prompts of 128 tokens with
12-token completions in groups of 8, 8 prompts a step, one gradient step on all 64; the reward is
the completion's number of letters e, which costs nothing. TRL's gradient checkpointing is off; it
accumulates gradients over micro-batches (``--micro``), since 64 whole rows at once need more than
24 GiB.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from machine import describe_machine, median

from evo.config.models import FinetuneConfig
from evo.jobs.lora import AdaptedModel, LoraSettings
from evo.jobs.policy_gradient import Credit, update
from xgl.lm.language_model import LanguageModel
from xgl.lm.sampling import sample
from xgl.models import corpus, resolve
from xgl.random_streams import stream
from xgl.runtime.requests import Move

PROMPTS, GROUP, PROMPT_TOKENS, COMPLETION_TOKENS = 8, 8, 128, 12
LORA = LoraSettings(rank=16, alpha=32)
LEARNING_RATE = 1e-3


def reward(text: str) -> float:
    return float(text.count("e"))


def prompts(tokenizer: Any, count: int) -> list[str]:
    """Texts of 128 tokens."""
    stories = " ".join(story.text for story in corpus.stories("held_out"))
    ids = tokenizer.encode(stories[: count * PROMPT_TOKENS * 12], add_special_tokens=False)
    cuts = [ids[i * PROMPT_TOKENS : (i + 1) * PROMPT_TOKENS] for i in range(count)]
    return [str(tokenizer.decode(chunk)) for chunk in cuts]


def ours(load: Callable[[], tuple[Any, Any]], steps: int) -> list[float]:
    """Seconds of each step."""
    model, tokenizer = load()
    model.requires_grad_(False)
    adapted = AdaptedModel(LanguageModel(model, tokenizer, model.device), LORA)
    settings = FinetuneConfig(
        maps=PROMPTS, rollouts=GROUP, learning_rate=LEARNING_RATE, entropy_bonus=0.0
    )
    texts = prompts(tokenizer, PROMPTS * (steps + 1))
    seconds = []
    with adapted.new_adapter(0) as lm:
        never = torch.zeros(int(model.config.vocab_size), dtype=torch.bool, device=lm.device)
        optimizer = torch.optim.AdamW(adapted.parameters(), lr=LEARNING_RATE)
        for step in range(steps + 1):
            prompt_ids = [lm.encode(text) for text in texts[step * PROMPTS : (step + 1) * PROMPTS]]
            start = time.perf_counter()
            _step(lm, adapted, optimizer, prompt_ids, settings, never, step)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - start)
    return seconds[1:]


def _step(
    lm: LanguageModel,
    adapted: AdaptedModel,
    optimizer: torch.optim.Optimizer,
    prompt_ids: Sequence[tuple[int, ...]],
    settings: FinetuneConfig,
    never: torch.Tensor,
    step: int,
) -> None:
    rows = [prompt for prompt in prompt_ids for _ in range(GROUP)]
    uniforms = np.stack(
        [stream("rollouts", step, i).random(COMPLETION_TOKENS) for i in range(len(rows))]
    )
    completions = sample(lm, rows, [COMPLETION_TOKENS] * len(rows), uniforms, never)
    credits = [
        Credit(
            Move(lm.decode(c.ids), prompt, c.ids, c.logprobs, len(prompt), len(c.ids)),
            reward(lm.decode(c.ids)),
            (index // GROUP, 0, 0),
        )
        for index, (prompt, c) in enumerate(zip(rows, completions, strict=True))
    ]
    update(lm, adapted, optimizer, credits, settings)


def theirs(load: Callable[[], tuple[Any, Any]], steps: int, dtype: str, micro: int) -> list[float]:
    """Seconds of each step of TRL's trainer."""
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    model, tokenizer = load()
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    step_ends: list[float] = []

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            if not step_ends:
                step_ends.append(time.perf_counter())

        def on_step_end(self, *_: Any, **__: Any) -> None:
            step_ends.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        arguments = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=micro,
            gradient_accumulation_steps=PROMPTS * GROUP // micro,
            num_generations=GROUP,
            max_completion_length=COMPLETION_TOKENS,
            generation_kwargs={"min_new_tokens": COMPLETION_TOKENS},
            max_steps=steps + 1,
            learning_rate=LEARNING_RATE,
            gradient_checkpointing=False,
            bf16=dtype == "bfloat16",
            use_cpu=not torch.cuda.is_available(),
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            model=model,
            processing_class=tokenizer,
            args=arguments,
            reward_funcs=lambda completions, **_: [reward(text) for text in completions],
            train_dataset=Dataset.from_dict({"prompt": prompts(tokenizer, PROMPTS * (steps + 1))}),
            peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"),
            callbacks=[Clock()],
        )
        trainer.train()
    return [after - before for before, after in pairwise(step_ends[1:])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--micro", type=int, default=16)
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"

    def load() -> tuple[Any, Any]:
        return resolve.load(arguments.model, device=device, dtype=arguments.dtype)

    here = ours(load, arguments.steps)
    there = theirs(load, arguments.steps, arguments.dtype, arguments.micro)
    rollouts = PROMPTS * GROUP
    print(f"\n{arguments.model}, {arguments.dtype}; {describe_machine()}\n")
    print("| | a step of 64 rollouts and one update | rollouts a second |")
    print("| --- | --- | --- |")
    for name, seconds in (("this engine", here), ("TRL GRPOTrainer", there)):
        print(f"| {name} | {median(seconds):.1f} s | {rollouts / median(seconds):.2f} |")
    print(f"\n{median(there) / median(here):.2f}× as many rollouts and updates a second.")


if __name__ == "__main__":
    main()
