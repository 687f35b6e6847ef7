"""The oracle on language models: candidates judged by what fine-tuning on them teaches.

Each candidate is a process that asks for fine-tunes and plays (docs/specification.md, "One
candidate's way"). Each stage costs more than the one before, and only candidates that passed
continue: calibration, forecast, fine-tune up to the first rung, own gain, fine-tune on the whole
budget, own gain, help to the parent, coverage by the scope, acceptance on fresh seeds. Every
candidate becomes a row of ``decisions``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product
from typing import Any

from archive import Purpose, Reason, Verdict
from archive.schema import BASE_POLICY, DecisionRule, Definition, GainKind, TaskId
from archive.statistics import rule
from archive.statistics.intervals import TransferValues
from archive.statistics.race import Question, Race, RaceSettings, acceptance, learning, selection
from archive.statistics.scripts import script_columns
from evo.config.schema import RunConfig
from evo.growth.algorithm import AcceptanceResult, Assessment, Candidate, Selection
from evo.growth.forecast import Forecast, power
from evo.growth.initial_scope import learn_initial_scope
from evo.growth.stages import Stage
from evo.jobs.evaluation import Task
from evo.record.budget import Cost
from evo.record.collector import Collector
from evo.record.ledger import Row, decision_key
from evo.record.playability import evidence_columns
from evo.record.requests import PlayRequest, Request
from evo.record.steps import Steps, together

UNLEARNED = (Reason.NOT_LEARNED, Reason.NOT_ABOUT_MAP)
UNHELPFUL = (Reason.NO_HELP, Reason.HELP_OPEN)


@dataclass(frozen=True)
class TransferAssessment(Assessment[Task]):
    """An assessment with its evidence, the scope it was measured against, and its decision, if
    selection decided."""

    evidence: rule.Evidence = field(default_factory=rule.Evidence)
    scope: tuple[Task, ...] = ()
    decision: rule.Decision | None = None


class TransferOracle:
    """Implements :class:`evo.growth.open_ended.OpenOracle`, and so that of Algorithm 1, with
    fine-tunes and plays. ``tests``: acceptance tests that share the error of one list."""

    def __init__(self, config: RunConfig, collector: Collector, tests: int) -> None:
        self.config, self.collector, self.ledger = config, collector, collector.ledger
        self.decisions: dict[tuple[Any, ...], Row] = {}
        """Decisions of this session, in order; the archive of a resumed run may hold more."""
        self._repeats: Counter[TaskId] = Counter()
        """Number of further fine-tunes of each game of the scope."""
        self._forecasters: dict[TaskId, list[TaskId]] = {}
        """Games whose fine-tunes played a candidate for its forecast, as often as at the first look
        of selection."""
        self._generations: Counter[TaskId] = Counter()
        """Of the games of the scope; 0 of the initial ones."""
        self._training: dict[Task, int] = {}
        """Games of the scope that are trained again, with the number of the attempt."""
        transfer = config.transfer
        self.thresholds = rule.Thresholds(
            config.growth.alpha1,
            config.growth.alpha2,
            Definition(transfer.definition),
            GainKind(transfer.gain),
            DecisionRule(transfer.rule),
        )
        error = 1 - transfer.confidence
        looks = rule.Looks(transfer.selection_plays, error)
        self.selection = Stage(collector, Purpose.SELECTION, looks, self.thresholds, transfer.scan)
        self.pause = replace(self.selection, collector=collector.at(config.growth.first_rung))
        """Selection at the first rung, where only the own gain is asked for."""
        looks = rule.Looks(transfer.acceptance_plays, error / max(1, tests))
        self.acceptance = replace(self.selection, purpose=Purpose.ACCEPTANCE, looks=looks)

    def learn(self, initial: Sequence[Task]) -> Steps[Request, list[Task]]:
        """:func:`evo.growth.initial_scope.learn_initial_scope`."""
        return learn_initial_scope(self.selection, initial)

    # -- before a fine-tune --------------------------------------------------------------------

    def screen(self, candidate: Candidate[Task], scope: Sequence[Task]) -> Steps[Request, bool]:
        """Calibrate a candidate and let scripted players play it. Returns whether the base player
        can play it and there is something to learn; else the refusal is recorded."""
        task = candidate.game
        refusal = yield from self.collector.calibration(task)
        least = self.config.transfer.headroom
        if refusal is None and least is not None:
            scripts = self.selection.script_requests(task, self.selection.script_plays)
            yield self.selection.blocks(scripts)
            refusal = self.selection.headroom(task).refusal(least)
        if refusal is not None:
            self._record(replace(_unknown(candidate, scope), decision=refusal))
        return refusal is None

    def forecast(
        self, candidate: Candidate[Task], scope: Sequence[Task]
    ) -> Steps[Request, Forecast]:
        """Forecast from the games of the scope that come first in the scan order, at one look or
        two: at the plays of scripts, then at the first look of selection. At each the parent's
        fine-tune plays first: where that already settles that no more plays are worth it, the
        others' need not play, since more of them can only raise the coverage."""
        stage = self.selection
        sources = stage.scan_order(candidate.parent, scope)[: self.config.transfer.scan]
        player_groups = [sources[:1], sources] if len(sources) > 1 else [sources]
        last = stage.looks.plays[0]
        for plays, players in product(dict.fromkeys([stage.script_plays, last]), player_groups):
            requests = partial(self._forecast_plays, candidate.game, sources, players, plays)
            yield from self._play(players, requests)
            if plays == last:
                self._forecasters[candidate.game.id] = [each.id for each in players]
            forecast = stage.forecast(candidate.game, sources, players, plays)
            if not (forecast.promising if plays == last else forecast.deserves_second_look):
                break
        return forecast

    def _forecast_plays(
        self, task: Task, sources: Sequence[Task], players: Sequence[Task], n_plays: int
    ) -> list[PlayRequest]:
        """On the candidate the base player, the fine-tunes of ``players`` and scripts; on the games
        of ``sources`` the scripts."""
        stage = self.selection
        at = (stage.purpose, stage.seeds(n_plays))
        on_candidate = [PlayRequest(BASE_POLICY, task, *at)]
        on_candidate += self.collector.cross_requests(players, task, *at)
        on_candidate += stage.contender_requests(task, n_plays)
        return [*on_candidate, *chain(*stage.scope_script_requests(task, sources, n_plays))]

    def pass_over(
        self, candidate: Candidate[Task], scope: Sequence[Task], forecast: Forecast
    ) -> None:
        """Record that the candidate is not fine-tuned on."""
        decision = rule.Decision(Reason.PASSED_OVER, False, str(forecast))
        self._record(replace(_unknown(candidate, scope), decision=decision))

    # -- selection -----------------------------------------------------------------------------

    def assess(
        self, candidates: Sequence[Candidate[Task]], scope: Sequence[Task]
    ) -> Steps[Request, list[TransferAssessment]]:
        """The candidates of one list side by side: screened, learned, and measured again whenever
        one shows that their parent was badly trained. Returns those that selection leaves open."""
        kept = yield from together([self.screen(each, scope) for each in candidates])
        playable = [each for each, is_kept in zip(candidates, kept, strict=True) if is_kept]
        assessments = yield from together([self._learn(each, scope) for each in playable])
        while (yield from self._train_parent_again(candidates[0].parent, assessments)):
            assessments = yield from together([self._select(each) for each in assessments])
        for each in assessments:
            self._record(each)
        return [each for each in assessments if each.selection is Selection.PASSED]

    def examine(
        self, candidate: Candidate[Task], scope: Sequence[Task]
    ) -> Steps[Request, TransferAssessment]:
        """Fine-tune on a screened candidate, then run selection with the parent that it was
        proposed for. A decision is recorded, unless another parent may change it."""
        assessment = yield from self._learn(candidate, scope)
        if (yield from self._train_parent_again(candidate.parent, [assessment])):
            assessment = yield from self._select(assessment)
        if assessment.selection is Selection.UNHELPFUL:
            return assessment
        return self._record(assessment)

    def try_other_parents(
        self, assessment: TransferAssessment, scope: Sequence[Task]
    ) -> Steps[Request, TransferAssessment]:
        """Selection of an unhelpful candidate with other games of the scope as parent, chunk by
        chunk. Of a chunk only games are tried on which its value is at least α1 after the first
        look, the largest first. Returns the first assessment that is not unhelpful, else the given
        one with its own decision."""
        others = [task for task in scope if task != assessment.parent]
        for chunk in rule.chunks(others, self.config.transfer.scan):
            for parent in (yield from self._helped(assessment.candidate.game, chunk)):
                variant = replace(assessment, parent=parent, scope=tuple(scope))
                result = yield from self._select(variant)
                is_for_pool = result.selection is Selection.PASSED
                if is_for_pool and (yield from self._train_parent_again(parent, [result])):
                    result = yield from self._select(variant)
                if result.selection is not Selection.UNHELPFUL:
                    return self._record(result)
        return self._record(assessment)

    def compare(
        self, assessment: TransferAssessment, newer: Sequence[Task]
    ) -> Steps[Request, TransferAssessment]:
        """Selection again, with the newer games in the scope; earlier plays are kept."""
        wider = replace(assessment, scope=(*assessment.scope, *newer))
        return self._record((yield from self._select(wider)))

    def _learn(
        self, candidate: Candidate[Task], scope: Sequence[Task]
    ) -> Steps[Request, TransferAssessment]:
        """Fine-tune and select; if the player learned nothing although there was something to
        learn, fine-tune again under another training seed."""
        collector, task = self.collector, candidate.game
        collector.attempts.follow(task.id, candidate.parent.id)
        assessment = _unknown(candidate, scope)
        for attempt in range(self.config.transfer.attempts):
            if attempt:
                collector.restart([task])
            assessment = yield from self._climb(assessment)
            decision = assessment.decision
            if decision is None or decision.reason not in UNLEARNED or not self._may_learn(task):
                break
        return assessment

    def _climb(self, assessment: TransferAssessment) -> Steps[Request, TransferAssessment]:
        """Fine-tune up to the first rung and, if the player learned something there, on the whole
        budget, then select."""
        task = assessment.candidate.game
        if self.config.growth.first_rung < 1:
            yield self.pause.collector.training_requests(task)
            decision, evidence, _ = yield from self._race(learning, self.pause, task, task, ())
            if decision is not None:
                in_force = self.collector.attempt_ids([assessment.parent, *assessment.scope])
                evidence = replace(evidence, scope_finetunes=in_force)
                return self._assessed(assessment, decision, evidence)
        yield self.collector.training_requests(task)
        return (yield from self._select(assessment))

    def _reached(self, task: Task) -> Stage:
        """Selection at the rung up to which a game was fine-tuned."""
        is_whole = self.collector.policy_ids(task)[0] in self.ledger.finetunes
        return self.selection if is_whole else self.pause

    def _may_learn(self, task: Task) -> bool:
        """Whether a game on which a fine-tune learned nothing gets another one: unless there is
        nothing to learn about the map, and if the tokens paid for enough gradient steps, since
        too few of them are no bad luck."""
        policy_ids = self._reached(task).collector.policy_ids(task)
        finetunes = [self.ledger.finetunes[each] for each in policy_ids]
        least, warm = self.config.transfer.min_steps, self.config.finetune.warm_start.maps > 0
        if any(row["steps"] - warm < least * row["share"] for row in finetunes):
            return False
        return self.config.transfer.headroom is None or self.selection.headroom(task).low > 0

    def _select(self, assessment: TransferAssessment) -> Steps[Request, TransferAssessment]:
        """The selection race with the assessment's parent and scope, unless the candidate was
        refused at the first rung."""
        task, parent = assessment.candidate.game, assessment.parent
        if self._reached(task) is self.pause:
            return assessment
        order = self.selection.scan_order(parent, assessment.scope)
        # Games that were asked for before come first, all at once, since their plays exist: of all
        # plays of a decision the archive says γ, not in which order they were asked for.
        asked = {*assessment.evidence.scope_values, *self._forecasters.get(task.id, ())}
        order = sorted(order, key=lambda each: each.id not in asked)
        stage = replace(self.selection, scan=max(self.selection.scan, len(asked)))
        decision, evidence, _ = yield from self._race(selection, stage, task, parent, order)
        gamma = evidence.gamma.interval.value
        if decision is None and (gamma or 0.0) > 1 - self.thresholds.alpha2:
            decision = rule.decide(evidence, self.thresholds)
        return self._assessed(assessment, decision, evidence)

    def _assessed(
        self,
        assessment: TransferAssessment,
        decision: rule.Decision | None,
        evidence: rule.Evidence,
    ) -> TransferAssessment:
        outcome = Selection.PASSED
        if decision is not None:
            outcome = Selection.UNHELPFUL if decision.reason in UNHELPFUL else Selection.DECIDED
        return replace(
            assessment,
            helps=evidence.value(self.thresholds).value,
            gamma=evidence.gamma.interval.value,
            selection=outcome,
            power=power(evidence, self.thresholds, self.acceptance.looks, is_fresh=True),
            evidence=evidence,
            decision=decision,
        )

    def _helped(self, task: Task, parents: Sequence[Task]) -> Steps[Request, list[Task]]:
        """The ``parents`` that the task seems to help at the first look, the most helped first."""
        stage, plays = self.selection, self.selection.looks.plays[0]
        question = Question(plays, helps=True, own_gain_plays=plays)
        yield from self._play(
            parents,
            lambda: chain.from_iterable(stage.plays(task, each, (), question) for each in parents),
        )
        values: dict[Task, float] = {}
        for parent in parents:
            found: TransferValues = stage.bounds(task, parent, (), question)["values"]
            value = found.of(self.thresholds.definition).value
            if value is not None and value >= self.thresholds.alpha1:
                values[parent] = value
        return sorted(values, key=lambda parent: -values[parent])

    # -- the parent ----------------------------------------------------------------------------

    def _train_parent_again(
        self, parent: Task, assessments: Sequence[TransferAssessment]
    ) -> Steps[Request, bool]:
        """Fine-tune the parent once more if its own gain is not clear, or if a candidate teaches
        significantly more of it than its own fine-tune learned (C above 1); returns whether it did.
        A fine-tune that learned little teaches candidates little, so that even copies of the parent
        seem new."""
        collector, stage = self.collector, self.selection
        is_open = parent in self._training or self._may_train_again(parent)
        if not assessments or not is_open:
            return False
        at = (stage.purpose, stage.seeds(stage.looks.plays[-1]))
        yield from self._play([parent], lambda: collector.own_plays(parent, *at))
        overtaken = any(each.evidence.values.captured.low > 1 for each in assessments)
        if not overtaken and stage.has_clear_gain(parent):
            return False
        if parent not in self._training:  # else another candidate was faster: wait for it
            if not self._may_train_again(parent):
                return False
            self._repeats[parent.id] += 1
            self._training[parent] = collector.attempts.fresh(parent.id)
        number = self._training[parent]
        requests = collector.attempt_requests(parent, number)
        yield requests
        policies = [BASE_POLICY, *collector.policy_ids_in_force(parent)]
        policies += [request.policy_id for request in requests]
        yield self.selection.blocks(PlayRequest(policy, parent, *at) for policy in policies)
        # The fine-tunes in force change in one step, once all plays that they are judged by exist.
        if self._training.get(parent) == number:
            del self._training[parent]
            collector.attempts.in_force[parent.id] = (*collector.attempts.of(parent.id), number)
            stage.prefer_best(parent)
        return True

    def _may_train_again(self, parent: Task) -> bool:
        most = self.config.transfer.scope_attempts - 1
        return self.thresholds.rule is not DecisionRule.VALUES and self._repeats[parent.id] < most

    # -- acceptance ----------------------------------------------------------------------------

    def test(
        self, assessment: TransferAssessment, scope: Sequence[Task], doublings: int = 0
    ) -> Steps[Request, AcceptanceResult]:
        """The acceptance test on its list's fresh seeds, first with the games that seem to teach it
        most."""
        task, parent = assessment.candidate.game, assessment.parent
        stage = self._acceptance(doublings).of_list(assessment.candidate.place)
        values = assessment.evidence.scope_values
        order = sorted(scope, key=lambda each: -(values[each.id].value or 0.0))
        decision, evidence, requests = yield from self._race(acceptance, stage, task, parent, order)
        assert decision is not None
        tested = replace(assessment, scope=tuple(scope), decision=decision, evidence=evidence)
        if decision.verdict is Verdict.ACCEPTED:  # what it earns beyond scripts is archived
            yield stage.blocks(stage.contender_requests(task, stage.script_plays))
        result = AcceptanceResult(decision.verdict, evidence.gamma.interval.value, tested=tested)
        if decision.verdict is Verdict.UNDECIDED:
            chance = power(evidence, self.thresholds, self._acceptance(doublings + 1).looks)
            cost = sum((each.cost(self.ledger) for each in dict.fromkeys(requests)), Cost())
            return replace(result, power=chance, tokens=max(1, cost.tokens))
        self._record(tested)
        return result

    def dismiss(
        self, assessment: TransferAssessment, result: AcceptanceResult | None, reason: Reason
    ) -> None:
        """Record the decision of its last test, or ``reason``, if it was not tested."""
        untested = replace(assessment, decision=rule.Decision(reason, decided=False))
        self._record(result.tested if result else untested)

    def _acceptance(self, doublings: int) -> Stage:
        """The stage of a first test, or of one that ends at twice the plays, and so on. It looks
        first where the first one did, on plays that are there, so that games which are clearly
        apart need not play again."""
        stage = self.acceptance
        if not doublings:
            return stage
        plays = (stage.looks.plays[0], stage.looks.plays[-1] * 2**doublings)
        return replace(stage, looks=replace(stage.looks, plays=plays))

    # -- plays ---------------------------------------------------------------------------------

    def _race(
        self,
        kind: Callable[[RaceSettings, Sequence[TaskId], rule.Evidence], Race],
        stage: Stage,
        task: Task,
        parent: Task,
        scope: Sequence[Task],
    ) -> Steps[Request, tuple[rule.Decision | None, rule.Evidence, list[PlayRequest]]]:
        """Run a race to its end; restart it if a game of the scope got another fine-tune meanwhile.
        Returns its decision and evidence, and the plays that it asked for."""
        requests, start = list[PlayRequest](), None
        on, names = (task, parent, scope), [each.id for each in scope]
        race_settings = RaceSettings(stage.looks, stage.thresholds, stage.scan)
        while True:
            if start != (now := stage.no_evidence(parent, scope)):
                start, race = now, kind(race_settings, names, now)
                question = next(race)
            else:  # the plays are of fine-tunes that are still in force
                try:
                    question = race.send(stage.bounds(*on, question))
                except StopIteration as end:
                    return *end.value, requests
            blocks = stage.blocks(stage.plays(*on, question))
            requests += blocks
            yield blocks

    def _play(
        self, sources: Sequence[Task], requests: Callable[[], Iterable[PlayRequest]]
    ) -> Steps[Request, None]:
        """Make the plays that ``requests`` returns; again, if one of ``sources`` got another
        fine-tune meanwhile, since then it returns others."""
        ids = None
        while ids != (now := self.collector.attempt_ids(sources)):
            ids = now
            yield self.selection.blocks(requests())

    # -- rows ----------------------------------------------------------------------------------

    def _record(self, assessment: TransferAssessment) -> TransferAssessment:
        """Commit its decision, if there is one that is not in the archive, and drop adapters that
        are no longer needed; returns it as decided. Its parent: the game whose help was tested."""
        if assessment.decision is None:
            return assessment
        candidate, parent = assessment.candidate, assessment.parent
        decision, evidence = assessment.decision, assessment.evidence
        task, place, collector = candidate.game, candidate.place, self.collector
        generation = self._generations[parent.id] + 1
        reached = self._reached(task)
        policy_id = reached.collector.policy_ids(task)[0]
        scripts = None
        if evidence.purpose is not None and evidence.looks is not None:
            stage = reached if evidence.purpose is Purpose.SELECTION else self.acceptance
            stage = replace(stage, first_play=evidence.first_play, looks=evidence.looks)
            scripts = stage.against_scripts(task)
        row: Row = {
            "generation": generation,
            "parent_game_id": parent.game_id,
            "parent_role": parent.role,
            "round": place.round,
            "index": candidate.index,
            "game_id": task.game_id,
            "role": task.role,
            "finetune_id": policy_id if policy_id in self.ledger.finetunes else None,
            **rule.decision_columns(decision, evidence, self.thresholds, len(assessment.scope)),
            **script_columns(scripts),
            **evidence_columns(collector.well_posed(task), collector.few_shot(task)),
            **self.ledger.spent_on(task),
        }
        key = decision_key(row)
        if is_new := key not in self.ledger.decisions:
            self.ledger.commit(decisions=[row])
        self.decisions[key] = self.ledger.decisions[key]
        is_accepted = self.decisions[key]["verdict"] == Verdict.ACCEPTED
        if is_accepted:
            self._generations[task.id] = generation
        collector.drop_adapters(task, but_whole=is_accepted)
        if is_new:
            collector.listener.decision(task, decision)
        return replace(assessment, selection=Selection.DECIDED)


def _unknown(candidate: Candidate[Task], scope: Sequence[Task]) -> TransferAssessment:
    """A candidate before its first play."""
    return TransferAssessment(candidate, candidate.parent, None, None, scope=tuple(scope))
