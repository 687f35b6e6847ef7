"""More stories from SmolLM2, with distributions: `python -m training.embedded.sample_stories`.

The prompts recombine the words of the corpus's train prompts in its own six sentences; texts are
sampled as the corpus was (temperature 0.7, top-p 0.92, at most 112 new tokens). While a token is
sampled its distribution is at hand: teaching costs nothing more.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import torch
from rich.progress import Progress
from tokenizers import Tokenizer

from training.embedded import distil, tokenizer
from training.embedded.distil import TOP, SoftLabels, chat_prompt
from xgl.lm.language_model import cache_name
from xgl.models.corpus import CorpusStory, stories

TEMPLATES = (
    "Write one short paragraph describing a {noun}, a {other} and what happens between them.",
    "Tell a short story for a child in which a {kind} {noun} {verb} a {other}.",
    "Write a very short simple story about a {kind} {noun} and a {other}.",
    "Write a short letter about a {kind} {noun} that {verb} a {other}.",
    "Write a short news report about a {kind} {noun} and a {other}.",
    "Explain in a few simple sentences what a {noun} is and how it is used with a {other}.",
)
TEMPERATURE, TOP_P, CANDIDATES, NEW_TOKENS = 0.7, 0.92, 256, 112
BEGINNING = 60
"""Characters that must differ from every other text's, as in the corpus."""


def write(texts: Sequence[CorpusStory], path: Path) -> None:
    """Stories as gzipped JSON lines, without a time stamp."""
    lines = "".join(json.dumps({"prompt": s.prompt, "text": s.text}) + "\n" for s in texts)
    path.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))


@dataclass(frozen=True)
class Sampled:
    """Sampled rows: ids [rows, time]; tokens and probabilities [rows, time, TOP] of ours."""

    ids: torch.Tensor
    tokens: torch.Tensor
    probabilities: torch.Tensor


def slots(prompts: Sequence[str]) -> dict[str, list[str]]:
    """The words of `prompts` by the slot of a template that they fill."""
    slots: dict[str, list[str]] = {name: [] for name in ("kind", "noun", "verb", "other")}
    for template in TEMPLATES:
        pattern = re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>\\w+)", re.escape(template)))
        for match in filter(None, map(pattern.fullmatch, prompts)):
            for name, word in match.groupdict().items():
                slots[name].append(word)
    return slots


def new_prompts(rng: Random, count: int) -> list[str]:
    """`count` prompts in the corpus's form with words of its train prompts."""
    words = slots([story.prompt for story in stories("train")])
    draw = lambda: {name: rng.choice(pool) for name, pool in words.items()}  # noqa: E731
    return [rng.choice(TEMPLATES).format(**draw()) for _ in range(count)]


def pick(logits: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """One token for each row of `logits` [rows, vocabulary], drawn as the corpus was."""
    best = logits.topk(CANDIDATES, dim=-1)
    chances = (best.values / TEMPERATURE).softmax(dim=-1)
    before = chances.cumsum(dim=-1) - chances
    chances = chances.masked_fill(before > TOP_P, 0.0)
    return best.indices.gather(1, torch.multinomial(chances, 1, generator=generator))[:, 0]


@torch.inference_mode()
def sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    pieces: torch.Tensor,
    size: int,
    generator: torch.Generator,
) -> Sampled:
    """`NEW_TOKENS` after each prompt, with the distributions over our `size` tokens."""
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(p)) + list(p) for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    samples, tokens, probabilities, past = [], [], [], None
    for _ in range(NEW_TOKENS):
        out = model(
            input_ids=ids, attention_mask=mask, position_ids=positions,
            use_cache=True, logits_to_keep=1, **{cache_name(model): past},
        )  # fmt: skip
        logits, past = out.logits[:, -1].float(), out[cache_name(model)]
        mine = torch.zeros(len(prompts), size).index_add_(1, pieces, logits.softmax(dim=-1))
        top = mine.topk(TOP, dim=-1)
        tokens.append(top.indices.to(torch.int16))
        probabilities.append(top.values.to(torch.float16))
        ids = pick(logits, generator)[:, None]
        samples.append(ids)
        mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
        positions = positions[:, -1:] + 1
    return Sampled(
        torch.cat(samples, dim=1), torch.stack(tokens, dim=1), torch.stack(probabilities, dim=1)
    )


def fold_spaces(text: str) -> tuple[str, list[int]]:
    """`text` with white space folded, and for each position of `text` its new position."""
    characters: list[str] = []
    where: list[int] = []
    for character in text:
        where.append(len(characters))
        if not character.isspace():
            characters.append(character)
        elif characters and characters[-1] != " ":
            characters.append(" ")
    return "".join(characters).rstrip(), [*where, len(characters)]


