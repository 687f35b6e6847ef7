"""Does a judge hear what a text is about? `python -m training.embedded.topicality`.

Topicality is the share of triples (story, its hint, another story's hint) with
xed(story | own hint) > xed(story | other hint), once with hints of the story's own words and once
with related words that do not occur in it. And bits per byte on the held-out stories, beside xz.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

from training.embedded.draw_topicality import Triple
from xgl.models.corpus import stories


@dataclass(frozen=True)
class Rule:
    """How a string is scored: after BOS or after nothing, with its first token or without it."""

    name: str
    bos: bool
    first_token: bool


RULES = (
    Rule("xent", bos=False, first_token=False),
    Rule("bos", bos=True, first_token=False),
    Rule("paper", bos=True, first_token=True),
)
"""The `xent` dialect's rule, the same after BOS, and the paper's."""


@dataclass(frozen=True)
class Topicality:
    """Shares in [0, 1] under one rule, and mean xed in bits: of the story given its own words,
    another story's words, words related to its own, words related to another's."""

    rule: str
    triples: int
    own_words: float
    related_words: float
    own_bits: float
    other_bits: float
    related_bits: float
    related_other_bits: float


@dataclass(frozen=True)
class Compression:
    """Bits per byte on the same texts."""

    texts: int
    model: float
    xz: float


def triples() -> list[Triple]:
    """The committed triples."""
    file = resources.files("training.embedded").joinpath("topicality.jsonl")
    text = file.read_text(encoding="utf-8")
    return [Triple(**json.loads(line)) for line in text.splitlines()]


def xeds(
    model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]], rule: Rule = RULES[0]
) -> list[float]:
    """xed(story | hint) in bits of each (story, hint), tokenised apart and joined as tokens."""
    from training.embedded.scores import token_bits, tokens

    bos = [tokenizer.bos_token_id] if rule.bos else []
    skipped = 0 if rule.first_token else 1
    texts = [tokens(tokenizer, story) for story, _ in pairs]
    hints = [bos + tokens(tokenizer, hint) for _, hint in pairs]
    alone = [(bos + ids[:skipped], ids[skipped:]) for ids in texts]
    conditional = [(h + ids[:skipped], ids[skipped:]) for h, ids in zip(hints, texts, strict=True)]
    # A story asked of several hints is scored alone but once.
    places = {tuple(before + ids): i for i, (before, ids) in enumerate(alone)}
    rows = token_bits(model, [alone[i] for i in places.values()] + conditional)
    bits = dict(zip(places, (float(row.sum()) for row in rows), strict=False))
    conditional_rows = zip(alone, rows[len(places) :], strict=True)
    return [bits[tuple(before + ids)] - float(row.sum()) for (before, ids), row in conditional_rows]


def topicality(
    model: Any, tokenizer: Any, sample: Sequence[Triple], rule: Rule = RULES[0]
) -> Topicality:
    """The share of the triples that the model orders rightly."""

    def share(mine: list[float], others: list[float]) -> float:
        return sum(a > b for a, b in zip(mine, others, strict=True)) / len(sample)

    fields = ("own", "other", "related", "related_other")
    pairs = [(t.story, getattr(t, field)) for field in fields for t in sample]
    bits, count = xeds(model, tokenizer, pairs, rule), len(sample)
    hints = [bits[k * count : (k + 1) * count] for k in range(len(fields))]
    own, other, related, foreign = hints
    means = (sum(values) / len(sample) for values in hints)
    return Topicality(rule.name, len(sample), share(own, other), share(related, foreign), *means)


def compression(model: Any, tokenizer: Any, texts: Sequence[str]) -> Compression:
    """Bits per byte of `texts`, each on its own after BOS; xz -9 takes them as one file."""
    from training.embedded.scores import token_bits, tokens

    pairs = [([tokenizer.bos_token_id], tokens(tokenizer, text)) for text in texts]
    bits = sum(float(row.double().sum()) for row in token_bits(model, pairs))
    corpus_bytes = "\n".join(texts).encode()
    compressed_bits = 8 * len(lzma.compress(corpus_bytes, preset=9))
    size = sum(len(text.encode()) for text in texts)
    return Compression(len(texts), bits / size, compressed_bits / len(corpus_bytes))


def main() -> None:
    """Entry point."""
    from xgl.models.resolve import load

    parser = argparse.ArgumentParser(description="Topicality and bits per byte of a judge.")
    parser.add_argument("--model", default="embedded", help="embedded, smollm2, a folder, a hub id")
    parser.add_argument("--triples", type=int, default=200, help="how many of the 200 triples")
    parser.add_argument("--texts", type=int, default=0, help="held-out texts to compress (0: all)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    args = parser.parse_args()
    model, tokenizer = load(args.model, device="cpu", dtype="float32")
    held_out = [story.text for story in stories("held_out")]
    texts = held_out[: args.texts] if args.texts else held_out
    sample = triples()[: args.triples]
    rows = [asdict(topicality(model, tokenizer, sample, rule)) for rule in RULES]
    bits_per_byte = asdict(compression(model, tokenizer, texts))
    if args.json:
        print(json.dumps({"topicality": rows, "bits_per_byte": bits_per_byte}))
        return
    for row in rows:
        print("  ".join(f"{k} {v:.4g}" if k != "rule" else f"{v:5}" for k, v in row.items()))
    figures = "  ".join(f"{name} {value:.4g}" for name, value in bits_per_byte.items())
    print(f"bits per byte  {figures}")


if __name__ == "__main__":
    main()
