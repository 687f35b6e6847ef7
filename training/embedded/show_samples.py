"""Texts that a model writes after BOS: `python -m training.embedded.show_samples`."""

from __future__ import annotations

import argparse

TOKENS, TEMPERATURE, SEED = 80, 0.7, 1


def main() -> None:
    """Print seeded samples one a line."""
    import torch

    from training.embedded.scores import sample
    from xgl.models.resolve import load

    parser = argparse.ArgumentParser(description="Texts that a model writes after BOS.")
    parser.add_argument("--model", default="embedded", help="embedded, smollm2, a folder, a hub id")
    parser.add_argument("--count", type=int, default=3)
    args = parser.parse_args()
    model, tokenizer = load(args.model)
    prompts = [[tokenizer.bos_token_id]] * args.count
    stop = frozenset((tokenizer.eos_token_id,))
    generator = torch.Generator().manual_seed(SEED)
    drawn = sample(model, prompts, TOKENS, stop, generator, TEMPERATURE)
    for ids in drawn:
        print(" ".join(tokenizer.decode(ids, skip_special_tokens=True).split()))


if __name__ == "__main__":
    main()
