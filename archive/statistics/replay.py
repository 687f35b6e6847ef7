"""Repeats a decision from the plays that it was made on (docs/reference/archive.md, "How a decision
is computed"): runs the search's own race on the archive's plays, or on their scores by another
judge (docs/explanation/transfer.md, "Another judge")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from archive.errors import DamagedError
from archive.plays import SCORE_COLUMNS, Plays, floor_of, on_common_seeds, plays_of
from archive.run import Row, Run, stored_game
from archive.schema import (
    BASE_POLICY,
    DecisionRule,
    Definition,
    GainKind,
    PlaysKey,
    Purpose,
    TaskId,
    Verdict,
)
from archive.statistics import intervals
from archive.statistics.race import (
    Bounds,
    CandidateBounds,
    Question,
    RaceSettings,
    acceptance,
    learning,
    run,
    selection,
)
from archive.statistics.rule import Decision, Evidence, Looks, OwnGain, Thresholds, decide

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


def replay(
    case: Case, plays: Mapping[PlaysKey, Plays], policies: Policies
) -> tuple[Evidence, Decision | None, list[PlaysKey]]:
    """The race of a case once more: its evidence, the decision of the rule (None for a candidate
    that is ranked: it depends on the others of its list), and the plays that were read, in order.
    Raises MissingPlaysError."""
    reader, thresholds = _Reader(case, plays, policies), case.thresholds
    # Scan the whole scope at once: games that were not played are skipped when read.
    settings = RaceSettings(case.looks, thresholds, scan=max(1, len(case.scope)))
    nothing = Evidence(Purpose(case.purpose), case.looks, case.first_play)
    begin = selection if case.purpose == Purpose.SELECTION else acceptance
    decision, evidence = run(begin(settings, case.scope, nothing), reader.answer)
    bar, most = 1 - thresholds.alpha2, evidence.gamma.interval
    if reader.missing and most.low <= bar:
        raise MissingPlaysError(reader.missing[0])
    value = evidence.value(thresholds).value
    helps = value is not None and value >= thresholds.alpha1
    if decision is None and not (helps and (most.value is None or most.value <= bar)):
        decision = decide(evidence, thresholds)
    return evidence, decision, list(reader.read)


def own_gain_at(row: Row, plays: Mapping[PlaysKey, Plays], policies: Policies) -> OwnGain | None:
    """The own gain of a decision with both bounds, of which its row has the lower ones. None if its
    plays are not archived."""
    if (case := _case(row, ())) is None:
        return None
    settings = RaceSettings(case.looks, case.thresholds, scan=1)
    nothing = Evidence(Purpose(case.purpose), case.looks, case.first_play)
    try:
        _, evidence = run(learning(settings, (), nothing), _Reader(case, plays, policies).answer)
    except (MissingPlaysError, ValueError):
        return None
    return evidence.own


class _Reader:
    """Answers a race from the archive's plays."""

    def __init__(self, case: Case, plays: Mapping[PlaysKey, Plays], policies: Policies) -> None:
        self.case, self.plays, self.policies = case, plays, policies
        self.missing: list[str] = []
        self.read: dict[PlaysKey, None] = {}
        scope = {task_id: task_id for task_id in case.scope}
        self.candidate = CandidateBounds(
            self, case.looks, case.thresholds, case.candidate, case.parent, scope
        )

    def answer(self, question: Question) -> Bounds:
        games = list[TaskId]()
        for game in question.scope_games:
            try:  # whether it has its plays on the candidate at this look
                for policy in chain.from_iterable(self._attempts(game)):
                    self._sample(policy, self.case.candidate, question.plays)
                games.append(game)
            except MissingPlaysError as error:
                self.missing.append(str(error))
        return self.candidate.bounds(replace(question, scope_games=tuple(games)))

    def gains(
        self, source: TaskId, target: TaskId, plays: int, kind: GainKind, rank: int = 0
    ) -> intervals.Scores:
        base = self._sample(BASE_POLICY, target, plays)
        samples = [self._sample(policy, target, plays) for policy in self._attempts(source)[rank]]
        return intervals.replicated_gains(samples, base, kind)

    def attempts(self, source: TaskId) -> int:
        return len(self._attempts(source))

    def _sample(self, policy: str, task_id: TaskId, plays: int) -> Plays:
        """The first ``plays`` plays of the case, in the order of their play seeds."""
        name = f"policy {policy} on game {task_id.game_id} ({task_id.role}), {self.case.purpose}"
        key = PlaysKey(policy, task_id, self.case.purpose)
        sample = self.plays.get(key)
        if sample is None:
            raise MissingPlaysError(f"{name}: no plays")
        self.read[key] = None
        play_seeds = range(self.case.first_play, self.case.first_play + plays)
        chosen = sample.of_play_seeds(play_seeds)
        if chosen.seeds[:, 1].tolist() != list(play_seeds):
            missing = len({*play_seeds} - {*chosen.seeds[:, 1].tolist()})
            raise MissingPlaysError(f"{name}: {missing} of {plays} plays are not there")
        return chosen

    def _attempts(self, task_id: TaskId) -> Attempts:
        if not self.policies.get(task_id):
            raise MissingPlaysError(f"game {task_id.game_id} ({task_id.role}) has no fine-tuning")
        return self.policies[task_id]


