"""How surely a fine-tune learns what there is to learn: a panel of games, several training seeds.

    python benchmarks/learner.py --seeds 8 --output learner.jsonl [finetune=reinforce] [key=value …]
    python benchmarks/learner.py --output learner.jsonl --show

For each game and training seed one fine-tune, then paired plays of it and of the base player on
fresh maps, the same for all seeds of a game. A fine-tune has *learned* where its total and its
specific gain are significant (one-sided paired t-tests, p < 0.01) and each is at least half of the
best training seed's; *headroom* is what a search asks for first (transfer.headroom). Every
fine-tune is a line of the output, and one that is there already is not made again, so that a run
may be stopped, and several settings can share a file.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from learnability import one_sided, sample
from machine import describe_machine

from archive.schema import GainKind
from archive.statistics.decisions.scripts import headroom
from archive.statistics.values.transfer_values import gains
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.jobs.evaluation import ScoredPlay, Task, evaluation_seeds, floor_of
from evo.jobs.job import Evaluation, ModelHostSettings, ScriptedEvaluation, Training
from evo.jobs.model_host import ModelHost, single_threaded
from evo.search.initial_scope import metadata
from xgl import analyse, game, parse
from xgl.players.scripts import SCRIPTS
from xgl.random_streams import seed as named_seed

ONE, TWO = "assign(s=story())", "assign(s=story(), t=story())"
THREE = "assign(s=story(), t=story(), y=story())"
MOVE, UNSEEN = "elicit(x, 8)", "assign(s0=story())"
PANEL = {
    "rival, 4 tokens": (ONE, "elicit(x, 4)", UNSEEN, "reward(xed(s | x) - xed(s0 | x))"),
    "rival, 5 tokens": (ONE, "elicit(x, 5)", UNSEEN, "reward(xed(s | x) - xed(s0 | x))"),
    "rival, 6 tokens": (ONE, "elicit(x, 6)", UNSEEN, "reward(xed(s | x) - xed(s0 | x))"),
    "rival, 8 tokens": (ONE, MOVE, UNSEEN, "reward(xed(s | x) - xed(s0 | x))"),
    "single": (ONE, MOVE, "reward(xed(s | x))"),
    "first of two": (TWO, MOVE, "reward(xed(s | x))"),
    "second of two": (TWO, MOVE, "reward(xed(t | x))"),
    "first of three": (THREE, MOVE, "reward(xed(s | x))"),
    "second of three": (THREE, MOVE, "reward(xed(t | x))"),
    "last of three": (THREE, MOVE, "reward(xed(y | x))"),
    "rival, distractor after": (TWO, MOVE, UNSEEN, "reward(xed(s | x) - xed(s0 | x))"),
    "rival, distractor before": (TWO, MOVE, UNSEEN, "reward(xed(t | x) - xed(s0 | x))"),
    "first of three, rival": (THREE, MOVE, UNSEEN, "reward(xed(s | x) - xed(s0 | x))"),
    "second of three, rival": (THREE, MOVE, UNSEEN, "reward(xed(t | x) - xed(s0 | x))"),
    "last of three, rival": (THREE, MOVE, UNSEEN, "reward(xed(y | x) - xed(s0 | x))"),
    "contrast": (TWO, MOVE, "reward(xed(s | x) - xed(t | x))"),
    "contrast, other way": (TWO, MOVE, "reward(xed(t | x) - xed(s | x))"),
    "pair": (THREE, MOVE, "reward(xed(s | x) + xed(t | x) - xed(y | x) - xed(y | x))"),
    "avoid the first": (THREE, MOVE, "reward(xed(t | x) + xed(y | x) - xed(s | x) - xed(s | x))"),
    "quote": (ONE, MOVE, UNSEEN, "reward(xed(x | s) - xed(x | s0))"),
    "two moves": (
        ONE,
        "elicit(x, 4)",
        "elicit(y, 4)",
        UNSEEN,
        "reward(xed(s | x) - xed(s0 | x) + xed(s | y) - xed(s0 | y) - xed(x | y))",
    ),
    "one move about each": (
        TWO,
        "elicit(x, 6)",
        "elicit(y, 6)",
        "reward(xed(s | x))",
        "reward(xed(t | y))",
    ),
    "first, then another rival": (
        THREE,
        "elicit(x, 6)",
        "reward(xed(s | x) - xed(t | x))",
        "elicit(x1, 6)",
        "reward(xed(y | x1) - xed(s | x1))",
    ),
    "words that it lacks": (
        ONE,
        MOVE,
        "ensure(remove_common_words(x, s) == x)",
        "reward(xed(s | x))",
    ),
}
LEVEL = 0.01
CALIBRATION = 32
"""Base plays that fix a game's floor."""


