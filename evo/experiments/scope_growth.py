"""``+experiment=scope_growth``: a scope grows, judged by fine-tunes and plays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from archive import Archive, RunEvent
from archive.schema import Definition, GainKind, TaskId
from archive.statistics.covers.scope_cover import CoverQuestion, cover_rows
from archive.statistics.values.plays import read_run_plays
from evo.config.schema import RunConfig
from evo.experiments.model_run import ModelPlan, ModelSession, plan_models
from evo.jobs.evaluation import Task
from evo.record.pass_runner import LedgerPassRunner
from evo.record.requests import Request
from evo.record.rescoring import score_again, score_best_plays
from evo.runner import RunOutcome, Services
from evo.search.growth import ScopeMember, grow
from evo.search.initial_scope import learn_initial_scope
from evo.search.open_ended import End, OpenEnded
from evo.search.open_oracle import OpenTransferOracle, SelectionFinding
from evo.search.oracle import TransferOracle
from evo.search.proposals import Proposer
from meta_sampler import BudgetReachedError
from xgl.errors import ConfigError


def plan_scope_growth(config: RunConfig, services: Services, resumed: bool) -> ModelPlan:
    """Find the initial games and models; raises what :func:`plan_models` raises."""
    return plan_models(config, services, resumed, ScopeGrowth)


class ScopeGrowth(ModelSession):
    """Grows a scope; each generation's scope is committed as it forms."""

    def __init__(self, plan: ModelPlan, archive: Archive) -> None:
        super().__init__(plan, archive)
        most = self.max_accepted
        if most is not None and self.n_joined > most:
            raise ConfigError(
                f"growth.max_accepted: found {most}, expected at least {self.n_joined}, since so "
                "many games have joined already"
            )

    def expected_finetunes(self) -> int | None:
        """Largest number of fine-tunes of initial games and examined candidates, with replicates;
        further attempts are not counted."""
        growth = self.config.growth
        if growth.max_candidates is None:
            return None
        n_examined = growth.max_candidates
        if growth.schedule == "open_ended":
            n_lists = ceil(growth.max_candidates / growth.list_size)
            n_examined = n_lists * max(1, round(growth.examined_share * growth.list_size))
        return (len(self.plan.initial) + n_examined) * self.config.finetune.replicates

    def unshuffled(self) -> frozenset[TaskId]:
        """The initial games: in a null control only candidates have nothing to learn."""
        return frozenset(task.id for task in self.plan.initial)

    def limit_shares(self) -> dict[str, float]:
        """Shares of the run's limits that are reached by now: of its budgets, of the candidates to
        judge, of the games that may join."""
        growth, shares = self.config.growth, super().limit_shares()
        if growth.max_candidates is not None:
            shares["growth.max_candidates"] = len(self.ledger.decisions) / growth.max_candidates
        if self.max_accepted is not None:
            shares["growth.max_accepted"] = self.n_joined / self.max_accepted
        return shares

    @property
    def max_accepted(self) -> int | None:
        """Number of games that may join the scope; None: no limit, as in Algorithm 1."""
        growth = self.config.growth
        return growth.max_accepted if growth.schedule == "open_ended" else None

    @property
    def n_joined(self) -> int:
        """Number of games that have joined the scope."""
        return sum(row["accepted_in"] > 0 for row in self.ledger.newest_scope)

    def work(self) -> RunOutcome:
        """Grow to the schedule's end and return the reason; then, also if a budget ended it, score
        the plays of accepted games again, which costs no token of the player. At the schedule's end
        the best plays are scored by token."""
        try:
            outcome = self._grow()
        except BudgetReachedError:
            self._score_again()
            raise
        self._score_again()
        replicates = self.config.finetune.replicates
        score_best_plays(self.ledger, self.collector.executor, self.display, replicates)
        return outcome

    def _score_again(self) -> None:
        if judge := self.config.judge.second:
            score_again(self.ledger, self.collector.executor, self.display, judge)

    def _grow(self) -> RunOutcome:
        if self.config.growth.schedule == "paper":
            return self._work_by_the_paper()
        return self._work_open_ended()

    def _work_by_the_paper(self) -> RunOutcome:
        config = self.config
        oracle = TransferOracle(config, self.ledger, self.collector)
        proposer = self._proposer(oracle)
        initial = learn_initial_scope(config, oracle.selection, self.plan.initial)
        self._keep(grow(initial, oracle, proposer, config.growth, config.seed))
        return self._outcome()

    def _work_open_ended(self) -> RunOutcome:
        config = self.config
        oracle = OpenTransferOracle(config, self.ledger, self.collector)
        proposer = self._proposer(oracle.paper_oracle)
        initial = learn_initial_scope(config, oracle.selection, self.plan.initial)
        runner = LedgerPassRunner(self.collector)
        tests = config.transfer.confirmations
        run = OpenEnded(initial, oracle, proposer, runner, config.growth, tests, config.seed)
        self._keep(run.scopes())
        return self._open_outcome(run)

    def _proposer(self, oracle: TransferOracle) -> Proposer:
        diversity, seed = self.config.growth.diversity, self.config.seed
        sampler, decisions = self.plan.sampler, oracle.decisions
        avoid_covered = self.config.growth.schedule == "open_ended"
        return Proposer(
            sampler, self.ledger, self.display, seed, diversity, decisions, avoid_covered
        )

    def _keep(self, scopes: Iterable[list[ScopeMember[Task]]]) -> None:
        for generation, members in enumerate(scopes):
            if generation not in self.ledger.scopes:
                self._commit_scope(generation, members)

    def _open_outcome(self, run: OpenEnded[Task, SelectionFinding, Request]) -> RunOutcome:
        """Why the open-ended schedule ended, and its yield."""
        growth, n_accepted = self.config.growth, sum(each.generation > 0 for each in run.members)
        hours = run.order.total_cost.seconds / 3600
        message, overrides = "the meta-sampler has nothing new for any game of the scope", None
        if run.end is End.ACCEPTED:
            message = f"growth.max_accepted={n_accepted} is reached"
            overrides = (f"growth.max_accepted={2 * n_accepted}",)
        elif run.end is End.CANDIDATES:
            message = f"growth.max_candidates={growth.max_candidates} is reached"
        elif run.end is End.YIELD:
            message = (
                f"fewer than growth.least_yield={growth.least_yield:g} games join in a core-hour "
                f"(at most {run.yield_bound:.2g}, with 95 % confidence)"
            )
        elif run.end is End.REGRET:
            message = (
                f"no new game of the last two lists has a regret of growth.least_regret="
                f"{growth.least_regret:g} (the largest is {run.largest_regret:.2g})"
            )
        games = "1 game" if n_accepted == 1 else f"{n_accepted} games"
        pace = f"; {games} joined in {hours:.2f} core-hours" if hours else ""
        return RunOutcome(RunEvent.FINISHED, 0, message + pace, overrides)

    def _commit_scope(self, generation: int, members: Sequence[ScopeMember[Task]]) -> None:
        """A generation's scope and its cover in one commit: a resumed run lacks both or neither."""
        transfer, ledger = self.config.transfer, self.ledger
        question = CoverQuestion(
            self.config.growth.eta,
            Definition(transfer.definition),
            GainKind(transfer.gain),
            skip_unplayable=True,
        )
        scope = [member.game.id for member in members]
        ledger.commit(
            scopes=[_scope_row(generation, member) for member in members],
            covers=cover_rows(
                read_run_plays(ledger.archive, ledger.run_id), scope, generation, question
            ),
        )

    def _outcome(self) -> RunOutcome:
        """Why Algorithm 1 ended."""
        growth, generation = self.config.growth, max(self.ledger.scopes, default=0)
        n_judged = sum(row["outcome"] == "candidate" for row in self.ledger.proposals.values())
        message, overrides = "the last generation accepted nothing", None
        if growth.max_candidates is not None and n_judged >= growth.max_candidates:
            message = f"growth.max_candidates={growth.max_candidates} is reached"
        elif any(row["accepted_in"] == generation for row in self.ledger.newest_scope):
            message = f"growth.generations={growth.generations} is reached"
            overrides = (f"growth.generations={2 * growth.generations}",)
        return RunOutcome(RunEvent.FINISHED, 0, message, overrides)


def _scope_row(generation: int, member: ScopeMember[Task]) -> dict[str, object]:
    return {
        "generation": generation,
        "game_id": member.game.game_id,
        "role": member.game.role,
        "parent_game_id": member.parent.game_id if member.parent else None,
        "gamma": member.gamma,
        "accepted_in": member.generation,
    }
