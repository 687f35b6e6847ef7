"""A decision taken again, from the plays that it was taken on (docs/archive.md, "How a decision
is computed").

The rule asks in order and stops where an answer is enough: what fine-tuning gained on the game
itself, what it gives the parent, what the scope gives it. On selection plays a candidate that
passes everything is ranked, and the acceptance test decides; on acceptance plays all is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from archive.derive.decision import Answer, Gamma, gamma, helps, is_new, simultaneous
from archive.derive.intervals import UNDEFINED, Interval, Scores, mean_interval
from archive.derive.matrix import Key, Plays, Unit
from archive.derive.transfer import BASE, Definition, GainKind, Values, transfer_values

NOTHING = Values(UNDEFINED, UNDEFINED, UNDEFINED)
NO_GAMMA = Gamma(UNDEFINED, None)
RANKED = ("another of its list was newer", "others of its list looked newer")
"""Reasons of candidates that passed selection and were not put to the acceptance test."""


class MissingPlaysError(LookupError):
    """The rule asks for plays that are not archived; says which."""


@dataclass(frozen=True)
class Rule:
    """Thresholds of a decision; ``confidence`` is that of each one-sided bound."""

    alpha1: float
    alpha2: float
    confidence: float
    definition: Definition
    gain: GainKind


@dataclass(frozen=True)
class Case:
    """One candidate before the rule; ``scope`` is everything that γ looks at, in its order."""

    candidate: Unit
    parent: Unit
    scope: tuple[Unit, ...]
    purpose: str
    rule: Rule


@dataclass(frozen=True)
class Replay:
    """What the plays say; ``values`` and ``taught`` hold what the rule came to ask for.

    ``own`` and ``specific`` are gains on the candidate's own game (bits), ``share`` their ratio;
    ``taught`` is what each game of the scope gives the candidate, ``gains`` every mean gain (bits)
    that was looked at, by source and target.
    """

    plays: int
    own: Interval
    specific: Interval
    share: float | None
    values: Values = NOTHING
    taught: Mapping[Unit, Interval] = field(default_factory=dict)
    gamma: Gamma = NO_GAMMA
    gains: Mapping[tuple[Unit, Unit], float] = field(default_factory=dict)
    asked: tuple[str, ...] = ("own",)


@dataclass(frozen=True)
class Outcome:
    """What the rule says. ``reason`` is None for a candidate that is ranked: what became of it
    then hangs on the others of its list."""

    verdict: str
    reason: str | None
    decided: bool


def replay(case: Case, plays: Mapping[Key, Plays], policies: Mapping[Unit, str]) -> Replay:
    """All that the rule looks at. Raises MissingPlaysError."""
    reader = _Reader(case, plays, policies)
    return replace(_asked(case, reader), gains=reader.means)


def _asked(case: Case, reader: _Reader) -> Replay:
    """Question by question, up to the one that is enough."""
    found = reader.own()
    if case.purpose == "selection" and found.own.low <= 0:
        return found
    values = reader.values(case.candidate, case.parent, case.rule.confidence)
    found = replace(found, values=values, asked=("own", "helps"))
    value = values.of(case.rule.definition).value
    if case.purpose == "selection" and (value is None or value < case.rule.alpha1):
        return found
    wide = simultaneous(case.rule.confidence, len(case.scope))
    taught = {
        source: reader.values(source, case.candidate, wide).of(case.rule.definition)
        for source in case.scope
    }
    most = gamma({source[0]: taught[source] for source in taught})
    return replace(found, taught=taught, gamma=most, asked=("own", "helps", "gamma"))


def outcome(case: Case, found: Replay) -> Outcome:
    """The verdict that the rule takes on what was found."""
    if case.purpose == "selection" and found.own.low <= 0:
        return Outcome("refused", "not playable", found.own.high <= 0)
    if case.purpose == "selection" and _ranked(case, found):
        return Outcome("refused", None, False)
    if found.own.low <= 0:
        return Outcome("undecided", "own gain not confirmed", False)
    useful = helps(found.values.of(case.rule.definition), case.rule.alpha1)
    new = is_new(found.gamma, case.rule.alpha2)
    if useful is Answer.NO:
        return Outcome("refused", "does not help its parent", True)
    if new is Answer.NO:
        return Outcome("refused", "covered by the scope", True)
    if useful is Answer.YES and new is Answer.YES:
        return Outcome("accepted", "helps and is new", True)
    question = "help to its parent" if useful is Answer.OPEN else "coverage"
    return Outcome("undecided", f"{question} not settled", False)


def two_sided(confidence: float) -> float:
    """Confidence of the two-sided interval whose bounds each hold at ``confidence``."""
    return max(0.0, 2 * confidence - 1)


def _ranked(case: Case, found: Replay) -> bool:
    """Whether point estimates pass: on selection seeds they rank, bounds decide later."""
    value = found.values.of(case.rule.definition).value
    most = found.gamma.interval.value
    passes = value is not None and value >= case.rule.alpha1
    return passes and (most is None or most <= 1 - case.rule.alpha2)


class _Reader:
    """The gains of a case, all on the same seeds."""

    def __init__(
        self, case: Case, plays: Mapping[Key, Plays], policies: Mapping[Unit, str]
    ) -> None:
        self.case, self.plays, self.policies = case, plays, policies
        self.means: dict[tuple[Unit, Unit], float] = {}
        self.seeds = self._seeds()

    def own(self) -> Replay:
        rule, unit = self.case.rule, self.case.candidate
        level = two_sided(rule.confidence)
        self._counted(unit, unit)
        total, specific = (self._gains(unit, unit, kind) for kind in ("total", "specific"))
        mean = float(total.mean())
        return Replay(
            plays=len(self.seeds),
            own=mean_interval(total if rule.gain == "total" else specific, level),
            specific=mean_interval(specific, level),
            share=float(specific.mean()) / mean if mean > 0 else None,
        )

    def values(self, source: Unit, target: Unit, confidence: float) -> Values:
        rule = self.case.rule
        known = all(self._known(policy, source) for policy in (BASE, self.policies.get(source, "")))
        return transfer_values(
            self._counted(source, target),
            self._counted(target, target),
            self._counted(source, source) if known else None,
            two_sided(confidence),
            two_sided(rule.confidence),
        )

    def _seeds(self) -> NDArray[np.int64]:
        """The seeds of the decision: plays that were made of a game later do not count."""
        unit, parent = self.case.candidate, self.case.parent
        policy = self._policy(unit)
        found = self._of(BASE, unit).seeds
        samples = [self._of(policy, unit)]
        if (crossed := self.plays.get((policy, *parent, self.case.purpose))) is not None:
            samples.append(crossed)
        for each in samples:
            if not np.array_equal(found, each.seeds):
                kept = {*map(tuple, each.seeds.tolist())}
                mask = [tuple(pair) in kept for pair in found.tolist()]
                found = found[np.array(mask, dtype=bool)]
        if len(found) < 2:
            raise MissingPlaysError(
                f"{_named(policy, unit, self.case.purpose)}: {len(found)} plays"
            )
        return found

    def _counted(self, source: Unit, target: Unit) -> Scores:
        """Gains of the rule's kind, whose mean is remembered."""
        found = self._gains(source, target, self.case.rule.gain)
        self.means[source, target] = float(found.mean())
        return found

    def _gains(self, source: Unit, target: Unit, kind: GainKind | str) -> Scores:
        policy, base = (self._sample(p, target) for p in (self._policy(source), BASE))
        if kind == "total":
            return policy.own - base.own
        return (policy.own - policy.permuted) - (base.own - base.permuted)

    def _sample(self, policy: str, unit: Unit) -> Plays:
        found = self._of(policy, unit)
        if np.array_equal(found.seeds, self.seeds):
            return found
        places = {tuple(pair): place for place, pair in enumerate(found.seeds.tolist())}
        wanted = [tuple(pair) for pair in self.seeds.tolist()]
        if any(pair not in places for pair in wanted):
            count = sum(pair not in places for pair in wanted)
            named = _named(policy, unit, self.case.purpose)
            raise MissingPlaysError(f"{named}: {count} of {len(wanted)} plays are not there")
        order = [places[pair] for pair in wanted]
        return Plays(found.seeds[order], found.own[order], found.permuted[order])

    def _known(self, policy: str, unit: Unit) -> bool:
        try:
            self._sample(policy, unit)
        except MissingPlaysError:
            return False
        return True

    def _policy(self, unit: Unit) -> str:
        if unit not in self.policies:
            raise MissingPlaysError(f"game {unit[0]} ({unit[1]}) has no fine-tuning")
        return self.policies[unit]

    def _of(self, policy: str, unit: Unit) -> Plays:
        found = self.plays.get((policy, *unit, self.case.purpose))
        if found is None:
            raise MissingPlaysError(f"{_named(policy, unit, self.case.purpose)}: no plays")
        return found


def _named(policy: str, unit: Unit, purpose: str) -> str:
    return f"policy {policy} on game {unit[0]} ({unit[1]}), {purpose}"
