"""The oracle on language models: candidates judged by what fine-tuning on them teaches.

Each stage costs more than the one before, and only candidates that passed continue
(docs/specification.md, "One candidate's way"): calibration, fine-tune, own gain, help to the
parent, coverage by the scope, acceptance on fresh seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from archive import Purpose, Reason, Verdict
from archive.schema import DecisionRule, Definition, GainKind, TaskId
from archive.statistics.decisions.decision_rule import (
    Decision,
    Evidence,
    Thresholds,
    decide,
    decision_columns,
)
from archive.statistics.decisions.looks import Looks, error_per_test
from archive.statistics.decisions.race import (
    Bounds,
    Question,
    Race,
    acceptance,
    run_together,
    selection,
)
from archive.statistics.decisions.scripts import ScriptComparison, apply_script_gate, script_columns
from evo.config.schema import RunConfig
from evo.jobs.evaluation import Task
from evo.record.collector import Collector
from evo.record.ledger import Ledger, Row, decision_key
from evo.record.playability import evidence_columns
from evo.record.requests import PlayRequest
from evo.search.growth import Assessment, Candidate, rank
from evo.search.stages import Stage

RaceEnd = tuple[Decision | None, Evidence]
UNLEARNED = frozenset({Reason.NOT_LEARNED, Reason.NOT_ABOUT_MAP})


@dataclass(frozen=True)
class SelectedCandidate(Assessment[Task]):
    """A candidate that selection did not decide, with its bounds and the scope; it is ranked."""

    evidence: Evidence
    scope: tuple[Task, ...]


def overtakes(evidence: Evidence) -> bool:
    """Whether a candidate teaches more of its parent than the parent's own fine-tune learned."""
    return evidence.values.captured.low > 1


