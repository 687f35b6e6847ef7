"""Which games the player learns beyond every scripted player, and after how many steps: families to
begin a scope with, and learning curves.

    python benchmarks/families.py [--games rival one_way_cut … | --panel] [--steps 12 120]
                                  [--at 0.1 0.3 1] [--training-seeds 1] [--plays 96]
                                  [--scripts-only] [--json FILE] [key=value …]

Games are programs of the library, read by the rules of the growth dialect (``message:bob`` names a
role), or those of the panel of 24 games below. Each is fine-tuned on as in a search, once for each
number of steps and training seed, and with ``--at`` looked at after these shares of its budget; the
base player, the fine-tune and every script then play the same fresh maps. A fine-tune is *beyond
scripts* where its lead over each script is established, in all and about the map (one-sided bounds
at 97.5 % over plays, given the fine-tune). ``--scripts-only`` says what scripts earn, without
training.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_machine

from archive.plays import Plays
from archive.schema import GainKind
from archive.statistics.intervals import Interval, gains, mean_interval
from archive.statistics.scripts import SHOWN_CONFIDENCE, ScriptComparison, compare
from evo.config.compose import load
from evo.config.models import ModelHostSettings
from evo.config.schema import RunConfig
from evo.growth.initial_scope import metadata
from evo.jobs.evaluation import ScoredPlay, Task, evaluation_seeds, floor_of
from evo.jobs.job import Evaluation, Job, ScriptedEvaluation, Training
from evo.jobs.model_host import ModelHost, single_threaded
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

ONE, TWO = "assign(s=story())", "assign(s=story(), t=story())"
THREE = "assign(s=story(), t=story(), y=story())"
MOVE, UNSEEN = "elicit(x, 8)", "assign(s0=story())"
RIVAL = "reward(xed(s | x) - xed(s0 | x))"
PANEL = {
    "rival_4": (ONE, "elicit(x, 4)", UNSEEN, RIVAL),
    "rival_5": (ONE, "elicit(x, 5)", UNSEEN, RIVAL),
    "rival_6": (ONE, "elicit(x, 6)", UNSEEN, RIVAL),
    "rival_8": (ONE, MOVE, UNSEEN, RIVAL),
    "single": (ONE, MOVE, "reward(xed(s | x))"),
    "first_of_two": (TWO, MOVE, "reward(xed(s | x))"),
    "second_of_two": (TWO, MOVE, "reward(xed(t | x))"),
    "first_of_three": (THREE, MOVE, "reward(xed(s | x))"),
    "second_of_three": (THREE, MOVE, "reward(xed(t | x))"),
    "last_of_three": (THREE, MOVE, "reward(xed(y | x))"),
    "rival_distractor_after": (TWO, MOVE, UNSEEN, RIVAL),
    "rival_distractor_before": (TWO, MOVE, UNSEEN, "reward(xed(t | x) - xed(s0 | x))"),
    "first_of_three_rival": (THREE, MOVE, UNSEEN, RIVAL),
    "second_of_three_rival": (THREE, MOVE, UNSEEN, "reward(xed(t | x) - xed(s0 | x))"),
    "last_of_three_rival": (THREE, MOVE, UNSEEN, "reward(xed(y | x) - xed(s0 | x))"),
    "contrast_8": (TWO, MOVE, "reward(xed(s | x) - xed(t | x))"),
    "contrast_other_way": (TWO, MOVE, "reward(xed(t | x) - xed(s | x))"),
    "pair_8": (THREE, MOVE, "reward(xed(s | x) + xed(t | x) - xed(y | x) - xed(y | x))"),
    "avoid_the_first": (THREE, MOVE, "reward(xed(t | x) + xed(y | x) - xed(s | x) - xed(s | x))"),
    "quote": (ONE, MOVE, UNSEEN, "reward(xed(x | s) - xed(x | s0))"),
    "two_moves": (
        ONE,
        "elicit(x, 4)",
        "elicit(y, 4)",
        UNSEEN,
        "reward(xed(s | x) - xed(s0 | x) + xed(s | y) - xed(s0 | y) - xed(x | y))",
    ),
    "one_move_about_each": (
        TWO,
        "elicit(x, 6)",
        "elicit(y, 6)",
        "reward(xed(s | x))",
        "reward(xed(t | y))",
    ),
    "first_then_another_rival": (
        THREE,
        "elicit(x, 6)",
        "reward(xed(s | x) - xed(t | x))",
        "elicit(x1, 6)",
        "reward(xed(y | x1) - xed(s | x1))",
    ),
    "words_that_it_lacks": (
        ONE,
        MOVE,
        "ensure(remove_common_words(x, s) == x)",
        "reward(xed(s | x))",
    ),
}
"""Lines of small games with one player, by what they pay for."""


@dataclass(frozen=True)
class Learned:
    """One fine-tune on one program beside the scripts; gains in bits a play, seconds of the
    processor."""

    program: str
    steps: int | None
    """Of the whole fine-tune, of which a ``share`` was made."""
    share: float
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
    """A game of the panel, or a library program by the rules of the growth dialect."""
    name, _, role = name.partition(":")
    code = "\n".join(PANEL[name]) if name in PANEL else find(name).text
    program = parse(code, config.game.dialect)
    if not role:
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
        single_threaded()
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
        (scores,) = self._one(Evaluation(task, (None,), (warm,)))
        floor = floor_of([(each.outcome, each.score) for each in scores], task)
        unfinished_rate = sum(each.outcome != "finished" for each in scores) / count
        return replace(task, floor=0.0 if floor is None else floor), unfinished_rate

    def plays(self, task: Task, adapter: bytes | None) -> Plays:
        """Of the base player, or of a fine-tune."""
        (scores,) = self._one(Evaluation(task, (adapter,), (self.seeds,)))
        return sample(scores)

    def script_plays(self, task: Task) -> dict[str, Plays]:
        """Of every script, by name."""
        scores = self._one(ScriptedEvaluation(task, tuple(SCRIPTS), self.seeds))
        return dict(zip(SCRIPTS, map(sample, scores), strict=True))

    def train(
        self, task: Task, steps: int | None, seed: int, shares: Sequence[float]
    ) -> Iterator[tuple[float, Finetune, float]]:
        """A fine-tune of so many steps after the warm start, at each share of its budget, with the
        seconds until then."""
        finetune = replace(self.config.finetune, steps=steps)
        self.host.settings = replace(self.host.settings, finetune=finetune)
        state, seconds = None, 0.0
        for share in sorted(shares):
            job = Training(task, named_seed("training", seed), share=share, paused=state)
            outcome: Finetune = self._one(job)
            state, seconds = outcome.state, seconds + outcome.seconds
            yield share, outcome, seconds

    def learn(
        self,
        name: str,
        steps: Sequence[int | None],
        training_seeds: Sequence[int],
        shares: Sequence[float],
    ) -> Iterator[Learned]:
        """Fine-tunes for each number of steps and training seed, at each share."""
        task, unfinished_rate = self.calibrate(task_of(name, self.config))
        base, scripts = self.plays(task, None), self.script_plays(task)
        for count, seed in product(steps, training_seeds):
            for share, finetune, seconds in self.train(task, count, seed, shares):
                own = self.plays(task, finetune.adapter)
                level = 2 * SHOWN_CONFIDENCE - 1
                total, specific = (
                    mean_interval(gains(own, base, kind), level) for kind in GainKind
                )
                beside = compare([own], scripts, base, SHOWN_CONFIDENCE)
                facts = (name, count, share, seed, unfinished_rate)
                yield Learned(*facts, total, specific, beside, seconds)


def row(each: Learned) -> str:
    """A line of the table."""
    cells = (
        each.program,
        "as paid for" if each.steps is None else str(round(each.share * each.steps)),
        str(each.training_seed),
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
    "| program | steps | seed | base forfeits | gain | specific gain | best script "
    "| beyond scripts | specific | beyond | s |\n" + "| --- " * 11 + "|"
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
    parser.add_argument("--panel", action="store_true", help="the panel's games, all of them")
    parser.add_argument("--steps", nargs="+", type=int, help="finetune.steps, one after another")
    parser.add_argument("--at", nargs="+", type=float, default=[1.0], help="shares of a budget")
    parser.add_argument("--training-seeds", type=int, default=1)
    parser.add_argument("--plays", type=int, default=96)
    parser.add_argument("--scripts-only", action="store_true")
    parser.add_argument("--json", type=Path, help="write what was found")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    options = parser.parse_args()
    config = load(RunConfig, ["+experiment=scope_growth", *options.overrides])
    study = Study(config, options.plays)
    print(f"{describe_machine()}\n", flush=True)
    games = list(PANEL) if options.panel else options.games
    if options.scripts_only:
        scripts_only(study, games)
        return
    print(HEAD, flush=True)
    results: list[Learned] = []
    steps = options.steps or [config.finetune.steps]
    for name in games:
        for each in study.learn(name, steps, range(options.training_seeds), options.at):
            results.append(each)
            print(row(each), flush=True)
    families = dict.fromkeys(each.program for each in results if each.beyond)
    print(f"\nbeyond every script under some seed: {', '.join(families) or 'none'}")
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in results], indent=1))


if __name__ == "__main__":
    main()
