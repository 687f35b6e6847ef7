"""Transfer between a few games: the paper's reference experiment (Fig. 4.2, 4.3).

Every game of ``growth.initial_scope`` is learned ``finetune.replicates`` times and every fine-tune
plays every game on common fresh maps. All facts are rows; gains and values are derived from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from archive import Purpose, Run, RunEvent
from archive.charts.plot import Plot, canvas, document, key, polyline, running_mean, series, text
from archive.schema import BASE_POLICY, GainKind
from archive.statistics.intervals import CONFIDENCE, Interval, Scores, mean_interval
from archive.statistics.matrix import TransferMatrix, transfer_matrix
from archive.statistics.values import TransferValues, replicated_gains
from archive.store.disk import writing
from archive.text import interval, signed
from archive.views.tables import add, table
from evo.config.schema import RunConfig
from evo.experiments.model_run import ModelPlan, ModelSession, plan_models
from evo.growth.initial_scope import short_name
from evo.jobs.evaluation import Task
from evo.record.collector import Collector
from evo.record.requests import PlayRequest, SeedSet, WatchedTrainingRequest
from evo.runner import RunOutcome, Services
from xgl.diagram.svg import Element
from xgl.writing import write_whole


def plan_transfer_triplet(config: RunConfig, services: Services, resumed: bool) -> ModelPlan:
    """Find the games and models; raises what :func:`plan_models` raises."""
    return plan_models(config, services, resumed, TransferTriplet)


class TransferTriplet(ModelSession):
    """Fine-tunes on every initial game and plays every game with every fine-tune."""

    def expected_finetunes(self) -> int:
        """Number of fine-tunes of all initial games, with replicates."""
        return len(self.plan.initial) * self.config.finetune.replicates

    def work(self) -> RunOutcome:
        """Fine-tune, play, and draw the learning curves."""
        collect(self.config, self.collector, self.plan.initial)
        draw_curves(self.plan.folder / "curves.svg", self.config, self.collector, self.plan.initial)
        by_game = evaluations(self.config, self.collector, self.plan.initial)
        draw_evaluations(self.plan.folder / "evaluations.svg", by_game)
        message = "every fine-tune has played every game"
        return RunOutcome(RunEvent.FINISHED, 0, message, None)

    def show(self, outcome: RunOutcome) -> None:
        """Print the matrices of gains and values, once all plays are archived."""
        if outcome.event is RunEvent.FINISHED:
            report(self.console, self.config, self.collector, self.plan.initial)
        super().show(outcome)


def collect(config: RunConfig, collector: Collector, tasks: Sequence[Task]) -> None:
    """Make all fine-tunes and plays that the archive does not hold yet."""
    collector.calibrate(tasks)
    checkpoints = checkpoint_seeds(collector)
    watched = tuple(each for seeds in checkpoints for each in seeds)
    collector.do(PlayRequest(BASE_POLICY, task, Purpose.SELECTION, watched) for task in tasks)
    collector.do(
        WatchedTrainingRequest(**vars(each), tasks=tuple(tasks), checkpoints=checkpoints)
        for task in tasks
        for each in collector.training_requests(task)
    )
    seeds = collector.seeds(Purpose.ACCEPTANCE, config.transfer.acceptance_plays[-1])
    on = (Purpose.ACCEPTANCE, seeds)
    requests = [PlayRequest(BASE_POLICY, task, *on) for task in tasks]
    requests += [each for task in tasks for each in collector.cross_requests(tasks, task, *on)]
    collector.do(requests)


def checkpoint_seeds(collector: Collector) -> tuple[SeedSet, ...]:
    """The seeds of each checkpoint, on maps of their own, the same for all policies and games."""
    return tuple(
        collector.seeds(Purpose.SELECTION, CHECKPOINT_PLAYS, first * CHECKPOINT_PLAYS)
        for first in range(CHECKPOINTS)
    )


Evaluations = Mapping[str, Mapping[str, Scores]]
"""Mean gain over the base player (fine-tunes, checkpoints), bits, by the game that is trained and
the game that is played."""


def evaluations(config: RunConfig, collector: Collector, tasks: Sequence[Task]) -> Evaluations:
    """What each fine-tune had learned of each game at each checkpoint, on the checkpoint's maps."""
    names = dict(zip(tasks, map(short_name, config.growth.initial_scope), strict=True))

    def gains(source: Task, target: Task) -> Scores:
        rows = []
        for policy in collector.policy_ids(source):
            on = [(target, Purpose.SELECTION, seeds) for seeds in checkpoint_seeds(collector)]
            pairs = [
                (collector.sample(policy, *at), collector.sample(BASE_POLICY, *at)) for at in on
            ]
            rows.append([float((own.own - base.own).mean()) for own, base in pairs])
        return np.array(rows)

    return {names[one]: {names[other]: gains(one, other) for other in tasks} for one in tasks}


