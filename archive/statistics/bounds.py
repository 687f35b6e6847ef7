"""Bounds on a candidate, from gains: of its own gain, of its value on its parent, of the scope's
values on it (γ). Searches and verification both use it to answer a race from plays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from archive.schema import DecisionRule, Definition, GainKind, TaskId
from archive.statistics.intervals import Interval, Scores, bounds_at, mean_interval, two_sided
from archive.statistics.race import Bounds, Question
from archive.statistics.rule import Looks, OwnGain, Thresholds, largest
from archive.statistics.values import CrossGains, TransferValues, transfer_values

TaskT = TypeVar("TaskT")
TaskT_contra = TypeVar("TaskT_contra", contravariant=True)


class GainSource(Protocol[TaskT_contra]):
    """Gains of one purpose by source and target game, and by attempt at the source: the source's
    fine-tunes under one set of training seeds. Attempts are ranked, the best own gain first."""

    def gains(
        self, source: TaskT_contra, target: TaskT_contra, plays: int, kind: GainKind, rank: int = 0
    ) -> Scores:
        """Per-play gains in bits of the source's fine-tunes on the target, on the first ``plays``
        seeds: (n,), or (R, n) over training seeds. Raises ``LookupError`` if one is missing."""
        ...

    def attempts(self, source: TaskT_contra) -> int:
        """Number of current attempts at a game."""
        ...


@dataclass(frozen=True)
class CandidateBounds(Generic[TaskT]):
    """Bounds on one candidate; ``scope``: all games of the scope."""

    gain_source: GainSource[TaskT]
    looks: Looks
    thresholds: Thresholds
    candidate: TaskT
    parent: TaskT
    scope: Mapping[TaskId, TaskT]

    def bounds(self, question: Question) -> Bounds:
        """The bounds that a question asks for: of the own gain, of the value on the parent, of each
        of the scope's values (γ is the largest). Raises ``LookupError`` for missing plays."""
        helps, gain = None, None
        if question.helps:
            level = self._level(question.plays)
            pair = (self.candidate, self.parent)
            helps = self._values(*pair, question.plays, two_sided(level), question.own_gain_plays)
            total = self.gain_source.gains(*pair, question.plays, GainKind.TOTAL)
            gain = bounds_at(partial(mean_interval, total), level, level)
        return Bounds(
            own=self.own(question.plays) if question.own else None,
            values=helps,
            help_gain=gain,
            scope_values={
                game: self._scope_value(game, question.plays) for game in question.scope_games
            },
            parent_cross_ratio=self._cross_ratio(self.parent, question.plays)
            if question.parent_cross_ratio
            else None,
            scope_cross_ratios={
                game: self._cross_ratio(self.scope[game], question.plays)
                for game in question.cross_ratio_games
            },
        )

    def own(self, plays: int, rank: int = 0) -> OwnGain:
        """Own gain of the candidate's attempt with this rank."""
        at = (self.candidate, self.candidate, plays)
        total, specific = (self.gain_source.gains(*at, kind, rank) for kind in GainKind)
        mean = float(total.mean())
        both = (
            self.thresholds.rule is not DecisionRule.VALUES
            and self.thresholds.gain != GainKind.TOTAL
        )
        low, high = self._level(plays), self._level(plays, 2 if both else 1)
        kinds = {
            GainKind.TOTAL: bounds_at(partial(mean_interval, total), low, high),
            GainKind.SPECIFIC: bounds_at(partial(mean_interval, specific), low, high),
        }
        return OwnGain(
            gain=kinds[self.thresholds.gain],
            specific=kinds[GainKind.SPECIFIC],
            share=float(specific.mean()) / mean if mean > 0 else None,
            total=kinds[GainKind.TOTAL],
        )

    def _scope_value(self, game: TaskId, plays: int) -> Interval:
        """The value of a game of the scope on the candidate: the largest over its attempts.

        Acceptance needs the upper bounds of all games, so each is at the full level
        (intersection-union); refusal needs one lower bound, so lower bounds share the error. Under
        the rule ``values`` upper bounds share it too.
        """
        source = self.scope[game]
        wide = self._level(plays, self._refusals)
        high = wide if self.thresholds.rule is DecisionRule.VALUES else self._level(plays)

        def value(rank: int, confidence: float) -> Interval:
            values = self._values(source, self.candidate, plays, confidence, plays, rank)
            return values.of(self.thresholds.definition)

        attempts = range(self.gain_source.attempts(source))
        return largest([bounds_at(partial(value, rank), wide, high) for rank in attempts])

    @property
    def _refusals(self) -> int:
        """Number of lower bounds of which each one suffices for a refusal as covered: one for each
        attempt of each game of the scope and, unless the rule is ``values``, two cross-ratios."""
        values = sum(map(self.gain_source.attempts, self.scope.values()))
        return values + (0 if self.thresholds.rule is DecisionRule.VALUES else 2)

    def _cross_ratio(self, other: TaskT, plays: int) -> Interval:
        """The cross-ratio of the candidate and another game. Its lower bound, which can refuse,
        shares the error with others; its upper bound, which is needed to accept, does not."""
        kind, gains = self.thresholds.gain, self.gain_source.gains
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
        """Confidence of a one-sided bound at a look whose error ``questions`` bounds share."""
        return self.looks.confidence(plays, questions)

    def _values(
        self,
        source: TaskT,
        target: TaskT,
        plays: int,
        confidence: float,
        denominator: int,
        rank: int = 0,
    ) -> TransferValues:
        """C and V of ``source`` on ``target``. V uses the source's own gains on ``denominator``
        plays; for games of the scope it is computed only if it decides, as these plays may be
        missing."""
        kind, gain_source = self.thresholds.gain, self.gain_source
        needs_own = source == self.candidate or self.thresholds.definition == Definition.DEF37
        own = gain_source.gains(source, source, denominator, kind, rank) if needs_own else None
        return transfer_values(
            gain_source.gains(source, target, plays, kind, rank),
            gain_source.gains(target, target, plays, kind),
            own,
            confidence,
            two_sided(self._level(plays)),
        )
