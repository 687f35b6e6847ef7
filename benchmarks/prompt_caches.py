"""Processor seconds of a local policy's plays, with and without kept caches of earlier prompts.

    python benchmarks/prompt_caches.py [--plays 64] [--repeats 3]

The base player on one thread. The two ways are timed in turn, after a play of each; the median
counts.
"""

from __future__ import annotations

import argparse
import time

import torch
from machine import describe_machine, median

from xgl.judge.story_sources import CorpusStories
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.canonical import Game, Metadata, game
from xgl.language.parser import parse
from xgl.lm.language_model import LanguageModel
from xgl.models import corpus, resolve
from xgl.players.local import LocalPolicy
from xgl.runtime.lockstep import Cast
from xgl.runtime.requests import Moved, Seeds
from xgl.runtime.rounds import play_rounds

ONE = "assign(s=story())\nelicit(x, 8)\n"
GAMES = {
    "one move": (ONE + "reward(xed(s | x))", 1),
    "a rule broken twice a play": (
        ONE + "ensure(remove_common_words(x, s) == x)\nreward(xed(s | x))",
        1,
    ),
    "a rule that no move keeps": (ONE + "ensure(x == s)\nreward(xed(s | x))", 1),
    "two moves": (
        "assign(s=story(), t=story())\n"
        "elicit(x, 8)\nreward(xed(s | x))\nelicit(y, 8)\nreward(xed(t | y))",
        1,
    ),
    "one move, 8 rounds": (ONE + "reward(xed(s | x))", 8),
}
"""Programs, and the number of rounds on each map."""


def timed_plays(
    lm: LanguageModel, played: Game, plays: int, rounds: int, keep: bool
) -> tuple[float, float]:
    """Processor seconds, and moves of a play; the judge's cache begins empty."""
    judge = TransformerJudge(lm)
    stories = CorpusStories([each.text for each in corpus.stories("held_out")], judge.truncate)
    cast = Cast(judge, stories, {"black": LocalPolicy(lm, keep_caches=keep)})
    seeds = [Seeds(2 * number + 1, number) for number in range(plays)]
    start = time.process_time()
    results = play_rounds(played, "black", cast, seeds, rounds, control=False)
    seconds = time.process_time() - start
    moves = sum(isinstance(event, Moved) for each in results for event in each.play.events)
    return seconds, moves / len(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plays", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lm = LanguageModel(*resolve.load("embedded"), torch.device("cpu"))
    print(describe_machine())
    print("| game | moves a play | without | with | gain |\n| --- | --- | --- | --- | --- |")
    for name, (code, rounds) in GAMES.items():
        # As in runs, a reward is shown as one number.
        played = game(parse(code, "xent"), Metadata(token_bits=False))
        seconds: dict[bool, list[float]] = {False: [], True: []}
        for keep in seconds:
            timed_plays(lm, played, 1, rounds, keep)
        for _ in range(arguments.repeats):
            for keep, measured in seconds.items():
                spent, moves = timed_plays(lm, played, arguments.plays, rounds, keep)
                measured.append(spent)
        without, kept = median(seconds[False]), median(seconds[True])
        print(f"| {name} | {moves:.1f} | {without:.2f} s | {kept:.2f} s | {without / kept:.2f}× |")


if __name__ == "__main__":
    main()