def draw_evaluations(path: Path, by_game: Evaluations) -> None:
    """Write Fig. 4.3 as an SVG; raises :class:`archive.WriteError` when the disk refuses."""
    with writing(path.parent):
        write_whole(path, document(evaluation_figure(by_game)).encode())


def draw_curves(path: Path, config: RunConfig, collector: Collector, tasks: Sequence[Task]) -> None:
    """Write the learning curves of all fine-tunes as an SVG; raises :class:`archive.WriteError`
    when the disk refuses."""
    finetunes = collector.ledger.finetunes
    curves = {
        short_name(entry): [finetunes[each]["curve"] for each in collector.policy_ids(task)]
        for entry, task in zip(config.growth.initial_scope, tasks, strict=True)
    }
    with writing(path.parent):
        write_whole(path, document(figure(curves)).encode())


def matrices(collector: Collector, tasks: Sequence[Task]) -> dict[GainKind, TransferMatrix]:
    """Gains in bits and values of every pair, made of each kind of gain; the plays must have been
    made. Intervals are two-sided at 95 %, over plays and training seeds."""
    run = Run(collector.ledger.archive, collector.ledger.run_id)
    task_ids = [task.id for task in tasks]
    side = (1 + CONFIDENCE) / 2
    return {
        kind: transfer_matrix(run.plays, run.policies, task_ids, task_ids, kind, side)
        for kind in GainKind
    }


def lead(
    config: RunConfig, collector: Collector, one: Task, other: Task, kind: GainKind
) -> Interval:
    """Gain of learning ``one`` on ``other`` minus the gain of the reverse, bits."""
    seeds = collector.seeds(Purpose.ACCEPTANCE, config.transfer.acceptance_plays[-1])

    def gains(source: Task, target: Task) -> Scores:
        at = (target, Purpose.ACCEPTANCE, seeds)
        return replicated_gains(
            collector.samples(source, *at), collector.sample(BASE_POLICY, *at), kind
        )

    return mean_interval(gains(one, other) - gains(other, one), CONFIDENCE)


def report(
    console: Console, config: RunConfig, collector: Collector, tasks: Sequence[Task]
) -> None:
    """Tables on the console."""
    task_by_name = dict(zip(map(short_name, config.growth.initial_scope), tasks, strict=True))
    value_kind = next(kind for kind in GainKind if kind == config.transfer.gain)
    show(console, matrices(collector, tasks), list(task_by_name), value_kind)
    leads = {
        f"{one} → {other}": [
            lead(config, collector, task_by_name[one], task_by_name[other], kind)
            for kind in GainKind
        ]
        for one, other in combinations(task_by_name, 2)
    }
    heads = ["first to second", *(f"{kind} gain" for kind in GainKind)]
    console.print(_table("more than from second to first, bits", heads, leads))
    for name in ("curves", "evaluations"):
        place = config.folder / f"{name}.svg"
        console.print(f"{name:8} {place}", highlight=False, soft_wrap=True)


def show(
    console: Console,
    by_kind: Mapping[GainKind, TransferMatrix],
    names: Sequence[str],
    value_kind: GainKind,
) -> None:
    """Gains of each kind, and both values of the ``value_kind`` kind; a table each."""

    def square(
        title: str, matrix: TransferMatrix, value_of: Callable[[TransferValues], Interval]
    ) -> None:
        rows = {
            name: [value_of(matrix.cells[source, target].values) for target in matrix.targets]
            for name, source in zip(names, matrix.sources, strict=True)
        }
        console.print(_table(title, ["trained on", *names], rows))

    for kind in GainKind:
        square(f"{kind} gain, bits", by_kind[kind], lambda values: values.gain)
    square(
        f"captured, C, of {value_kind} gains", by_kind[value_kind], lambda values: values.captured
    )
    square(
        f"Definition 37, V, of {value_kind} gains", by_kind[value_kind], lambda values: values.def37
    )


