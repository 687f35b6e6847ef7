"""How fast xeds are scored here and by the authors' engine (wheel ``xent`` 0.5.0).

    python benchmarks/judge_vs_peer.py [--maps 16] [--moves 16] [--rounds 2] [--texts FILE]

Both score the same maps with the same moves on SmolLM2-135M, in turns, in float32 and in bfloat16;
prints a Markdown table. ``tests/peer`` says how the wheel is installed. FILE: one map a line, to
try texts that the repository does not hold.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from machine import describe_machine, median

from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.dialects import XENT
from xgl.lm.language_model import LanguageModel
from xgl.models import corpus, resolve
from xgl.random_streams import stream
from xgl.runtime.requests import ScoreRequest, TokenScores

MAP_TOKENS, MOVE_TOKENS = 45, 4
DTYPES = ("float32", "bfloat16")

Pair = tuple[str, str]


@dataclass(frozen=True)
class Side:
    """One engine in one dtype."""

    name: str
    dtype: str
    score: Callable[[list[Pair]], list[list[float]]]


def ours(dtype: str, device: str) -> tuple[Side, TransformerJudge]:
    model, tokenizer = resolve.load("smollm2", dtype=dtype, device=device)
    judge = TransformerJudge(LanguageModel(model, tokenizer, torch.device(device)))

    def score(pairs: list[Pair]) -> list[list[float]]:
        judge.forget()
        requests = [
            ScoreRequest(text, context, XENT.scoring)
            for text, move in pairs
            for context in ((), (move,))
        ]
        bits = [each.bits for each in judge.score(requests) if isinstance(each, TokenScores)]
        pairs_of_bits = zip(bits[::2], bits[1::2], strict=True)
        return [[a - b for a, b in zip(one, two, strict=True)] for one, two in pairs_of_bits]

    return Side("this engine", dtype, score), judge


def theirs(dtype: str) -> Side:
    from xent.common.x_string import XString
    from xent.runtime.judge import Judge

    folder = resolve.resolve("smollm2")
    parameters: dict[str, Any] = {"dtype": getattr(torch, dtype)}
    judge = Judge(folder.name, hf_dir_path=str(folder.parent), model_params=parameters)

    def score(pairs: list[Pair]) -> list[list[float]]:
        lists = [judge.xed(XString(text) | move) for text, move in pairs]
        return [[bits * each.scale for _, bits in each.pairs] for each in lists]

    return Side("xent 0.5.0", dtype, score)


def request_pairs(judge: TransformerJudge, maps: int, moves: int, texts: Path | None) -> list[Pair]:
    """Every map with every move of its own: words that follow one another in other stories."""
    stories = [story.text for story in corpus.stories("held_out")]
    corpus_texts = texts.read_text().splitlines() if texts else stories
    rng = stream("judge_vs_peer")
    shuffled = [corpus_texts[int(i)] for i in rng.permutation(len(corpus_texts))]
    stories = [judge.truncate(text, MAP_TOKENS) for text in shuffled[:maps]]
    words = " ".join(shuffled[maps:] or shuffled).split()
    starts = rng.choice(len(words) - MOVE_TOKENS, size=(maps, moves), replace=False)
    return [
        (story, judge.truncate(" ".join(words[int(s) : int(s) + MOVE_TOKENS]), MOVE_TOKENS))
        for story, row in zip(stories, starts, strict=True)
        for s in row
    ]


def farthest(one: list[list[float]], other: list[list[float]]) -> float:
    """The largest difference between two engines' bits of one token."""
    rows = zip(one, other, strict=True)
    return max(abs(a - b) for left, right in rows for a, b in zip(left, right, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--maps", type=int, default=16)
    parser.add_argument("--moves", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--texts", type=Path)
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    engines = [ours(dtype, device) for dtype in DTYPES]
    sides = [side for side, _ in engines] + [theirs(dtype) for dtype in DTYPES]
    pairs = request_pairs(engines[0][1], arguments.maps, arguments.moves, arguments.texts)
    seconds: dict[tuple[str, str], list[float]] = {(s.name, s.dtype): [] for s in sides}
    scores: dict[tuple[str, str], list[list[float]]] = {}
    for side in sides:
        side.score(pairs[:2])
    for _ in range(arguments.rounds):
        for side in sides:
            start = time.perf_counter()
            scores[side.name, side.dtype] = side.score(pairs)
            seconds[side.name, side.dtype].append(time.perf_counter() - start)
    rates = {key: len(pairs) / median(durations) for key, durations in seconds.items()}
    print(
        f"{describe_machine()}; {arguments.maps} maps of {MAP_TOKENS} tokens "
        f"× {arguments.moves} moves\n"
    )
    print("| engine | dtype | xeds a second | over xent 0.5.0 in float32 | in bfloat16 |")
    print("| --- | --- | --- | --- | --- |")
    for (name, dtype), rate in rates.items():
        times = [f"{rate / rates['xent 0.5.0', other]:.2f}×" for other in DTYPES]
        print(f"| {name} | {dtype} | {rate:.1f} | {times[0]} | {times[1]} |")
    gap = farthest(scores["this engine", "float32"], scores["xent 0.5.0", "float32"])
    print(f"\nLargest difference between the two in float32: {gap:.1e} bits a token.")


if __name__ == "__main__":
    main()
