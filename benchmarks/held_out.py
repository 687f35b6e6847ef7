"""Do accepted games teach more outside their family than refused ones
(docs/explanation/findings.md)?

    python benchmarks/held_out.py RUN [RUN …] [--seeds 2] [--maps 192] [--references 3]
        [--reference-plays 1000] [--reference-tokens 500000] [key=value …]

The playable candidates of finished growths, accepted or not, are those that their fine-tunes surely
learned. Each is learned again under fresh training seeds and plays the programs of
``curriculum.held_out``, which no growth met. C of a candidate on a program is its gain there as a
share of that of *references*, fine-tunes on the program itself by REINFORCE alone; a gain is the
smaller of the total one and the one about the map. A program counts if its own gain is precise
enough to divide by, and comes from moves that are about the map.

Prints the programs, then the mean C of accepted games and of the refused games of their lists, with
the p-value of permutations of verdicts within lists. A game that several growths judged is that of
the first. Nothing is kept: a run that ends begins anew. Settings are those of the main job with the
overrides given; the models must be those of the growths.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from machine import describe_machine
from numpy.typing import NDArray

import evo
from archive.errors import ArchiveError
from archive.statistics.intervals import CONFIDENCE, Scores, mean_interval
from evo.config.compose import load
from evo.config.models import FinetuneConfig, ModelHostSettings
from evo.config.schema import RunConfig
from evo.experiments.curriculum import library_tasks
from evo.jobs.evaluation import ScoredPlay, Task, evaluation_seeds, floor_of
from evo.jobs.executor import RayExecutor
from evo.jobs.job import CurriculumTraining, Evaluation, Job, Training
from evo.jobs.results import Finetune
from xgl.errors import ConfigError, XGLError
from xgl.random_streams import seed as named_seed
from xgl.random_streams import stream

CLARITY = 0.4
"""The lower bound of a program's own gain is above this share of it: C is a share of gains."""
DRAWS = 10_000


@dataclass(frozen=True)
class Candidate:
    """A playable candidate of a growth; ``list_key``: growth, generation, parent and round."""

    task: Task
    list_key: tuple[str, int, str, int]
    accepted: bool


def playable_candidates(run: evo.Run) -> Iterator[Candidate]:
    """Those that their fine-tunes surely learned, in total and by the gain that decides."""
    proposed = {
        row["game_id"]: (run.run_id, row["generation"], row["parent_game_id"], row["round"])
        for row in run.table("proposals").to_pylist()
        if row["outcome"] == "candidate"
    }
    decided: dict[str, dict[str, Any]] = {}
    for row in run.table("decisions").to_pylist():
        before = decided.get(row["game_id"], row)
        decided[row["game_id"]] = before if before["verdict"] == "accepted" else row
    for game_id, row in decided.items():
        lows = row["own_gain_low"], row["total_gain_low"]
        if game_id in proposed and all(low is not None and low > 0 for low in lows):
            task = Task(run.game(game_id), row["role"])
            yield Candidate(task, proposed[game_id], row["verdict"] == "accepted")


def read_growths(folders: Sequence[str], programs: Sequence[Task]) -> list[Candidate]:
    """The candidates of all growths, each game once. Raises :class:`ConfigError` for a program that
    a growth met: it is not held out."""
    candidates: dict[str, Candidate] = {}
    for folder in folders:
        run = evo.Run.open(folder, backend="pyarrow")
        met = {row["code"] for row in run.table("games").to_pylist()}
        if known := [each.game.code for each in programs if each.game.code in met]:
            raise ConfigError(f"{folder}: found a program that it met, expected none:\n{known[0]}")
        for each in playable_candidates(run):
            candidates.setdefault(each.task.game_id, each)
    return list(candidates.values())


# -- what is computed ------------------------------------------------------------------------------


def play_scores(plays: Sequence[ScoredPlay]) -> Scores:
    """(plays, 2) bits: the score, and its part about the map (S − S′)."""
    return np.array([(each.score, each.score - (each.permuted_score or 0.0)) for each in plays])


def counts(gains: Scores, scores: Scores) -> bool:
    """Whether a program counts: ``gains`` and ``scores`` (fine-tunes, plays, 2) of its references.
    A player may also gain by moves that are the same on every map, and then earns S − S′ = 0."""
    own = [mean_interval(gains[..., kind].mean(0), CONFIDENCE) for kind in range(2)]
    about_map = mean_interval(scores[..., 1].mean(0), CONFIDENCE).low > 0
    return about_map and all(each.low > CLARITY * max(each.value or 0.0, 0.0) for each in own)


