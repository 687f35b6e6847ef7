"""``+experiment=scope_growth``: a scope grows, judged by fine-tunes and plays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from archive import Archive, Run, RunEvent
from archive.statistics.covers import CoverQuestion, cover_rows
from archive.text import plural
from evo.experiments.model_run import ModelPlan, ModelSession
from evo.growth.algorithm import ScopeMember, grow
from evo.growth.initial_scope import calibrate_initial_scope, can_play
from evo.growth.open_ended import End, OpenEnded
from evo.growth.oracle import TransferAssessment, TransferOracle
from evo.growth.proposals import Proposer
from evo.jobs.evaluation import Task
from evo.jobs.job import Result
from evo.record.budget import Cost, check
from evo.record.collector import Collector
from evo.record.requests import Request
from evo.record.rescoring import score_again, score_best_plays
from evo.record.steps import run
from evo.runner import RunOutcome
from xgl.errors import BudgetError

# -- work for free workers -------------------------------------------------------------------------

Group = tuple[Request, ...]
"""Requests that one job answers."""


class LedgerRunner:
    """A :class:`evo.growth.virtual_order.Runner`: what the ledger holds is done; free workers begin
    the rest, the most urgent first; results are committed in virtual order."""

    def __init__(self, collector: Collector) -> None:
        self.collector, self.executor = collector, collector.executor
        self.joined_most, self.groups = collector.config.player.policies_per_pass, collector.groups
        self._running: dict[Group, int] = {}
        self._results: dict[int | None, Result[Any]] = {}

    def joins(self, group: Group) -> bool:
        """Whether a group is of fine-tunes, and passes have room for several."""
        return self.joined_most > 1 and group[0].joins

    def length(self, group: Group) -> float:
        """Expected duration of a group, in tokens of the player."""
        return sum(each.duration(self.collector) for each in group)

    def finish(self, groups: Sequence[Group]) -> Cost:
        """Commit the first group; give the groups after it to free workers."""
        first, ledger = groups[0], self.collector.ledger
        if missing := self._missing(first):
            result = self._result(first, groups)
            if not first[0].trains:
                self.collector.announce([missing])
            self.collector.store(missing, result)
        return sum((each.cost(ledger) for each in first), Cost())

    def _missing(self, group: Group) -> Group:
        """What the ledger does not hold: a game's own plays may stand in a group with new ones, and
        a second time they would be further rows."""
        return tuple(each for each in group if not each.known(self.collector.ledger))

    def _result(self, first: Group, groups: Sequence[Group]) -> Result[Any]:
        """The result of the first group. Workers that become free meanwhile begin later groups; the
        one that the first group itself leaves free begins no fine-tune, since the groups that this
        result makes possible are often more urgent than a fine-tune, and shorter."""
        while self._running.get(first) not in self._results:
            self._begin(groups)
            if event := self.executor.next_event():
                self._results[event[0]] = event[1]
                if event[0] == self._running.get(first):
                    self._begin([group for group in groups if not group[0].trains])
        return self._results.pop(self._running.pop(first))

    def _begin(self, groups: Sequence[Group]) -> None:
        """Give free workers the most urgent groups that none has begun."""
        for group in groups:
            if not self.executor.has_room():
                return
            if group in self._running:
                continue
            if missing := self._missing(group):
                if group[0].trains:
                    self.collector.announce([missing])
                self._running[group] = self.executor.begin(missing[0].job(self.collector, missing))


# -- the experiment --------------------------------------------------------------------------------

STAGES = (
    "Each proposed game is played by the untrained player (calibration) and by fixed rules "
    "(scripts). On games that may be new a copy of the player is trained (fine-tuning); it plays "
    "other games, first to choose (selection), then on fresh texts (acceptance)."
)
"""The words of the lines of a run, before them."""


class ScopeGrowth(ModelSession):
    """Grows a scope; each scope is committed as it forms."""

    def __init__(self, plan: ModelPlan, archive: Archive) -> None:
        super().__init__(plan, archive)
        # in a null control only candidates have nothing to learn
        self.unshuffled = frozenset(task.id for task in plan.initial)
        self.console.print(STAGES)

    def work(self) -> RunOutcome:
        """Grow to the schedule's end and return the reason; then, also if a budget ended it, score
        the plays of accepted games again, which costs no token of the player. At the schedule's end
        the best plays are scored by token."""
        try:
            check(self.config.budget, self.ledger.total_cost)
            outcome = self._grow()
        except BudgetError:
            self._score_again()
            raise
        self._score_again()
        score_best_plays(self.ledger, self.collector.executor, self.display)
        return outcome

    def _score_again(self) -> None:
        if judge := self.config.judge.second:
            score_again(self.ledger, self.collector.executor, self.display, judge)

    def _grow(self) -> RunOutcome:
        config, collector = self.config, self.collector
        growth, tests = config.growth, config.transfer.confirmations
        is_open = growth.schedule == "open_ended"
        if not is_open:  # a list makes a test of a candidate once
            tests = min(tests, growth.list_size)
        oracle = TransferOracle(config, collector, tests)
        proposer = Proposer(
            self.plan.sampler,
            self.ledger,
            self.display,
            config.seed,
            oracle.decisions,
            can_play=partial(can_play, judge=config.judge),
            novelty=growth.novelty,
        )
        initial = self.plan.initial
        calibrate_initial_scope(collector, initial)
        if is_open:
            runner = LedgerRunner(collector)
            order = OpenEnded(initial, oracle, proposer, runner, growth, tests, config.seed)
            self._keep(order.scopes())
            return self._open_outcome(order)
        initial = run(oracle.learn(initial), collector.do)
        self._keep(grow(initial, oracle, proposer, growth, config.seed, collector.do, tests))
        return self._outcome()

    def _keep(self, scopes: Iterable[list[ScopeMember[Task]]]) -> None:
        for number, members in enumerate(scopes):
            if number not in self.ledger.scopes:
                self._commit_scope(number, members)

    def _open_outcome(self, order: OpenEnded[Task, TransferAssessment, Request]) -> RunOutcome:
        """Why the open-ended schedule ended, and its yield."""
        growth, n_accepted = self.config.growth, sum(each.generation > 0 for each in order.members)
        hours = order.order.total_cost.seconds / 3600
        message, overrides = "the meta-sampler has nothing new for any game of the scope", None
        if order.end is End.ACCEPTED:
            message = f"growth.max_accepted={n_accepted} is reached"
            overrides = (f"growth.max_accepted={2 * n_accepted}",)
        elif order.end is End.CANDIDATES:
            message = f"growth.max_candidates={growth.max_candidates} is reached"
        elif order.end is End.YIELD:
            message = (
                f"fewer than growth.least_yield={growth.least_yield:g} games join in a core-hour "
                f"(at most {order.last_bound:.2g}, with 95 % confidence)"
            )
        pace = f"; {plural(n_accepted, 'game')} joined in {hours:.2f} core-hours of jobs"
        return RunOutcome(RunEvent.FINISHED, 0, message + (pace if hours else ""), overrides)

    def _commit_scope(self, number: int, members: Sequence[ScopeMember[Task]]) -> None:
        """A scope and its cover in one commit: a resumed run lacks both or neither."""
        archived, scope = Run(self.ledger.archive, self.ledger.run_id), [m.game.id for m in members]
        decides = archived.deciding_value
        question = CoverQuestion(self.config.growth.eta, *decides, skip_unplayable=True)
        self.ledger.commit(
            scopes=[member.row(number, lambda task: task.id) for member in members],
            covers=cover_rows(archived, scope, number, question),
        )

    def _outcome(self) -> RunOutcome:
        growth, number = self.config.growth, max(self.ledger.scopes, default=0)
        n_judged = sum(row["outcome"] == "candidate" for row in self.ledger.proposals.values())
        message, overrides = "the last generation accepted nothing", None
        if growth.max_candidates is not None and n_judged >= growth.max_candidates:
            message = f"growth.max_candidates={growth.max_candidates} is reached"
        elif any(row["generation"] == number for row in self.ledger.newest_scope):
            message = f"growth.generations={growth.generations} is reached"
            overrides = (f"growth.generations={2 * growth.generations}",)
        return RunOutcome(RunEvent.FINISHED, 0, message, overrides)
