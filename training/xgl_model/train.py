"""Train the model of XGL that the sampler ``learned`` ships with.

    python -m training.xgl_model.train --out meta_sampler/learned/model

One thread, fixed seeds. Writes the weights in float16, the tokenizer, and ``training.json`` with
the figures of the model card.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, pre_tokenizers
from tokenizers.decoders import ByteLevel as ByteDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Split
from tokenizers.trainers import BpeTrainer
from transformers import LlamaConfig, LlamaForCausalLM

from meta_sampler.learned.adaptation import BOS_ID, EOS_ID, TrainingExample, example
from training.xgl_model.corpus import Pair, pairs
from training.xgl_model.likelihood import batches, child_bits, losses, rate

BOS, EOS = "<|bos|>", "<|eos|>"
UNIT = r"\w+[(=]?|\W+"
"""``xed(``, ``s=``, ``flag_1``; `` | ``, ``)) - ``."""


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
    values = vars(options.parse_args())
    folder: Path = values.pop("out")
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    report = train(Recipe(**values), folder)
    (folder / "training.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


def train(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """Draw pairs, learn tokens and weights, write both; returns the figures of the model card."""
    began = time.perf_counter()
    sampled_pairs = list(pairs(recipe.pairs, recipe.seed, recipe.families))
    last = recipe.families - recipe.held_out
    training_pairs = [pair for pair in sampled_pairs if pair.family < last]
    training_children = {pair.child for pair in training_pairs}
    rest = [pair for pair in sampled_pairs if pair.family >= last]
    unseen = [pair for pair in rest if pair.child not in training_children]
    tokenizer = learned_tokenizer((pair.child for pair in training_pairs), recipe.vocabulary)
    save_tokenizer(tokenizer, folder, recipe.window)
    drawing = time.perf_counter() - began
    model = _fit(recipe, [example(tokenizer, p.parent, p.child) for p in training_pairs])
    model.to(torch.float16).save_pretrained(folder)
    return {
        "recipe": asdict(recipe),
        "parameters": sum(each.numel() for each in model.parameters()),
        "training pairs": len(training_pairs),
        "held-out pairs": len(unseen),
        "held-out bits per character": _bits(model.float(), tokenizer, unseen),
        "seconds": {"drawing": round(drawing), "in all": round(time.perf_counter() - began)},
    }


def _fit(recipe: Recipe, examples: Sequence[TrainingExample]) -> LlamaForCausalLM:
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
            nats, seconds = float(loss.detach()[child].mean()), time.perf_counter() - began
            print(f"step {step}/{len(plan)}: {nats:.3f} nats a token, {seconds:.0f} s", flush=True)
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
    parents = {
        "given the parent": [pair.parent for pair in unseen],
        "given another parent": foreign,
    }
    return {
        name: round(
            child_bits(
                model,
                [
                    example(tokenizer, p, each.child)
                    for p, each in zip(contexts, unseen, strict=True)
                ],
            )
            / characters,
            3,
        )
        for name, contexts in parents.items()
    }


def learned_tokenizer(texts: Iterable[str], size: int) -> Tokenizer:
    """A tokenizer of ``size`` tokens: BOS, EOS, the 256 bytes, and the most useful merges.

    Byte-level BPE whose merges stay within a word and its bracket, or what is between two words:
    any text can be written, and the idioms of programs are one token each.
    """
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [Split(Regex(UNIT), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = ByteDecoder()
    trainer = BpeTrainer(
        vocab_size=size,
        special_tokens=[BOS, EOS],
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path, window: int) -> None:
    """Write ``tokenizer.json`` and ``tokenizer_config.json``."""
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": EOS,
        "pad_token": EOS,
        "clean_up_tokenization_spaces": False,
        "model_max_length": window,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    main()
