"""Racing: which plays of a candidate are needed next, and when no more are
(docs/specification.md, "Racing").

A race is a generator. It yields questions, is sent the bounds that answer them, and returns a
decision with its evidence; it knows nothing of where plays come from, so simulations run the same
code as searches do. A question that an interval has decided is not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from archive.schema import Reason, Rule, TaskId
from archive.statistics.decision_rule import (
    Answer,
    Decision,
    Evidence,
    OwnGain,
    Thresholds,
    decide,
    is_learned,
    is_new,
)
from archive.statistics.intervals import Interval
from archive.statistics.looks import Looks, chunks
from archive.statistics.transfer_values import TransferValues


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
    """The answer to a question; what the question leaves out is None, or absent."""

    own: OwnGain | None = None
    values: TransferValues | None = None
    help_gain: Interval | None = None
    scope_values: Mapping[TaskId, Interval] = field(default_factory=dict)
    parent_cross_ratio: Interval | None = None
    scope_cross_ratios: Mapping[TaskId, Interval] = field(default_factory=dict)


NameT = TypeVar("NameT", bound=Hashable)
Race = Generator[Question, Bounds, tuple[Decision | None, Evidence]]
"""Returns None for a decision when the candidate goes on to be ranked."""


@dataclass(frozen=True)
class RaceSettings:
    """What races of one kind have in common; ``scan``: games of the scope in the first chunk."""

    looks: Looks
    thresholds: Thresholds
    scan: int


def selection(settings: RaceSettings, scope: Sequence[TaskId], evidence: Evidence) -> Race:
    """From fine-tune to ranking, the cheap questions first: does it learn, does it help its
    parent, is it covered by a game of ``scope``, the likeliest first."""
    thresholds, last = settings.thresholds, 0
    for plays in settings.looks.plays:
        evidence, last = merged(evidence, (yield Question(plays, own=True))), plays
        if is_learned(evidence.own, thresholds.rule) is not Answer.OPEN:
            break
    if is_learned(evidence.own, thresholds.rule) is not Answer.YES:
        return _unlearned(evidence, thresholds), evidence
    for plays in settings.looks.plays:
        evidence = merged(evidence, (yield Question(plays, helps=True, own_gain_plays=last)))
        if evidence.useful(thresholds) is not Answer.OPEN:
            break
    if not _seems_useful(evidence, thresholds):
        return decide(evidence, thresholds), evidence
    evidence = yield from _scanned(settings, scope, evidence)
    if is_new(evidence.gamma.interval, thresholds.alpha2) is not Answer.NO:
        for plays in settings.looks.plays:
            evidence = yield from _crossed(settings, plays, evidence)
            if evidence.apart(thresholds) is not Answer.OPEN:
                break
    covered = evidence.new(thresholds) is Answer.NO or not _seems_apart(evidence, thresholds)
    return (decide(evidence, thresholds) if covered else None), evidence


def _crossed(
    settings: RaceSettings, plays: int, evidence: Evidence
) -> Generator[Question, Bounds, Evidence]:
    """Cross-ratios with the parent and the game that teaches it most, where the rule asks."""
    if settings.thresholds.rule is Rule.VALUES:
        return evidence
    most = evidence.gamma.task_id
    question = Question(
        plays, parent_cross_ratio=True, cross_ratio_games=() if most is None else (most,)
    )
    return merged(evidence, (yield question))


def _seems_apart(evidence: Evidence, thresholds: Thresholds) -> bool:
    """Whether the estimates of the cross-ratios lie on the good side."""
    values = [ratio.value for ratio in evidence.ratios if ratio.value is not None]
    return all(value <= 1 - thresholds.alpha2 for value in values)


def _seems_useful(evidence: Evidence, thresholds: Thresholds) -> bool:
    """Whether the estimates lie on the good side: numbers, not bounds."""
    value, gain = evidence.value(thresholds).value, evidence.help_gain.value
    better = thresholds.rule is Rule.VALUES or (gain is not None and gain > 0)
    return value is not None and value >= thresholds.alpha1 and better


def _unlearned(evidence: Evidence, thresholds: Thresholds) -> Decision:
    """A game that is not learned; an artifact where only its total gain is established."""
    decided = is_learned(evidence.own, thresholds.rule) is Answer.NO
    if evidence.own.total.low > 0:
        return Decision(Reason.NOT_ABOUT_MAP, decided)
    return Decision(Reason.NOT_LEARNED, decided)


def _scanned(
    settings: RaceSettings, scope: Sequence[TaskId], evidence: Evidence
) -> Generator[Question, Bounds, Evidence]:
    """Look at the scope until a game covers the candidate or none can; a game that cannot be the
    one that teaches it most is not played again."""
    bar = 1 - settings.thresholds.alpha2
    left = tuple(scope)
    for plays in settings.looks.plays:
        for chunk in chunks(left, settings.scan):
            evidence = merged(evidence, (yield Question(plays, scope_games=chunk)))
            if evidence.gamma.interval.low > bar:
                return evidence
        if evidence.gamma.interval.high <= bar:
            return evidence
        most = evidence.gamma.interval.low
        left = tuple(game for game in left if evidence.scope_values[game].high >= most)
    return evidence


def acceptance(settings: RaceSettings, scope: Sequence[TaskId], evidence: Evidence) -> Race:
    """The test on fresh plays, look by look until everything is decided or one thing speaks
    against it; undecided at the last."""
    thresholds, left, last = settings.thresholds, tuple(scope), 0
    bar = 1 - thresholds.alpha2
    for plays in settings.looks.plays:
        own = is_learned(evidence.own, thresholds.rule) is not Answer.YES
        useful = evidence.useful(thresholds) is not Answer.YES
        last = plays if own else last
        if own or useful:
            question = Question(plays, own=own, helps=useful, own_gain_plays=last)
            evidence = merged(evidence, (yield question))
        if is_learned(evidence.own, thresholds.rule) is not Answer.YES:
            continue
        if evidence.useful(thresholds) is Answer.NO:
            break
        for chunk in chunks(left, settings.scan):
            evidence = merged(evidence, (yield Question(plays, scope_games=chunk)))
            if evidence.gamma.interval.low > bar:
                break
        left = tuple(game for game in left if _open(evidence, game, bar))
        if is_new(evidence.gamma.interval, thresholds.alpha2) is not Answer.NO:
            evidence = yield from _crossed(settings, plays, evidence)
        if decide(evidence, thresholds).decided:
            break
    return decide(evidence, thresholds), evidence


def _open(evidence: Evidence, game: TaskId, bar: float) -> bool:
    return game not in evidence.scope_values or evidence.scope_values[game].high > bar


def merged(evidence: Evidence, bounds: Bounds) -> Evidence:
    """Evidence with newer bounds in the place of older ones."""
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
    """One race to its end."""
    return run_together({"": race}, lambda questions: {"": answer(questions[""])})[""]


def run_together(
    races: Mapping[NameT, Race],
    answer: Callable[[Mapping[NameT, Question]], Mapping[NameT, Bounds]],
) -> dict[NameT, tuple[Decision | None, Evidence]]:
    """Several races in lockstep: the open questions of all are answered at once."""
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
