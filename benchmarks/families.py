"""Which programs of the library the player learns beyond every scripted player: families to begin a
scope with.

    python benchmarks/families.py [--games rival one_way_cut …] [--training-seeds 1] [--plays 96]
                                  [--scripts-only] [--json FILE] [key=value …]

Each program is read by the rules of the growth dialect and fine-tuned on as in a search; the base
player, the fine-tune and every script then play the same fresh maps. A program is *beyond scripts*
where the lead over each script is established, in all and about the map (one-sided bounds at 97.5 %
over plays, given the fine-tune). ``--scripts-only`` says what scripts earn, without training.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_machine

from archive.plays import Plays
from archive.schema import GainKind
from archive.statistics.intervals import Interval, mean_interval
from archive.statistics.scripts import SHOWN_CONFIDENCE, ScriptComparison, compare
from archive.statistics.values import gains
from evo.config.compose import load
from evo.config.models import ModelHostSettings
from evo.config.schema import RunConfig
from evo.growth.initial_scope import metadata
from evo.jobs.evaluation import ScoredPlay, Task, evaluation_seeds, floor_of
from evo.jobs.job import Evaluation, Job, ScriptedEvaluation, Training
from evo.jobs.model_host import ModelHost
from evo.jobs.results import Finetune
from xgl import analyse, game, parse
from xgl.library import find
from xgl.players.scripts import SCRIPTS
from xgl.random_streams import seed as named_seed

PROGRAMS = (
    "rival",
    "contrast",
    "pair",
    "echo",
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
)
"""Programs with one player whose plays the embedded model's window holds."""


@dataclass(frozen=True)
class Learned:
    """One fine-tune on one program beside the scripts; gains in bits a play."""

    program: str
    training_seed: int
    forfeits: float
    """Of the base player's plays."""
    total: Interval
    specific: Interval
    scripts: ScriptComparison
    seconds: float

    @property
    def beyond(self) -> bool:
        """Whether the lead over every script is established, in all and about the map."""
        return self.scripts.total.low > 0 and self.scripts.specific.low > 0


def task_of(name: str, config: RunConfig) -> Task:
    """A library program by the rules of the growth dialect."""
    program = parse(find(name).text, config.game.dialect)
    (role,) = analyse(program).players
    return Task(game(program, metadata(config.game)), role)


def sample(scores: Sequence[ScoredPlay]) -> Plays:
    """Seeds (N, 2) and scores (N,) of plays."""
    seeds = np.array([(score.seeds.map_seed, score.seeds.play_seed) for score in scores])
    own, permuted = [s.score for s in scores], [s.permuted_score for s in scores]
    return Plays(seeds, np.array(own), np.array(permuted, dtype=np.float64))


class Study:
    """Trains and plays; every program on the same maps."""

    def __init__(self, config: RunConfig, plays: int) -> None:
        settings = ModelHostSettings(config.judge, config.player, config.finetune)
        self.host = ModelHost(settings)
        self.config = config
        self.seeds = tuple(evaluation_seeds("families", config.seed, plays))

    def _one(self, job: Job[Any]) -> Any:
        return self.host.do(job).outcome

    def calibrate(self, task: Task) -> tuple[Task, float]:
        """The task with its floor, and the base player's rate of unfinished plays."""
        count = self.config.transfer.calibration_plays
        warm = tuple(evaluation_seeds("calibration", self.config.seed, count))
        (scores,) = self._one(Evaluation(task, (None,), warm))
        floor = floor_of([(each.outcome, each.score) for each in scores], task)
        unfinished_rate = sum(each.outcome != "finished" for each in scores) / count
        return replace(task, floor=0.0 if floor is None else floor), unfinished_rate

    def plays(self, task: Task, adapter: bytes | None) -> Plays:
        """Of the base player, or of a fine-tune."""
        (scores,) = self._one(Evaluation(task, (adapter,), self.seeds))
        return sample(scores)

    def script_plays(self, task: Task) -> dict[str, Plays]:
        """Of every script, by name."""
        scores = self._one(ScriptedEvaluation(task, tuple(SCRIPTS), self.seeds))
        return dict(zip(SCRIPTS, map(sample, scores), strict=True))

    def learn(self, name: str, training_seeds: Sequence[int]) -> list[Learned]:
        """One fine-tune for each training seed."""
        task, unfinished_rate = self.calibrate(task_of(name, self.config))
        base, scripts = self.plays(task, None), self.script_plays(task)
        results = []
        for seed in training_seeds:
            finetune: Finetune = self._one(Training(task, named_seed("training", seed)))
            own = self.plays(task, finetune.adapter)
            level = 2 * SHOWN_CONFIDENCE - 1
            total, specific = (mean_interval(gains(own, base, kind), level) for kind in GainKind)
            beside = compare([own], scripts, base, SHOWN_CONFIDENCE)
            results.append(
                Learned(name, seed, unfinished_rate, total, specific, beside, finetune.seconds)
            )
        return results


def row(each: Learned) -> str:
    """A line of the table."""
    cells = (
        each.program,
        f"{each.forfeits:.0%}",
        bits(each.total),
        bits(each.specific),
        f"{each.scripts.best} {each.scripts.best_gain:+.1f}",
        bits(each.scripts.total),
        bits(each.scripts.specific),
        "**yes**" if each.beyond else "no",
        f"{each.seconds:.0f}",
    )
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "| program | base forfeits | gain | specific gain | best script | beyond scripts | specific "
    "| beyond | s |\n" + "| --- " * 9 + "|"
)


def bits(interval: Interval) -> str:
    return f"{interval.value:+.1f} [{interval.low:.1f}, {interval.high:.1f}]"


def scripts_only(study: Study, names: Sequence[str]) -> None:
    """What scripts gain over the base player: total, and specific."""
    print("| program | best in all | gain | best about the map | gain |\n" + "| --- " * 5 + "|")
    for name in names:
        task, _ = study.calibrate(task_of(name, study.config))
        base, scripts = study.plays(task, None), study.script_plays(task)
        cells = [name]
        for kind in GainKind:
            means = {each: float(gains(p, base, kind).mean()) for each, p in scripts.items()}
            best = max(means, key=means.__getitem__)
            cells += [best, f"{means[best]:+.1f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", nargs="+", default=PROGRAMS)
    parser.add_argument("--training-seeds", type=int, default=1)
    parser.add_argument("--plays", type=int, default=96)
    parser.add_argument("--scripts-only", action="store_true")
    parser.add_argument("--json", type=Path, help="write what was found")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    options = parser.parse_args()
    config = load(RunConfig, ["+experiment=scope_growth", *options.overrides])
    study = Study(config, options.plays)
    print(f"{describe_machine()}\n", flush=True)
    if options.scripts_only:
        scripts_only(study, options.games)
        return
    print(HEAD, flush=True)
    results: list[Learned] = []
    for name in options.games:
        for each in study.learn(name, range(options.training_seeds)):
            results.append(each)
            print(row(each), flush=True)
    families = dict.fromkeys(each.program for each in results if each.beyond)
    print(f"\nbeyond every script under some seed: {', '.join(families) or 'none'}")
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in results], indent=1))


if __name__ == "__main__":
    main()