@dataclass(frozen=True)
class Fit:
    """One fine-tune: gains in bits, mean and p; tokens; processor seconds of the fine-tune."""

    settings: str
    game: str
    seed: int
    plays: int
    base: float
    headroom: float
    """Of the game: what looking at the map is worth to scripted players, bits a play."""
    total: tuple[float, float]
    specific: tuple[float, float]
    distinct: float
    forfeits: float
    steps: int
    tokens: int
    seconds: float

    @property
    def significant(self) -> bool:
        """Both gains."""
        return self.total[1] < LEVEL and self.specific[1] < LEVEL


class Bench:
    """Fine-tunes and plays in one process."""

    def __init__(self, overrides: Sequence[str], plays: int) -> None:
        single_threaded()
        self.config: RunConfig = load(["+experiment=scope_growth", *overrides])
        config = self.config
        self.host = ModelHost(ModelHostSettings(config.judge, config.player, config.finetune))
        self.fresh = tuple(evaluation_seeds("acceptance", config.seed, plays))
        self.task = cache(self._task)
        self.base = cache(lambda name: self._plays(self.task(name), None))
        self.headroom = cache(self._headroom)

    def _task(self, name: str) -> Task:
        program = parse("\n".join(PANEL[name]), "xent")
        (role,) = analyse(program).players
        task = Task(game(program, metadata(self.config.game)), role)
        warm = tuple(evaluation_seeds("calibration", self.config.seed, CALIBRATION))
        ((scores,),) = [self.host.do(Evaluation(task, (None,), warm)).outcome]
        floor = floor_of([(s.outcome, s.score) for s in scores], task)
        return replace(task, floor=0.0 if floor is None else floor)

    def _headroom(self, name: str) -> float:
        seeds = evaluation_seeds("selection", self.config.seed, self.config.transfer.script_plays)
        job = ScriptedEvaluation(self.task(name), tuple(SCRIPTS), tuple(seeds))
        return headroom([sample(each) for each in self.host.do(job).outcome]).bits

    def _plays(self, task: Task, adapter: bytes | None) -> list[ScoredPlay]:
        return self.host.do(Evaluation(task, (adapter,), self.fresh)).outcome[0]

    def fit(self, settings: str, name: str, seed: int) -> Fit:
        """One fine-tune, measured."""
        task, base = self.task(name), self.base(name)
        start = time.process_time()
        finetune = self.host.do(Training(task, named_seed("training", seed))).outcome
        seconds = time.process_time() - start
        own = self._plays(task, finetune.adapter)
        before, after = sample(base), sample(own)
        return Fit(
            settings=settings,
            game=name,
            seed=seed,
            plays=len(self.fresh),
            base=float(before.own.mean()),
            headroom=self.headroom(name),
            total=one_sided(gains(after, before)),
            specific=one_sided(gains(after, before, GainKind.SPECIFIC)),
            distinct=len({each.moves for each in own}) / len(own),
            forfeits=float(np.mean([each.outcome != "finished" for each in own])),
            steps=len(finetune.curve),
            tokens=finetune.tokens,
            seconds=seconds,
        )


@cache
def _bench(overrides: tuple[str, ...], plays: int) -> Bench:
    return Bench(overrides, plays)


