"""Racing: which plays of a candidate are needed next, and when no more are
(docs/specification.md, "Racing").

A race is a generator. It yields questions, is sent the bounds that answer them, and returns a
decision with its evidence. It does not depend on the source of plays, so that simulations run the
same code as searches. A question that an interval has decided is not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from archive.schema import DecisionRule, Reason, TaskId
from archive.statistics.intervals import Interval
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
)
from archive.statistics.values import TransferValues


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


@dataclass(frozen=True)
class Bounds:
    """The answer to a question; bounds that it does not ask for are None, or absent."""

    own: OwnGain | None = None
    values: TransferValues | None = None
    help_gain: Interval | None = None
    scope_values: Mapping[TaskId, Interval] = field(default_factory=dict)
    parent_cross_ratio: Interval | None = None
    scope_cross_ratios: Mapping[TaskId, Interval] = field(default_factory=dict)


NameT = TypeVar("NameT", bound=Hashable)
Race = Generator[Question, Bounds, tuple[Decision | None, Evidence]]
"""The returned decision is None if the candidate is to be ranked."""


@dataclass(frozen=True)
class RaceSettings:
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
        evidence = merge_bounds(evidence, (yield Question(plays, own=True)))
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
        evidence = merge_bounds(evidence, (yield Question(plays, helps=True, own_gain_plays=last)))
        if evidence.useful(thresholds) is not Answer.OPEN:
            break
    if not _seems_useful(evidence, thresholds):
        return decide(evidence, thresholds), evidence
    evidence = yield from _scan(settings, scope, evidence)
    if is_new(evidence.gamma.interval, thresholds.alpha2) is not Answer.NO:
        for plays in settings.looks.plays:
            evidence = yield from _ask_cross_ratios(settings, plays, evidence)
            if evidence.apart(thresholds) is not Answer.OPEN:
                break
    is_covered = evidence.new(thresholds) is Answer.NO or not _seems_apart(evidence, thresholds)
    return (decide(evidence, thresholds) if is_covered else None), evidence


def _ask_cross_ratios(
    settings: RaceSettings, plays: int, evidence: Evidence
) -> Generator[Question, Bounds, Evidence]:
    """Ask for the cross-ratios with the parent and with the game that attains γ, if the rule needs
    them."""
    if settings.thresholds.rule is DecisionRule.VALUES:
        return evidence
    most = evidence.gamma.task_id
    question = Question(
        plays, parent_cross_ratio=True, cross_ratio_games=() if most is None else (most,)
    )
    return merge_bounds(evidence, (yield question))


def _seems_apart(evidence: Evidence, thresholds: Thresholds) -> bool:
    """Whether the estimates of the cross-ratios lie on the good side."""
    values = [ratio.value for ratio in evidence.ratios if ratio.value is not None]
    return all(value <= 1 - thresholds.alpha2 for value in values)


def _seems_useful(evidence: Evidence, thresholds: Thresholds) -> bool:
    """Whether the estimates lie on the good side: numbers, not bounds."""
    value, gain = evidence.value(thresholds).value, evidence.help_gain.value
    better = thresholds.rule is DecisionRule.VALUES or (gain is not None and gain > 0)
    return value is not None and value >= thresholds.alpha1 and better


def _not_learned_decision(evidence: Evidence, thresholds: Thresholds) -> Decision:
    """The decision on a game that is not learned; an artifact if its total gain is established."""
    is_decided = is_learned(evidence.own, thresholds.rule) is Answer.NO
    if evidence.own.total.low > 0:
        return Decision(Reason.NOT_ABOUT_MAP, is_decided)
    return Decision(Reason.NOT_LEARNED, is_decided)


def _scan(
    settings: RaceSettings, scope: Sequence[TaskId], evidence: Evidence
) -> Generator[Question, Bounds, Evidence]:
    """Ask for values of the scope until a game covers the candidate or none can; a game that cannot
    attain γ is not played again."""
    bar = 1 - settings.thresholds.alpha2
    remaining = tuple(scope)
    for plays in settings.looks.plays:
        for chunk in chunks(remaining, settings.scan):
            evidence = merge_bounds(evidence, (yield Question(plays, scope_games=chunk)))
            if evidence.gamma.interval.low > bar:
                return evidence
        if evidence.gamma.interval.high <= bar:
            return evidence
        most = evidence.gamma.interval.low
        remaining = tuple(game for game in remaining if evidence.scope_values[game].high >= most)
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
            evidence = merge_bounds(evidence, (yield question))
        if is_learned(evidence.own, thresholds.rule) is not Answer.YES:
            continue
        if evidence.useful(thresholds) is Answer.NO:
            break
        for chunk in chunks(remaining, settings.scan):
            evidence = merge_bounds(evidence, (yield Question(plays, scope_games=chunk)))
            if evidence.gamma.interval.low > bar:
                break
        remaining = tuple(game for game in remaining if _open(evidence, game, bar))
        if is_new(evidence.gamma.interval, thresholds.alpha2) is not Answer.NO:
            evidence = yield from _ask_cross_ratios(settings, plays, evidence)
        if decide(evidence, thresholds).decided:
            break
    return decide(evidence, thresholds), evidence


def _open(evidence: Evidence, game: TaskId, bar: float) -> bool:
    return game not in evidence.scope_values or evidence.scope_values[game].high > bar


def merge_bounds(evidence: Evidence, bounds: Bounds) -> Evidence:
    """Evidence in which newer bounds replace older ones."""
    return replace(
        evidence,
        own=bounds.own or evidence.own,
        values=bounds.values or evidence.values,
        help_gain=bounds.help_gain or evidence.help_gain,
        scope_values={**evidence.scope_values, **bounds.scope_values},
        parent_cross_ratio=bounds.parent_cross_ratio or evidence.parent_cross_ratio,
        scope_cross_ratios={**evidence.scope_cross_ratios, **bounds.scope_cross_ratios},
    )


def run(race: Race, answer: Callable[[Question], Bounds]) -> tuple[Decision | None, Evidence]:
    """The result of one race."""
    return run_together({"": race}, lambda questions: {"": answer(questions[""])})[""]


def run_together(
    races: Mapping[NameT, Race],
    answer: Callable[[Mapping[NameT, Question]], Mapping[NameT, Bounds]],
) -> dict[NameT, tuple[Decision | None, Evidence]]:
    """The results of several races in lockstep: the open questions of all are answered at once."""
    ends: dict[NameT, tuple[Decision | None, Evidence]] = {}
    questions = {name: next(race) for name, race in races.items()}
    while questions:
        answers, names = answer(questions), list(questions)
        questions = {}
        for name in names:
            try:
                questions[name] = races[name].send(answers[name])
            except StopIteration as end:
                ends[name] = end.value
    return ends
