"""Transfer between a few games: the paper's reference experiment (Fig. 4.2, 4.3).

Every game of ``growth.initial_scope`` is learned ``finetune.replicates`` times and every fine-tune
plays every game on common fresh maps. All facts are rows; gains and values are derived from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from archive import Purpose, Run, RunEvent
from archive.charts import Panel, document, panels, series
from archive.schema import BASE_POLICY, GainKind
from archive.statistics.intervals import CONFIDENCE, Scores
from archive.store.files import save_text
from archive.views import matrix
from evo.experiments.model_run import ModelSession
from evo.growth.initial_scope import short_name
from evo.jobs.evaluation import Task
from evo.record.collector import Collector
from evo.record.requests import PlayRequest, SeedSet, WatchedTrainingRequest
from evo.runner import RunOutcome
from xgl.analysis.plain_english import unique
from xgl.diagram.svg import Element


class TransferTriplet(ModelSession):
    """Fine-tunes on every initial game and plays every game with every fine-tune."""

    def work(self) -> RunOutcome:
        """Fine-tune, play, and draw Fig. 4.3; raises :class:`archive.WriteError` when the disk
        refuses."""
        collect(self.collector, self.plan.initial)
        by_game = evaluations(self.collector, self.plan.initial)
        save_text(self.config.folder / FIGURE, document(evaluation_figure(by_game)))
        return RunOutcome(RunEvent.FINISHED, 0, "every fine-tune has played every game", None)

    def show(self, outcome: RunOutcome) -> None:
        """Print the matrices of gains and values, once all plays are archived."""
        if outcome.event is RunEvent.FINISHED:
            run = Run(self.ledger.archive, self.ledger.run_id)
            for kind in GainKind:  # two-sided bounds at 95 %, over plays and training seeds
                matrix.show(matrix.gather(run, True, kind, (1 + CONFIDENCE) / 2), self.console)
            self.console.print(f"figure   {self.config.folder / FIGURE}", soft_wrap=True)
        super().show(outcome)


def collect(collector: Collector, tasks: Sequence[Task]) -> None:
    """Make all fine-tunes and plays that the archive does not hold yet."""
    collector.calibrate(tasks)
    checkpoints = checkpoint_seeds(collector)
    watched = tuple(each for seeds in checkpoints for each in seeds)
    collector.do(PlayRequest(BASE_POLICY, task, Purpose.CHECKPOINT, watched) for task in tasks)
    collector.do(
        WatchedTrainingRequest(**vars(each), tasks=tuple(tasks), checkpoints=checkpoints)
        for task in tasks
        for each in collector.training_requests(task)
    )
    count = collector.config.transfer.acceptance_plays[-1]
    on = (Purpose.ACCEPTANCE, collector.seeds(Purpose.ACCEPTANCE, count))
    requests = [PlayRequest(BASE_POLICY, task, *on) for task in tasks]
    requests += [each for task in tasks for each in collector.cross_requests(tasks, task, *on)]
    collector.do(requests)


def checkpoint_seeds(collector: Collector) -> tuple[SeedSet, ...]:
    """The seeds of each checkpoint, on maps of their own, the same for all policies and games."""
    return tuple(
        collector.seeds(Purpose.CHECKPOINT, CHECKPOINT_PLAYS, first * CHECKPOINT_PLAYS)
        for first in range(CHECKPOINTS)
    )


Evaluations = Mapping[str, Mapping[str, Scores]]
"""Mean gain over the base player (fine-tunes, checkpoints), bits, by the game that is trained and
the game that is played."""


def evaluations(collector: Collector, tasks: Sequence[Task]) -> Evaluations:
    """What each fine-tune had learned of each game at each checkpoint, on the checkpoint's maps."""
    short = map(short_name, collector.config.growth.initial_scope)
    names = dict(zip(tasks, unique(short), strict=True))

    def scores(policy: str, target: Task) -> Scores:
        on = [(target, Purpose.CHECKPOINT, seeds) for seeds in checkpoint_seeds(collector)]
        return np.array([collector.sample(policy, *each).own for each in on])

    def gains(source: Task, target: Task) -> Scores:
        base, policies = scores(BASE_POLICY, target), collector.policy_ids(source)
        return np.array([(scores(each, target) - base).mean(axis=1) for each in policies])

    return {names[one]: {names[other]: gains(one, other) for other in tasks} for one in tasks}


CHECKPOINTS, CHECKPOINT_PLAYS = 8, 24
"""Equal parts of the budget after which a fine-tune plays every game, and on how many maps."""
FIGURE, ACROSS = "evaluations.svg", 3


def evaluation_figure(by_game: Evaluations) -> Element:
    """Fig. 4.3: a panel for each game that is trained, in it a colour for each game that is played;
    a thin line for each fine-tune, their mean bold."""
    every = []
    for name, by_played in by_game.items():
        curves = []
        for colour, gains in enumerate(by_played.values()):
            for line, class_ in [*((each, " thin") for each in gains), (gains.mean(axis=0), "")]:
                shares = [100 * n / len(line) for n in range(len(line) + 1)]
                curves.append((shares, [0.0, *line.tolist()], f"series {series(colour)}{class_}"))
        every.append(Panel(f"trained: {name}", ("% of the budget", "bits above base"), curves))
    title = (
        "Evaluation during training: mean gain over the base player on maps of each checkpoint, a "
        "thin line for each training seed; maps, moves and training seeds are random"
    )
    legend = {f"played: {name}": f"series {series(n)}" for n, name in enumerate(by_game)}
    return panels(title, every, legend, min(len(every), ACROSS), alike=True)
