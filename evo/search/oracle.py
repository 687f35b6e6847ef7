"""The oracle on language models: candidates judged by what fine-tuning on them teaches.

Each stage costs more than the one before, and only what passed goes on (docs/specification.md, "One
candidate's way"): calibration, fine-tune, own gain, help to the parent, coverage by
the scope, acceptance on fresh seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from archive import Purpose, Reason, Verdict
from archive.schema import Definition, GainKind, Rule, TaskId
from archive.statistics.decision_rule import (
    Decision,
    Evidence,
    Thresholds,
    decide,
    decision_columns,
)
from archive.statistics.looks import Looks, error_per_test
from archive.statistics.race import Bounds, Question, Race, acceptance, run_together, selection
from archive.statistics.scripts import ScriptComparison, gated, script_columns
from evo.config.schema import RunConfig
from evo.jobs.evaluate import Task
from evo.record.collector import Collector
from evo.record.ledger import Ledger, Row, decision_key
from evo.record.playability import evidence_columns
from evo.search.growth import Assessment, Candidate, rank
from evo.search.stages import Stage


@dataclass(frozen=True)
class Selected(Assessment[Task]):
    """A candidate that selection left to be ranked, with what it saw: bounds, and the scope."""

    evidence: Evidence
    scope: tuple[Task, ...]


class TransferOracle:
    """Implements :class:`evo.search.growth.Oracle` with fine-tunes and plays.

    Every candidate of a list becomes a row of ``decisions`` with its place in the run.
    """

    def __init__(self, config: RunConfig, ledger: Ledger, collector: Collector) -> None:
        self.config, self.ledger, self.collector = config, ledger, collector
        self.thresholds = Thresholds(
            config.growth.alpha1,
            config.growth.alpha2,
            Definition(config.transfer.definition),
            GainKind(config.transfer.gain),
            Rule(config.transfer.rule),
        )
        self.decisions: dict[tuple[Any, ...], Row] = {}
        """Those that this session came to, in order; the archive of a resumed run may hold more."""
        rules = config.transfer
        error = 1 - rules.confidence
        self.selection = self._stage(Purpose.SELECTION, rules.selection_plays, error)
        # A list may put several candidates to the test: they share the error.
        share = error_per_test(error, min(rules.confirmations, config.growth.list_size))
        self.acceptance = self._stage(Purpose.ACCEPTANCE, rules.acceptance_plays, share)

    def _stage(self, purpose: Purpose, plays: Sequence[int], error: float) -> Stage:
        looks, scan = Looks(tuple(plays), error), self.config.transfer.scan
        return Stage(self.collector, purpose, looks, self.thresholds, scan)

    # -- growth.Oracle ---------------------------------------------------------------------

    def assess(
        self, candidates: Sequence[Candidate[Task]], scope: Sequence[Task]
    ) -> list[Selected]:
        """Selection: refuses what cannot pass, as early as that shows, and ranks the others."""
        parent, stage = candidates[0].parent, self.selection
        self.collector.calibrate([candidate.game for candidate in candidates])
        playable = self._playable(candidates, scope)
        self.collector.finetune([candidate.game for candidate in playable])
        order = stage.scan_order(parent, scope)
        ids = [task.id for task in order]
        races = [selection(stage.race_settings, ids, stage.no_evidence) for _ in playable]
        ends = self._race(stage, playable, races, order)
        selected = []
        for candidate, (decision, evidence) in zip(playable, ends, strict=True):
            if decision is None:
                values = self._values(evidence)
                selected.append(Selected(candidate, *values, evidence, tuple(scope)))
            else:
                self.record(candidate, candidate.parent, decision, evidence, scope)
        self._record_unranked(selected)
        return selected

    def _record_unranked(self, selected: Sequence[Selected]) -> None:
        """The decisions on those whose estimates pass no threshold, though no bound decides."""
        ranked = rank(selected, self.thresholds.alpha1, self.thresholds.alpha2)
        for each in selected:
            if each not in ranked:
                decision = decide(each.evidence, self.thresholds)
                self.record(
                    each.candidate, each.candidate.parent, decision, each.evidence, each.scope
                )

    def _race(
        self,
        stage: Stage,
        candidates: Sequence[Candidate[Task]],
        races: Sequence[Race],
        scope: Sequence[Task],
    ) -> list[tuple[Decision | None, Evidence]]:
        """Each candidate's race, in lockstep, on plays that are made when a question needs them."""
        by_id = {candidate.game.id: candidate for candidate in candidates}

        def answer(questions: Mapping[TaskId, Question]) -> dict[TaskId, Bounds]:
            items = [(by_id[task_id], question) for task_id, question in questions.items()]
            self.collector.play(
                plays
                for candidate, question in items
                for plays in stage.plays(candidate.game, candidate.parent, scope, question)
            )
            return {
                candidate.game.id: stage.bounds(candidate.game, candidate.parent, scope, question)
                for candidate, question in items
            }

        ends = run_together(dict(zip(by_id, races, strict=True)), answer)
        return [ends[task_id] for task_id in by_id]

    def confirm(self, ranked: Sequence[Selected]) -> Selected | None:
        """Acceptance tests, the smallest γ first, until one passes or the limit is reached."""
        accepted, rest = None, list(ranked)
        for each in ranked[: self.config.transfer.confirmations]:
            rest.remove(each)
            accepted = self._tested(each)
            if accepted:
                break
        reason = Reason.RIVAL_ACCEPTED if accepted else Reason.RIVALS_TESTED
        for each in rest:
            decision = Decision(reason, decided=False)
            self.record(each.candidate, each.candidate.parent, decision, each.evidence, each.scope)
        return accepted

    def _tested(self, selected: Selected) -> Selected | None:
        """One acceptance test on fresh seeds, the games first that seem to teach it most."""
        candidate, seen, stage = selected.candidate, selected.evidence.taught, self.acceptance
        order = sorted(selected.scope, key=lambda task: -(seen[task.id].value or 0.0))
        ids = [task.id for task in order]
        race = acceptance(stage.race_settings, ids, stage.no_evidence)
        [(decision, evidence)] = self._race(stage, [candidate], [race], order)
        assert decision is not None
        if self.config.growth.beyond_scripts:
            decision = self._held_against_scripts(candidate.game, decision)
        self.record(candidate, candidate.parent, decision, evidence, order)
        if decision.verdict is not Verdict.ACCEPTED:
            return None
        return Selected(candidate, *self._values(evidence), evidence, selected.scope)

    def _held_against_scripts(self, task: Task, decision: Decision) -> Decision:
        """The decision where scripts must not earn as much, look by look until that is decided."""
        stage, held = self.acceptance, decision
        for plays in stage.looks.plays if decision.verdict is Verdict.ACCEPTED else ():
            seeds = self.collector.seeds(stage.purpose, plays)
            own = self.collector.own_plays(task, stage.purpose, seeds)
            self.collector.play([*own, *stage.scripted(task, plays)])
            held = gated(decision, stage.against_scripts(task))
            if held.decided:
                break
        return held

    def _values(self, evidence: Evidence) -> tuple[float | None, float | None]:
        """Help to the parent and γ, as estimated."""
        return evidence.value(self.thresholds).value, evidence.gamma.interval.value

    # -- rows ----------------------------------------------------------------------------------

    def _playable(
        self, candidates: Sequence[Candidate[Task]], scope: Sequence[Task]
    ) -> list[Candidate[Task]]:
        """Those that the base player can play; the others are recorded with the reason."""
        playable = []
        for candidate in candidates:
            if refusal := self.collector.refusal(candidate.game):
                self.record(candidate, candidate.parent, refusal, Evidence(), scope)
            else:
                playable.append(candidate)
        return playable

    def _against_scripts(self, task: Task, evidence: Evidence) -> ScriptComparison | None:
        """The game's fine-tune beside the scripts, on the plays that the decision rests on."""
        stages = {stage.purpose: stage for stage in (self.selection, self.acceptance)}
        if evidence.purpose is None or evidence.looks is None:
            return None
        return replace(stages[evidence.purpose], looks=evidence.looks).against_scripts(task)

    def record(
        self,
        candidate: Candidate[Task],
        parent: Task,
        decision: Decision,
        evidence: Evidence,
        scope: Sequence[Task],
    ) -> None:
        """Commit a decision, unless it is in the archive, and drop what is no longer needed;
        ``parent`` is the game whose help was asked about."""
        task, place = candidate.game, candidate.place
        policy_id = self.collector.policy_id(task)
        row: Row = {
            "generation": place.generation,
            "parent_game_id": parent.game_id,
            "parent_role": parent.role,
            "round": place.round,
            "index": candidate.index,
            "game_id": task.game_id,
            "role": task.role,
            "finetune_id": policy_id if policy_id in self.ledger.finetunes else None,
            **decision_columns(decision, evidence, self.thresholds, len(scope)),
            **script_columns(self._against_scripts(task, evidence)),
            **evidence_columns(self.collector.well_posed(task), self.collector.few_shot(task)),
            **self.ledger.spent_on(task, self.collector.policy_ids(task)),
        }
        key = decision_key(row)
        if key not in self.ledger.decisions:
            self.ledger.commit(decisions=[row])
        self.decisions[key] = self.ledger.decisions[key]
        if decision.verdict is not Verdict.ACCEPTED:
            self.collector.drop_adapter(task)
        self.collector.listener.decision(task, decision)
