"""What the language itself costs: reading a program, and playing where the judge is free.

    python benchmarks/language.py

Prints a Markdown table. One process, one thread.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import xgl
from xgl.language import syntax as syn
from xgl.players import FixedMovesPlayer
from xgl.runtime.requests import ScoreRequest, Seeds, StoryRequest, TokenScores, TruthRequest

INSTANCES = 10_000
REPEATS = 21
STORY = "Once upon a time a small red hen lived by the river and baked bread every day."
SINGLE_TEXT = "assign(s=story())\nelicit(t, 8)\nreward(xed(s | t))"
BLOCK = """\
assign(s=story(), t=s // "." + " and then", l=["one", s])
elicit(x, y, 12)
ensure(xent(x | s) < xent(x), "no common words between" + s + "&" + x)
ensure(len(common_word_set(x, t)) == 0 and not (x in l or num_words(y) > 9))
reward(xed(s | x) - xed(t | y, "So it began."))
reveal(alice, x, t % "the")
elicit(alice, p, 6)
reward(alice, dex(s | p) + nex(p))
"""
LOOP = [
    "beacon(flag_1)",
    *BLOCK.splitlines()[:-2],
    "reward(alice, xed(t | x))",
    "replay(flag_1, 9)",
]
PROGRAM = "\n".join([*BLOCK.splitlines() * 7, *LOOP[:7], LOOP[-1]])


class UnsurprisedJudge:
    """A judge of whole words to which nothing is a surprise."""

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores]:
        return [TokenScores((0.0,) * len(request.text.split())) for request in requests]

    def truths(self, requests: list[TruthRequest]) -> list[bool]:
        return [True] * len(requests)

    def count(self, text: str) -> int:
        return len(text.split())

    def truncate(self, text: str, max_len: int) -> str:
        return " ".join(text.split()[:max_len])

    first_tokens = truncate


class OneStory:
    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        return [STORY] * len(requests)


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Median processor time, which other work on the machine lengthens little."""
    durations = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        durations.append(time.process_time() - start)
    return statistics.median(durations)


def read_and_check() -> None:
    xgl.analyse(xgl.parse(PROGRAM, "xent"))


def play_many() -> None:
    instance_game = xgl.game(xgl.parse(SINGLE_TEXT, "xent"))
    seeds = [Seeds(number, number) for number in range(INSTANCES)]
    player = FixedMovesPlayer(dict.fromkeys(seeds, ("a red hen and her bread",)))
    cast = xgl.Cast(UnsurprisedJudge(), OneStory(), {"black": player})  # type: ignore[arg-type]
    plays = xgl.play_all([xgl.Instance(instance_game, each) for each in seeds], cast)
    assert all(play.scores == {"black": 0.0} for play in plays)


def machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model = names[0] if names else platform.processor()
    return f"one core of {model}, Python {platform.python_version()}"


def main() -> None:
    lines = len(xgl.parse(PROGRAM, "xent").instructions)
    assert lines == syn.MAX_LINES
    rows = [
        (f"read and check a program of {lines} lines", seconds(read_and_check, REPEATS), "5 ms"),
        (f"{INSTANCES:,} instances of Single Text, judge at 0", seconds(play_many, 3), "2 s"),
    ]
    print(f"On {machine()}; medians of {REPEATS} and of 3 runs.\n")
    print("| work | took | bound |\n| --- | --- | --- |")
    for name, took, limit in rows:
        print(f"| {name} | {took * 1000:.1f} ms | {limit} |")


if __name__ == "__main__":
    main()
