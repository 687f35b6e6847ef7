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

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from study import Study, bits, command_line, describe_machine, head, parse, row

import evo
from archive.errors import ArchiveError
from archive.schema import GainKind, TaskId
from archive.statistics.intervals import CONFIDENCE, Scores, mean_interval
from evo.config.compose import load
from evo.config.models import FinetuneConfig
from evo.config.schema import RunConfig
from evo.experiments.curriculum import library_tasks
from evo.jobs.evaluation import Task
from evo.jobs.job import Finetune, Training
from xgl.errors import ConfigError, XGLError
from xgl.random_streams import seed as named_seed, stream

CLARITY = 0.4
"""The lower bound of a program's own gain is above this share of it: C is a share of gains."""
DRAWS = 10_000


@dataclass(frozen=True)
class Candidate:
    """A playable candidate of a growth; ``list_key``: growth, generation, parent and round."""

    task: Task
    list_key: tuple[Any, ...]
    accepted: bool


def playable_candidates(run: evo.Run) -> Iterator[Candidate]:
    """Those that their fine-tunes surely learned, in total and by the gain that decides."""
    places = ("run_id", "generation", "parent_game_id", "parent_role", "round")
    proposals = [e for e in run.table("proposals").to_pylist() if e["outcome"] == "candidate"]
    proposed = {TaskId.of(each): tuple(each[name] for name in places) for each in proposals}
    decided: dict[TaskId, dict[str, Any]] = {}
    for each in run.table("decisions").to_pylist():
        if decided.get(TaskId.of(each), {}).get("verdict") != "accepted":
            decided[TaskId.of(each)] = each
    for task_id, each in decided.items():
        lows = each["own_gain_low"], each["total_gain_low"]
        if task_id in proposed and all(low is not None and low > 0 for low in lows):
            task = Task(run.game(task_id.game_id), task_id.role)
            yield Candidate(task, proposed[task_id], each["verdict"] == "accepted")


def read_growths(folders: Sequence[str], programs: Sequence[Task]) -> list[Candidate]:
    """The candidates of all growths, each once. Raises :class:`ConfigError` for a program that a
    growth met: it is not held out."""
    candidates: dict[TaskId, Candidate] = {}
    for folder in folders:
        run = evo.Run.open(folder, backend="pyarrow")
        met = {each["code"] for each in run.table("games").to_pylist()}
        if known := [each.game.code for each in programs if each.game.code in met]:
            raise ConfigError(f"{folder}: found a program that it met, expected none:\n{known[0]}")
        for each in playable_candidates(run):
            candidates.setdefault(each.task.id, each)
    return list(candidates.values())


# -- what is computed ------------------------------------------------------------------------------


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


class Programs(Study):
    """Fine-tunes of programs and candidates, on all workers."""

    def __init__(self, config: RunConfig, programs: Sequence[Task]) -> None:
        super().__init__(config, "held_out")
        self.programs = [self.calibrate(task)[0] for task in programs]

    def seed(self, kind: str, number: int) -> int:
        """A training seed that no growth draws."""
        return named_seed("held-out training", kind, self.config.seed, number)

    def references(self, count: int, learner: FinetuneConfig) -> list[Finetune]:
        """So many fine-tunes on each program itself, program by program."""
        jobs = [
            Training(task, self.seed("reference", number), settings=learner)
            for task in self.programs
            for number in range(count)
        ]
        return self.do(jobs)

    def learn(self, tasks: Sequence[Task], number: int) -> list[Finetune]:
        """A fine-tune of each candidate under one training seed."""
        seed = self.seed("candidate", number)
        return self.do([Training(self.calibrate(task)[0], seed) for task in tasks])

    def scores(self, pairs: Sequence[tuple[Task, bytes | None]], plays: int) -> Scores:
        """(pairs, plays, 2) bits of each player on its program: the score, and its part about the
        map (S − S′)."""
        samples = self.plays(pairs, plays)
        return np.array([np.stack([each.kind(kind) for kind in GainKind], 1) for each in samples])


def reference_learner(finetune: FinetuneConfig, tokens: int) -> FinetuneConfig:
    """REINFORCE alone, in as many steps of 8 maps and 16 plays on each as the tokens pay for."""
    warm_start = replace(finetune.warm_start, maps=0)
    alone = replace(finetune, warm_start=warm_start, averaged_share=0.0)
    return replace(alone, tokens=tokens, steps=None, maps=8, rollouts=16)


def own_scores(study: Programs, count: int, plays: int, tokens: int) -> tuple[Scores, Scores]:
    """Scores of each program's references (programs, fine-tunes, plays, 2), and of the base player
    (programs, plays, 2)."""
    finetunes = study.references(count, reference_learner(study.config.finetune, tokens))
    each_often = [task for task in study.programs for _ in range(count)]
    adapters = [each.adapter for each in finetunes]
    base = study.scores([(task, None) for task in study.programs], plays)
    own = study.scores(list(zip(each_often, adapters, strict=True)), plays)
    return own.reshape(len(base), count, plays, 2), base


def mean_gains(
    study: Programs,
    candidates: Sequence[Candidate],
    seeds: int,
    base: Scores,
    programs: Sequence[int],
) -> Scores:
    """Mean gains (candidates, programs, 2) over training seeds, and over the maps of ``base``."""
    gains = np.zeros((len(candidates), len(programs), 2))
    for number in range(seeds):
        finetunes = study.learn([each.task for each in candidates], number)
        pairs = [(study.programs[at], each.adapter) for each in finetunes for at in programs]
        scores = study.scores(pairs, base.shape[1]).reshape(*gains.shape[:2], -1, 2)
        gains += (scores - base[programs]).mean(2) / seeds
    return gains


def show_programs(names: Sequence[str], gains: Scores, counting: Sequence[int]) -> None:
    print(f"\n{describe_machine()}\n\n{head(('program', 'total gain', 'about the map', 'counts'))}")
    for place, name in enumerate(names):
        own = [mean_interval(gains[place, ..., kind].mean(0), CONFIDENCE) for kind in range(2)]
        print(row([name, *map(bits, own), "yes" if place in counting else "no"]))


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
    parser = command_line(__doc__)
    parser.add_argument("runs", nargs="+", help="run folders of growths")
    parser.add_argument("--seeds", type=int, default=2, help="fresh fine-tunes of a candidate")
    parser.add_argument("--maps", type=int, default=192)
    parser.add_argument("--references", type=int, default=3, help="fine-tunes of a program")
    parser.add_argument("--reference-plays", type=int, default=1000)
    parser.add_argument("--reference-tokens", type=int, default=500_000)
    options, overrides = parse(parser)
    config = load(RunConfig, ["+experiment=scope_growth", *overrides])
    named = library_tasks(config, config.curriculum.held_out)
    candidates = read_growths(options.runs, list(named.values()))
    study = Programs(config, list(named.values()))
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
        study.close()


if __name__ == "__main__":
    try:
        main()
    except (ArchiveError, XGLError) as error:
        sys.exit(f"error: {error}")
