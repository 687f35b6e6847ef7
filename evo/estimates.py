"""Bounds from the ledger's scores: the answers to a race's questions, and which plays they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archive import Purpose
from archive.derive.intervals import Interval, Scores, mean_interval
from archive.derive.looks import Looks
from archive.derive.transfer import (
    BASE,
    Sample,
    Values,
    replicated_gains,
    specific_share,
    transfer_values,
)
from evo.evaluate import Task
from evo.experiments import Experiments, Plays
from evo.race import Found, Question
from evo.verdict import Own, Thresholds


@dataclass(frozen=True)
class Inquiry:
    """On which plays questions are asked, and at which looks."""

    purpose: Purpose
    looks: Looks


class Estimates:
    """What ``inquiry``'s plays say of games, at each look."""

    def __init__(self, experiments: Experiments, inquiry: Inquiry, thresholds: Thresholds) -> None:
        self.experiments, self.inquiry, self.thresholds = experiments, inquiry, thresholds

    def plays(
        self, candidate: Task, parent: Task, scope: Sequence[Task], question: Question
    ) -> list[Plays]:
        """The plays that a question is answered from."""
        lab = self.experiments
        at = (self.inquiry.purpose, lab.seeds(self.inquiry.purpose, question.plays))
        sources = [task for task in scope if task.game_id in question.taught]
        wanted: list[Plays] = []
        if question.own or sources:
            wanted += lab.own_plays(candidate, *at)
        if question.helps:
            wanted += lab.own_plays(parent, *at) + lab.crossed([candidate], parent, *at)
        wanted += lab.crossed(sources, candidate, *at)
        if self.thresholds.definition == "def37":
            denominators = sources + ([candidate] if question.helps else [])
            wanted += [plays for task in denominators for plays in lab.own_plays(task, *at)]
        return wanted

    def found(
        self, candidate: Task, parent: Task, scope: Sequence[Task], question: Question
    ) -> Found:
        """The bounds that a question asks for; its plays must have been made."""
        plain = self.inquiry.looks.confidence(question.plays)
        wide = self.inquiry.looks.confidence(question.plays, len(scope))
        sources = [task for task in scope if task.game_id in question.taught]
        definition = self.thresholds.definition
        return Found(
            own=self.own(candidate, question.plays) if question.own else None,
            values=self.values(candidate, parent, question.plays, plain)
            if question.helps
            else None,
            taught={
                source.game_id: self.values(source, candidate, question.plays, wide).of(definition)
                for source in sources
            },
        )

    def own(self, task: Task, plays: int) -> Own:
        """What fine-tuning on the game did for the game itself."""
        level = two_sided(self.inquiry.looks.confidence(plays))
        base, policies = self._samples(task, task, plays)
        return Own(
            gain=mean_interval(replicated_gains(policies, base, self.thresholds.gain), level),
            specific=mean_interval(replicated_gains(policies, base, "specific"), level),
            share=specific_share(policies, base),
        )

    def values(self, source: Task, target: Task, plays: int, confidence: float) -> Values:
        """C and V of ``source`` on ``target``; V only where the source's own gains are known."""
        lab, purpose = self.experiments, self.inquiry.purpose
        seeds = lab.seeds(purpose, plays)
        own = lab.own_plays(source, purpose, seeds)
        known = all(lab.ledger.has_scores(each.key, seeds) for each in own)
        return transfer_values(
            self.gains(source, target, plays),
            self.gains(target, target, plays),
            self.gains(source, source, plays) if known else None,
            two_sided(confidence),
            two_sided(self.inquiry.looks.confidence(plays)),
        )

    def gains(self, source: Task, target: Task, plays: int) -> Scores:
        """Per-play gains in bits of the source's fine-tunes on the target: (n,), or (R, n)."""
        base, policies = self._samples(source, target, plays)
        return replicated_gains(policies, base, self.thresholds.gain)

    def _samples(self, source: Task, target: Task, plays: int) -> tuple[Sample, list[Sample]]:
        """The base player's and the source's fine-tunes' plays on the target."""
        lab, purpose = self.experiments, self.inquiry.purpose
        at = (target, purpose, lab.seeds(purpose, plays))
        return lab.sample(BASE, *at), lab.samples(source, *at)

    def likeliest(self, parent: Task, scope: Sequence[Task]) -> list[Task]:
        """The scope in the order in which its games may be expected to cover a relative of
        ``parent``: the parent, then by what each is known to gain there, then the unknown."""

        def promise(task: Task) -> tuple[int, float]:
            if task == parent:
                return (0, 0.0)
            known = self._known_gain(task, parent)
            return (2, 0.0) if known is None else (1, -known.value if known.value else 0.0)

        return sorted(scope, key=promise)

    def _known_gain(self, source: Task, target: Task) -> Interval | None:
        """Mean gain where the source was played on the target at some look."""
        lab, purpose = self.experiments, self.inquiry.purpose
        policies = (BASE, *lab.policy_ids(source))
        for plays in reversed(self.inquiry.looks.plays):
            seeds = lab.seeds(purpose, plays)
            keys = [(policy, target.game_id, target.role, purpose) for policy in policies]
            if all(lab.ledger.has_scores(key, seeds) for key in keys):
                return mean_interval(self.gains(source, target, plays), 0.5)
        return None


def two_sided(confidence: float) -> float:
    """Confidence of the two-sided interval whose bounds each hold at ``confidence``."""
    return max(0.0, 2 * confidence - 1)
