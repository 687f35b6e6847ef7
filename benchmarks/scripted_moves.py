"""What simple scripted players earn in the papers' twelve programs: is there skill to be had?

    python benchmarks/scripted_moves.py [--dialect xent] [--plays 256] [--games simple_cut …]

Each script answers every elicit by a rule; its mean score in bits stands beside that of its moves
on other maps. Where nothing beats the empty move, a player that learns to say nothing plays well.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import torch
from learnability import PROGRAMS, tasks
from machine import described

from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.jobs.evaluate import Task, evaluate, evaluation_seeds
from evo.jobs.job import ModelHostSettings
from evo.jobs.model_host import ModelHost
from training.embedded import wordnet
from xgl.models.corpus import content_words
from xgl.runtime.lockstep import Cast
from xgl.runtime.requests import Move, OversizeError, Turn

Script = Callable[[Random, Sequence[str]], str]
"""From the stories in view to a move."""
FLOOR = -100.0
"""Bits of an unfinished play, for the table only."""


def own(count: int) -> Script:
    """Content words of the first story, in its order."""
    return lambda rng, stories: " ".join(content_words(stories[0])[:count])


def first(count: int) -> Script:
    return lambda rng, stories: " ".join(stories[0].split()[:count])


def last(count: int) -> Script:
    return lambda rng, stories: " ".join(stories[0].split()[-count:])


def quote(count: int) -> Script:
    """Words that stand side by side somewhere in a story."""

    def said(rng: Random, stories: Sequence[str]) -> str:
        words = rng.choice(stories).split()
        start = rng.randrange(max(1, len(words) - count))
        return " ".join(words[start : start + count])

    return said


def related(net: wordnet.WordNet) -> Script:
    """Up to three words that WordNet relates to words of the stories."""

    def said(rng: Random, stories: Sequence[str]) -> str:
        have = {word for story in stories for word in content_words(story)}
        near = [n for word in sorted(have) for n in net.related(word)[:1] if n not in have]
        return " ".join(rng.sample(near, min(3, len(near))))

    return said


SCRIPTS: dict[str, Script] = {
    "nothing": lambda rng, stories: "",
    "a full stop": lambda rng, stories: ".",
    "and": lambda rng, stories: "and",
    "two own words": own(2),
    "four own words": own(4),
    "first word": first(1),
    "first four words": first(4),
    "last word": last(1),
    "last four words": last(4),
    "any word": quote(1),
    "any three words": quote(3),
}


@dataclass(frozen=True)
class Scripted:
    """A player that knows the stories in view and nothing else."""

    script: Script

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        return [Move(self._said(turn)) for turn in turns]

    def _said(self, turn: Turn) -> str:
        items = turn.request.view.items
        stories = [item.text for item in items if len(item.text.split()) > 8]
        return self.script(Random(str(turn.key)), stories or ["nothing"])


def row(name: str, model_host: ModelHost, task: Task, script: Script, plays: int) -> str:
    """The table's row."""
    seeds = evaluation_seeds("scripted", 0, plays)
    scores = evaluate(Scripted(script), Cast(model_host.judge, model_host.stories, {}), task, seeds)
    kept = float(np.mean([score.outcome == "finished" for score in scores]))
    mean = float(np.mean([score.score for score in scores]))
    permuted = float(np.mean([score.permuted for score in scores]))
    cells = (name, f"{kept:.0%}", f"{mean:+.1f}", f"{permuted:+.1f}", f"{mean - permuted:+.1f}")
    return "| " + " | ".join(cells) + " |"


def model_host_of(config: RunConfig) -> ModelHost:
    return ModelHost(ModelHostSettings(config.judge, config.player, config.finetune))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialect", choices=("paper", "xent"), default="xent")
    parser.add_argument("--plays", type=int, default=256)
    parser.add_argument("--wordnet", type=Path, help="its folder, for a script of related words")
    parser.add_argument("--games", nargs="+", default=PROGRAMS[:10])
    options = parser.parse_args()
    torch.set_num_threads(2)
    config = load(["+experiment=scope_growth"])
    model_host = model_host_of(config)
    scripts = dict(SCRIPTS)
    if options.wordnet:
        scripts["related words"] = related(wordnet.read(options.wordnet))
    print(described())
    for name in options.games:
        (task,) = tasks([name], config, options.dialect)
        print(f"\n**{name}**\n\n| says | finished | bits | on other maps | specific |")
        print("| --- " * 5 + "|")
        for told, script in scripts.items():
            floored = replace(task, floor=FLOOR)
            print(row(told, model_host, floored, script, options.plays), flush=True)


if __name__ == "__main__":
    main()
