"""Plays a second of a local policy with and without its memory of the last turn's prompts.

    python benchmarks/prompt_memory.py [--plays 64] [--repeats 3]

The base player on one thread, by processor seconds, in three games: one move, which it never
continues; a rule that it breaks about twice a play; two moves. The two are timed in turn, the
median counts. Their moves must be the same.
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
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import Moved, Seeds

GAMES = {
    "one move": ("assign(s=story())", "elicit(x, 8)", "reward(xed(s | x))"),
    "one move without the story's words": (
        "assign(s=story())",
        "elicit(x, 8)",
        "ensure(remove_common_words(x, s) == x)",
        "reward(xed(s | x))",
    ),
    "two moves": (
        "assign(s=story(), t=story())",
        "elicit(x, 8)",
        "reward(xed(s | x))",
        "elicit(y, 8)",
        "reward(xed(t | y))",
    ),
}
METADATA = Metadata(token_bits=False)
"""Rewards are shown as one number, as in runs."""
Moves = list[tuple[str, ...]]


def timed_plays(lm: LanguageModel, played: Game, plays: int, remember: bool) -> tuple[float, Moves]:
    """Processor seconds of the plays, and all moves of each; the judge's cache begins empty."""
    judge = TransformerJudge(lm)
    stories = CorpusStories([each.text for each in corpus.stories("held_out")], judge.truncate)
    cast = Cast(judge, stories, {"black": LocalPolicy(lm, remember=remember)})
    start = time.process_time()
    results = play_all([Instance(played, Seeds(2 * n + 1, n)) for n in range(plays)], cast)
    seconds = time.process_time() - start
    return seconds, [
        tuple(e.move.text for e in play.events if isinstance(e, Moved)) for play in results
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plays", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lm = LanguageModel(*resolve.load("embedded"), torch.device("cpu"))
    print(describe_machine())
    print("| game | moves a play | without | with | gain |\n| --- | --- | --- | --- | --- |")
    for name, lines in GAMES.items():
        seconds: dict[bool, list[float]] = {False: [], True: []}
        played, moves = game(parse("\n".join(lines), "xent"), METADATA), list[Moves]()
        for _ in range(arguments.repeats):
            for remember, measured in seconds.items():
                spent, made = timed_plays(lm, played, arguments.plays, remember)
                measured.append(spent)
                moves.append(made)
        if any(made != moves[0] for made in moves):
            raise SystemExit(f"{name}: the moves differ")
        mean = sum(map(len, moves[0])) / arguments.plays
        without, remembered = median(seconds[False]), median(seconds[True])
        print(
            f"| {name} | {mean:.1f} | {without:.2f} s | {remembered:.2f} s "
            f"| {without / remembered:.2f}× |"
        )


if __name__ == "__main__":
    main()
