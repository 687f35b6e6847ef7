"""What a few games teach of each other: the paper's reference experiment (Fig. 4.2, 4.3).

Every game of ``growth.initial_scope`` is learned ``finetune.replicates`` times and every fine-tune
plays every game on common fresh maps. All facts are rows; gains and values are derived from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from archive import Purpose
from archive.derive.intervals import Interval, Scores, mean_interval
from archive.derive.transfer import BASE, GainKind, Values, replicated_gains, transfer_values
from archive.disk import write_whole, writing
from evo.config import RunConfig
from evo.curves import figure
from evo.evaluate import Task
from evo.experiments import Experiments, Plays
from xgl.diagram.svg import to_svg

KINDS: tuple[GainKind, ...] = ("total", "specific")
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Cell:
    """What learning ``source`` did for ``target``: the gain of each kind, in bits, and values
    made of total gains; intervals at 95 % over plays and training seeds."""

    source: str
    target: str
    gains: Mapping[GainKind, Interval]
    values: Values


def run(config: RunConfig, experiments: Experiments, tasks: Sequence[Task]) -> None:
    """Make all fine-tunes and plays that the archive does not hold yet."""
    experiments.calibrate(tasks)
    experiments.finetune(tasks)
    seeds = experiments.seeds(Purpose.ACCEPTANCE, config.transfer.acceptance_plays[-1])
    on = (Purpose.ACCEPTANCE, seeds)
    wanted = [Plays(BASE, task, *on) for task in tasks]
    wanted += [plays for task in tasks for plays in experiments.crossed(tasks, task, *on)]
    experiments.play(wanted)


def cells(
    config: RunConfig, experiments: Experiments, tasks: Mapping[str, Task]
) -> dict[tuple[str, str], Cell]:
    """By source and target; the plays must have been made."""
    seeds = experiments.seeds(Purpose.ACCEPTANCE, config.transfer.acceptance_plays[-1])

    def gains(source: Task, target: Task, kind: GainKind) -> Scores:
        at = (target, Purpose.ACCEPTANCE, seeds)
        return replicated_gains(
            experiments.samples(source, *at), experiments.sample(BASE, *at), kind
        )

    def cell(source: str, target: str) -> Cell:
        pair = tasks[source], tasks[target]
        own = [gains(task, task, "total") for task in pair]
        return Cell(
            source,
            target,
            {kind: mean_interval(gains(*pair, kind), CONFIDENCE) for kind in KINDS},
            transfer_values(gains(*pair, "total"), own[1], own[0], CONFIDENCE),
        )

    return {(source, target): cell(source, target) for source in tasks for target in tasks}


def report(
    console: Console, config: RunConfig, experiments: Experiments, tasks: Sequence[Task]
) -> None:
    """Tables on the console, learning curves in the run's folder.

    Raises :class:`archive.WriteError` when the disk refuses.
    """
    named = dict(zip(map(short_name, config.growth.initial_scope), tasks, strict=True))
    show(console, cells(config, experiments, named))
    made = experiments.ledger.finetunes
    drawn = {
        name: [made[each]["curve"] for each in experiments.policy_ids(task)]
        for name, task in named.items()
    }
    path = config.folder / "curves.svg"
    with writing(config.folder):
        write_whole(path, to_svg(figure(drawn)).encode())
    console.print(f"curves   {path}", highlight=False, soft_wrap=True)


def short_name(entry: str) -> str:
    """A game's name as one reads it: without folder, suffix and figure."""
    return re.sub(r"^fig_\d+_\d+_", "", Path(entry).stem)


def show(console: Console, found: Mapping[tuple[str, str], Cell]) -> None:
    """Gains of each kind and both values, a table each; bold where an interval is above 0."""
    console.print(_table("total gain, bits", found, lambda cell: cell.gains["total"]))
    console.print(_table("specific gain, bits", found, lambda cell: cell.gains["specific"]))
    console.print(_table("captured, C", found, lambda cell: cell.values.captured))
    console.print(_table("Definition 37, V", found, lambda cell: cell.values.def37))


def _table(
    title: str, found: Mapping[tuple[str, str], Cell], read: Callable[[Cell], Interval]
) -> Table:
    names = list(dict.fromkeys(source for source, _ in found))
    table = Table(title=f"{title} (95 % intervals)", title_justify="left")
    table.add_column("trained on")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for source in names:
        intervals = [read(found[source, target]) for target in names]
        table.add_row(source, *map(told, intervals))
    return table


def told(interval: Interval) -> str:
    """A value with its interval, starred where it lies above 0."""
    if interval.value is None:
        return "undefined"
    star = " *" if interval.low > 0 else ""
    return f"{interval.value:+.2f} [{interval.low:.2f}, {interval.high:.2f}]{star}"