def captured(gains: Scores, own: Scores) -> Scores:
    """C (candidates, programs) of mean ``gains`` (candidates, programs, 2), by ``own`` gains
    (programs, 2): the smaller of each pair, since a gain about the map alone also rises when moves
    become worse on other maps."""
    return np.asarray(gains.min(-1) / own.min(-1))


@dataclass(frozen=True)
class Comparison:
    """Mean values of accepted games and of the refused games of their lists; ``p_value``: share of
    choices of as many games of each list whose difference is at least as large."""

    lists: int
    accepted: float
    refused: float
    p_value: float


def compare(
    values: Scores, accepted: NDArray[np.bool_], lists: NDArray[np.int64], draws: int = DRAWS
) -> Comparison:
    """Of ``values`` (n,), over lists with both kinds: weighted by k(n − k)/n for k accepted among
    n, which makes the difference's variance smallest. Raises ValueError if there is none."""
    parts = [np.flatnonzero(lists == number) for number in np.unique(lists)]
    parts = [part for part in parts if 0 < accepted[part].sum() < len(part)]
    if not parts:
        raise ValueError("found no list with accepted and refused games, expected one or more")
    sizes = np.array([accepted[part].mean() * (~accepted[part]).sum() for part in parts])
    means = [[values[part][accepted[part] == kind].mean() for part in parts] for kind in (1, 0)]
    yes, no = (float(np.average(each, weights=sizes)) for each in means)
    rng, sums, observed = stream("verdicts"), np.zeros(draws), 0.0
    for part in parts:
        weights = accepted[part] - accepted[part].mean()
        observed += float(weights @ values[part])
        sums += rng.permuted(np.tile(weights, (draws, 1)), axis=1) @ values[part]
    hits = int((sums >= observed - 1e-9 * (1 + abs(observed))).sum())
    return Comparison(len(parts), yes, no, (1 + hits) / (1 + draws))


# -- fine-tunes and plays --------------------------------------------------------------------------


class Study:
    """Fine-tunes and plays; every policy on the same maps of a program."""

    def __init__(self, config: RunConfig, programs: Sequence[Task]) -> None:
        self.config = config
        settings = ModelHostSettings(config.judge, config.player, config.finetune)
        self.executor = RayExecutor(config.cluster, settings)
        self.programs = [self.with_floor(task) for task in programs]

    def do(self, jobs: Sequence[Job[Any]]) -> list[Any]:
        """Outcomes, in order."""
        outcomes = []
        for result in self.executor.do(jobs):
            outcomes.append(result.outcome)
            print(f"\r{len(outcomes)} of {len(jobs)}", end="", file=sys.stderr, flush=True)
        return outcomes

    def with_floor(self, task: Task) -> Task:
        """The task with the score of its unfinished plays, from calibration."""
        count = self.config.transfer.calibration_plays
        seeds = tuple(evaluation_seeds("calibration", self.config.seed, count))
        [[scores]] = self.do([Evaluation(task, (None,), (seeds,))])
        floor = floor_of([(each.outcome, each.score) for each in scores], task)
        return replace(task, floor=0.0 if floor is None else floor)

    def seed(self, kind: str, number: int) -> int:
        """A training seed that no growth draws."""
        return named_seed("held-out training", kind, self.config.seed, number)

    def references(self, count: int, learner: FinetuneConfig) -> list[list[bytes]]:
        """Adapters of each program's own fine-tunes."""
        jobs = [
            CurriculumTraining(task, (), self.seed("reference", number), learner)
            for task in self.programs
            for number in range(count)
        ]
        adapters = [each.adapter for each in self.do(jobs)]
        return [adapters[place : place + count] for place in range(0, len(adapters), count)]

    def learn(self, tasks: Sequence[Task], number: int) -> list[Finetune]:
        """A fine-tune of each candidate under one training seed."""
        seed = self.seed("candidate", number)
        return self.do([Training(self.with_floor(task), seed) for task in tasks])

    def play(self, pairs: Sequence[tuple[Task, bytes | None]], plays: int) -> list[Scores]:
        """Scores (plays, 2) of each adapter on its program."""
        seeds = tuple(evaluation_seeds("held_out", self.config.seed, plays))
        jobs = [Evaluation(task, (adapter,), (seeds,)) for task, adapter in pairs]
        return [play_scores(scores) for [scores] in self.do(jobs)]


