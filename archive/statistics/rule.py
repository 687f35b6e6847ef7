"""The decision rule of scope growth under noise (docs/specification.md, "The decision rule").

A threshold is passed if the interval lies on its good side and failed if it lies on its bad side;
otherwise it is open. Acceptance needs several bounds at once, each at the full level (an
intersection-union test); a refusal needs one of several, which share the error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from archive.plays import Plays
from archive.schema import DecisionRule, Definition, GainKind, Purpose, Reason, TaskId, Verdict
from archive.statistics.intervals import UNDEFINED, Interval, TransferValues


class Answer(StrEnum):
    """The side of a threshold on which an interval lies. In the order of the words the least of
    several answers, no before open before yes, is whether all hold."""

    YES = "yes"
    NO = "no"
    OPEN = "open"


class Gamma(NamedTuple):
    """γ with bounds, and the game of the scope that attains it."""

    interval: Interval
    task_id: TaskId | None


def largest(values: Sequence[Interval]) -> Interval:
    """The largest of values with its bounds; undefined ones leave the upper bound open."""
    known = [value for value in values if value.value is not None]
    if not known:
        return UNDEFINED
    best = max(known, key=lambda value: value.value or 0.0)
    return replace(best, low=max(v.low for v in known), high=max(v.high for v in values))


def helps(value: Interval, alpha1: float) -> Answer:
    """Is V_{G*}(G) ≥ α1? Open if the value is undefined: that is no evidence against it."""
    if value.low >= alpha1:
        return Answer.YES
    return Answer.NO if value.high < alpha1 else Answer.OPEN


def is_new(value: Interval, alpha2: float) -> Answer:
    """Is γ, or a cross-ratio, ≤ 1 − α2? Open if undefined or unbounded: newness needs evidence."""
    if value.high <= 1 - alpha2:
        return Answer.YES
    return Answer.NO if value.low > 1 - alpha2 else Answer.OPEN


NO_VALUES = TransferValues(UNDEFINED, UNDEFINED, UNDEFINED)


@dataclass(frozen=True)
class OwnGain:
    """Gains of a game's fine-tuning on the game itself, in bits: the ``gain`` of the kind that
    decides, the ``specific`` and the ``total`` gain."""

    gain: Interval = UNDEFINED
    specific: Interval = UNDEFINED
    total: Interval = UNDEFINED

    @property
    def share(self) -> float | None:
        """The specific gain as a share of the total gain; None unless that is above 0."""
        part, whole = self.specific.value, self.total.value or 0.0
        return part / whole if part is not None and whole > 0 else None


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of the decision rule, and the conditions that decide."""

    alpha1: float
    alpha2: float
    definition: Definition
    gain: GainKind
    rule: DecisionRule = DecisionRule.CROSS_RATIO


def is_learned(own: OwnGain, rule: DecisionRule) -> Answer:
    """Did fine-tuning improve play of the game itself? By the gain that decides and, except under
    the rule ``values``, by the total gain: a specific gain also rises when moves get worse on other
    maps."""
    gains = [own.gain] if rule is DecisionRule.VALUES else [own.gain, own.total]
    if all(gain.low > 0 for gain in gains):
        return Answer.YES
    return Answer.NO if any(gain.high <= 0 for gain in gains) else Answer.OPEN


