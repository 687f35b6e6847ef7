"""Train the embedded model: `python -m training.embedded.train --help`.

A small Llama whose tokenizer is SmolLM2's, pruned; whose embeddings start as the principal
components of SmolLM2's; and which learns from texts and, on the stories, from SmolLM2's
distributions.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from rich.progress import Progress
from tokenizers import Tokenizer

from training.embedded import distil, tokenizer
from training.embedded.batches import IGNORED, Batch, batches
from training.embedded.distil import SoftLabels
from training.embedded.sources import SAMPLED, gather
from xgl.models import corpus
from xgl.models.resolve import EMBEDDED

CONTEXT = 512
EMBEDDING_SCALE = 0.05


@dataclass(frozen=True)
class Recipe:
    """What a training run depends on beside its texts. `mix`: weights of `documents.KINDS`."""

    tokens: int = 20_000_000
    minutes: float = 0.0
    batch_tokens: int = 3072
    learning_rate: float = 3e-3
    weight_decay: float = 0.1
    soft_share: float = 0.8
    soft_temperature: float = 0.7
    mix: tuple[float, ...] = (0.2, 0.03, 0.07, 0.25, 0.3, 0.15)
    hidden: int = 192
    layers: int = 4
    heads: int = 6
    seed: int = 0
    threads: int = 2


def new_model(recipe: Recipe, embeddings: torch.Tensor) -> Any:
    """A Llama of the recipe's size, float32, tied embeddings started at `embeddings`."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(embeddings),
        hidden_size=recipe.hidden,
        intermediate_size=recipe.hidden * 8 // 3,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.heads,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.BOS_ID,
        eos_token_id=tokenizer.EOS_ID,
        pad_token_id=tokenizer.EOS_ID,
    )
    with torch.random.fork_rng(devices=[]):  # transformers draws weights from the global generator
        torch.manual_seed(recipe.seed)
        model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(embeddings)
    return model


def loss_of(model: Any, batch: Batch, soft: SoftLabels | None, recipe: Recipe) -> torch.Tensor:
    """Weighted mean cross-entropy in nats; where a soft label is known it has `soft_share`."""
    logits = model(input_ids=batch.ids).logits
    logs = torch.log_softmax(logits.float(), dim=-1)
    is_target = batch.targets != IGNORED
    weights = batch.weights * is_target
    hard = -logs.gather(-1, batch.targets.clamp(min=0)[..., None])[..., 0]
    if soft is None:
        return (hard * weights).sum() / weights.sum()
    has = batch.labels >= 0
    rows = batch.labels[has]
    # The stories were sampled at this temperature: so their labels are sharpened to it.
    mass = soft.probabilities[rows].float() ** (1.0 / recipe.soft_temperature)
    mass = mass / mass.sum(dim=-1, keepdim=True)
    # Indexed entry by entry: the gradient of whole rows would be as large as the logits.
    row, column = torch.nonzero(has, as_tuple=True)
    log_probabilities = logs[row[:, None], column[:, None], soft.tokens[rows].long()]
    soft_loss = -(log_probabilities * mass).sum(dim=-1)
    mixed = hard.clone()
    mixed[has] = (1 - recipe.soft_share) * hard[has] + recipe.soft_share * soft_loss
    return (mixed * weights).sum() / weights.sum()


def rate(progress: float) -> float:
    """Share of the learning rate at `progress` in [0, 1]: a short warm-up, then a cosine."""
    warm = min(1.0, progress / 0.02 + 0.02)
    return warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0))))


