"""Repeats a decision from the plays that it was made on (docs/archive.md, "How a decision is
computed"): runs the search's own race on the archive's plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from archive.plays import Plays
from archive.schema import BASE_POLICY, GainKind, PlaysKey, Purpose, TaskId
from archive.statistics.decisions.candidate_bounds import CandidateBounds
from archive.statistics.decisions.decision_rule import Decision, Evidence, Thresholds, decide
from archive.statistics.decisions.looks import Looks
from archive.statistics.decisions.race import (
    Bounds,
    Question,
    RaceSettings,
    acceptance,
    run,
    selection,
)
from archive.statistics.values.intervals import Scores

Attempts = Sequence[Sequence[str]]
"""The attempts at a game that represent it, the best first; an attempt is the ids of its
fine-tunes, one for each training seed."""
Policies = Mapping[TaskId, Attempts]
"""The attempts of each game."""


class MissingPlaysError(LookupError):
    """The rule needs plays that are not archived; the message names them."""


@dataclass(frozen=True)
class Case:
    """One candidate to decide on; ``scope``: the games that γ is over, in order."""

    candidate: TaskId
    parent: TaskId
    scope: tuple[TaskId, ...]
    purpose: str
    looks: Looks
    thresholds: Thresholds
    first_play: int = 0


@dataclass(frozen=True)
class RaceReplay:
    """Result of a repeated race: its evidence, its decision (None: the candidate is to be ranked),
    the mean of every gain that was read, in bits, by source, target, number of plays and rank of
    the attempt, and which of the ``questions`` ``own``, ``helps``, ``gamma`` and ``mutual`` were
    asked."""

    evidence: Evidence
    decision: Decision | None
    gains: Mapping[tuple[TaskId, TaskId, int, int], float] = field(default_factory=dict)
    questions: frozenset[str] = frozenset()


def replay(case: Case, plays: Mapping[PlaysKey, Plays], policies: Policies) -> RaceReplay:
    """The race of a case. Raises MissingPlaysError."""
    reader = _Reader(case, plays, policies)
    # Scan the whole scope at once: games that were not played are skipped when read.
    settings = RaceSettings(case.looks, case.thresholds, scan=max(1, len(case.scope)))
    nothing = Evidence(Purpose(case.purpose), case.looks, case.first_play)
    begin = selection if case.purpose == Purpose.SELECTION else acceptance
    decision, evidence = run(begin(settings, case.scope, nothing), reader.answer)
    is_covered = evidence.gamma.interval.low > 1 - case.thresholds.alpha2
    if reader.missing and not is_covered:
        raise MissingPlaysError(reader.missing[0])
    return RaceReplay(evidence, decision, reader.means, frozenset(reader.questions))


def decide_again(case: Case, result: RaceReplay) -> Decision | None:
    """The decision of the rule on the plays. None for a candidate that is ranked: its decision
    depends on the others of its list."""
    if result.decision is not None:
        return result.decision
    value = result.evidence.value(case.thresholds).value
    most = result.evidence.gamma.interval.value
    helps = value is not None and value >= case.thresholds.alpha1
    if helps and (most is None or most <= 1 - case.thresholds.alpha2):
        return None
    return decide(result.evidence, case.thresholds)


class _Reader:
    """Answers a race from the archive's plays."""

    def __init__(self, case: Case, plays: Mapping[PlaysKey, Plays], policies: Policies) -> None:
        self.case, self.plays, self.policies = case, plays, policies
        self.means: dict[tuple[TaskId, TaskId, int, int], float] = {}
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
        self.questions |= {name for name, is_asked in parts.items() if is_asked}
        playable_games = [
            game for game in question.scope_games if self._has_plays(game, question.plays)
        ]
        return self.candidate.bounds(replace(question, scope_games=tuple(playable_games)))

    def gains(
        self, source: TaskId, target: TaskId, plays: int, kind: GainKind, rank: int = 0
    ) -> Scores:
        base = self._sample(BASE_POLICY, target, plays)
        gains = [
            self._sample(policy, target, plays).kind(kind) - base.kind(kind)
            for policy in self._attempts(source)[rank]
        ]
        if kind == self.case.thresholds.gain:
            self.means[source, target, plays, rank] = float(np.mean(gains))
        return gains[0] if len(gains) == 1 else np.stack(gains)

    def attempts(self, source: TaskId) -> int:
        return len(self._attempts(source))

    def _has_plays(self, game: TaskId, plays: int) -> bool:
        """Whether a game of the scope has its plays on the candidate at this look."""
        try:
            for policy in chain.from_iterable(self._attempts(game)):
                self._sample(policy, self.case.candidate, plays)
        except MissingPlaysError as error:
            self.missing.append(str(error))
            return False
        return True

    def _sample(self, policy: str, task_id: TaskId, plays: int) -> Plays:
        """The first ``plays`` plays of the case, in the order of their play seeds."""
        name = f"policy {policy} on game {task_id.game_id} ({task_id.role}), {self.case.purpose}"
        sample = self.plays.get(PlaysKey(policy, task_id, self.case.purpose))
        if sample is None:
            raise MissingPlaysError(f"{name}: no plays")
        play_seeds = self.case.first_play + np.arange(plays)
        order = np.argsort(sample.seeds[:, 1], kind="stable")
        start = int(np.searchsorted(sample.seeds[order, 1], play_seeds[0]))
        order = order[start : start + plays]
        if not np.array_equal(sample.seeds[order, 1], play_seeds):
            missing = len(set(play_seeds.tolist()) - set(sample.seeds[:, 1].tolist()))
            raise MissingPlaysError(f"{name}: {missing} of {plays} plays are not there")
        return Plays(sample.seeds[order], sample.own[order], sample.permuted_scores[order])

    def _attempts(self, task_id: TaskId) -> Attempts:
        if not self.policies.get(task_id):
            raise MissingPlaysError(f"game {task_id.game_id} ({task_id.role}) has no fine-tuning")
        return self.policies[task_id]
