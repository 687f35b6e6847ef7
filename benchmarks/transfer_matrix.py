"""Gains of fine-tunes on a few games over all of them: total, and the part about the map.

    python benchmarks/transfer_matrix.py [key=value …]

Prints two Markdown tables. One process, one thread; settings are those of the main job.
"""

from __future__ import annotations

import sys

import numpy as np

from archive.plays import Plays
from archive.schema import GainKind
from archive.statistics.intervals import gains, mean_interval
from evo.config.compose import load
from evo.config.models import ModelHostSettings
from evo.config.schema import RunConfig
from evo.growth.initial_scope import metadata
from evo.jobs.evaluation import ScoredPlay, Task, evaluation_seeds
from evo.jobs.job import Evaluation, Training
from evo.jobs.model_host import ModelHost, single_threaded
from evo.jobs.results import Finetune
from xgl import game, parse

ONE, TWO = "assign(s=story())\n", "assign(s=story(), t=story())\n"
MOVE = "elicit(x, 8)\n"
GAMES = {
    "rival": ONE + MOVE + "assign(y=story())\nreward(xed(s | x) - xed(y | x))",
    "single": ONE + MOVE + "reward(xed(s | x))",
    "first": TWO + MOVE + "reward(xed(s | x))",
    "second": TWO + MOVE + "reward(xed(t | x))",
    "multi": TWO + MOVE + "reward(xed(s | x) + xed(t | x))",
    "contrast": TWO + MOVE + "reward(xed(s | x) - xed(t | x))",
}
TRAINING_SEED = 1


def sample(scores: list[ScoredPlay]) -> Plays:
    return Plays(
        np.array([(s.seeds.map_seed, s.seeds.play_seed) for s in scores]),
        np.array([s.score for s in scores]),
        np.array([s.permuted_score for s in scores]),
    )


def main() -> None:
    single_threaded()
    config = load(RunConfig, ["+experiment=scope_growth", *sys.argv[1:]])
    model_host = ModelHost(ModelHostSettings(config.judge, config.player, config.finetune))
    facts = metadata(config.game)
    tasks = {
        name: Task(game(parse(code, "xent"), facts), "black", -50.0) for name, code in GAMES.items()
    }
    seeds = tuple(evaluation_seeds("selection", config.seed, config.transfer.selection_plays[-1]))

    def play(task: Task, adapter: bytes | None) -> Plays:
        outcome = model_host.do(Evaluation(task, (adapter,), (seeds,))).outcome
        assert isinstance(outcome, list)
        assert isinstance(outcome[0], list)
        return sample(outcome[0])

    base = {name: play(task, None) for name, task in tasks.items()}
    plays_by_pair = {}
    for source, task in tasks.items():
        finetune = model_host.do(Training(task, TRAINING_SEED)).outcome
        assert isinstance(finetune, Finetune)
        for target, other in tasks.items():
            plays_by_pair[source, target] = play(other, finetune.adapter)
    for kind in GainKind:
        print(f"\n{kind} gain in bits ± half of the 95 % interval\n")
        print("| trained on | " + " | ".join(GAMES) + " |")
        print("| --- " * (len(GAMES) + 1) + "|")
        for source in GAMES:
            cells = []
            for target in GAMES:
                gain = mean_interval(gains(plays_by_pair[source, target], base[target], kind), 0.95)
                cells.append(f"{gain.value:.1f} ± {(gain.high - gain.low) / 2:.1f}")
            print(f"| {source} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