@dataclass(frozen=True)
class Evidence:
    """The measurements of one candidate; what was not measured is undefined.

    ``own``: gains on its own game. ``values``: C and V on its parent; ``help_gain``: its total gain
    there (bits). ``scope_values``: values of games of the scope on the candidate, by game.
    ``parent_cross_ratio``: its cross-ratio with the parent; ``scope_cross_ratios``: its
    cross-ratios with games of the scope, by game. ``looks`` fixes the confidence of each bound;
    None if nothing was played.
    """

    purpose: Purpose | None = None
    looks: Looks | None = None
    first_play: int = 0
    scope_finetunes: tuple[str, ...] = ()
    own: OwnGain = OwnGain()
    values: TransferValues = NO_VALUES
    help_gain: Interval = UNDEFINED
    scope_values: Mapping[TaskId, Interval] = field(default_factory=dict)
    parent_cross_ratio: Interval = UNDEFINED
    scope_cross_ratios: Mapping[TaskId, Interval] = field(default_factory=dict)

    @property
    def gamma(self) -> Gamma:
        """γ, the largest value of the games that were played, with bounds. Undefined values do not
        count for γ itself, but leave its upper bound open: they may be large."""
        values = self.scope_values
        known = {game: value.value for game, value in values.items() if value.value is not None}
        best = max(known, key=known.__getitem__) if known else None
        return Gamma(largest([*values.values()]), best)

    def value(self, thresholds: Thresholds) -> Interval:
        """Its value on its parent, by the definition that decides."""
        return self.values.of(thresholds.definition)

    def useful(self, thresholds: Thresholds) -> Answer:
        """Whether it helps its parent: by its value and, except under the rule ``values``, only if
        its total gain on the parent is above 0."""
        answer = helps(self.value(thresholds), thresholds.alpha1)
        better = thresholds.rule is DecisionRule.VALUES or self.help_gain.low > 0
        return Answer.OPEN if answer is Answer.YES and not better else answer

    @property
    def ratios(self) -> tuple[Interval, Interval]:
        """The cross-ratios with the parent and with the game that attains γ."""
        most = self.gamma.task_id
        with_scope = UNDEFINED if most is None else self.scope_cross_ratios.get(most, UNDEFINED)
        return self.parent_cross_ratio, with_scope

    def apart(self, thresholds: Thresholds) -> Answer:
        """Whether both cross-ratios are at most 1 − α2; always yes under the rule ``values``."""
        if thresholds.rule is DecisionRule.VALUES:
            return Answer.YES
        return min(is_new(ratio, thresholds.alpha2) for ratio in self.ratios)

    def new(self, thresholds: Thresholds) -> Answer:
        """Whether no game of the scope teaches it, by γ and by the cross-ratios."""
        return min(is_new(self.gamma.interval, thresholds.alpha2), self.apart(thresholds))


@dataclass(frozen=True)
class Decision:
    """The reason why a candidate was accepted or not; ``decided``: whether the intervals decided
    it; ``detail``: the numbers behind the reason, if it has any."""

    reason: Reason
    decided: bool
    detail: str | None = None

    @property
    def verdict(self) -> Verdict:
        return self.reason.verdict

    def __str__(self) -> str:
        return self.reason if self.detail is None else f"{self.reason}: {self.detail}"


def decide(evidence: Evidence, thresholds: Thresholds) -> Decision:
    """The rule: α1 on the lower bound of the value on the parent, 1 − α2 on γ's upper bound. A
    candidate without an established own gain has no defined C and is never accepted."""
    if is_learned(evidence.own, thresholds.rule) is not Answer.YES:
        return Decision(Reason.OWN_GAIN_OPEN, decided=False)
    useful, new = evidence.useful(thresholds), evidence.new(thresholds)
    if useful is Answer.NO:
        return Decision(Reason.NO_HELP, decided=True)
    if new is Answer.NO:
        covered = is_new(evidence.gamma.interval, thresholds.alpha2) is Answer.NO
        return Decision(Reason.COVERED if covered else Reason.SAME_SKILL, decided=True)
    if useful is Answer.OPEN:
        return Decision(Reason.HELP_OPEN, decided=False)
    if new is Answer.OPEN:
        return Decision(Reason.COVERAGE_OPEN, decided=False)
    return Decision(Reason.NEW_AND_USEFUL, decided=True)


def decision_columns(
    decision: Decision, evidence: Evidence, thresholds: Thresholds, scope_size: int
) -> dict[str, Any]:
    """The columns of the decisions table that hold numbers and verdict."""
    return {
        "verdict": decision.verdict,
        **vars(decision),
        "definition": thresholds.definition,
        "gain_kind": thresholds.gain,
        "rule": thresholds.rule,
        "alpha1": thresholds.alpha1,
        "alpha2": thresholds.alpha2,
        "confidence": 1 - evidence.looks.error if evidence.looks else None,
        "looks": list(evidence.looks.plays) if evidence.looks else [],
        "purpose": evidence.purpose,
        "scope_finetunes": list(evidence.scope_finetunes),
        "first_play": None if evidence.purpose is None else evidence.first_play,
        **value_columns(evidence, scope_size),
    }


def value_columns(evidence: Evidence, scope_size: int) -> dict[str, Any]:
    """The columns that are computed from scores; γ is over ``scope_size`` games."""
    most = evidence.gamma
    return {
        **bounds_columns("captured", evidence.values.captured),
        "captured_plays": evidence.values.captured.plays or None,
        **bounds_columns("captured_def37", evidence.values.def37),
        **bounds_columns("gamma", most.interval),
        "gamma_game_id": most.task_id.game_id if most.task_id else None,
        "gamma_role": most.task_id.role if most.task_id else None,
        **bounds_columns("cross_ratio", evidence.ratios[0]),
        **bounds_columns("gamma_cross_ratio", evidence.ratios[1]),
        "scope_size": scope_size,
        **bounds_columns("help_gain", evidence.help_gain, high=False),
        **bounds_columns("own_gain", evidence.own.gain, high=False),
        **bounds_columns("total_gain", evidence.own.total, high=False),
        **bounds_columns("specific_gain", evidence.own.specific, high=False),
        "specific_share": evidence.own.share,
    }


