"""Scoring with an 8B-shaped Llama of random weights: tokens a second, share of the matrix rate.

    python benchmarks/gpu_scoring.py            # needs a GPU with 40 GiB
    python benchmarks/gpu_scoring.py --layers 2 --hidden 256 --rows 8    # tries the script anywhere

Rows of 512 tokens of which the last 128 are scored, in bfloat16. The matrix rate is the fastest
product of two square bfloat16 matrices that the machine shows; a token costs two operations a
weight, and attention and head what they take.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from machine import describe_machine
from transformers import LlamaConfig, LlamaForCausalLM

from xgl.judge.engine import EngineSettings, ScoringEngine
from xgl.lm.language_model import LanguageModel
from xgl.lm.prefix_sharing import ScoredSequence
from xgl.random_streams import stream

LENGTH, SCORED = 512, 128


def model(layers: int, hidden: int, vocabulary: int, device: str) -> LanguageModel:
    """Llama 3.1 8B's shape where nothing else is given."""
    heads = max(1, hidden // 128)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=hidden * 7 // 2,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=max(1, heads // 4),
        max_position_embeddings=8192,
        tie_word_embeddings=False,
    )
    with torch.device(device):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.bfloat16)
        llama = LlamaForCausalLM(config).eval()
        torch.set_default_dtype(before)
    return LanguageModel(llama, None, torch.device(device))


def best(work: Callable[[], object], repeats: int = 3) -> float:
    """Fewest seconds of a call, after one to warm up."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def matrix_rate(device: str) -> float:
    """Operations a second of a bfloat16 matrix product."""
    sizes = (4096, 8192, 16384) if device == "cuda" else (1024, 2048)
    rates = []
    for size in sizes:
        a = torch.randn(size, size, device=device, dtype=torch.bfloat16)
        rates.append(2 * size**3 / best(lambda a=a: a @ a))  # type: ignore[misc]
    return max(rates)


def operations(lm: LanguageModel) -> float:
    """Of one row: two a weight and token, attention, and the head on what is scored."""
    config = lm.model.config
    blocks = sum(p.numel() for name, p in lm.model.named_parameters() if ".layers." in name)
    attention = 2 * LENGTH * config.hidden_size * config.num_hidden_layers  # causal: half of 4
    head = 2 * config.hidden_size * config.vocab_size * SCORED
    return 2 * blocks * LENGTH + attention * LENGTH + head


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--vocabulary", type=int, default=128256)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--batches", type=int, nargs="+", default=[8192, 16384, 32768, 65536])
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lm = model(arguments.layers, arguments.hidden, arguments.vocabulary, device)
    ids = stream("gpu_scoring").integers(arguments.vocabulary, size=(arguments.rows, LENGTH))
    rows = [ScoredSequence(tuple(map(int, row)), SCORED) for row in ids]
    rate = matrix_rate(device)
    weights = sum(p.numel() for p in lm.model.parameters())
    print(
        f"{weights / 1e9:.2f} B weights; {describe_machine()}; "
        f"bfloat16 products: {rate / 1e12:.1f} T/s\n"
    )
    print("| tokens a batch | tokens a second | share of the matrix rate |")
    print("| --- | --- | --- |")
    for batch in arguments.batches:
        settings = EngineSettings(batch, memory_bytes=1 << 40, score_cache_bytes=0)
        seconds = best(lambda s=settings: ScoringEngine(lm, s).bits(rows))  # type: ignore[misc]
        share = operations(lm) * len(rows) / seconds / rate
        print(f"| {batch:,} | {len(rows) * LENGTH / seconds:,.0f} | {share:.0%} |", flush=True)


if __name__ == "__main__":
    main()
