"""The oracle of the open-ended schedule on language models.

Each candidate is a process that asks for fine-tunes and plays, and is judged by the races of
docs/specification.md, "Racing".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise, product

import numpy as np

from archive import Reason, Verdict
from archive.schema import BASE_POLICY, TaskId
from archive.statistics.decisions.decision_rule import Decision, Evidence, decide
from archive.statistics.decisions.looks import Looks, chunks, error_per_test
from archive.statistics.decisions.race import Question, Race, RaceSettings, acceptance, selection
from archive.statistics.decisions.scripts import apply_script_gate
from evo.config.schema import RunConfig
from evo.jobs.evaluation import Task
from evo.record.collector import Collector
from evo.record.cost import Cost
from evo.record.ledger import Ledger
from evo.record.requests import PlayRequest, Request
from evo.search.acceptance_power import first_power, power
from evo.search.findings import LEAST_POWER, Finding, Prospect, Trial
from evo.search.foresight import Foresight
from evo.search.growth import Candidate
from evo.search.oracle import UNLEARNED, RaceEnd, TransferOracle, overtakes
from evo.search.scope_ratings import ScopeEquilibrium, scope_equilibrium
from evo.search.stages import Stage
from evo.search.virtual_order import Steps

BLOCK = 64
"""Most plays of one policy on one game in one job."""


@dataclass(frozen=True)
class SelectionFinding(Finding[Task]):
    """A finding with its evidence from selection and the scope it was measured against;
    ``decision`` if selection decided."""

    evidence: Evidence = field(default_factory=Evidence)
    scope: tuple[Task, ...] = ()
    decision: Decision | None = None


@dataclass(frozen=True)
class AcceptanceTrial(Trial):
    """A trial with its evidence from acceptance and the scope it was measured against."""

    evidence: Evidence = field(default_factory=Evidence)
    scope: tuple[Task, ...] = ()
    decision: Decision | None = None


class OpenTransferOracle:
    """Implements :class:`evo.search.findings.OpenOracle` with fine-tunes and plays."""

    def __init__(self, config: RunConfig, ledger: Ledger, collector: Collector) -> None:
        self.config, self.collector = config, collector
        self._training: set[Task] = set()
        """Games of the scope that another attempt is being made at."""
        self._equilibrium: ScopeEquilibrium | None = None
        self.paper_oracle = TransferOracle(config, ledger, collector)
        self.thresholds, self.selection = self.paper_oracle.thresholds, self.paper_oracle.selection

    # -- evo.search.open_ended.OpenOracle ------------------------------------------------------

    def screen(
        self, candidate: Candidate[Task], scope: Sequence[Task]
    ) -> Steps[Request, Foresight | None]:
        """Calibrate a candidate and let scripted players play it; with ``growth.examined_share``
        below 1 let fine-tunes of the scope play it too. Returns its foresight, or None if it is
        refused (the refusal is recorded)."""
        collector, task = self.collector, candidate.game
        collector.register([task])
        yield [collector.calibration_plays(task)]
        collector.fix_floor(task)
        yield collector.rounds_request(task)
        refusal = collector.refusal(task)
        if refusal is None:
            yield self.paper_oracle.headroom_plays(task)
            refusal = self.paper_oracle.headroom_refusal(task)
        if refusal is not None:
            self.paper_oracle.record(candidate, candidate.parent, refusal, Evidence(), scope)
            return None
        if self.config.growth.examined_share == 1:
            return Foresight()
        return (yield from self._foresight(candidate, scope))

    def _foresight(
        self, candidate: Candidate[Task], scope: Sequence[Task]
    ) -> Steps[Request, Foresight]:
        """Foresight from the games of the scope that come first in the scan order, at one look or
        two: at the plays of scripts, then at the first look of selection. At each the parent's
        fine-tune plays first: where that already settles that no more plays are worth it, the
        others' need not play, since more of them can only raise the coverage."""
        stage, task = self.selection, candidate.game
        sources = stage.scan_order(candidate.parent, scope)[: self.config.transfer.scan]
        player_groups = [sources[:1], sources] if len(sources) > 1 else [sources]
        last = stage.looks.plays[0]
        for plays, players in product(dict.fromkeys([stage.script_plays, last]), player_groups):
            foresight = yield from self._play_foresight(task, sources, players, plays)
            is_hopeful = foresight.promising if plays == last else foresight.deserves_second_look
            if not is_hopeful:
                break
        return foresight

    def _play_foresight(
        self, task: Task, scope: Sequence[Task], players: Sequence[Task], n_plays: int
    ) -> Steps[Request, Foresight]:
        """Foresight from the first ``n_plays`` plays of the fine-tunes of ``players``."""
        stage = self.selection
        at, ids = (stage.purpose, stage.seeds(n_plays)), None
        while ids != self.collector.attempt_ids(players):
            ids = self.collector.attempt_ids(players)
            plays = self.collector.cross_requests(players, task, *at)
            base = PlayRequest(BASE_POLICY, task, *at)
            scripts = stage.contender_requests(task, n_plays)
            scripts += chain.from_iterable(stage.scope_script_requests(task, scope, n_plays))
            yield self._blocks([base, *plays, *scripts])
        return stage.foresight(task, scope, players, n_plays)

    def pass_over(
        self, candidate: Candidate[Task], scope: Sequence[Task], foresight: Foresight
    ) -> None:
        """Record that the candidate is passed over, without evidence of its own."""
        decision = Decision(Reason.PASSED_OVER, False, str(foresight))
        self.paper_oracle.record(candidate, candidate.parent, decision, Evidence(), scope)

    def examine(
        self, candidate: Candidate[Task], scope: Sequence[Task]
    ) -> Steps[Request, SelectionFinding]:
        """Fine-tune the candidate, then run selection with the parent that it was proposed for."""
        self.collector.attempts.follow(candidate.game.id, candidate.parent.id)
        start = SelectionFinding(candidate, Prospect.DECIDED, candidate.parent, scope=tuple(scope))
        finding = yield from self._learn(start)
        if finding.prospect is Prospect.DECIDED and _is_orphan(finding.decision):
            return replace(finding, prospect=Prospect.ORPHAN)
        return self._record_decision(finding, finding.decision)

    def adopt(
        self, orphan: SelectionFinding, scope: Sequence[Task]
    ) -> Steps[Request, SelectionFinding]:
        """Selection with other games of the scope as parent, chunk by chunk. Of a chunk only games
        are tried on which the orphan's value is at least α1 after the first look, the largest
        first. Returns the first finding that is no orphan, else the orphan with its own
        decision."""
        others = [task for task in scope if task != orphan.parent]
        for chunk in chunks(others, self.config.transfer.scan):
            helped_parents = yield from self._helped_parents(orphan.candidate.game, chunk)
            for parent in helped_parents:
                variant = replace(orphan, parent=parent, scope=tuple(scope))
                finding = yield from self._select(variant)
                if not (finding.prospect is Prospect.DECIDED and _is_orphan(finding.decision)):
                    return self._record_decision(finding, finding.decision)
        return self._record_decision(replace(orphan, prospect=Prospect.DECIDED), orphan.decision)

    def compare(
        self, finding: SelectionFinding, newer: Sequence[Task]
    ) -> Steps[Request, SelectionFinding]:
        """Selection again, with the newer games in the scope; earlier plays are kept."""
        wider = replace(finding, scope=(*finding.scope, *newer))
        finding = yield from self._select(wider)
        return self._record_decision(finding, finding.decision)

    def test(
        self, finding: SelectionFinding, scope: Sequence[Task], repeat: int
    ) -> Steps[Request, AcceptanceTrial]:
        """The acceptance test on its list's fresh seeds, first with the games that seem to teach it
        most; repeated if it shows that the parent was badly trained."""
        stage = self._acceptance(repeat).of_list(finding.candidate.place)
        values, requests = finding.evidence.scope_values, list[PlayRequest]()
        order = sorted(scope, key=lambda task: -(values[task.id].value or 0.0))
        task, parent = finding.candidate.game, finding.parent
        decision, evidence = yield from self._race(acceptance, stage, task, parent, order, requests)
        while decision and decision.reason is not Reason.COVERED:
            if not (yield from self._retrain_parent(parent, evidence)):
                break
            decision, evidence = yield from self._race(
                acceptance, stage, task, parent, order, requests
            )
        assert decision is not None
        if decision.verdict is Verdict.ACCEPTED:
            decision = yield from self._check_against_scripts(task, stage, decision)
        trial = AcceptanceTrial(
            decision.verdict,
            evidence.gamma.interval.value,
            evidence=evidence,
            scope=tuple(scope),
            decision=decision,
        )
        if decision.verdict is Verdict.UNDECIDED:
            chance = power(evidence, self.thresholds, self._acceptance(repeat + 1).looks)
            cost = sum(map(self.collector.cost, dict.fromkeys(requests)), Cost())
            return replace(trial, power=chance, tokens=max(1, cost.tokens))
        self.paper_oracle.record(finding.candidate, parent, decision, evidence, trial.scope)
        return trial

    def rate_scope(self, scope: Sequence[Task]) -> Steps[Request, Mapping[Task, float]]:
        """The scope rated with the base player and the best fine-tune of each of its games, on the
        fewest plays of selection."""
        collector, stage = self.collector, self.selection
        at, policies = (stage.purpose, stage.seeds(stage.looks.plays[0])), tuple[str, ...]()
        while policies != (now := (BASE_POLICY, *map(collector.policy_id, scope))):
            policies = now
            yield self._blocks(PlayRequest(p, task, *at) for task in scope for p in policies)
        scores = [
            np.stack([collector.sample(policy, task, *at).own for policy in policies])
            for task in scope
        ]
        self._equilibrium = scope_equilibrium(policies, scores)
        masses = self._equilibrium.masses if self._equilibrium else ()
        return dict(zip(scope, map(float, masses), strict=False))

    def dismiss(self, finding: SelectionFinding, trial: Trial | None) -> None:
        """Record the decision of its last test; without a test, that a test is not worth its plays
        or that the tests of its list went to other candidates."""
        if isinstance(trial, AcceptanceTrial) and trial.decision:
            last = (trial.decision, trial.evidence, trial.scope)
        else:
            reason = Reason.UNLIKELY if finding.power < LEAST_POWER else Reason.RIVALS_TESTED
            last = (Decision(reason, False), finding.evidence, finding.scope)
        self.paper_oracle.record(finding.candidate, finding.parent, *last)

    def _check_against_scripts(
        self, task: Task, stage: Stage, decision: Decision
    ) -> Steps[Request, Decision]:
        """Let the scripts that may be the best play an accepted candidate on the maps of a first
        test's first look. With ``growth.beyond_scripts`` let all play those of each look of this
        test, and return the decision of :func:`apply_script_gate`, taken at the first look that
        settles it; otherwise the decision unchanged."""
        if not self.config.growth.beyond_scripts:
            yield self._blocks(stage.contender_requests(task, stage.script_plays))
            return decision
        final = decision
        for plays in stage.looks.plays:
            own = self.collector.own_plays(task, stage.purpose, stage.seeds(plays))
            yield self._blocks([*own, *stage.script_requests(task, plays)])
            final = apply_script_gate(decision, stage.against_scripts(task))
            if final.decided:
                break
        return final

    # -- parts ---------------------------------------------------------------------------------

    def _acceptance(self, repeat: int) -> Stage:
        """The stage of a test: that of a first one, or one that ends at twice the plays, and so on.
        A repeated one looks first where the first did, on plays that are there, so that games which
        are clearly apart need not play again."""
        rules = self.config.transfer
        share = error_per_test(1 - rules.confidence, rules.confirmations)
        plays = tuple(rules.acceptance_plays)
        if repeat:
            plays = (plays[0], plays[-1] * 2**repeat)
        return replace(self.paper_oracle.acceptance, looks=Looks(plays, share))

    def _learn(self, finding: SelectionFinding) -> Steps[Request, SelectionFinding]:
        """Fine-tune and select; if the player learned nothing although there was something to
        learn, fine-tune again under another training seed."""
        collector, task = self.collector, finding.candidate.game
        for attempt in range(self.config.transfer.attempts):
            if attempt:
                collector.restart([task])
            yield collector.training_requests(task)
            finding = yield from self._select(finding)
            failed = finding.decision is not None and finding.decision.reason in UNLEARNED
            if not (failed and self.paper_oracle.may_learn(task)):
                break
        if (yield from self._retrain_parent(finding.parent, finding.evidence)):
            finding = yield from self._select(finding)
        return finding

    def _retrain_parent(self, parent: Task, evidence: Evidence) -> Steps[Request, bool]:
        """Fine-tune the parent once more if its own gain is not clear, or if the candidate's C on
        it is significantly above 1; returns whether it did."""
        collector, stage = self.collector, self.selection
        if not self.paper_oracle.may_train_again(parent):
            return False
        at, ids = (stage.purpose, stage.seeds(stage.looks.plays[-1])), None
        while ids != collector.attempt_ids([parent]):
            ids = collector.attempt_ids([parent])
            yield self._blocks(collector.own_plays(parent, *at))
        if not overtakes(evidence) and stage.check_clear_gain(
            parent, self.config.growth.initial_clarity
        ):
            return False
        if parent in self._training or not self.paper_oracle.may_train_again(parent):
            return False  # another candidate was faster
        yield from self._attempt(parent)
        return True

    def _attempt(self, task: Task) -> Steps[Request, None]:
        """Make one more attempt at a game of the scope. The attempts in force change in one step,
        once all plays that they are judged by are made."""
        collector, stage = self.collector, self.selection
        self.paper_oracle.retrainings[task.id] += 1
        self._training.add(task)
        number = collector.attempts.fresh(task.id)
        requests = collector.attempt_requests(task, number)
        yield requests
        policies = [BASE_POLICY, *collector.policy_ids_in_force(task)]
        policies += [request.policy_id for request in requests]
        at = (task, stage.purpose, stage.seeds(stage.looks.plays[-1]))
        yield self._blocks(PlayRequest(policy, *at) for policy in policies)
        collector.attempts.put(task.id, number)
        stage.prefer_best(task)
        self._training.remove(task)

    def _select(self, finding: SelectionFinding) -> Steps[Request, SelectionFinding]:
        """The selection race; a finding that is ranked is a prospect."""
        stage, task = self.selection, finding.candidate.game
        order = stage.scan_order(finding.parent, finding.scope)
        decision, evidence = yield from self._race(
            selection, stage, task, finding.parent, order, []
        )
        gamma = evidence.gamma.interval.value
        if decision is None and (gamma or 0.0) > 1 - self.thresholds.alpha2:
            decision = decide(evidence, self.thresholds)
        prospect = Prospect.NEW if decision is None else Prospect.DECIDED
        regret = yield from self._regret(task)
        return replace(
            finding,
            prospect=prospect,
            gamma=gamma,
            power=first_power(evidence, self.thresholds, self._acceptance(0).looks),
            regret=regret,
            evidence=evidence,
            decision=decision,
        )

    def _regret(self, task: Task) -> Steps[Request, float | None]:
        """Regret of a candidate, on the plays of selection's first look by the policies of the
        equilibrium's support; None if the scope is not rated."""
        if (equilibrium := self._equilibrium) is None:
            return None
        at = (task, self.selection.purpose, self.selection.seeds(self.selection.looks.plays[0]))
        yield self._blocks(PlayRequest(policy, *at) for policy in equilibrium.support)
        scores = {name: self.collector.sample(name, *at).own for name in equilibrium.support}
        return equilibrium.regret(scores)

    def _helped_parents(self, task: Task, parents: Sequence[Task]) -> Steps[Request, list[Task]]:
        """The games of ``parents`` that the task seems to help at the first look, the most helped
        first."""
        stage, plays = self.selection, self.selection.looks.plays[0]
        question = Question(plays, helps=True, own_gain_plays=plays)
        ids = None
        while ids != self.collector.attempt_ids(parents):
            ids = self.collector.attempt_ids(parents)
            requests = [each for p in parents for each in stage.plays(task, p, (), question)]
            yield self._blocks(requests)
        values: dict[Task, float] = {}
        for parent in parents:
            bounds = stage.bounds(task, parent, (), question)
            value = bounds.values.of(self.thresholds.definition).value if bounds.values else None
            if value is not None and value >= self.thresholds.alpha1:
                values[parent] = value
        return sorted(values, key=lambda parent: -values[parent])

    def _race(
        self,
        kind: Callable[[RaceSettings, Sequence[TaskId], Evidence], Race],
        stage: Stage,
        task: Task,
        parent: Task,
        scope: Sequence[Task],
        requests: list[PlayRequest],
    ) -> Steps[Request, RaceEnd]:
        """Run a race to its end; restart it if a game of the scope got another attempt meanwhile.
        Every requested play is appended to ``requests``."""
        while True:
            start = stage.no_evidence(parent, scope)
            race = kind(stage.race_settings, [each.id for each in scope], start)
            question = next(race)
            while True:
                blocks = self._blocks(stage.plays(task, parent, scope, question))
                requests += blocks
                yield blocks
                if stage.no_evidence(parent, scope) != start:
                    break
                try:
                    question = race.send(stage.bounds(task, parent, scope, question))
                except StopIteration as end:
                    decision, evidence = end.value
                    return decision, evidence

    def _blocks(self, requests: Iterable[PlayRequest]) -> list[PlayRequest]:
        """Requests cut at the looks of their purpose and of foresight, so that the same plays are
        always requested in the same blocks, and after every ``BLOCK`` plays, so that workers share
        a game whose plays are long."""
        transfer = self.config.transfer
        looks = {*transfer.selection_plays, *transfer.acceptance_plays, self.selection.script_plays}
        most = transfer.acceptance_plays[-1]
        blocks: list[PlayRequest] = []
        for request in requests:
            count = len(request.seeds)
            doublings = {most * 2**k for k in range(count.bit_length())}
            inner = looks | doublings | {*range(BLOCK, count, BLOCK)}
            edges = sorted({0, count, *(edge for edge in inner if edge < count)})
            blocks += [replace(request, seeds=request.seeds[a:b]) for a, b in pairwise(edges)]
        return blocks

    def _record_decision(
        self, finding: SelectionFinding, decision: Decision | None
    ) -> SelectionFinding:
        """Record ``decision``, if there is one; returns the finding."""
        if decision is not None:
            self.paper_oracle.record(
                finding.candidate, finding.parent, decision, finding.evidence, finding.scope
            )
        return finding


def _is_orphan(decision: Decision | None) -> bool:
    return decision is not None and decision.reason in (Reason.NO_HELP, Reason.HELP_OPEN)
