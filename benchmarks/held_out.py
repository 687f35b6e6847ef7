"""Do accepted games teach more outside their family than refused ones
(docs/explanation/findings.md)?

    python benchmarks/held_out.py RUN [RUN …] [--seeds 1] [--maps 128] [--passed-over 10]
        [--references 3] [--reference-plays 1000] [--json FILE] [key=value …]

The games of finished growths are of four kinds: *initial*; *accepted*; *refused*: their fine-tunes
surely learned them, and they do not help or were not decided; *covered* by the scope: so found, or
some of those at random that were passed over because a fine-tune of the scope plays them. Each is
learned again under fresh training seeds and plays the programs of ``curriculum.held_out``, which no
growth met. C of a game on a program is its gain there as a share of that of *references*,
fine-tunes on the program itself; a gain is the smaller of the total one and the one about the map.
A program counts if its own gain is precise enough to divide by, and comes from moves that are about
the map.

Prints the programs, then for each kind the mean of C over these and of gains in bits, with 95 %
intervals over games, and one-sided p-values of accepted games against the other kinds, by
permutations of kinds within growths. A game that several growths judged is that of the first.
Nothing is kept: a run that ends begins anew. Settings are those of the main job with the overrides
given; the models must be those of the growths.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from study import Study, bits, command_line, describe_machine, head, parse, row

import evo
from archive.errors import ArchiveError
from archive.schema import GainKind, Reason, TaskId
from archive.statistics.intervals import CONFIDENCE, Scores, mean_interval
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.experiments.curriculum import library_tasks
from evo.jobs.evaluation import Task
from evo.jobs.job import Finetune, Training
from xgl.errors import ConfigError, XGLError
from xgl.random_streams import seed as named_seed, stream

CLARITY = 0.4
"""The lower bound of a program's own gain is above this share of it: C is a share of gains."""
DRAWS = 10_000
KINDS = ("initial", "accepted", "refused", "covered")


@dataclass(frozen=True)
class Judged:
    """A game of a growth and its kind."""

    task: Task
    growth: str
    kind: str


def kind_of(decision: Mapping[str, Any]) -> str | None:
    """Of a candidate with this verdict; null where no fine-tune surely learned it, in total and by
    the gain that decides, unless one of the scope plays it."""
    if decision["reason"] == Reason.PASSED_OVER:
        return "passed over"
    lows = decision["own_gain_low"], decision["total_gain_low"]
    if any(low is None or low <= 0 for low in lows):
        return None
    if decision["reason"] in (Reason.COVERED, Reason.SAME_SKILL):
        return "covered"
    return "accepted" if decision["verdict"] == "accepted" else "refused"


def judged_games(run: evo.Run, growth: str, passed_over: int) -> Iterator[Judged]:
    """Those of one growth, by its last verdicts, with so many of those that it passed over."""
    initial = [TaskId.of(each) for each in run.table("scopes").to_pylist() if each["scope"] == 0]
    kinds: dict[TaskId, str | None] = dict.fromkeys(initial, "initial")
    for each in run.table("decisions").to_pylist():
        if kinds.get(TaskId.of(each)) not in ("initial", "accepted"):
            kinds[TaskId.of(each)] = kind_of(each)
    left = sorted(task_id for task_id, kind in kinds.items() if kind == "passed over")
    drawn = stream("passed over").permutation(len(left))[:passed_over]
    kinds |= {left[at]: "covered" for at in drawn}
    for task_id, kind in kinds.items():
        if kind in KINDS:
            yield Judged(Task(run.game(task_id.game_id), task_id.role), growth, kind)