def reference_learner(finetune: FinetuneConfig, tokens: int) -> FinetuneConfig:
    """REINFORCE alone, in as many steps of 8 maps and 16 plays on each as the tokens pay for."""
    warm_start = replace(finetune.warm_start, rounds=0)
    return replace(
        finetune,
        tokens=tokens,
        steps=None,
        maps=8,
        rollouts=16,
        averaged_share=0.0,
        warm_start=warm_start,
    )


def own_scores(study: Study, count: int, plays: int, tokens: int) -> tuple[Scores, Scores]:
    """Scores of each program's references (programs, fine-tunes, plays, 2), and of the base player
    (programs, plays, 2)."""
    adapters = study.references(count, reference_learner(study.config.finetune, tokens))
    pairs = [(task, a) for task, own in zip(study.programs, adapters, strict=True) for a in own]
    base = np.array(study.play([(task, None) for task in study.programs], plays))
    own = np.array(study.play(pairs, plays)).reshape(len(base), count, plays, 2)
    return own, base


def mean_gains(
    study: Study, candidates: Sequence[Candidate], seeds: int, base: Scores, programs: Sequence[int]
) -> Scores:
    """Mean gains (candidates, programs, 2) over training seeds, and over the maps of ``base``."""
    gains = np.zeros((len(candidates), len(programs), 2))
    for number in range(seeds):
        finetunes = study.learn([each.task for each in candidates], number)
        pairs = [(study.programs[at], each.adapter) for each in finetunes for at in programs]
        scores = np.array(study.play(pairs, base.shape[1])).reshape(*gains.shape[:2], -1, 2)
        gains += (scores - base[programs]).mean(2) / seeds
    return gains


def show_programs(names: Sequence[str], gains: Scores, counting: Sequence[int]) -> None:
    print(f"\n{describe_machine()}\n\n| program | total gain | about the map | counts |")
    print("| --- | --- | --- | --- |")
    for place, name in enumerate(names):
        own = [mean_interval(gains[place, ..., kind].mean(0), CONFIDENCE) for kind in range(2)]
        cells = [f"{each.value:+.1f} [{each.low:.1f}, {each.high:.1f}]" for each in own]
        print(f"| {name} | {' | '.join(cells)} | {'yes' if place in counting else 'no'} |")


def show_result(candidates: Sequence[Candidate], values: Scores) -> None:
    """``values``: mean C of each candidate (candidates,)."""
    keys = list(dict.fromkeys(each.list_key for each in candidates))
    lists = np.array([keys.index(each.list_key) for each in candidates])
    result = compare(values, np.array([each.accepted for each in candidates]), lists)
    lead = result.accepted - result.refused
    print(f"\n{len(candidates)} games, {result.lists} lists with accepted and refused ones")
    print(f"mean C: accepted {result.accepted:+.2f}, refused {result.refused:+.2f}, {lead:+.2f};")
    print(f"one-sided p = {result.p_value:.3f} (verdicts permuted within lists)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", help="run folders, then key=value")
    parser.add_argument("--seeds", type=int, default=2, help="fresh fine-tunes of a candidate")
    parser.add_argument("--maps", type=int, default=192)
    parser.add_argument("--references", type=int, default=3, help="fine-tunes of a program")
    parser.add_argument("--reference-plays", type=int, default=1000)
    parser.add_argument("--reference-tokens", type=int, default=500_000)
    options = parser.parse_intermixed_args()
    overrides = [word for word in options.runs if "=" in word]
    config = load(RunConfig, ["+experiment=scope_growth", *overrides])
    named = library_tasks(config, config.curriculum.held_out)
    folders = [word for word in options.runs if "=" not in word]
    candidates = read_growths(folders, list(named.values()))
    study = Study(config, list(named.values()))
    try:
        settings = (options.references, options.reference_plays, options.reference_tokens)
        scores, base = own_scores(study, *settings)
        gains = scores - base[:, None]
        counting = [at for at in range(len(named)) if counts(gains[at], scores[at])]
        show_programs(list(named), gains, counting)
        if not counting:
            print("\nno program counts: C has no denominator")
            return
        own = gains[counting].mean((1, 2))
        taught = mean_gains(study, candidates, options.seeds, base[:, : options.maps], counting)
        show_result(candidates, captured(taught, own).mean(1))
    finally:
        study.executor.close()


if __name__ == "__main__":
    try:
        main()
    except (ArchiveError, XGLError) as error:
        sys.exit(f"error: {error}")
