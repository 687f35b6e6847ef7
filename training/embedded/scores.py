"""Plain scoring and sampling with a causal language model, for measuring models on their own.

The judge of the games is a package of its own; this is the least that the model card needs.
`python -m training.embedded.scores` prints texts that a model writes after BOS.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

import torch

from xgl.lm.language_model import cache_name

ROWS = 32
TOKENS, TEMPERATURE, SEED = 80, 0.7, 1


def tokens(tokenizer: Any, text: str) -> list[int]:
    """Token ids of `text`, tokenised apart, without special tokens."""
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def _chunk(model: Any, pairs: Sequence[tuple[list[int], list[int]]]) -> list[torch.Tensor]:
    rows = [before + target for before, target in pairs]
    width = max(map(len, rows))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=model.device)
    logits = model(input_ids=ids[:, :-1]).logits.float()
    nats = logits.logsumexp(dim=-1) - logits.gather(-1, ids[:, 1:, None])[..., 0]
    bits = nats.cpu() / math.log(2.0)
    spans = ((len(before) - 1, len(before) + len(target) - 1) for before, target in pairs)
    return [row[start:end] for row, (start, end) in zip(bits, spans, strict=True)]


@torch.inference_mode()
def token_bits(model: Any, pairs: Sequence[tuple[list[int], list[int]]]) -> list[torch.Tensor]:
    """Bits of each scored token given what precedes it, for (context, scored) ids.

    Every context begins with BOS. Rows are padded on the right, where padding cannot be seen.
    """
    order = sorted(range(len(pairs)), key=lambda i: sum(map(len, pairs[i])))
    bits: dict[int, torch.Tensor] = {}
    for start in range(0, len(order), ROWS):
        group = order[start : start + ROWS]
        bits.update(zip(group, _chunk(model, [pairs[i] for i in group]), strict=True))
    return [bits[i] for i in range(len(pairs))]


@torch.inference_mode()
def sample(
    model: Any,
    prompts: Sequence[list[int]],
    most: int,
    stop: frozenset[int],
    generator: torch.Generator,
    temperature: float = 1.0,
) -> list[list[int]]:
    """At most `most` tokens after each prompt, up to a token of `stop`.

    One prompt at a time with its cache: slow, simple, and independent of any batch.
    """
    moves: list[list[int]] = []
    for prompt in prompts:
        move: list[int] = []
        step, past = torch.tensor([prompt], device=model.device), None
        while len(move) < most:
            out = model(input_ids=step, use_cache=True, **{cache_name(model): past})
            chances = (out.logits[0, -1].float() / temperature).softmax(dim=-1).cpu()
            token = int(torch.multinomial(chances, 1, generator=generator))
            if token in stop:
                break
            move.append(token)
            step, past = torch.tensor([[token]], device=model.device), out[cache_name(model)]
        moves.append(move)
    return moves


def main() -> None:
    """Print seeded samples one a line."""
    from xgl.models.resolve import load

    parser = argparse.ArgumentParser(description="Texts that a model writes after BOS.")
    parser.add_argument("--model", default="embedded", help="embedded, smollm2, a folder, a hub id")
    parser.add_argument("--count", type=int, default=3)
    args = parser.parse_args()
    model, tokenizer = load(args.model)
    prompts = [[tokenizer.bos_token_id]] * args.count
    stop = frozenset((tokenizer.eos_token_id,))
    generator = torch.Generator().manual_seed(SEED)
    texts = sample(model, prompts, TOKENS, stop, generator, TEMPERATURE)
    for ids in texts:
        print(" ".join(tokenizer.decode(ids, skip_special_tokens=True).split()))


if __name__ == "__main__":
    main()