# -- the cases of a run: for each decision its candidate, scope and plays -------------------------


def cases(run: Run) -> Iterator[tuple[Row, Case | None]]:
    """Every decision with its case; None if it was taken without plays of the candidate's own
    fine-tuning. The scope of a case is Σ_k and the games that earlier lists of k accepted (Ω_k), or
    only Σ_k under ``growth.coverage_against: scope``; all games of a list have the same scope.
    Under the open-ended schedule it is the first ``scope_size`` games, in order of acceptance."""
    alone = run.setting("growth", "coverage_against") == "scope"
    members = [member.task_id for member in run.scopes.get(0, ())]
    pending: dict[int, dict[TaskId, tuple[str, str, int]]] = {}
    for row in run.decisions:
        number = row["generation"] - 1
        list_key = row["parent_game_id"], row["parent_role"], row["round"]
        accepted_lists = pending.setdefault(number, {})
        scope = members[: row["scope_size"]]
        if not run.is_open_ended:
            scope = [m.task_id for m in run.scopes.get(number, ())]
            pairs = accepted_lists.items()
            scope += [task_id for task_id, other in pairs if not alone and other != list_key]
        yield row, _case(row, tuple(scope))
        if row["verdict"] == Verdict.ACCEPTED:
            members.append(TaskId.of(row))
            accepted_lists.setdefault(TaskId.of(row), list_key)


def _case(row: Row, scope: tuple[TaskId, ...]) -> Case | None:
    columns = ("purpose", "finetune_id", "alpha1", "alpha2", "confidence")
    if any(row[name] is None for name in columns) or not row["looks"]:
        return None
    if row["parent_game_id"] is None or row["parent_role"] is None:
        return None
    try:
        looks = Looks(tuple(row["looks"]), 1 - row["confidence"])
    except ValueError as error:
        name = f"decisions, game {row['game_id']}"
        raise DamagedError(name, str(error), "looks that a run can have") from None
    kinds = Definition(row["definition"]), GainKind(row["gain_kind"]), DecisionRule(row["rule"])
    thresholds = Thresholds(row["alpha1"], row["alpha2"], *kinds)
    parent, first = TaskId(row["parent_game_id"], row["parent_role"]), row["first_play"] or 0
    return Case(TaskId.of(row), parent, scope, row["purpose"], looks, thresholds, first)


# -- gains of accepted games under another judge ---------------------------------------------------


class Survival(NamedTuple):
    """One accepted game under another ``judge``. ``specific``: share of the gain about the map that
    survives, with its interval. ``decision``: that of the rule on the other judge's
    scores; None if the rule needs more plays, which were not made."""

    task_id: TaskId
    judge: str
    specific: intervals.Interval
    decision: Decision | None

    @property
    def stays_accepted(self) -> bool:
        """Whether the verdict is the same."""
        return self.decision is not None and self.decision.verdict is Verdict.ACCEPTED


