"""What REINFORCE teaches the player on the papers' twelve single-player programs.

    python benchmarks/learnability.py [--seed 0] [--plays 256] [--dialect xent] [key=value …]

For each program one fine-tune, then paired plays of the base player and of the fine-tuned one on
fresh maps. A gain is significant where a one-sided paired t-test has p < 0.01 after Holm's
correction over the twelve, of which those left out by ``--games`` count as p = 1. Settings are
those of the main job with the overrides given.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from archive.schema import GainKind
from archive.statistics.values.plays import Plays
from archive.statistics.values.transfer_values import gains
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.jobs.evaluation import ScoredPlay, Task, evaluation_seeds, floor_of
from evo.jobs.executor import RayExecutor
from evo.jobs.job import Evaluation, Finetune, Job, ModelHostSettings, Training
from evo.search.initial_scope import metadata
from xgl import analyse, game, parse
from xgl.library import find
from xgl.random_streams import seed as named_seed

PROGRAMS = [
    "single_text",
    "multi_texts",
    "missing_link",
    "simple_cut",
    "one_way_cut",
    "unexpected_prefix",
    "story_ring",
    "unrelated_prefixes",
    "one_way_explanations",
    "dex_texts",
    "blind_guess",
    "hidden_target",
]
LEVEL = 0.01


@dataclass(frozen=True)
class Learned:
    """One program: gains in bits over paired plays, the mean and p of each kind."""

    name: str
    steps: int
    plays: int
    base: float
    forfeits: tuple[float, float]
    total: tuple[float, float]
    specific: tuple[float, float]
    distinct: float
    seconds: float
    curve: tuple[float, ...]


def tasks(names: Sequence[str], config: RunConfig, dialect: str = "paper") -> list[Task]:
    """The programs as printed, read by the rules of ``dialect``, seen by the player that moves."""
    entries = []
    for name in names:
        program = parse(find(name).text, dialect)
        (role,) = analyse(program).players
        entries.append(Task(game(program, metadata(config.game)), role))
    return entries


def sample(scores: Sequence[ScoredPlay]) -> Plays:
    seeds = np.array([(score.seeds.map_seed, score.seeds.play_seed) for score in scores])
    own, permuted = [s.score for s in scores], [s.permuted_score for s in scores]
    return Plays(seeds, np.array(own), np.array(permuted, dtype=np.float64))


def one_sided(sample: np.ndarray) -> tuple[float, float]:
    """Mean, and p of the hypothesis that it is not above 0."""
    if not sample.std() > 0:
        return float(sample.mean()), 1.0
    t_test = stats.ttest_1samp(sample, 0.0, alternative="greater")
    return float(sample.mean()), float(t_test.pvalue)


def holm(values: Sequence[float], tests: int = len(PROGRAMS)) -> list[float]:
    """Holm's adjusted p values of some of ``tests`` hypotheses; the others count as p = 1."""
    order = np.argsort(values)
    factors = max(tests, len(values)) - np.arange(len(values))
    adjusted = np.maximum.accumulate(np.sort(values) * factors)
    p_values = np.empty(len(values))
    p_values[order] = np.minimum(adjusted, 1.0)
    return p_values.tolist()


