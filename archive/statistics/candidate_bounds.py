"""Bounds on a candidate, from gains: of its own gain, of its value on its parent, of the scope's
values on it (γ). Searches and verification share this one way from plays to a race's answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from archive.schema import Definition, GainKind, Rule, TaskId
from archive.statistics.decision_rule import Own, Thresholds
from archive.statistics.intervals import (
    Interval,
    Scores,
    bounds_at,
    mean_interval,
    two_sided,
)
from archive.statistics.looks import Looks
from archive.statistics.race import Bounds, Question
from archive.statistics.transfer_values import CrossGains, TransferValues, transfer_values

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
        helps, gain = None, None
        if question.helps:
            level = self._level(question.plays)
            pair = (self.candidate, self.parent)
            helps = self._values(*pair, question.plays, two_sided(level), question.learned)
            total = self.measured.gains(*pair, question.plays, GainKind.TOTAL)
            gain = bounds_at(partial(mean_interval, total), level, level)
        return Bounds(
            own=self.own(question.plays) if question.own else None,
            values=helps,
            help_gain=gain,
            taught={game: self._taught(game, question.plays) for game in question.taught},
            mutual=self._cross_ratio(self.parent, question.plays) if question.mutual else None,
            crossed={
                game: self._cross_ratio(self.scope[game], question.plays)
                for game in question.crossed
            },
        )

    def own(self, plays: int) -> Own:
        """What fine-tuning on the candidate did for itself."""
        at = (self.candidate, self.candidate, plays)
        total, specific = (self.measured.gains(*at, kind) for kind in GainKind)
        mean = float(total.mean())
        both = self.thresholds.rule is not Rule.VALUES and self.thresholds.gain != GainKind.TOTAL
        low, high = self._level(plays), self._level(plays, 2 if both else 1)
        kinds = {
            GainKind.TOTAL: bounds_at(partial(mean_interval, total), low, high),
            GainKind.SPECIFIC: bounds_at(partial(mean_interval, specific), low, high),
        }
        return Own(
            gain=kinds[self.thresholds.gain],
            specific=kinds[GainKind.SPECIFIC],
            share=float(specific.mean()) / mean if mean > 0 else None,
            total=kinds[GainKind.TOTAL],
        )

    def _taught(self, game: TaskId, plays: int) -> Interval:
        """The value of a game of the scope on the candidate. Its upper bound is one of several that
        accepting asks for, each at the full level; a lower one is enough to refuse, so these share
        the error, and under the rule ``values`` all do."""
        definition = self.thresholds.definition
        denominator = plays if definition == Definition.DEF37 else None
        wide = self._level(plays, self._refusals)
        high = wide if self.thresholds.rule is Rule.VALUES else self._level(plays)
        pair = (self.scope[game], self.candidate)

        def value(confidence: float) -> Interval:
            return self._values(*pair, plays, confidence, denominator).of(definition)

        return bounds_at(value, wide, high)

    @property
    def _refusals(self) -> int:
        """Bounds of which one too high is enough to call a candidate covered: the scope's values
        and, unless the rule does not ask for them, the two cross-ratios."""
        return len(self.scope) + (0 if self.thresholds.rule is Rule.VALUES else 2)

    def _cross_ratio(self, other: TaskT, plays: int) -> Interval:
        """The cross-ratio of the candidate and another game: one of several for refusing, at the
        full level for accepting."""
        kind, gains = self.thresholds.gain, self.measured.gains
        cross = CrossGains(
            there=gains(self.candidate, other, plays, kind),
            there_own=gains(other, other, plays, kind),
            back=gains(other, self.candidate, plays, kind),
            back_own=gains(self.candidate, self.candidate, plays, kind),
        )
        plain = self._level(plays)
        interval = partial(cross.ratio, defined_at=two_sided(plain))
        return bounds_at(interval, self._level(plays, self._refusals), plain)

    def _level(self, plays: int, questions: int = 1) -> float:
        """Confidence of a one-sided bound at a look, when so many questions share its error."""
        return self.looks.confidence(plays, questions)

    def _values(
        self, source: TaskT, target: TaskT, plays: int, confidence: float, denominator: int | None
    ) -> TransferValues:
        """C and V of ``source`` on ``target``; V over the source's own gains on so many plays, and
        not asked for without a number of them."""
        kind, measured = self.thresholds.gain, self.measured
        return transfer_values(
            measured.gains(source, target, plays, kind),
            measured.gains(target, target, plays, kind),
            None if denominator is None else measured.gains(source, source, denominator, kind),
            confidence,
            two_sided(self._level(plays)),
        )