def bounds_of(row: Mapping[str, Any], name: str) -> Interval:
    """The interval that columns of ``decisions`` hold; a bound that is null or missing is open."""
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    return Interval(
        row[name], -math.inf if low is None else low, math.inf if high is None else high
    )


def bounds_columns(name: str, interval: Interval, high: bool = True) -> dict[str, Any]:
    """The columns of an interval, as :func:`bounds_of` reads them: an open bound is null. Without
    ``high`` there is no column of the upper bound."""
    ends = {"low": interval.low} | ({"high": interval.high} if high else {})
    columns = {f"{name}_{end}": b if math.isfinite(b) else None for end, b in ends.items()}
    return {name: interval.value, **columns}


# -- looks of a racing test, and how its error is spent on them (docs/specification.md, "Looks") ---
#
# A test that may end at any of several numbers of plays is evaluated at each of these looks; its
# total error is the sum of the errors of the looks, however dependent they are (union bound). The
# error is spent in proportion to the plays: the power family α·t with exponent 1 of Kim and DeMets
# (1987), Design and analysis of group sequential tests, Biometrika 74(1), after Lan and DeMets
# (1983), Biometrika 70(3).

ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class Looks:
    """The looks of a test. ``plays``: cumulative number of plays at each look, increasing;
    ``error``: error probability of a one-sided bound, summed over all looks."""

    plays: tuple[int, ...]
    error: float

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise(self.plays))
        if not self.plays or not rising or self.plays[0] < 2 or not 0 < self.error < 1:
            raise ValueError(f"found {self}, expected rising numbers of plays from 2, an error")

    def confidence(self, plays: int, questions: int = 1) -> float:
        """Confidence of a one-sided bound at the look after ``plays`` plays, when ``questions``
        bounds share the error of that look.

        Raises ``ValueError`` if there is no look after ``plays`` plays.
        """
        before = (0, *self.plays)[self.plays.index(plays)]
        return 1 - self.error * (plays - before) / self.plays[-1] / max(1, questions)


def chunks(items: Sequence[ItemT], first: int) -> Iterator[tuple[ItemT, ...]]:
    """``items`` in order, in chunks of ``first``, 2·``first``, 4·``first``, … items."""
    while items:
        yield tuple(items[:first])
        items, first = items[first:], 2 * first


@dataclass(frozen=True)
class Limits:
    """Limits of a playable game: the largest share of unfinished plays, and of a fine-tuning the
    player ``tokens`` (0: no budget), ``plays`` in a gradient step, least number of steps that the
    tokens must pay for, and plays of its warm start, which gets at most a quarter of the tokens."""

    max_forfeit_rate: float
    tokens: int
    plays: int
    min_steps: int
    warm_plays: int = 0


def refusal(rows: Sequence[Mapping[str, Any]], plays: Plays, limits: Limits) -> Decision | None:
    """The refusal of a game that the base player cannot play, by its calibration plays and their
    rows; None if it can."""
    unfinished = [row["outcome"] != "finished" for row in rows]
    if all(unfinished):
        return Decision(Reason.NEVER_FEASIBLE, decided=True)
    rate, limit = float(np.mean(unfinished)), limits.max_forfeit_rate
    if rate > limit:
        return Decision(Reason.FORFEIT_RATE, True, f"{rate:.2f} above {limit:.2f}")
    steps = affordable_steps([row["tokens"] for row in rows], limits)
    if limits.tokens and steps < limits.min_steps:
        asked = f"transfer.min_steps asks for {limits.min_steps}"
        return Decision(Reason.TOO_LONG, True, f"finetune.tokens pays for {steps} steps, {asked}")
    if not (plays.own != plays.permuted_scores).any() and not plays.own.std() > 0:
        return Decision(Reason.CONSTANT_SCORE, decided=True)
    return None


def affordable_steps(tokens: Sequence[int], limits: Limits) -> int:
    """Number of gradient steps that a fine-tuning begins if plays stay as long as the base's, of so
    many ``tokens``."""
    play = sum(tokens) / len(tokens) if tokens else 0.0
    if not play:
        return 0
    remaining = limits.tokens - min(limits.warm_plays * play, limits.tokens / 4)
    return math.ceil(remaining / (limits.plays * play))