def _fit(overrides: tuple[str, ...], plays: int, name: str, seed: int) -> Fit:
    return _bench(overrides, plays).fit(" ".join(overrides), name, seed)


def read_fits(path: Path) -> Iterator[Fit]:
    """The lines of an output."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield Fit(**row | {key: tuple(row[key]) for key in ("total", "specific")})


def are_learned(fits: Sequence[Fit]) -> list[bool]:
    """Of one game's fine-tunes: both gains significant and at least half of the best seed's."""
    bars = [max(f.total[0] for f in fits) / 2, max(f.specific[0] for f in fits) / 2]
    return [f.significant and f.total[0] >= bars[0] and f.specific[0] >= bars[1] for f in fits]


def table(fits: Iterable[Fit]) -> str:
    """Markdown: a row a game, and the summary, of fine-tunes under one setting."""
    games: dict[str, list[Fit]] = {}
    for each in fits:
        games.setdefault(each.game, []).append(each)
    head = [
        "game",
        "headroom",
        "base",
        "total gain",
        "specific gain",
        "its sd over seeds",
        "learned",
    ]
    head += ["tokens", "core-seconds"]
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    shares, spreads, seconds = [], [], []
    for name, its in sorted(games.items(), key=lambda pair: list(PANEL).index(pair[0])):
        specific = np.array([f.specific[0] for f in its])
        total, ok = np.mean([f.total[0] for f in its]), are_learned(its)
        spread = specific.std(ddof=1) / specific.mean() if len(its) > 1 else np.nan
        shares.append(np.mean(ok))
        spreads.append(spread if specific.mean() > 0 else np.inf)
        seconds.append(np.mean([f.seconds for f in its]))
        cells = [
            name,
            f"{its[0].headroom:.1f}",
            f"{its[0].base:.1f}",
            f"{total:+.1f}",
            f"{specific.mean():+.1f}",
            f"{spread:.0%}",
            f"{sum(ok)} of {len(ok)}",
            f"{np.mean([f.tokens for f in its]):,.0f}",
            f"{seconds[-1]:.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append(
        f"\n{len(games)} games: {np.mean(shares):.0%} of fine-tunes learned; spread over training "
        f"seeds {np.median(spreads):.0%} of the specific gain (median game); "
        f"{np.mean(seconds):.1f} core-seconds a fine-tune"
    )
    return "\n".join(lines)


def measure(arguments: argparse.Namespace) -> None:
    """Make the fine-tunes that the output lacks."""
    overrides = tuple(arguments.overrides)
    present = {(f.settings, f.game, f.seed) for f in read_fits(arguments.output)}
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    cells = [(name, seed) for seed in seeds for name in arguments.games]
    cells = [cell for cell in cells if (" ".join(overrides), *cell) not in present]
    context = get_context("spawn")
    with (
        ProcessPoolExecutor(arguments.processes, mp_context=context) as pool,
        arguments.output.open("a", encoding="utf-8") as output,
    ):
        futures = [pool.submit(_fit, overrides, arguments.plays, *cell) for cell in cells]
        for index, future in enumerate(futures):
            output.write(json.dumps(asdict(future.result())) + "\n")
            output.flush()
            print(f"\r{index + 1}/{len(cells)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8, help="training seeds of each game")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--plays", type=int, default=128)
    parser.add_argument("--games", nargs="+", default=list(PANEL), choices=list(PANEL))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, required=True, help="JSON lines, added to")
    parser.add_argument("--show", action="store_true", help="only print the tables of the output")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    arguments = parser.parse_args()
    if not arguments.show:
        measure(arguments)
    by_settings: dict[str, list[Fit]] = {}
    for each in read_fits(arguments.output):
        by_settings.setdefault(each.settings, []).append(each)
    print(f"{describe_machine()}\n")
    for settings, fits in by_settings.items():
        print(f"## {settings or 'defaults'}\n\n{table(fits)}\n")


if __name__ == "__main__":
    main()