class TransferOracle:
    """Implements :class:`evo.search.growth.Oracle` with fine-tunes and plays.

    Every candidate of a list becomes a row of ``decisions`` with its place in the run.
    """

    def __init__(self, config: RunConfig, ledger: Ledger, collector: Collector) -> None:
        self.config, self.ledger, self.collector = config, ledger, collector
        self.retrainings: Counter[TaskId] = Counter()
        """Number of further fine-tunes of each game of the scope."""
        self.thresholds = Thresholds(
            config.growth.alpha1,
            config.growth.alpha2,
            Definition(config.transfer.definition),
            GainKind(config.transfer.gain),
            DecisionRule(config.transfer.rule),
        )
        self.decisions: dict[tuple[Any, ...], Row] = {}
        """Decisions of this session, in order; the archive of a resumed run may hold more."""
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
    ) -> list[SelectedCandidate]:
        """Selection: refuses candidates that cannot pass, as early as possible, and ranks the
        others."""
        self.collector.calibrate([candidate.game for candidate in candidates])
        playable = self._playable(candidates, scope)
        for candidate in playable:
            self.collector.attempts.follow(candidate.game.id, candidate.parent.id)
        ends = self._learn(playable, scope)
        while self._retrain_parent(
            candidates[0].parent, [evidence for _, evidence in ends.values()]
        ):
            ends = self._select(playable, scope)
        assessments = []
        for candidate, (decision, evidence) in zip(playable, ends.values(), strict=True):
            if decision is None:
                values = self._values(evidence)
                assessments.append(SelectedCandidate(candidate, *values, evidence, tuple(scope)))
            else:
                self.record(candidate, candidate.parent, decision, evidence, scope)
        self._record_unranked(assessments)
        return assessments

    def _learn(
        self, candidates: Sequence[Candidate[Task]], scope: Sequence[Task]
    ) -> dict[TaskId, RaceEnd]:
        """Fine-tune and select; if the player learned nothing although there was something to
        learn, fine-tune again under another training seed."""
        self.collector.finetune([candidate.game for candidate in candidates])
        ends = self._select(candidates, scope)
        for _ in range(self.config.transfer.attempts - 1):
            candidates_again = [each for each in candidates if self._deserves_another(each, ends)]
            self.collector.restart([candidate.game for candidate in candidates_again])
            self.collector.finetune([candidate.game for candidate in candidates_again])
            ends |= self._select(candidates_again, scope)
        return ends

    def _deserves_another(self, candidate: Candidate[Task], ends: Mapping[TaskId, RaceEnd]) -> bool:
        decision, _ = ends[candidate.game.id]
        failed = decision is not None and decision.reason in UNLEARNED
        return failed and self.may_learn(candidate.game)

    def may_learn(self, task: Task) -> bool:
        """Whether a game on which a fine-tune learned nothing gets another one: if there is
        something to learn about the map, and if the tokens paid for enough gradient steps, since
        too few of them are no bad luck."""
        finetunes = [self.ledger.finetunes[each] for each in self.collector.policy_ids(task)]
        if any(row["steps"] < self.config.transfer.min_steps for row in finetunes):
            return False
        if self.config.transfer.headroom is None:
            return self.collector.shows_headroom(task)
        return self.selection.headroom(task).low > 0

    def _select(
        self, candidates: Sequence[Candidate[Task]], scope: Sequence[Task]
    ) -> dict[TaskId, RaceEnd]:
        """The selection races of candidates of one list."""
        if not candidates:
            return {}
        stage, parent = self.selection, candidates[0].parent
        order = stage.scan_order(parent, scope)
        ids, start = [task.id for task in order], stage.no_evidence(parent, scope)
        races = [selection(stage.race_settings, ids, start) for _ in candidates]
        return self._race(stage, candidates, races, order)

    def _retrain_parent(self, parent: Task, evidences: Sequence[Evidence]) -> bool:
        """Fine-tune the parent once more if its own gain is not clear, or if a candidate's C on it
        is significantly above 1; returns whether it did. A fine-tune that learned little teaches
        candidates little, so that even copies of the parent seem new."""
        if not evidences or not self.may_train_again(parent):
            return False
        clarity = self.config.growth.initial_clarity
        if not any(map(overtakes, evidences)) and self.selection.check_clear_gain(parent, clarity):
            return False
        self.retrainings[parent.id] += 1
        self.selection.train_again(parent)
        return True

    def may_train_again(self, parent: Task) -> bool:
        """Whether there may be another attempt at a game of the scope."""
        most = self.config.transfer.scope_attempts - 1
        return (
            self.thresholds.rule is not DecisionRule.VALUES and self.retrainings[parent.id] < most
        )

    def _record_unranked(self, assessments: Sequence[SelectedCandidate]) -> None:
        """Record the decisions on candidates that no bound decides but whose estimates do not pass
        the thresholds."""
        ranking = rank(assessments, self.thresholds.alpha1, self.thresholds.alpha2)
        for assessment in assessments:
            if assessment not in ranking:
                candidate, evidence = assessment.candidate, assessment.evidence
                decision = decide(evidence, self.thresholds)
                self.record(candidate, candidate.parent, decision, evidence, assessment.scope)

    def _race(
        self,
        stage: Stage,
        candidates: Sequence[Candidate[Task]],
        races: Sequence[Race],
        scope: Sequence[Task],
    ) -> dict[TaskId, RaceEnd]:
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
        return {task_id: ends[task_id] for task_id in by_id}

    def confirm(self, ranking: Sequence[SelectedCandidate]) -> SelectedCandidate | None:
        """Acceptance tests, the smallest γ first, until one passes or the limit is reached."""
        winner, rest = None, list(ranking)
        for assessment in ranking[: self.config.transfer.confirmations]:
            rest.remove(assessment)
            winner = self._run_acceptance(assessment)
            if winner:
                break
        reason = Reason.RIVAL_ACCEPTED if winner else Reason.RIVALS_TESTED
        for assessment in rest:
            decision = Decision(reason, decided=False)
            candidate, evidence = assessment.candidate, assessment.evidence
            self.record(candidate, candidate.parent, decision, evidence, assessment.scope)
        return winner

    def _run_acceptance(self, assessment: SelectedCandidate) -> SelectedCandidate | None:
        """Run the acceptance test of one candidate on the list's fresh seeds and record the
        decision; returns the candidate if it is accepted. If the test shows that the parent was
        badly trained, the parent is fine-tuned again and the test repeated."""
        candidate = assessment.candidate
        decision, evidence = self._test(assessment)
        while decision.reason is not Reason.COVERED:
            if not self._retrain_parent(candidate.parent, [evidence]):
                break
            decision, evidence = self._test(assessment)
        if decision.verdict is Verdict.ACCEPTED:
            decision = self._check_against_scripts(candidate, decision)
        self.record(candidate, candidate.parent, decision, evidence, assessment.scope)
        if decision.verdict is not Verdict.ACCEPTED:
            return None
        return SelectedCandidate(candidate, *self._values(evidence), evidence, assessment.scope)

    def _test(self, assessment: SelectedCandidate) -> tuple[Decision, Evidence]:
        """One acceptance test; games of the scope with the largest estimated values come first."""
        candidate, values = assessment.candidate, assessment.evidence.scope_values
        stage = self.acceptance.of_list(candidate.place)
        order = sorted(assessment.scope, key=lambda task: -(values[task.id].value or 0.0))
        start = stage.no_evidence(candidate.parent, assessment.scope)
        race = acceptance(stage.race_settings, [task.id for task in order], start)
        [(decision, evidence)] = self._race(stage, [candidate], [race], order).values()
        assert decision is not None
        return decision, evidence

    def _check_against_scripts(self, candidate: Candidate[Task], decision: Decision) -> Decision:
        """Let the scripts that may be the best play an accepted candidate on the maps of the test's
        first look. With ``growth.beyond_scripts`` let all play, and return the decision of
        :func:`apply_script_gate`, taken at the first look that settles it; otherwise the decision
        unchanged."""
        task, final = candidate.game, decision
        stage = self.acceptance.of_list(candidate.place)
        if not self.config.growth.beyond_scripts:
            self.collector.play(stage.contender_requests(task, stage.script_plays))
            return decision
        for plays in stage.looks.plays:
            own = self.collector.own_plays(task, stage.purpose, stage.seeds(plays))
            self.collector.play([*own, *stage.script_requests(task, plays)])
            final = apply_script_gate(decision, stage.against_scripts(task))
            if final.decided:
                break
        return final

    def _values(self, evidence: Evidence) -> tuple[float | None, float | None]:
        """Help to the parent and γ, as estimated."""
        return evidence.value(self.thresholds).value, evidence.gamma.interval.value

    # -- rows ----------------------------------------------------------------------------------

    def _playable(
        self, candidates: Sequence[Candidate[Task]], scope: Sequence[Task]
    ) -> list[Candidate[Task]]:
        """The candidates that the base player can play and that hold something to learn; the others
        are recorded with the reason."""
        refusals = {
            candidate.game: self.collector.refusal(candidate.game) for candidate in candidates
        }
        games = [game for game, refusal in refusals.items() if refusal is None]
        self.collector.play(request for game in games for request in self.headroom_plays(game))
        refusals |= {game: self.headroom_refusal(game) for game in games}
        for candidate in candidates:
            if refusal := refusals[candidate.game]:
                self.record(candidate, candidate.parent, refusal, Evidence(), scope)
        return [candidate for candidate in candidates if refusals[candidate.game] is None]

    def headroom_plays(self, task: Task) -> list[PlayRequest]:
        """The plays that show whether a game holds something to learn; none if
        ``transfer.headroom`` is null."""
        if self.config.transfer.headroom is None:
            return []
        return self.selection.script_requests(task, self.selection.script_plays)

    def headroom_refusal(self, task: Task) -> Decision | None:
        """The refusal of a game that holds nothing to learn about the map."""
        least = self.config.transfer.headroom
        return None if least is None else self.selection.headroom(task).refusal(least)

    def _against_scripts(self, task: Task, evidence: Evidence) -> ScriptComparison | None:
        """Comparison of the game's fine-tune with scripts, on the plays that the decision uses."""
        if evidence.purpose is None or evidence.looks is None:
            return None
        stages = {stage.purpose: stage for stage in (self.selection, self.acceptance)}
        stage = replace(
            stages[evidence.purpose], first_play=evidence.first_play, looks=evidence.looks
        )
        return stage.against_scripts(task)

    def record(
        self,
        candidate: Candidate[Task],
        parent: Task,
        decision: Decision,
        evidence: Evidence,
        scope: Sequence[Task],
    ) -> None:
        """Commit a decision, unless it is in the archive, and drop adapters that are no longer
        needed; ``parent`` is the game whose help was tested."""
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
            **self.ledger.spent_on(task, self.collector.all_policy_ids(task)),
        }
        key = decision_key(row)
        if key not in self.ledger.decisions:
            self.ledger.commit(decisions=[row])
        self.decisions[key] = self.ledger.decisions[key]
        if decision.verdict is not Verdict.ACCEPTED:
            self.collector.drop_adapter(task)
        self.collector.listener.decision(task, decision)
