"""Bounds on a candidate, from gains: of its own gain, of its value on its parent, of the scope's
values on it (γ). Searches and verification share this one way from plays to a race's answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from archive.schema import Definition, GainKind, TaskId
from archive.statistics.decision_rule import Own, Thresholds
from archive.statistics.intervals import Scores, mean_interval, two_sided
from archive.statistics.looks import Looks
from archive.statistics.race import Bounds, Question
from archive.statistics.transfer_values import TransferValues, transfer_values

TaskT = TypeVar("TaskT")
TaskT_contra = TypeVar("TaskT_contra", contravariant=True)


class GainSource(Protocol[TaskT_contra]):
    """Gains of one purpose by source and target game."""

    def gains(
        self, source: TaskT_contra, target: TaskT_contra, plays: int, kind: GainKind
    ) -> Scores:
        """Per-play gains in bits of the source's fine-tunes on the target, on the first ``plays``
        seeds: (n,), or (R, n) over training seeds. Raises ``LookupError`` where one is missing."""
        ...


@dataclass(frozen=True)
class CandidateBounds(Generic[TaskT]):
    """Bounds on one candidate; ``scope`` is all of it."""

    measured: GainSource[TaskT]
    looks: Looks
    thresholds: Thresholds
    candidate: TaskT
    parent: TaskT
    scope: Mapping[TaskId, TaskT]

    def bounds(self, question: Question) -> Bounds:
        """The bounds that a question asks for: of the own gain, of the value on the parent, of each
        of the scope's values, whose largest is γ. Raises ``LookupError`` for missing plays."""
        wide = self.looks.confidence(question.plays, len(self.scope))
        definition = self.thresholds.definition
        helps = None
        if question.helps:
            plain = self.looks.confidence(question.plays)
            helps = self._values(self.candidate, self.parent, question, plain, question.learned)
        denominator = question.plays if definition == Definition.DEF37 else None
        return Bounds(
            own=self.own(question.plays) if question.own else None,
            values=helps,
            taught={
                game: self._values(
                    self.scope[game], self.candidate, question, wide, denominator
                ).of(definition)
                for game in question.taught
            },
        )

    def own(self, plays: int) -> Own:
        """What fine-tuning on the candidate did for itself."""
        level = two_sided(self.looks.confidence(plays))
        at = (self.candidate, self.candidate, plays)
        total, specific = (self.measured.gains(*at, kind) for kind in GainKind)
        mean = float(total.mean())
        kinds = {
            GainKind.TOTAL: mean_interval(total, level),
            GainKind.SPECIFIC: mean_interval(specific, level),
        }
        return Own(
            gain=kinds[self.thresholds.gain],
            specific=kinds[GainKind.SPECIFIC],
            share=float(specific.mean()) / mean if mean > 0 else None,
            total=kinds[GainKind.TOTAL],
        )

    def _values(
        self,
        source: TaskT,
        target: TaskT,
        question: Question,
        confidence: float,
        denominator: int | None,
    ) -> TransferValues:
        """C and V of ``source`` on ``target``; V over the source's own gains on so many plays, and
        not asked for without a number of them."""
        kind, measured, plays = self.thresholds.gain, self.measured, question.plays
        return transfer_values(
            measured.gains(source, target, plays, kind),
            measured.gains(target, target, plays, kind),
            None if denominator is None else measured.gains(source, source, denominator, kind),
            two_sided(confidence),
            two_sided(self.looks.confidence(plays)),
        )
