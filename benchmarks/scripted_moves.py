"""What scripted players earn in the papers' twelve programs: is there skill to be had?

    python benchmarks/scripted_moves.py [--dialect xent] [--plays 256] [--games simple_cut …]

Each script answers every elicit by a rule (docs/specification.md, "Scripts"); its mean score in
bits stands beside that of its moves on other maps. Where nothing beats the empty move, a player
that learns to say nothing plays well.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import torch
from learnability import PROGRAMS, tasks
from machine import describe_machine

from evo.config.compose import load
from evo.jobs.evaluation import ScoredPlay, Task, evaluate, evaluate_together, evaluation_seeds
from evo.jobs.job import ModelHostSettings
from evo.jobs.model_host import ModelHost
from training.embedded import wordnet
from xgl.models.corpus import content_words
from xgl.players.scripts import SCRIPTS, ScriptPlayer, visible_texts
from xgl.runtime.lockstep import Cast
from xgl.runtime.requests import Move, OversizeError, Turn

FLOOR = -100.0
"""Bits of an unfinished play, for the table only."""


@dataclass(frozen=True)
class RelatedWords:
    """Says up to three words that WordNet relates to words of the texts in view."""

    net: wordnet.WordNet

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        return [Move(self._related_words(turn)) for turn in turns]

    def _related_words(self, turn: Turn) -> str:
        texts = visible_texts(turn.request.view)
        have = {word for text in texts for word in content_words(text)}
        near = [
            n for word in sorted(have) for n in self.net.related_words(word)[:1] if n not in have
        ]
        return " ".join(Random(str(turn.key)).sample(near, min(3, len(near))))


def row(name: str, scores: Sequence[ScoredPlay]) -> str:
    """The table's row."""
    finished_share = float(np.mean([score.outcome == "finished" for score in scores]))
    mean = float(np.mean([score.score for score in scores]))
    permuted = float(np.mean([score.permuted_score for score in scores]))
    cells = (
        name,
        f"{finished_share:.0%}",
        f"{mean:+.1f}",
        f"{permuted:+.1f}",
        f"{mean - permuted:+.1f}",
    )
    return "| " + " | ".join(cells) + " |"


def rows(
    host: ModelHost, task: Task, plays: int, related: RelatedWords | None = None
) -> Iterator[str]:
    """One for each script, and for related words where these are known."""
    on = Cast(host.judge, host.stories, {}), task, evaluation_seeds("scripted", 0, plays)
    each = evaluate_together(ScriptPlayer(host.judge.count), tuple(SCRIPTS), *on)
    yield from map(row, SCRIPTS, each)
    if related:
        yield row("related words", evaluate(related, *on))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialect", choices=("paper", "xent"), default="xent")
    parser.add_argument("--plays", type=int, default=256)
    parser.add_argument("--wordnet", type=Path, help="its folder, for a script of related words")
    parser.add_argument("--games", nargs="+", default=PROGRAMS[:10])
    options = parser.parse_args()
    torch.set_num_threads(2)
    config = load(["+experiment=scope_growth"])
    host = ModelHost(ModelHostSettings(config.judge, config.player, config.finetune))
    related = RelatedWords(wordnet.read_wordnet(options.wordnet)) if options.wordnet else None
    print(describe_machine())
    for name in options.games:
        (task,) = tasks([name], config, options.dialect)
        print(f"\n**{name}**\n\n| script | finished | bits | on other maps | specific |")
        print("| --- " * 5 + "|")
        for line in rows(host, replace(task, floor=FLOOR), options.plays, related):
            print(line, flush=True)


if __name__ == "__main__":
    main()