class Study:
    """Calibrates, fine-tunes and plays a list of tasks."""

    def __init__(self, config: RunConfig, plays: int) -> None:
        settings = ModelHostSettings(config.judge, config.player, config.finetune)
        self.config, self.plays = config, plays
        self.executor = RayExecutor(config.cluster, settings)

    def _do(self, jobs: Sequence[Job]) -> list[Any]:
        outcomes = []
        for result in self.executor.do(jobs):
            outcomes.append(result.outcome)
            print(f"\r{len(outcomes)}/{len(jobs)}", end="", file=sys.stderr, flush=True)
        return outcomes

    def learn(self, names: Sequence[str], tasks: Sequence[Task]) -> list[Learned]:
        """One fine-tune of each task; a name that comes again has another training seed."""
        seed, count = self.config.seed, self.config.transfer.calibration_plays
        warm = tuple(evaluation_seeds("calibration", seed, count))
        base_scores = self._do([Evaluation(task, (None,), warm) for task in tasks])
        tasks_with_floor = []
        for task, (scores,) in zip(tasks, base_scores, strict=True):
            floor = floor_of([(s.outcome, s.score) for s in scores], task)
            tasks_with_floor.append(replace(task, floor=0.0 if floor is None else floor))
        again = [seed + names[:place].count(name) for place, name in enumerate(names)]
        trainings = [
            Training(task, named_seed("training", each))
            for task, each in zip(tasks_with_floor, again, strict=True)
        ]
        finetunes: list[Finetune] = self._do(trainings)
        fresh = tuple(evaluation_seeds("acceptance", seed, self.plays))
        jobs = [
            Evaluation(task, (adapter,), fresh)
            for task, one in zip(tasks_with_floor, finetunes, strict=True)
            for adapter in (None, one.adapter)
        ]
        play_scores = [outcome[0] for outcome in self._do(jobs)]
        return [
            _result(name, one, play_scores[2 * i], play_scores[2 * i + 1])
            for i, (name, one) in enumerate(zip(names, finetunes, strict=True))
        ]


def _result(
    name: str, finetune: Finetune, base: list[ScoredPlay], own: list[ScoredPlay]
) -> Learned:
    before, after = sample(base), sample(own)
    lists = (base, own)
    unfinished_rates = [float(np.mean([s.outcome != "finished" for s in each])) for each in lists]
    return Learned(
        name=name,
        steps=len(finetune.curve),
        plays=len(base),
        base=float(before.own.mean()),
        forfeits=(unfinished_rates[0], unfinished_rates[1]),
        total=one_sided(gains(after, before)),
        specific=one_sided(gains(after, before, GainKind.SPECIFIC)),
        distinct=len({s.moves for s in own}) / len(own),
        seconds=finetune.seconds,
        curve=tuple(finetune.curve),
    )


def table(results: Sequence[Learned]) -> str:
    """Markdown, with Holm's p over the twelve programs."""
    totals = holm([each.total[1] for each in results])
    specifics = holm([each.specific[1] for each in results])
    heads = ["program", "steps", "base", "forfeits", "gain", "p", "specific gain", "p", "distinct"]
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for each, total, specific in zip(results, totals, specifics, strict=True):
        cells = [
            each.name,
            f"{each.steps}",
            f"{each.base:.1f}",
            f"{each.forfeits[0]:.0%} → {each.forfeits[1]:.0%}",
            f"{each.total[0]:+.1f}",
            _p(total),
            f"{each.specific[0]:+.1f}",
            _p(specific),
            f"{each.distinct:.0%}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    significant = [sum(p < LEVEL for p in values) for values in (totals, specifics)]
    lines.append(
        f"\nsignificant: {significant[0]} of {len(results)} gains, {significant[1]} specific gains"
    )
    return "\n".join(lines)


def _p(value: float) -> str:
    text = f"{value:.0e}" if value < 0.001 else f"{value:.3f}"
    return f"**{text}**" if value < LEVEL else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plays", type=int, default=256)
    parser.add_argument("--games", nargs="+", default=PROGRAMS)
    parser.add_argument("--training-seeds", type=int, default=1, help="fine-tunes of each game")
    parser.add_argument("--dialect", choices=("paper", "xent"), default="paper")
    parser.add_argument("--curves", type=Path, help="write learning curves as JSON")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    arguments = parser.parse_args()
    overrides = [f"seed={arguments.seed}", *arguments.overrides]
    config = load(["+experiment=scope_growth", *overrides])
    study = Study(config, arguments.plays)
    try:
        names = [name for name in arguments.games for _ in range(arguments.training_seeds)]
        results = study.learn(names, tasks(names, config, arguments.dialect))
    finally:
        study.executor.close()
    print(f"\n{table(results)}")
    if arguments.curves:
        arguments.curves.write_text(json.dumps([[each.name, each.curve] for each in results]))


if __name__ == "__main__":
    main()
