"""Which plays a race's questions need, and the gains that the ledger holds of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archive import Purpose
from archive.schema import BASE_POLICY, Definition, GainKind, PlaysKey
from archive.statistics.candidate_bounds import CandidateBounds
from archive.statistics.decision_rule import Evidence, Own, Thresholds
from archive.statistics.intervals import Scores
from archive.statistics.looks import Looks
from archive.statistics.race import Bounds, Question, RaceSettings
from archive.statistics.scripts import ScriptComparison, compare
from archive.statistics.transfer_values import replicated_gains
from evo.jobs.evaluate import Task
from evo.record.collector import Collector, PlayRequest


@dataclass(frozen=True)
class Stage:
    """Selection or acceptance: on plays of which purpose, at which looks, against which
    thresholds."""

    collector: Collector
    purpose: Purpose
    looks: Looks
    thresholds: Thresholds
    scan: int

    @property
    def race_settings(self) -> RaceSettings:
        """What its races have in common."""
        return RaceSettings(self.looks, self.thresholds, self.scan)

    @property
    def no_evidence(self) -> Evidence:
        """Evidence before the first play."""
        return Evidence(self.purpose, self.looks)

    def plays(
        self, candidate: Task, parent: Task, scope: Sequence[Task], question: Question
    ) -> list[PlayRequest]:
        """The plays that a question is answered from."""
        collector = self.collector
        at = (self.purpose, collector.seeds(self.purpose, question.plays))
        sources = [task for task in scope if task.id in question.taught]
        requests: list[PlayRequest] = []
        if question.own or sources:
            requests += collector.own_plays(candidate, *at)
        if question.helps:
            requests += collector.own_plays(parent, *at)
            requests += collector.crossed([candidate], parent, *at)
        requests += collector.crossed(sources, candidate, *at)
        others = [parent] if question.mutual else []
        for other in [*others, *(task for task in scope if task.id in question.crossed)]:
            requests += collector.own_plays(candidate, *at) + collector.own_plays(other, *at)
            requests += collector.crossed([candidate], other, *at)
            requests += collector.crossed([other], candidate, *at)
        if question.helps:  # asked once its own gain is established, or was before
            requests += self.scripted(candidate, self.looks.plays[0])
        if self.thresholds.definition == Definition.DEF37:
            requests += [plays for task in sources for plays in collector.own_plays(task, *at)]
        return requests

    def scripted(self, task: Task, plays: int) -> list[PlayRequest]:
        """Scripted players on the first seeds on which the game's own fine-tune plays."""
        return self.collector.scripted(
            task, self.purpose, self.collector.seeds(self.purpose, plays)
        )

    def against_scripts(self, task: Task) -> ScriptComparison | None:
        """The game's fine-tunes beside the scripts, at the last look at which these have played;
        None where they have not."""
        played = [n for n in self.looks.plays if self._scripts_played(task, n)]
        if not played:
            return None
        collector = self.collector
        at = (task, self.purpose, collector.seeds(self.purpose, played[-1]))
        scripts = {
            each.policy_id: collector.sample(each.policy_id, *at)
            for each in collector.scripted(*at)
        }
        base, own = collector.sample(BASE_POLICY, *at), collector.samples(task, *at)
        return compare(own, scripts, base, self.looks.confidence(played[-1]))

    def _scripts_played(self, task: Task, plays: int) -> bool:
        ledger = self.collector.ledger
        return all(ledger.has_scores(each.key, each.seeds) for each in self.scripted(task, plays))

    def bounds(
        self, candidate: Task, parent: Task, scope: Sequence[Task], question: Question
    ) -> Bounds:
        """The bounds that a question asks for; its plays must have been made."""
        return self._candidate_bounds(candidate, parent, scope).bounds(question)

    def own(self, task: Task, plays: int) -> Own:
        """What fine-tuning on the game did for the game itself."""
        return self._candidate_bounds(task, task, ()).own(plays)

    def _candidate_bounds(
        self, candidate: Task, parent: Task, scope: Sequence[Task]
    ) -> CandidateBounds[Task]:
        named = {task.id: task for task in scope}
        return CandidateBounds(self, self.looks, self.thresholds, candidate, parent, named)

    # -- archive.statistics.candidate_bounds.GainSource --------------------------------------------

    def gains(self, source: Task, target: Task, plays: int, kind: GainKind) -> Scores:
        """Per-play gains in bits of the source's fine-tunes on the target: (n,), or (R, n)."""
        at = (target, self.purpose, self.collector.seeds(self.purpose, plays))
        base = self.collector.sample(BASE_POLICY, *at)
        return replicated_gains(self.collector.samples(source, *at), base, kind)

    # -- the order of a scan -----------------------------------------------------------------------

    def scan_order(self, parent: Task, scope: Sequence[Task]) -> list[Task]:
        """The scope in the order in which its games may be expected to cover a relative of
        ``parent``: the parent, then by what each is known to gain there, then the unknown."""

        def promise(task: Task) -> tuple[int, float]:
            if task == parent:
                return (0, 0.0)
            known = self._known_gain(task, parent)
            return (2, 0.0) if known is None else (1, -known)

        return sorted(scope, key=promise)

    def _known_gain(self, source: Task, target: Task) -> float | None:
        """Mean gain where the source was played on the target at some look, of the latest."""
        collector = self.collector
        policies = (BASE_POLICY, *collector.policy_ids(source))
        for plays in reversed(self.looks.plays):
            seeds = collector.seeds(self.purpose, plays)
            keys = [PlaysKey(policy, target.id, self.purpose) for policy in policies]
            if all(collector.ledger.has_scores(key, seeds) for key in keys):
                return float(self.gains(source, target, plays, self.thresholds.gain).mean())
        return None