def read_growths(
    folders: Sequence[str], programs: Sequence[Task], passed_over: int
) -> list[Judged]:
    """The games of all growths, each once, by kind. Raises :class:`ConfigError` for a program that
    a growth met: it is not held out."""
    games: dict[TaskId, Judged] = {}
    for folder in folders:
        run = evo.Run.open(folder, backend="pyarrow")
        met = {each["code"] for each in run.table("games").to_pylist()}
        if known := [each.game.code for each in programs if each.game.code in met]:
            raise ConfigError(f"{folder}: found a program that it met, expected none:\n{known[0]}")
        for each in judged_games(run, folder, passed_over):
            games.setdefault(each.task.id, each)
    return sorted(games.values(), key=lambda each: KINDS.index(each.kind))


# -- what is computed ------------------------------------------------------------------------------


def counts(gains: Scores, scores: Scores) -> bool:
    """Whether a program counts: ``gains`` and ``scores`` (fine-tunes, plays, 2) of its references.
    A player may also gain by moves that are the same on every map, and then earns S − S′ = 0."""
    own = [mean_interval(gains[..., kind].mean(0), CONFIDENCE) for kind in range(2)]
    about_map = mean_interval(scores[..., 1].mean(0), CONFIDENCE).low > 0
    return about_map and all(each.low > CLARITY * max(each.value or 0.0, 0.0) for each in own)


def captured(gains: Scores, own: Scores) -> Scores:
    """C (games, programs) of mean ``gains`` (games, programs, 2), by ``own`` gains (programs, 2):
    the smaller of each pair, since a gain about the map alone also rises when moves become worse on
    other maps."""
    return np.asarray(gains.min(-1) / own.min(-1))


def p_value(
    values: Scores, accepted: NDArray[np.bool_], growths: Sequence[str], draws: int = DRAWS
) -> float:
    """Share of choices of as many games (n,) of each growth whose mean value exceeds that of the
    others by at least as much as the accepted ones' does."""
    names = np.array(growths)
    parts = [np.flatnonzero(names == name) for name in dict.fromkeys(growths)]
    rng, sums, observed = stream("verdicts"), np.zeros(draws), 0.0
    for part in parts:
        weights = accepted[part] - accepted[part].mean()
        observed += float(weights @ values[part])
        sums += rng.permuted(np.tile(weights, (draws, 1)), axis=1) @ values[part]
    hits = int((sums >= observed - 1e-9 * (1 + abs(observed))).sum())
    return (1 + hits) / (1 + draws)


# -- fine-tunes and plays --------------------------------------------------------------------------


class Programs(Study):
    """Fine-tunes of programs and of the games of growths, on all workers."""

    def __init__(self, config: RunConfig, programs: Sequence[Task]) -> None:
        super().__init__(config, "held_out")
        self.programs = [self.calibrate(task)[0] for task in programs]

    def learn(self, kind: str, tasks: Sequence[Task], count: int) -> list[Finetune]:
        """So many fine-tunes of each task, task by task, under seeds that no growth draws."""
        seeds = [named_seed("held-out training", kind, self.config.seed, n) for n in range(count)]
        return self.do([Training(task, seed) for task in tasks for seed in seeds])

    def scores(self, pairs: Sequence[tuple[Task, bytes | None]], plays: int) -> Scores:
        """(pairs, plays, 2) bits of each player on its program: the score, and its part about the
        map (S − S′)."""
        samples = self.plays(pairs, plays)
        return np.array([np.stack([each.kind(kind) for kind in GainKind], 1) for each in samples])


def own_scores(study: Programs, count: int, plays: int) -> tuple[Scores, Scores]:
    """Scores of each program's references (programs, fine-tunes, plays, 2), and of the base player
    (programs, plays, 2)."""
    finetunes = study.learn("reference", study.programs, count)
    each_often = [task for task in study.programs for _ in range(count)]
    base = study.scores([(task, None) for task in study.programs], plays)
    own = study.scores([(t, f.adapter) for t, f in zip(each_often, finetunes, strict=True)], plays)
    return own.reshape(len(base), count, plays, 2), base