def optimisers(model: Any, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers, AdamW for embeddings and norms."""
    parameters = list(model.named_parameters())
    inner = [p for n, p in parameters if p.ndim == 2 and "embed" not in n]
    outer = [p for n, p in parameters if p.ndim != 2 or "embed" in n]
    muon = torch.optim.Muon(
        inner,
        lr=recipe.learning_rate,
        weight_decay=recipe.weight_decay,
        adjust_lr_fn="match_rms_adamw",
    )
    adam = torch.optim.AdamW(outer, recipe.learning_rate, (0.9, 0.95), weight_decay=0.0)
    return [muon, adam]


def train(model: Any, stream: Any, soft: SoftLabels | None, recipe: Recipe) -> dict[str, float]:
    """Train until the budget of tokens (or of minutes) is spent; what it took."""
    steps = optimisers(model, recipe)
    start, tokens, count, mean_loss = time.monotonic(), 0, 0, 0.0
    with Progress() as bar:
        task = bar.add_task("training", total=1.0)
        while True:
            minutes = (time.monotonic() - start) / 60
            progress = minutes / recipe.minutes if recipe.minutes else tokens / recipe.tokens
            if progress >= 1:
                break
            batch = next(stream)
            for group in (group for step in steps for group in step.param_groups):
                group["lr"] = recipe.learning_rate * rate(progress)
            with torch.autocast("cpu", torch.bfloat16):
                loss = loss_of(model, batch, soft, recipe)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for step in steps:
                step.step()
                step.zero_grad(set_to_none=True)
            tokens += int((batch.targets != IGNORED).sum())
            count += 1
            mean_loss = 0.98 * mean_loss + 0.02 * loss.item() if count > 1 else loss.item()
            bar.update(
                task, completed=progress, description=f"{count} steps, loss {mean_loss:.3f} nats"
            )
            if count % 200 == 0:
                bar.console.print(
                    f"{minutes:.1f} min, {count} steps, {tokens} tokens, {mean_loss:.4f}"
                )
    return {"tokens": tokens, "steps": count, "minutes": round(minutes, 1), "loss": mean_loss}


def run(args: argparse.Namespace, recipe: Recipe) -> None:
    """Start, labels, training, and the folder that `from_pretrained` loads."""
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(recipe.threads)
    args.output.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (args.output / name).write_bytes((args.tokenizer / name).read_bytes())
    own = Tokenizer.from_file(str(args.output / "tokenizer.json"))
    spec = tokenizer.read_spec(args.reference / "tokenizer.json")
    teacher = AutoModelForCausalLM.from_pretrained(args.reference, dtype=torch.float32)
    ids = tokenizer.reference_ids(
        spec, own, teacher.config.bos_token_id, teacher.config.eos_token_id
    )
    table = teacher.get_input_embeddings().weight.detach()[ids]
    model = new_model(recipe, distil.projected_embeddings(table, recipe.hidden, EMBEDDING_SCALE))
    if args.start:
        model.load_state_dict(AutoModelForCausalLM.from_pretrained(args.start).state_dict())
    del teacher
    soft = distil.read_labels(args.labels) if args.labels else None
    sampled = corpus.read(args.sampled.read_bytes())
    sources = gather(args.bible, args.wordnet, own, sampled)
    stream = batches(
        Random(recipe.seed), sources, recipe.mix, own, soft, recipe.batch_tokens, CONTEXT
    )
    costs = train(model, stream, soft, recipe)
    model.save_pretrained(args.output)
    (args.output / "model.safetensors").chmod(0o644)
    costs |= {"stories": len(sources.stories), "distributions": len(soft.index) if soft else 0}
    record = {"recipe": asdict(recipe), "spent": costs, "parameters": model.num_parameters()}
    (args.output / "training.json").write_text(json.dumps(record, indent=2) + "\n")


def parser() -> argparse.ArgumentParser:
    """The command's arguments; a recipe's fields are options of the same name."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--bible", type=Path, required=True, help="KJV, one verse a line")
    options.add_argument("--wordnet", type=Path, required=True, help="folder of data.noun …")
    options.add_argument("--reference", type=Path, required=True, help="SmolLM2, converted")
    options.add_argument("--tokenizer", type=Path, default=EMBEDDED, help="folder of the tokenizer")
    options.add_argument("--output", type=Path, required=True, help="the model's folder")
    options.add_argument("--start", type=Path, help="folder of a trained model to go on from")
    options.add_argument("--sampled", type=Path, default=SAMPLED, help="more stories (.jsonl.gz)")
    options.add_argument("--labels", type=Path, help="their distributions, from `sample_stories`")
    for name, value in asdict(Recipe()).items():
        if name == "mix":
            options.add_argument("--mix", type=float, nargs=len(value), default=value)
        else:
            options.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return options


def main() -> None:
    """Entry point."""
    args = parser().parse_args()
    fields = {name: getattr(args, name) for name in asdict(Recipe())}
    run(args, Recipe(**(fields | {"mix": tuple(args.mix)})))


if __name__ == "__main__":
    main()