def surviving(survivals: Sequence[Survival]) -> float | None:
    """The median share of specific gains that survives, over games; None if none is known."""
    shares = [each.specific.value for each in survivals if each.specific.value is not None]
    return float(np.median(shares)) if shares else None


def accepted_cases(run: Run) -> Iterator[tuple[Case, Policies]]:
    """Every accepted decision of a run that rests on plays."""
    for row, case in cases(run):
        if case is not None and row["verdict"] == Verdict.ACCEPTED:
            yield case, run.policies_at(row)


def plays_behind(case: Case, policies: Policies, run: Run) -> dict[PlaysKey, list[tuple[int, int]]]:
    """The plays that a decision rests on: pairs of map and play seed in the order of play seeds.
    Empty if the decision cannot be repeated."""
    try:
        _, _, read = replay(case, run.plays, policies)
    except (MissingPlaysError, ValueError):
        return {}
    return {key: [*map(tuple, _of_case(run.plays[key], case).seeds.tolist())] for key in read}


def _of_case(plays: Plays, case: Case) -> Plays:
    """The plays of a case, in the order of their play seeds."""
    return plays.of_play_seeds(range(case.first_play, case.first_play + max(case.looks.plays)))


def read_survivals(run: Run) -> list[Survival]:
    """Every accepted game that was scored again, once for each other judge; in the order of
    acceptance."""
    judges = run.rows("second_scores", ["judge"])
    found = list(accepted_cases(run)) if judges else []
    survivals = []
    for judge in dict.fromkeys(row["judge"] for row in judges):
        survivals += [_survival(*each, run, _second_plays(run, judge), judge) for each in found]
    return [each for each in survivals if each is not None]


def _second_plays(run: Run, judge: str) -> dict[PlaysKey, Plays]:
    """Plays scored by one judge, by policy, game and purpose.

    An unfinished play counts as a floor under this judge: the base player's lowest finished score
    on the game, minus one bit for each token that its moves may have.
    """
    second = plays_of(run.table("second_scores", SCORE_COLUMNS, [("judge", "=", judge)]))
    own: dict[TaskId, list[tuple[str, float]]] = {}
    for (policy, task_id, _), plays in second.items():
        if policy == BASE_POLICY:
            finished = plays.own[~np.isnan(plays.own)].tolist()
            own.setdefault(task_id, []).extend(("finished", bits) for bits in finished)
    games = run.games(task_id.game_id for task_id in own)
    floors = {
        task_id: floor_of(bits, stored_game(games[task_id.game_id]), task_id.role)
        for task_id, bits in own.items()
    }
    for key, plays in second.items():
        for values in (plays.own, plays.permuted_scores):
            values[np.isnan(values)] = floors.get(key.task_id, 0.0)
    return second


def _survival(
    case: Case, policies: Policies, run: Run, second: Mapping[PlaysKey, Plays], judge: str
) -> Survival | None:
    try:
        old, new = (_gain(plays, policies, case) for plays in (run.plays, second))
    except KeyError:
        return None
    if not (plays := min(old.shape[-1], new.shape[-1])):
        return None
    specific = intervals.ratio_interval(new[..., :plays], old[..., :plays], intervals.CONFIDENCE)
    try:
        _, decision, _ = replay(case, second, policies)
    except (MissingPlaysError, ValueError):
        decision = None
    return Survival(case.candidate, judge, specific, decision)


def _gain(plays: Mapping[PlaysKey, Plays], policies: Policies, case: Case) -> intervals.Scores:
    """Gains about the map in bits (n,), or (R, n) over fine-tunes, on the plays that all have."""
    names = (BASE_POLICY, *policies[case.candidate][0])
    keys = [PlaysKey(name, case.candidate, case.purpose) for name in names]
    base, *own = on_common_seeds([_of_case(plays[key], case) for key in keys])
    return intervals.replicated_gains(own, base, GainKind.SPECIFIC)
