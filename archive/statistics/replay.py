"""A decision taken again, from the plays that it was taken on (docs/archive.md, "How a decision
is computed"): the search's own race, run on what the archive holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from archive.schema import BASE_POLICY, GainKind, PlaysKey, Purpose, TaskId
from archive.statistics.candidate_bounds import CandidateBounds
from archive.statistics.decision_rule import Decision, Evidence, Thresholds, decide
from archive.statistics.intervals import Scores
from archive.statistics.looks import Looks
from archive.statistics.plays import Plays
from archive.statistics.race import Bounds, Question, RaceSettings, acceptance, run, selection

Attempts = Sequence[Sequence[str]]
"""The attempts at a game that speak for it, the best first: each its fine-tunes, one under each
training seed."""
Policies = Mapping[TaskId, Attempts]
"""By game."""


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
    first_play: int = 0


@dataclass(frozen=True)
class MeanGain:
    """A mean gain in bits, and on how many plays."""

    bits: float
    plays: int


@dataclass(frozen=True)
class Replay:
    """What the plays say: the race's evidence, its decision (None: it went on to be ranked), every
    gain that was looked at by source and target, and which of the questions
    ``own``, ``helps``, ``gamma`` and ``mutual`` were asked."""

    evidence: Evidence
    decision: Decision | None
    gains: Mapping[tuple[TaskId, TaskId], MeanGain] = field(default_factory=dict)
    questions: frozenset[str] = frozenset()


def replay(case: Case, plays: Mapping[PlaysKey, Plays], policies: Policies) -> Replay:
    """The race of a case. Raises MissingPlaysError."""
    reader = _Reader(case, plays, policies)
    # All of a scan at once: what was not played then is not there to be read now.
    settings = RaceSettings(case.looks, case.thresholds, scan=max(1, len(case.scope)))
    nothing = Evidence(Purpose(case.purpose), case.looks, case.first_play)
    begin = selection if case.purpose == Purpose.SELECTION else acceptance
    decision, evidence = run(begin(settings, case.scope, nothing), reader.answer)
    covered = evidence.gamma.interval.low > 1 - case.thresholds.alpha2
    if reader.missing and not covered:
        raise MissingPlaysError(reader.missing[0])
    return Replay(evidence, decision, reader.means, frozenset(reader.questions))


def decide_again(case: Case, replayed: Replay) -> Decision | None:
    """The decision of the rule on the plays. None for a candidate that is ranked: what became
    of it then depends on the others of its list."""
    if replayed.decision is not None:
        return replayed.decision
    value = replayed.evidence.value(case.thresholds).value
    most = replayed.evidence.gamma.interval.value
    helps = value is not None and value >= case.thresholds.alpha1
    if helps and (most is None or most <= 1 - case.thresholds.alpha2):
        return None
    return decide(replayed.evidence, case.thresholds)


class _Reader:
    """Answers a race from the archive's plays."""

    def __init__(self, case: Case, plays: Mapping[PlaysKey, Plays], policies: Policies) -> None:
        self.case, self.plays, self.policies = case, plays, policies
        self.means: dict[tuple[TaskId, TaskId], MeanGain] = {}
        self.questions: set[str] = set()
        self.missing: list[str] = []
        scope = {task_id: task_id for task_id in case.scope}
        self.candidate = CandidateBounds(
            self, case.looks, case.thresholds, case.candidate, case.parent, scope
        )

    def answer(self, question: Question) -> Bounds:
        parts = {
            "own": question.own,
            "helps": question.helps,
            "gamma": bool(question.scope_games),
            "mutual": question.parent_cross_ratio,
        }
        self.questions |= {name for name, wanted in parts.items() if wanted}
        there = [game for game in question.scope_games if self._played(game, question.plays)]
        return self.candidate.bounds(replace(question, scope_games=tuple(there)))

    def gains(
        self, source: TaskId, target: TaskId, plays: int, kind: GainKind, rank: int = 0
    ) -> Scores:
        base = self._sample(BASE_POLICY, target, plays)
        gains = [
            self._sample(policy, target, plays).kind(kind) - base.kind(kind)
            for policy in self._attempts(source)[rank]
        ]
        if kind == self.case.thresholds.gain and rank == 0:
            self.means[source, target] = MeanGain(float(np.mean(gains)), plays)
        return gains[0] if len(gains) == 1 else np.stack(gains)

    def attempts(self, source: TaskId) -> int:
        return len(self._attempts(source))

    def _played(self, game: TaskId, plays: int) -> bool:
        """Whether a game of the scope was tried on the candidate at this look."""
        try:
            for policy in chain.from_iterable(self._attempts(game)):
                self._sample(policy, self.case.candidate, plays)
        except MissingPlaysError as error:
            self.missing.append(str(error))
            return False
        return True

    def _sample(self, policy: str, task_id: TaskId, plays: int) -> Plays:
        """The plays from the case's first on, in the order of their play seeds."""
        named = f"policy {policy} on game {task_id.game_id} ({task_id.role}), {self.case.purpose}"
        plays_made = self.plays.get(PlaysKey(policy, task_id, self.case.purpose))
        if plays_made is None:
            raise MissingPlaysError(f"{named}: no plays")
        wanted = self.case.first_play + np.arange(plays)
        order = np.argsort(plays_made.seeds[:, 1], kind="stable")
        start = int(np.searchsorted(plays_made.seeds[order, 1], wanted[0]))
        order = order[start : start + plays]
        if not np.array_equal(plays_made.seeds[order, 1], wanted):
            missing = len(set(wanted.tolist()) - set(plays_made.seeds[:, 1].tolist()))
            raise MissingPlaysError(f"{named}: {missing} of {plays} plays are not there")
        return Plays(plays_made.seeds[order], plays_made.own[order], plays_made.permuted[order])

    def _attempts(self, task_id: TaskId) -> Attempts:
        if not self.policies.get(task_id):
            raise MissingPlaysError(f"game {task_id.game_id} ({task_id.role}) has no fine-tuning")
        return self.policies[task_id]