def _table(title: str, heads: Sequence[str], rows: Mapping[str, Sequence[Interval]]) -> Table:
    view = table(f"{title} (95 % intervals)", *heads, numbers=True)
    for name, intervals in rows.items():
        add(view, name, *map(with_interval, intervals))
    return view


def with_interval(estimate: Interval) -> str:
    """A value with its interval, with a star if the interval is above 0."""
    if estimate.value is None:
        return "undefined"
    star = " *" if estimate.low > 0 else ""
    return f"{interval(estimate, partial(signed, digits=2))}{star}"


CHECKPOINTS, CHECKPOINT_PLAYS = 8, 24
"""Equal parts of the budget after which a fine-tune plays every game, and on how many maps."""
WIDTH, HEIGHT, TOP = 250.0, 180.0, 48.0
LEFT, STEP = 52.0, 322.0
"""Left edge of the first panel's plot, and the distance from one panel to the next."""
WINDOW = 9
"""Steps of the running mean."""
Curves = Mapping[str, Sequence[Sequence[float]]]
"""Mean score (bits) at each step, by game, one sequence for each fine-tune."""


def figure(curves: Curves) -> Element:
    """Panels side by side, each with scales of its own."""
    shapes: list[Element] = []
    for index, (name, lines) in enumerate(curves.items()):
        shapes += _panel(index * STEP + LEFT, name, [line for line in lines if line])
    title = (
        "Learning curves: mean score of each training step in bits, thin, and over nine steps, "
        "bold; a colour for each training seed"
    )
    return canvas((len(curves) * STEP, TOP + HEIGHT + 46), title, *shapes, class_="learning")


def _panel(left: float, name: str, lines: Sequence[Sequence[float]]) -> Iterator[Element]:
    values = [value for line in lines for value in line] or [0.0]
    margin = 0.05 * (max(values) - min(values)) or 1.0
    steps = max((len(line) for line in lines), default=1)
    ends = min(values) - margin, max(values) + margin
    plot = Plot.box((left, TOP), (WIDTH, HEIGHT), (1, max(steps, 2)), ends, "x")
    yield text(left, 16, name, "heading")
    yield from plot.grid("step", "bits", 4, 5)
    for index, line in enumerate(lines):
        colour = f"series {series(index)}"
        for heights, class_ in ((line, f"{colour} thin"), (running_mean(line, WINDOW), colour)):
            places = plot.places(range(1, len(line) + 1), heights)
            yield polyline(places if len(places) > 1 else places * 2, class_)


def evaluation_figure(by_game: Evaluations) -> Element:
    """Fig. 4.3: a panel for each game that is trained, in it a colour for each game that is played;
    a thin line for each fine-tune, their mean bold."""
    shapes: list[Element] = []
    names = list(by_game)
    every = np.concatenate([each.ravel() for row in by_game.values() for each in row.values()])
    ends = min(0.0, float(every.min())), max(1.0, float(every.max()))
    for index, (name, by_played) in enumerate(by_game.items()):
        box = (index * STEP + LEFT, TOP), (WIDTH, HEIGHT)
        plot = Plot.box(*box, (0, 100), ends, "x")
        shapes += [text(box[0][0], 16, f"trained: {name}", "heading")]
        shapes += plot.grid("% of the budget", "bits above base", 4, 5)
        for colour, gains in enumerate(by_played.values()):
            for line, class_ in [*((each, " thin") for each in gains), (gains.mean(axis=0), "")]:
                shares = [100 * n / len(line) for n in range(len(line) + 1)]
                places = plot.places(shares, [0.0, *line.tolist()])
                shapes.append(polyline(places, f"series {series(colour)}{class_}"))
    below = TOP + HEIGHT + 46
    for colour, name in enumerate(names):
        shapes += key(LEFT, below + 18 * colour, f"played: {name}", f"series {series(colour)}")
    title = (
        "Evaluation during training: mean gain over the base player on maps of each checkpoint, a "
        "thin line for each training seed; maps, moves and training seeds are random"
    )
    size = len(by_game) * STEP, below + 18 * len(names)
    return canvas(size, title, *shapes, class_="learning")
