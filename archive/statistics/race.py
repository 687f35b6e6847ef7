"""Racing: which plays of a candidate are needed next, and when no more are
(docs/specification.md, "Racing"); and the bounds that answer a race, from gains.

A race is a generator. It yields questions, is sent the bounds that answer them, and returns a
decision with its evidence. It does not depend on the source of plays, so that simulations run the
same code as searches. A question that an interval has decided is not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from archive.schema import DecisionRule, Definition, GainKind, Reason, TaskId
from archive.statistics import intervals
from archive.statistics.rule import (
    Answer,
    Decision,
    Evidence,
    Looks,
    OwnGain,
    Thresholds,
    chunks,
    decide,
    is_learned,
    is_new,
    largest,
)


@dataclass(frozen=True)
class Question:
    """Which bounds a race needs on the first ``plays`` seeds. ``own``: of the candidate's own gain;
    ``helps``: of its value on the parent; ``scope_games``: of the values of these games of the
    scope on the candidate; ``parent_cross_ratio``: of its cross-ratio with the parent;
    ``cross_ratio_games``: of its cross-ratios with these games. ``own_gain_plays``: number of plays
    behind its own gain, the denominator of V."""

    plays: int
    own: bool = False
    helps: bool = False
    scope_games: tuple[TaskId, ...] = ()
    parent_cross_ratio: bool = False
    cross_ratio_games: tuple[TaskId, ...] = ()
    own_gain_plays: int = 0


Bounds = Mapping[str, Any]
"""The answer to a question: what it asks for, by its name in the evidence."""
Race = Generator[Question, Bounds, tuple[Decision | None, Evidence]]
"""The returned decision is None if the candidate is to be ranked."""


class RaceSettings(NamedTuple):
    """Settings that races of one kind share; ``scan``: number of games in the first chunk."""

    looks: Looks
    thresholds: Thresholds
    scan: int


def learning(settings: RaceSettings, scope: Sequence[TaskId], evidence: Evidence) -> Race:
    """The race at a pause of the fine-tune: does it learn? No value is asked for, since what a
    game teaches may appear later, and with it what teaches the game."""
    evidence, _ = yield from _ask_own(settings, evidence)
    if is_learned(evidence.own, settings.thresholds.rule) is Answer.YES:
        return None, evidence
    return _not_learned_decision(evidence, settings.thresholds), evidence


def _ask_own(
    settings: RaceSettings, evidence: Evidence
) -> Generator[Question, Bounds, tuple[Evidence, int]]:
    """Ask for the own gain, look by look; returns the number of plays too."""
    plays = 0
    for plays in settings.looks.plays:
        evidence = _merge(evidence, (yield Question(plays, own=True)))
        if is_learned(evidence.own, settings.thresholds.rule) is not Answer.OPEN:
            break
    return evidence, plays


def selection(settings: RaceSettings, scope: Sequence[TaskId], evidence: Evidence) -> Race:
    """The race from fine-tune to ranking, the cheap questions first: does it learn, does it help
    its parent, is it covered by a game of ``scope`` (in this order, the likeliest first)."""
    thresholds = settings.thresholds
    evidence, last = yield from _ask_own(settings, evidence)
    if is_learned(evidence.own, thresholds.rule) is not Answer.YES:
        return _not_learned_decision(evidence, thresholds), evidence
    for plays in settings.looks.plays:
        evidence = _merge(evidence, (yield Question(plays, helps=True, own_gain_plays=last)))
        if evidence.useful(thresholds) is not Answer.OPEN:
            break
    value, gain = evidence.value(thresholds).value, evidence.help_gain.value  # not bounds
    better = thresholds.rule is DecisionRule.VALUES or (gain is not None and gain > 0)
    if value is None or value < thresholds.alpha1 or not better:
        return decide(evidence, thresholds), evidence
    evidence = yield from _scan(settings, scope, evidence)
    if is_new(evidence.gamma.interval, thresholds.alpha2) is not Answer.NO:
        for plays in settings.looks.plays:
            evidence = yield from _ask_cross_ratios(settings, plays, evidence)
            if evidence.apart(thresholds) is not Answer.OPEN:
                break
    ratios = [ratio.value for ratio in evidence.ratios if ratio.value is not None]
    seems_apart = all(value <= 1 - thresholds.alpha2 for value in ratios)
    is_covered = evidence.new(thresholds) is Answer.NO or not seems_apart
    return (decide(evidence, thresholds) if is_covered else None), evidence


def _ask_cross_ratios(
    settings: RaceSettings, plays: int, evidence: Evidence
) -> Generator[Question, Bounds, Evidence]:
    """Ask for the cross-ratios with the parent and with the game that attains γ, if the rule needs
    them."""
    if settings.thresholds.rule is DecisionRule.VALUES:
        return evidence
    most = evidence.gamma.task_id
    games = () if most is None else (most,)
    question = Question(plays, parent_cross_ratio=True, cross_ratio_games=games)
    return _merge(evidence, (yield question))


def _not_learned_decision(evidence: Evidence, thresholds: Thresholds) -> Decision:
    """The decision on a game that is not learned; an artifact if its total gain is established."""
    reason = Reason.NOT_ABOUT_MAP if evidence.own.total.low > 0 else Reason.NOT_LEARNED
    return Decision(reason, is_learned(evidence.own, thresholds.rule) is Answer.NO)


def _scan(
    settings: RaceSettings, scope: Sequence[TaskId], evidence: Evidence
) -> Generator[Question, Bounds, Evidence]:
    """Ask for values of the scope until a game covers the candidate or none can; a game that cannot
    attain γ is not played again."""
    bar = 1 - settings.thresholds.alpha2
    remaining = tuple(scope)
    for plays in settings.looks.plays:
        for chunk in chunks(remaining, settings.scan):
            evidence = _merge(evidence, (yield Question(plays, scope_games=chunk)))
            if evidence.gamma.interval.low > bar:
                return evidence
        if evidence.gamma.interval.high <= bar:
            return evidence
        most, values = evidence.gamma.interval.low, evidence.scope_values
        # Of plays that an archive lacks there is no value.
        remaining = tuple(g for g in remaining if g not in values or values[g].high >= most)
    return evidence


def acceptance(settings: RaceSettings, scope: Sequence[TaskId], evidence: Evidence) -> Race:
    """The acceptance test on fresh plays, look by look until all conditions hold or one fails;
    undecided after the last look."""
    thresholds, remaining, last = settings.thresholds, tuple(scope), 0
    bar = 1 - thresholds.alpha2
    for plays in settings.looks.plays:
        asks_own = is_learned(evidence.own, thresholds.rule) is not Answer.YES
        asks_help = evidence.useful(thresholds) is not Answer.YES
        last = plays if asks_own else last
        if asks_own or asks_help:
            question = Question(plays, own=asks_own, helps=asks_help, own_gain_plays=last)
            evidence = _merge(evidence, (yield question))
        if is_learned(evidence.own, thresholds.rule) is not Answer.YES:
            continue
        if evidence.useful(thresholds) is Answer.NO:
            break
        for chunk in chunks(remaining, settings.scan):
            evidence = _merge(evidence, (yield Question(plays, scope_games=chunk)))
            if evidence.gamma.interval.low > bar:
                break
        values = evidence.scope_values
        remaining = tuple(g for g in remaining if g not in values or values[g].high > bar)
        if is_new(evidence.gamma.interval, thresholds.alpha2) is not Answer.NO:
            evidence = yield from _ask_cross_ratios(settings, plays, evidence)
        if decide(evidence, thresholds).decided:
            break
    return decide(evidence, thresholds), evidence


def _merge(evidence: Evidence, bounds: Bounds) -> Evidence:
    """Evidence in which newer bounds replace older ones, in a mapping game by game."""
    merged = dict(bounds)
    for name in bounds.keys() & {"scope_values", "scope_cross_ratios"}:
        merged[name] = {**getattr(evidence, name), **bounds[name]}
    return replace(evidence, **merged)


def run(race: Race, answer: Callable[[Question], Bounds]) -> tuple[Decision | None, Evidence]:
    """The result of one race."""
    question = next(race)
    while True:
        try:
            question = race.send(answer(question))
        except StopIteration as end:
            return end.value


TaskT = TypeVar("TaskT")
TaskT_contra = TypeVar("TaskT_contra", contravariant=True)


class GainSource(Protocol[TaskT_contra]):
    """Gains of one purpose by source and target game, and by attempt at the source: the source's
    fine-tunes under one set of training seeds. Attempts are ranked, the best own gain first."""

    def gains(
        self, source: TaskT_contra, target: TaskT_contra, plays: int, kind: GainKind, rank: int = 0
    ) -> intervals.Scores:
        """Per-play gains in bits of the source's fine-tunes on the target, on the first ``plays``
        seeds: (n,), or (R, n) over training seeds. Raises ``LookupError`` if one is missing."""

    def attempts(self, source: TaskT_contra) -> int:
        """Number of current attempts at a game."""


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
        plays, bounds = question.plays, dict[str, Any]()
        if question.own:
            bounds["own"] = self.own(plays)
        if question.helps:
            level = intervals.two_sided(self.looks.confidence(plays))
            pair = self.candidate, self.parent
            bounds["values"] = self._values(*pair, plays, level, question.own_gain_plays)
            gains = self.gain_source.gains(*pair, plays, GainKind.TOTAL)
            bounds["help_gain"] = intervals.mean_interval(gains, level)
        values = {game: self._scope_value(game, plays) for game in question.scope_games}
        if question.parent_cross_ratio:
            bounds["parent_cross_ratio"] = self._cross_ratio(self.parent, plays)
        ratios = {g: self._cross_ratio(self.scope[g], plays) for g in question.cross_ratio_games}
        return bounds | {"scope_values": values, "scope_cross_ratios": ratios}

    def own(self, plays: int, rank: int = 0) -> OwnGain:
        """Own gain of the candidate's attempt with this rank."""
        at = (self.candidate, self.candidate, plays)
        rule, decides = self.thresholds.rule, self.thresholds.gain
        both = rule is not DecisionRule.VALUES and decides != GainKind.TOTAL
        levels = self.looks.confidence(plays), self.looks.confidence(plays, 2 if both else 1)
        gains = (self.gain_source.gains(*at, kind, rank) for kind in GainKind)
        means = (partial(intervals.mean_interval, each) for each in gains)
        total, specific = (intervals.bounds_at(mean, *levels) for mean in means)
        return OwnGain(total if decides == GainKind.TOTAL else specific, specific, total)

    def _scope_value(self, game: TaskId, plays: int) -> intervals.Interval:
        """The value of a game of the scope on the candidate: the largest over its attempts.

        Acceptance needs the upper bounds of all games, so each is at the full level
        (intersection-union); refusal needs one lower bound, so lower bounds share the error. Under
        the rule ``values`` upper bounds share it too.
        """
        source = self.scope[game]
        wide = self.looks.confidence(plays, self._refusals)
        high = wide if self.thresholds.rule is DecisionRule.VALUES else self.looks.confidence(plays)

        def value(rank: int, confidence: float) -> intervals.Interval:
            values = self._values(source, self.candidate, plays, confidence, plays, rank)
            return values.of(self.thresholds.definition)

        attempts = range(self.gain_source.attempts(source))
        return largest([intervals.bounds_at(partial(value, rank), wide, high) for rank in attempts])

    @property
    def _refusals(self) -> int:
        """Number of lower bounds of which each one suffices for a refusal as covered: one for each
        attempt of each game of the scope and, unless the rule is ``values``, two cross-ratios."""
        values = sum(map(self.gain_source.attempts, self.scope.values()))
        return values + (0 if self.thresholds.rule is DecisionRule.VALUES else 2)

    def _cross_ratio(self, other: TaskT, plays: int) -> intervals.Interval:
        """The cross-ratio of the candidate and another game. Its lower bound, which can refuse,
        shares the error with others; its upper bound, which is needed to accept, does not."""
        own, kind, plain = self.candidate, self.thresholds.gain, self.looks.confidence(plays)
        pairs = (own, other), (other, other), (other, own), (own, own)
        samples = [self.gain_source.gains(*pair, plays, kind) for pair in pairs]
        ratio = partial(intervals.cross_ratio, samples, defined_at=intervals.two_sided(plain))
        return intervals.bounds_at(ratio, self.looks.confidence(plays, self._refusals), plain)

    def _values(
        self, source: TaskT, target: TaskT, plays: int, level: float, own_plays: int, rank: int = 0
    ) -> intervals.TransferValues:
        """C and V of ``source`` on ``target``. V uses the source's own gains on ``own_plays``
        plays; for games of the scope it is computed only if it decides, as these plays may be
        missing."""
        kind, gain_source = self.thresholds.gain, self.gain_source
        needs_own = source == self.candidate or self.thresholds.definition == Definition.DEF37
        own = gain_source.gains(source, source, own_plays, kind, rank) if needs_own else None
        return intervals.transfer_values(
            gain_source.gains(source, target, plays, kind, rank),
            gain_source.gains(target, target, plays, kind),
            own,
            level,
            intervals.two_sided(self.looks.confidence(plays)),
        )
