"""The oracle on language models: candidates judged by what fine-tuning on them teaches.

Each stage costs more than the one before, and only what passed goes on (docs/specification.md, "One
candidate's way"): calibration, fine-tune, own gain, help to the parent, coverage by
the scope, acceptance on fresh seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archive import Purpose, Reason, Verdict
from archive.schema import Definition, GainKind
from archive.statistics.looks import Looks, shared
from archive.statistics.race import Found, Question, Race, acceptance, run_together, selection
from archive.statistics.verdict import Decision, Evidence, Thresholds, decide, decision_columns
from evo.config.run_config import ConfigError, RunConfig
from evo.jobs.evaluate import Task
from evo.record.collector import Collector
from evo.record.ledger import Ledger, Row, decision_key
from evo.search.growth import Assessment, Place, rank
from evo.search.playability import evidence_columns
from evo.search.stages import Stage


class TransferOracle:
    """Implements :class:`evo.search.growth.Oracle` with fine-tunes and plays.

    The decisions of a list are rows in the list's order; ``place`` says which list it is.
    """

    def __init__(self, config: RunConfig, ledger: Ledger, collector: Collector) -> None:
        self.config, self.ledger, self.collector = config, ledger, collector
        self.place: Place[Task] | None = None
        self.indices: dict[str, int] = {}
        self.ranked: dict[str, Evidence] = {}
        self.thresholds = Thresholds(
            config.growth.alpha1,
            config.growth.alpha2,
            Definition(config.transfer.definition),
            GainKind(config.transfer.gain),
        )
        rules = config.transfer
        error = 1 - rules.confidence
        self.selection = self._stage(Purpose.SELECTION, rules.selection_plays, error)
        # A list may put several candidates to the test: they share the error.
        share = shared(error, min(rules.confirmations, config.growth.list_size))
        self.acceptance = self._stage(Purpose.ACCEPTANCE, rules.acceptance_plays, share)

    def _stage(self, purpose: Purpose, plays: Sequence[int], error: float) -> Stage:
        looks, scan = Looks(tuple(plays), error), self.config.transfer.scan
        return Stage(self.collector, purpose, looks, self.thresholds, scan)

    # -- the initial scope -----------------------------------------------------------------

    def prepare(self, initial: Sequence[Task]) -> list[Task]:
        """Calibrate and fine-tune the initial games; returns those that fine-tuning improves.

        Whether a fine-tune learns a learnable game hangs on its training seed: an initial game has
        ``growth.initial_attempts`` of them to learn it clearly. The choice is made on selection
        plays; acceptance tests are on fresh ones.

        Raises :class:`ConfigError` naming a game that cannot be played or learned, unless
        ``growth.unplayable_initial`` is ``keep``.
        """
        self.collector.calibrate(initial)
        for task in initial:
            if refusal := self.collector.refusal(task):
                raise ConfigError(f"growth.initial_scope: game {task.game_id}: {refusal}")
        self._learn(initial)
        for _ in range(self.config.growth.initial_attempts - 1):
            faint = [task for task in initial if self._faint(task)]
            self.collector.restart(faint)
            self._learn(faint)
        usable = [task for task in initial if not self._unplayable(task)]
        lost = [task for task in initial if task not in usable]
        if lost and self.config.growth.unplayable_initial == "stop":
            raise ConfigError(
                f"growth.initial_scope: game {lost[0].game_id}: {self._unplayable(lost[0])}, "
                "expected games that fine-tuning improves"
            )
        return usable

    def _learn(self, tasks: Sequence[Task]) -> None:
        """Fine-tune on games and see what each gains of its own."""
        self.collector.finetune(tasks)
        question = Question(self.config.transfer.selection_plays[-1], own=True)
        plays = self.selection.plays
        self.collector.play(p for task in tasks for p in plays(task, task, (), question))

    # -- growth.Oracle ---------------------------------------------------------------------

    def assess(
        self, parent: Task, candidates: Sequence[Task], scope: Sequence[Task]
    ) -> list[Assessment[Task]]:
        """Selection: refuses what cannot pass, as early as that shows, and ranks the others."""
        self.collector.calibrate(candidates)
        fit = self._fit(parent, candidates, len(scope))
        self.collector.finetune(fit)
        order = self.selection.likeliest(parent, scope)
        ids, stage = [task.game_id for task in order], self.selection
        races = {task.game_id: selection(stage.course, ids, stage.nothing) for task in fit}
        ends = self._race(self.selection, races, parent, fit, order)
        for task in fit:
            decision, evidence = ends[task.game_id]
            if decision is not None:
                self._record(parent, task, decision, evidence, len(scope))
        going = [(task, ends[task.game_id][1]) for task in fit if ends[task.game_id][0] is None]
        return self._assessed(parent, going, len(scope))

    def _assessed(
        self, parent: Task, going: Sequence[tuple[Task, Evidence]], scope_size: int
    ) -> list[Assessment[Task]]:
        """What was found of those that go on; records the ones that will not be ranked."""
        self.ranked = {task.game_id: evidence for task, evidence in going}
        assessed = [self._assessment(task, evidence) for task, evidence in going]
        ranked = rank(assessed, self.thresholds.alpha1, self.thresholds.alpha2)
        for task, evidence in going:
            if task not in ranked:
                decision = decide(evidence, self.thresholds)
                self._record(parent, task, decision, evidence, scope_size)
        return assessed

    def _race(
        self,
        stage: Stage,
        races: Mapping[str, Race],
        parent: Task,
        candidates: Sequence[Task],
        scope: Sequence[Task],
    ) -> dict[str, tuple[Decision | None, Evidence]]:
        """Races in lockstep on plays that are made when they are asked for."""
        tasks = {task.game_id: task for task in candidates}

        def answer(asked: Mapping[str, Question]) -> dict[str, Found]:
            wanted = [
                plays
                for game_id, question in asked.items()
                for plays in stage.plays(tasks[game_id], parent, scope, question)
            ]
            self.collector.play(wanted)
            return {
                game_id: stage.found(tasks[game_id], parent, scope, question)
                for game_id, question in asked.items()
            }

        return run_together(races, answer)

    def confirm(
        self, parent: Task, ranked: Sequence[Task], scope: Sequence[Task]
    ) -> Assessment[Task] | None:
        """Acceptance tests, the smallest γ first, until one passes or the limit is reached."""
        tried = ranked[: self.config.transfer.confirmations]
        accepted, rest = None, list(ranked)
        for task in tried:
            rest.remove(task)
            accepted = self._tested(parent, task, scope)
            if accepted:
                break
        reason = Reason.RIVAL_ACCEPTED if accepted else Reason.RIVALS_TESTED
        for task in rest:
            decision = Decision(reason, decided=False)
            self._record(parent, task, decision, self.ranked[task.game_id], len(scope))
        return accepted

    def _tested(
        self, parent: Task, candidate: Task, scope: Sequence[Task]
    ) -> Assessment[Task] | None:
        """One acceptance test on fresh seeds, the games first that seem to teach it most."""
        seen = self.ranked[candidate.game_id].taught
        order = sorted(scope, key=lambda task: -(seen[task.game_id].value or 0.0))
        ids = [task.game_id for task in order]
        race = acceptance(self.acceptance.course, ids, self.acceptance.nothing)
        ends = self._race(self.acceptance, {candidate.game_id: race}, parent, [candidate], order)
        decision, evidence = ends[candidate.game_id]
        assert decision is not None
        self._record(parent, candidate, decision, evidence, len(scope))
        accepted = decision.verdict is Verdict.ACCEPTED
        return self._assessment(candidate, evidence) if accepted else None

    def _unplayable(self, task: Task) -> str:
        """Why fine-tuning did not improve play, by a one-sided test; empty if it did."""
        own = self.selection.own(task, self.config.transfer.selection_plays[-1]).gain
        if own.low > 0:
            return ""
        return f"not playable: own gain {own.value:.2f} bits, lower bound {own.low:.2f}"

    def _faint(self, task: Task) -> bool:
        """Whether so little was learned that shares of it could hardly be settled."""
        own = self.selection.own(task, self.config.transfer.selection_plays[-1]).gain
        clear = self.config.growth.initial_clarity * max(own.value or 0.0, 0.0)
        return own.low <= clear

    def _assessment(self, task: Task, evidence: Evidence) -> Assessment[Task]:
        value = evidence.value(self.thresholds).value
        return Assessment(task, value, evidence.gamma.interval.value)

    # -- rows ----------------------------------------------------------------------------------

    def _fit(self, parent: Task, tasks: Sequence[Task], scope_size: int) -> list[Task]:
        """Those that the base player can play; the others are recorded with the reason."""
        passed = []
        for task in tasks:
            if refusal := self.collector.refusal(task):
                self._record(parent, task, refusal, Evidence(), scope_size)
            else:
                passed.append(task)
        return passed

    def _record(
        self, parent: Task, task: Task, decision: Decision, evidence: Evidence, scope_size: int
    ) -> None:
        assert self.place is not None
        policy_id = self.collector.policy_id(task)
        row: Row = {
            "generation": self.place.generation,
            "parent_game_id": parent.game_id,
            "parent_role": parent.role,
            "round": self.place.round,
            "index": self.indices[task.game_id],
            "game_id": task.game_id,
            "role": task.role,
            "finetune_id": policy_id if policy_id in self.ledger.finetunes else None,
            **decision_columns(decision, evidence, self.thresholds, task.role, scope_size),
            **evidence_columns(self.collector.well_posed(task), self.collector.few_shot(task)),
            **self.ledger.spent_on(task, self.collector.policy_ids(task)),
        }
        if decision_key(row) not in self.ledger.decisions:
            self.ledger.commit(decisions=[row])
        if decision.verdict is not Verdict.ACCEPTED:
            self.collector.drop_adapter(task)
        self.collector.listener.decision(task, decision)
