"""Train the model of XGL that the sampler ``learned`` ships with.

    python -m training.xgl_model.train --out meta_sampler/learned/model

One thread, fixed seeds. Writes the weights in float16, the tokenizer, and ``training.json`` with
what the model card tells.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

from meta_sampler.learned.adaptation import BOS_ID, EOS_ID, Example, example
from training.xgl_model import vocabulary
from training.xgl_model.corpus import Pair, pairs
from training.xgl_model.likelihood import batches, child_bits, losses, rate


@dataclass(frozen=True)
class Recipe:
    """Everything that the weights depend on."""

    seed: int = 0
    pairs: int = 20000
    families: int = 1400
    held_out: int = 60
    """Families, the last ones, that are not trained on."""
    vocabulary: int = 512
    width: int = 160
    layers: int = 4
    heads: int = 5
    inner: int = 432
    window: int = 512
    batch_tokens: int = 2048
    epochs: int = 2
    peak: float = 3e-3
    warmup: int = 100
    parent_weight: float = 0.3
    """Weight of the parent's tokens in the loss: they are programs as well."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, required=True)
    for name, value in asdict(Recipe()).items():
        options.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    given = vars(options.parse_args())
    folder: Path = given.pop("out")
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    report = train(Recipe(**given), folder)
    (folder / "training.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


def train(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """Draw pairs, learn tokens and weights, write both; returns the figures of the model card."""
    began = time.perf_counter()
    drawn = list(pairs(recipe.pairs, recipe.seed, recipe.families))
    last = recipe.families - recipe.held_out
    seen = [pair for pair in drawn if pair.family < last]
    known = {pair.child for pair in seen}
    unseen = [pair for pair in drawn if pair.family >= last and pair.child not in known]
    tokenizer = vocabulary.learn((pair.child for pair in seen), recipe.vocabulary)
    vocabulary.save(tokenizer, folder, recipe.window)
    drawing = time.perf_counter() - began
    model = _fitted(recipe, [example(tokenizer, p.parent, p.child) for p in seen])
    model.to(torch.float16).save_pretrained(folder)
    return {
        "recipe": asdict(recipe),
        "parameters": sum(each.numel() for each in model.parameters()),
        "training pairs": len(seen),
        "held-out pairs": len(unseen),
        "held-out bits per character": _bits(model.float(), tokenizer, unseen),
        "seconds": {"drawing": round(drawing), "in all": round(time.perf_counter() - began)},
    }


def _fitted(recipe: Recipe, examples: Sequence[Example]) -> LlamaForCausalLM:
    torch.manual_seed(recipe.seed)
    model = LlamaForCausalLM(_architecture(recipe))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, betas=(0.9, 0.98), weight_decay=0.05)
    rng = Random(recipe.seed)
    plan = [
        group for _ in range(recipe.epochs) for group in batches(examples, recipe.batch_tokens, rng)
    ]
    began = time.perf_counter()
    for step, group in enumerate(plan):
        optimizer.param_groups[0]["lr"] = rate(step, len(plan), recipe.peak, recipe.warmup)
        loss, real, child = losses(model, group)
        weights = real * recipe.parent_weight + child * (1 - recipe.parent_weight)
        mean = (loss * weights).sum() / weights.sum()
        optimizer.zero_grad()
        mean.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0 or step + 1 == len(plan):
            nats, taken = float(loss.detach()[child].mean()), time.perf_counter() - began
            print(f"step {step}/{len(plan)}: {nats:.3f} nats a token, {taken:.0f} s", flush=True)
    return model.eval()


def _architecture(recipe: Recipe) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=recipe.vocabulary,
        hidden_size=recipe.width,
        intermediate_size=recipe.inner,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        max_position_embeddings=recipe.window,
        tie_word_embeddings=True,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
        pad_token_id=EOS_ID,
    )


def _bits(model: Any, tokenizer: Tokenizer, unseen: list[Pair]) -> dict[str, float]:
    """Of held-out children: given their parents, and given another family's."""
    characters = sum(len(pair.child) for pair in unseen)
    foreign = [pair.parent for pair in unseen[len(unseen) // 2 :] + unseen[: len(unseen) // 2]]
    told = {
        "given the parent": [pair.parent for pair in unseen],
        "given another parent": foreign,
    }
    return {
        name: round(
            child_bits(
                model,
                [example(tokenizer, p, each.child) for p, each in zip(given, unseen, strict=True)],
            )
            / characters,
            3,
        )
        for name, given in told.items()
    }


if __name__ == "__main__":
    main()