def starts(reference: Tokenizer, ids: Sequence[int]) -> tuple[str, dict[int, int]]:
    """The text of `ids`, and at which character each step's token begins, blank tokens left out:
    folding changes them, so their distributions are not those of what stands there."""
    pieces = [reference.decode([i]) for i in ids]
    begins = accumulate(map(len, pieces), initial=0)
    steps = zip(begins, enumerate(pieces), strict=False)
    return "".join(pieces), {begin: step for begin, (step, piece) in steps if piece.strip()}


def story_rows(
    text: str, begins: dict[int, int], pruned: Tokenizer
) -> tuple[str, list[tuple[int, int, int]]]:
    """The folded text, and (step, end, token) for each of our tokens that begins where one of the
    reference's did: there its distribution is known."""
    clean, where = fold_spaces(text)
    step_at = {where[begin]: step for begin, step in begins.items()}
    encoding = pruned.encode(clean, add_special_tokens=False)
    rows = []
    for (start, end), token in zip(encoding.offsets, encoding.ids, strict=True):
        if start in step_at:
            rows.append((step_at[start], end, token))
    return clean, rows


def collect(
    prompts: Sequence[str],
    samples: Sampled,
    reference: Tokenizer,
    pruned: Tokenizer,
    first: int,
    beginnings: set[str],
) -> tuple[list[CorpusStory], SoftLabels]:
    """The usable stories of one batch, numbered from `first`, with their labels. A text that begins
    as one of `beginnings` is dropped: the held-out stories stay unseen. Adds to `beginnings`."""
    ends = {reference.token_to_id("<|im_end|>"), reference.token_to_id("<|endoftext|>")}
    usable: list[CorpusStory] = []
    label_places: list[tuple[int, int]] = []
    index: dict[tuple[int, int], tuple[int, int]] = {}
    for row, (prompt, ids) in enumerate(zip(prompts, samples.ids.tolist(), strict=True)):
        length = next((k for k, token in enumerate(ids) if token in ends), len(ids))
        text, begins = starts(reference, ids[:length])
        clean, rows = story_rows(text, begins, pruned)
        if not text.isascii() or len(clean) < 80 or clean[:BEGINNING] in beginnings:
            continue
        beginnings.add(clean[:BEGINNING])
        for step, end, token in rows:
            index[(first + len(usable), end)] = (len(label_places), token)
            label_places.append((row, step))
        usable.append(CorpusStory(prompt, clean))
    where = torch.tensor(label_places, dtype=torch.long).reshape(-1, 2).unbind(dim=1)
    labels = SoftLabels(samples.tokens[where], samples.probabilities[where], index)
    return usable, labels


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    options = argparse.ArgumentParser(description="Sample more stories from SmolLM2.")
    options.add_argument("--reference", type=Path, required=True, help="SmolLM2, converted")
    options.add_argument("--tokenizer", type=Path, required=True, help="the pruned tokenizer.json")
    options.add_argument("--output", type=Path, required=True, help="stories, .jsonl.gz")
    options.add_argument("--labels", type=Path, required=True, help="file for their distributions")
    options.add_argument("--minutes", type=float, default=20.0)
    options.add_argument("--batch", type=int, default=128)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--seed", type=int, default=1)
    return options


def main() -> None:
    """Entry point. Sampled stories are numbered from the last train story on."""
    from transformers import AutoModelForCausalLM

    args = parser().parse_args()
    torch.set_num_threads(args.threads)
    rng, generator = Random(args.seed), torch.Generator().manual_seed(args.seed)
    reference = Tokenizer.from_file(str(args.reference / "tokenizer.json"))
    pruned = Tokenizer.from_file(str(args.tokenizer))
    spec = tokenizer.read_spec(args.reference / "tokenizer.json")
    pieces = torch.tensor(tokenizer.first_pieces(spec, pruned))
    model = AutoModelForCausalLM.from_pretrained(args.reference, dtype=torch.bfloat16).eval()
    train, held_out = stories("train"), stories("held_out")
    beginnings = {story.text[:BEGINNING] for story in train + held_out}
    texts: list[CorpusStory] = []
    labels: list[SoftLabels] = []
    start = time.monotonic()
    with Progress() as bar:
        task = bar.add_task("stories", total=args.minutes * 60)
        while (elapsed := time.monotonic() - start) < args.minutes * 60:
            prompts = new_prompts(rng, args.batch)
            ids = [reference.encode(chat_prompt(prompt)).ids for prompt in prompts]
            samples = sample(model, ids, pieces, pruned.get_vocab_size(), generator)
            usable, soft = collect(
                prompts, samples, reference, pruned, len(train) + len(texts), beginnings
            )
            texts, labels = texts + usable, [*labels, soft]
            bar.update(task, completed=elapsed, description=f"{len(texts)} stories")
            bar.console.print(f"{elapsed:.0f} s, {len(texts)} stories")
            write(texts, args.output)
            distil.save(distil.join(labels), args.labels)


if __name__ == "__main__":
    main()
