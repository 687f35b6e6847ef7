"""How much of a model's raw speed the scoring engine keeps, and what sharing saves.

    python benchmarks/judge_efficiency.py [--model smollm2] [--dtype float32]

Three loads: short xeds (45-token maps, 4-token moves), long contexts (400-token maps, 12-token
moves), statements for ``is_true``. For each: tokens that the engine read a second, over what the
bare model reads a second in rows of the same mean length, in its best batch. Both compute
logits for the tokens that are scored; the bare model's last line computes all of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from machine import describe_machine

from xgl.judge.statistics import Statistics
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.dialects import XENT
from xgl.lm.language_model import LanguageModel
from xgl.models import corpus, resolve
from xgl.random_streams import stream
from xgl.runtime.requests import ScoreRequest, TruthRequest

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
LARGEST = {"cpu": 3072}
"""Tokens of the bare model's largest batch that is tried; on a CPU more are slower."""


@dataclass(frozen=True)
class Load:
    """A name and what asks the judge."""

    name: str
    ask: Callable[[TransformerJudge], object]


def loads(judge: TransformerJudge, scale: int) -> list[Load]:
    """``scale`` multiplies the number of maps and statements."""
    stories = [story.text for story in corpus.stories("held_out")]
    rng = stream("judge_efficiency")
    texts = [stories[int(i)] for i in rng.permutation(len(stories))]
    words = " ".join(texts[200:]).split()

    def move(tokens: int) -> str:
        start = int(rng.integers(len(words) - tokens))
        return judge.truncate(" ".join(words[start : start + tokens]), tokens)

    short = [
        ScoreRequest(story, context, XENT.scoring)
        for story in (judge.truncate(text, 45) for text in texts[: 8 * scale])
        for m in [move(4) for _ in range(8)]
        for context in ((), (m,))
    ]
    long = [
        ScoreRequest(move(12), (story,), XENT.scoring)
        for story in _long(judge, texts, 4 * scale)
        for _ in range(8)
    ]
    moves = [" ".join(move(8).split()) for _ in range(64 * scale)]
    statements = [
        TruthRequest(each, None, "the text is new", (("the text", each),)) for each in moves
    ]
    return [
        Load("short xeds", lambda j: j.score(short)),
        Load("long contexts", lambda j: j.score(long)),
        Load("is_true", lambda j: j.truths(statements)),
    ]


def _long(judge: TransformerJudge, texts: Sequence[str], count: int) -> list[str]:
    """Texts of 400 tokens: several stories after one another."""
    long_texts = [" ".join(texts[8 * k : 8 * k + 8]) for k in range(count)]
    return [judge.truncate(text, 400) for text in long_texts]


def raw(lm: LanguageModel, length: int, scored_share: float, every: bool) -> tuple[float, int]:
    """Tokens a second of the bare model at its best batch of rows of ``length`` tokens, and that
    batch; logits for the share ``scored_share`` of the positions, or for all of them."""
    best = (0.0, 0)
    for rows in BATCHES:
        if best[1] and rows * length > LARGEST.get(lm.device.type, 65536):
            break
        ids = torch.randint(5, int(lm.model.config.vocab_size), (rows, length), device=lm.device)
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            with torch.inference_mode():
                if every:
                    lm.model(input_ids=ids, use_cache=False).logits.sum().item()
                else:
                    hidden = lm.backbone(input_ids=ids, use_cache=False).last_hidden_state
                    lm.head(hidden[:, : max(1, round(length * scored_share))]).sum().item()
            seconds.append(time.perf_counter() - start)
        rate = rows * length / min(seconds[1:])
        best = max(best, (rate, rows))
    return best


def rate(judge: TransformerJudge, load: Load, repeats: int) -> float:
    """Tokens read a second, nothing cached: the best, as it is the bare model's best."""
    rates = []
    for _ in range(repeats):
        judge.forget()
        before, start = judge.engine.statistics.read_tokens, time.perf_counter()
        load.ask(judge)
        seconds = time.perf_counter() - start
        rates.append((judge.engine.statistics.read_tokens - before) / seconds)
    return max(rates)


@dataclass(frozen=True)
class Measurement:
    """One load: what it took, and the bare model's tokens a second with its best batch."""

    name: str
    did: Statistics
    cached_share: float
    rate: float
    length: int
    scored_rate: tuple[float, int]
    every: tuple[float, int]

    def token_cells(self) -> list[str]:
        did = self.did
        counts = (did.requested, did.requested_tokens, did.new_tokens, did.read_tokens)
        return [self.name, *(f"{count:,}" for count in counts), f"{self.cached_share:.0%}"]

    def speed(self) -> list[str]:
        fast, batch = self.scored_rate
        return [
            self.name,
            f"{1 - self.did.read_tokens / self.did.padded_tokens:.0%}",
            f"{self.rate:,.0f}",
            f"{fast:,.0f} ({batch} × {self.length})",
            f"{self.rate / fast:.2f}",
            f"{self.every[0]:,.0f}",
            f"{self.rate / self.every[0]:.2f}",
        ]


def measure(lm: LanguageModel, judge: TransformerJudge, load: Load, repeats: int) -> Measurement:
    fresh = TransformerJudge(lm)
    load.ask(fresh)
    did = fresh.engine.statistics
    load.ask(fresh)
    again = fresh.engine.statistics
    length = max(2, round(did.padded_tokens / max(1, did.trees)))
    return Measurement(
        load.name,
        did,
        (again.cached - did.cached) / max(1, did.requested - did.duplicates),
        rate(judge, load, repeats),
        length,
        raw(lm, length, did.scored_tokens / did.read_tokens, every=False),
        raw(lm, length, 1.0, every=True),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, help="default: all cores")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    model, tokenizer = resolve.load(arguments.model, device="auto", dtype=arguments.dtype)
    lm = LanguageModel(model, tokenizer, model.device)
    judge = TransformerJudge(lm)
    results = [
        measure(lm, judge, load, arguments.repeats) for load in loads(judge, arguments.scale)
    ]
    print(f"{arguments.model}, {str(model.dtype).removeprefix('torch.')}; {describe_machine()}\n")
    print(
        "| load | sequences | tokens requested | without duplicates | read | cached, second call |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for each in results:
        print(f"| {' | '.join(each.token_cells())} |")
    print("\n| load | padding | read a second | bare model (batch) | ratio | all logits | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for each in results:
        print(f"| {' | '.join(each.speed())} |")


if __name__ == "__main__":
    main()
