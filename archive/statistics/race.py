"""Racing: which plays a candidate is asked for next, and when no more are needed
(docs/specification.md, "Racing").

A race is a generator. It yields questions, is sent the bounds that answer them, and returns a
decision with its evidence; it knows nothing of where plays come from, so simulations run the same
code as searches do. A question that an interval has settled is not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from archive.schema import Reason
from archive.statistics.decision_rule import Answer, helps, is_new
from archive.statistics.intervals import Interval
from archive.statistics.looks import Looks, chunks
from archive.statistics.transfer_values import TransferValues
from archive.statistics.verdict import Decision, Evidence, Own, Thresholds, decide


@dataclass(frozen=True)
class Question:
    """Bounds wanted on the first ``plays`` seeds: of the candidate's own gain, of what it gives
    its parent, of what games of the scope (by id) give it. ``learned``: the plays on which its
    own gain is known by now, the denominator of V."""

    plays: int
    own: bool = False
    helps: bool = False
    taught: tuple[str, ...] = ()
    learned: int = 0


@dataclass(frozen=True)
class Found:
    """The answer to a question; what was not asked is None, or absent."""

    own: Own | None = None
    values: TransferValues | None = None
    taught: Mapping[str, Interval] = field(default_factory=dict)


Race = Generator[Question, Found, tuple[Decision | None, Evidence]]
"""Returns None for a decision when the candidate goes on to be ranked."""


@dataclass(frozen=True)
class Course:
    """What races of one kind have in common; ``scan``: games of the scope in the first chunk."""

    looks: Looks
    thresholds: Thresholds
    scan: int


def selection(course: Course, scope: Sequence[str], evidence: Evidence) -> Race:
    """From fine-tune to ranking, the cheap questions first: does it learn, does it help its
    parent, is it covered by a game of ``scope``, the likeliest first."""
    thresholds = course.thresholds
    for plays in course.looks.plays:
        evidence = merged(evidence, (yield Question(plays, own=True)))
        learned = plays
        if evidence.own.gain.low > 0 or evidence.own.gain.high <= 0:
            break
    if evidence.own.gain.low <= 0:
        return _unlearned(evidence), evidence
    for plays in course.looks.plays:
        evidence = merged(evidence, (yield Question(plays, helps=True, learned=learned)))
        if helps(evidence.value(thresholds), thresholds.alpha1) is not Answer.OPEN:
            break
    value = evidence.value(thresholds).value
    if value is None or value < thresholds.alpha1:
        return decide(evidence, thresholds), evidence
    evidence = yield from _scanned(course, scope, evidence)
    covered = is_new(evidence.gamma, thresholds.alpha2) is Answer.NO
    return (decide(evidence, thresholds) if covered else None), evidence


def _unlearned(evidence: Evidence) -> Decision:
    """A game that is not learned; an artifact where only its total gain is established."""
    settled = evidence.own.gain.high <= 0
    if evidence.own.total.low > 0:
        return Decision(Reason.NOT_ABOUT_MAP, settled)
    return Decision(Reason.NOT_LEARNED, settled)


def _scanned(
    course: Course, scope: Sequence[str], evidence: Evidence
) -> Generator[Question, Found, Evidence]:
    """Look at the scope until a game covers the candidate or none can; a game that cannot be the
    one that teaches it most is not played again."""
    bar = 1 - course.thresholds.alpha2
    left = tuple(scope)
    for plays in course.looks.plays:
        for chunk in chunks(left, course.scan):
            evidence = merged(evidence, (yield Question(plays, taught=chunk)))
            if evidence.gamma.interval.low > bar:
                return evidence
        if evidence.gamma.interval.high <= bar:
            return evidence
        most = evidence.gamma.interval.low
        left = tuple(game for game in left if evidence.taught[game].high >= most)
    return evidence


def acceptance(course: Course, scope: Sequence[str], evidence: Evidence) -> Race:
    """The test on fresh plays, look by look until everything is settled or one thing speaks
    against it; undecided at the last."""
    thresholds, left, learned = course.thresholds, tuple(scope), 0
    bar = 1 - thresholds.alpha2
    for plays in course.looks.plays:
        own = evidence.own.gain.low <= 0
        useful = helps(evidence.value(thresholds), thresholds.alpha1) is not Answer.YES
        learned = plays if own else learned
        if own or useful:
            question = Question(plays, own=own, helps=useful, learned=learned)
            evidence = merged(evidence, (yield question))
        if evidence.own.gain.low <= 0:
            continue
        if helps(evidence.value(thresholds), thresholds.alpha1) is Answer.NO:
            break
        for chunk in chunks(left, course.scan):
            evidence = merged(evidence, (yield Question(plays, taught=chunk)))
            if evidence.gamma.interval.low > bar:
                break
        left = tuple(game for game in left if _open(evidence, game, bar))
        if decide(evidence, thresholds).decided:
            break
    return decide(evidence, thresholds), evidence


def _open(evidence: Evidence, game: str, bar: float) -> bool:
    return game not in evidence.taught or evidence.taught[game].high > bar


def merged(evidence: Evidence, found: Found) -> Evidence:
    """Evidence with newer bounds in the place of older ones."""
    return replace(
        evidence,
        own=found.own or evidence.own,
        values=found.values or evidence.values,
        taught={**evidence.taught, **found.taught},
    )


def run(race: Race, answer: Callable[[Question], Found]) -> tuple[Decision | None, Evidence]:
    """One race to its end."""
    return run_together({"": race}, lambda asked: {"": answer(asked[""])})[""]


def run_together(
    races: Mapping[str, Race], answer: Callable[[Mapping[str, Question]], Mapping[str, Found]]
) -> dict[str, tuple[Decision | None, Evidence]]:
    """Several races in lockstep: the open questions of all are answered at once."""
    ends: dict[str, tuple[Decision | None, Evidence]] = {}
    asked = {name: next(race) for name, race in races.items()}
    while asked:
        found, before = answer(asked), asked
        asked = {}
        for name in before:
            try:
                asked[name] = races[name].send(found[name])
            except StopIteration as end:
                ends[name] = end.value
    return ends
