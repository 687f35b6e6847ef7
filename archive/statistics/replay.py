"""A decision taken again, from the plays that it was taken on (docs/archive.md, "How a decision
is computed"): the search's own race, run on what the archive holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from archive.schema import BASE_POLICY, GainKind, PlaysKey, Purpose, TaskId
from archive.statistics.candidate_bounds import CandidateBounds
from archive.statistics.intervals import Scores
from archive.statistics.looks import Looks
from archive.statistics.plays import Plays
from archive.statistics.race import Course, Found, Question, acceptance, run, selection
from archive.statistics.verdict import Decision, Evidence, Thresholds, decide

Policies = Mapping[TaskId, Sequence[str]]
"""By game, the fine-tunes that speak for it: one under each training seed."""


class MissingPlaysError(LookupError):
    """The rule asks for plays that are not archived; says which."""


@dataclass(frozen=True)
class Case:
    """One candidate before the rule; ``scope`` is everything that γ looks at, in its order."""

    candidate: TaskId
    parent: TaskId
    scope: tuple[TaskId, ...]
    purpose: str
    looks: Looks
    thresholds: Thresholds


@dataclass(frozen=True)
class Gained:
    """A mean gain in bits, and on how many plays."""

    bits: float
    plays: int


@dataclass(frozen=True)
class Replay:
    """What the plays say: the race's evidence, its decision (None: it went on to be ranked), every
    gain that was looked at by source and target, and which questions were asked."""

    evidence: Evidence
    decision: Decision | None
    gains: Mapping[tuple[TaskId, TaskId], Gained] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()


def replay(case: Case, plays: Mapping[PlaysKey, Plays], policies: Policies) -> Replay:
    """The race of a case. Raises MissingPlaysError."""
    reader = _Reader(case, plays, policies)
    # All of a scan at once: what was not played then is not there to be read now.
    course = Course(case.looks, case.thresholds, scan=max(1, len(case.scope)))
    ids = [task_id.game_id for task_id in case.scope]
    nothing = Evidence(Purpose(case.purpose), case.looks)
    begin = selection if case.purpose == Purpose.SELECTION else acceptance
    decision, evidence = run(begin(course, ids, nothing), reader.answer)
    covered = evidence.gamma.interval.low > 1 - case.thresholds.alpha2
    if reader.lacking and not covered:
        raise MissingPlaysError(reader.lacking[0])
    return Replay(evidence, decision, reader.means, frozenset(reader.asked))


def redecided(case: Case, found: Replay) -> Decision | None:
    """The decision of the rule on what was found. None for a candidate that is ranked: what became
    of it then depends on the others of its list."""
    if found.decision is not None:
        return found.decision
    value = found.evidence.value(case.thresholds).value
    most = found.evidence.gamma.interval.value
    helps = value is not None and value >= case.thresholds.alpha1
    if helps and (most is None or most <= 1 - case.thresholds.alpha2):
        return None
    return decide(found.evidence, case.thresholds)


class _Reader:
    """Answers a race from the archive's plays."""

    def __init__(self, case: Case, plays: Mapping[PlaysKey, Plays], policies: Policies) -> None:
        self.case, self.plays, self.policies = case, plays, policies
        self.means: dict[tuple[TaskId, TaskId], Gained] = {}
        self.asked: set[str] = set()
        self.lacking: list[str] = []
        scope = {task_id.game_id: task_id for task_id in case.scope}
        self.bounds = CandidateBounds(
            self, case.looks, case.thresholds, case.candidate, case.parent, scope
        )

    def answer(self, question: Question) -> Found:
        asked = {"own": question.own, "helps": question.helps, "gamma": bool(question.taught)}
        self.asked |= {name for name, wanted in asked.items() if wanted}
        there = [game for game in question.taught if self._played(game, question.plays)]
        return self.bounds.answer(replace(question, taught=tuple(there)))

    def gains(self, source: TaskId, target: TaskId, plays: int, kind: GainKind) -> Scores:
        base = self._sample(BASE_POLICY, target, plays)
        found = [
            self._sample(policy, target, plays).kind(kind) - base.kind(kind)
            for policy in self._policies(source)
        ]
        if kind == self.case.thresholds.gain:
            self.means[source, target] = Gained(float(np.mean(found)), plays)
        return found[0] if len(found) == 1 else np.stack(found)

    def _played(self, game: str, plays: int) -> bool:
        """Whether a game of the scope was tried on the candidate at this look."""
        try:
            for policy in self._policies(self.bounds.scope[game]):
                self._sample(policy, self.case.candidate, plays)
        except MissingPlaysError as error:
            self.lacking.append(str(error))
            return False
        return True

    def _sample(self, policy: str, task_id: TaskId, plays: int) -> Plays:
        """The first plays, in the order of their play seeds 0, 1, …"""
        named = f"policy {policy} on game {task_id.game_id} ({task_id.role}), {self.case.purpose}"
        found = self.plays.get(PlaysKey(policy, task_id, self.case.purpose))
        if found is None:
            raise MissingPlaysError(f"{named}: no plays")
        order = np.argsort(found.seeds[:, 1], kind="stable")[:plays]
        if not np.array_equal(found.seeds[order, 1], np.arange(plays)):
            raise MissingPlaysError(f"{named}: {_missing(found.seeds[:, 1], plays)}")
        return Plays(found.seeds[order], found.own[order], found.permuted[order])

    def _policies(self, task_id: TaskId) -> Sequence[str]:
        if not self.policies.get(task_id):
            raise MissingPlaysError(f"game {task_id.game_id} ({task_id.role}) has no fine-tuning")
        return self.policies[task_id]


def _missing(play_seeds: NDArray[np.int64], plays: int) -> str:
    lacking = len(set(range(plays)) - set(play_seeds.tolist()))
    return f"{lacking} of {plays} plays are not there"