def mean_gains(study: Programs, games: Sequence[Judged], seeds: int, base: Scores) -> Scores:
    """Mean gains (games, programs, 2) over training seeds, and over the maps of ``base``."""
    tasks = [study.calibrate(each.task)[0] for each in games]
    finetunes = study.learn("game", tasks, seeds)
    pairs = [(program, each.adapter) for each in finetunes for program in study.programs]
    scores = study.scores(pairs, base.shape[1])
    return (scores.reshape(len(games), seeds, *base.shape) - base).mean((1, 3))


def show_programs(study: Programs, names: Sequence[str], gains: Scores, scores: Scores) -> None:
    """What each program's own fine-tunes gain, beside the best script."""
    base = scores - gains
    scripts = study.script_plays(study.programs, base.shape[2])
    print(f"\n{describe_machine()}\n")
    print(head(("program", "total gain", "about the map", "counts", "best script")))
    for at, name in enumerate(names):
        own = [mean_interval(gains[at, ..., kind].mean(0), CONFIDENCE) for kind in range(2)]
        earned = {script: plays.own.mean() for script, plays in scripts[at].items()}
        best = max(earned, key=earned.__getitem__)
        beside = f"{best} {earned[best] - base[at, 0, :, 0].mean():+.1f}"
        yes = "yes" if counts(gains[at], scores[at]) else "no"
        print(row([name, *map(bits, own), yes, beside]), flush=True)


def show_kinds(games: Sequence[Judged], values: Mapping[str, Scores]) -> None:
    """A row for each kind with means of ``values`` (games,) by column, then p-values of accepted
    games against each other kind."""
    kinds = np.array([each.kind for each in games])
    print(f"\n{head(('games', 'of them', *values))}")
    for kind in dict.fromkeys(kinds):
        own = kinds == kind
        print(row([kind, own.sum(), *(bits(mean_interval(v[own], 0.95)) for v in values.values())]))
    for kind in [each for each in KINDS if each != "accepted"]:
        both = np.isin(kinds, ["accepted", kind])
        growths = [each.growth for each in games if each.kind in ("accepted", kind)]
        ps = [p_value(v[both], kinds[both] == "accepted", growths) for v in values.values()]
        print(row([f"p, accepted above {kind}", both.sum(), *(f"{p:.3f}" for p in ps)]))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("runs", nargs="+", help="run folders of growths")
    parser.add_argument("--seeds", type=int, default=1, help="fresh fine-tunes of a game")
    parser.add_argument("--maps", type=int, default=128)
    parser.add_argument("--passed-over", type=int, default=10, help="of a growth")
    parser.add_argument("--references", type=int, default=3, help="fine-tunes of a program")
    parser.add_argument("--reference-plays", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="write what each game teaches")
    options, overrides = parse(parser)
    config = load(RunConfig, ["+experiment=scope_growth", *overrides])
    named = library_tasks(config)
    games = read_growths(options.runs, list(named.values()), options.passed_over)
    study = Programs(config, list(named.values()))
    try:
        scores, base = own_scores(study, options.references, options.reference_plays)
        gains = scores - base[:, None]
        show_programs(study, list(named), gains, scores)
        taught = mean_gains(study, games, options.seeds, base[:, : options.maps])
        counting = [at for at in range(len(named)) if counts(gains[at], scores[at])]
        shares = captured(taught, gains.mean((1, 2)))[:, counting]
        columns = {"C": shares.mean(1)} if counting else {}
        columns |= {name: taught[:, at].min(-1) for at, name in enumerate(named)}
        show_kinds(games, columns)
        if options.json:
            facts = [(each.task.id.label, each.growth, each.kind) for each in games]
            numbers = {"games": facts, "programs": list(named), "gains": taught.tolist()}
            options.json.write_text(json.dumps(numbers, indent=1), encoding="utf-8")
    finally:
        study.close()


if __name__ == "__main__":
    try:
        main()
    except (ArchiveError, XGLError) as error:
        sys.exit(f"error: {error}")
