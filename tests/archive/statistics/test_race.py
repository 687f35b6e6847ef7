"""Races: what they ask, when they stop, and the error that they keep (docs/specification.md,
"Racing")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from archive import Purpose, Verdict
from archive.schema import DecisionRule, Definition, GainKind, TaskId
from archive.statistics.intervals import (
    UNDEFINED,
    Interval,
    Scores,
    TransferValues,
    mean_interval,
    ratio_interval,
    two_sided,
)
from archive.statistics.race import (
    Bounds,
    CandidateBounds,
    Question,
    RaceSettings,
    acceptance,
    run,
    selection,
)
from archive.statistics.rule import Decision, Evidence, Looks, OwnGain, Thresholds

LOOKS = Looks((32, 96), 0.05)
SETTINGS = RaceSettings(LOOKS, Thresholds(0.3, 0.2, "captured", "total"), scan=2)
NOTHING = Evidence(Purpose.SELECTION, LOOKS)
SCOPE = [TaskId(f"g{index}", "black") for index in range(7)]


def about(value: float, width: float) -> Interval:
    return Interval(value, value - width, value + width)


@dataclass
class Oracle:
    """Knows every value to within 0.2 after 32 plays and 0.1 after 96, and what it was asked;
    ``about_map``: its own gain of the kind that decides, if that is another."""

    own: float = 9.0
    about_map: float | None = None
    helps: float = 0.8
    scope_values: Mapping[TaskId, float] = field(default_factory=dict)
    ratio: float = 0.1
    looks: set[int] = field(default_factory=set)

    def __call__(self, asked: Question) -> Bounds:
        self.looks.add(asked.plays)
        width = {32: 0.2, 96: 0.1}[asked.plays]
        own, helps = about(self.own, 10 * width), about(self.helps, width)
        decides = own if self.about_map is None else about(self.about_map, 10 * width)
        values = {g: about(self.scope_values.get(g, 0.1), width) for g in asked.scope_games}
        ratios = {g: about(0.1, width) for g in asked.cross_ratio_games}
        bounds: Bounds = {"scope_values": values, "scope_cross_ratios": ratios}
        if asked.own:
            bounds |= {"own": OwnGain(decides, total=own)}
        if asked.helps:
            bounds |= {"values": TransferValues(UNDEFINED, helps, UNDEFINED)}
            bounds |= {"help_gain": about(9 * self.helps, 10 * width)}
        if asked.parent_cross_ratio:
            bounds |= {"parent_cross_ratio": about(self.ratio, width)}
        return bounds


ARTIFACT, COPY = "its gain is not about the map", "teaches what a game of the scope teaches"
HELP_OPEN, COVERAGE_OPEN = "help to its parent not settled", "coverage not settled"
ENDS = [
    (selection, Oracle(own=-3.0), "not playable", True, {32}),
    (selection, Oracle(own=0.5), "not playable", False, {32, 96}),
    (selection, Oracle(about_map=-3.0), ARTIFACT, True, {32}),
    (selection, Oracle(about_map=0.5), ARTIFACT, False, {32, 96}),
    (selection, Oracle(helps=0.0), "does not help its parent", True, {32}),
    (selection, Oracle(helps=0.15), "does not help its parent", True, {32, 96}),
    (selection, Oracle(helps=0.25), HELP_OPEN, False, {32, 96}),
    (selection, Oracle(scope_values={SCOPE[3]: 1.2}), "covered by the scope", True, {32}),
    (selection, Oracle(scope_values={SCOPE[3]: 0.95}), "covered by the scope", True, {32, 96}),
    (selection, Oracle(ratio=1.1), COPY, True, {32}),
    (selection, Oracle(ratio=0.85), COVERAGE_OPEN, False, {32, 96}),
    (acceptance, Oracle(own=0.5), "own gain not confirmed", False, {32, 96}),
    (acceptance, Oracle(helps=0.05), "does not help its parent", True, {32}),
    (acceptance, Oracle(helps=0.32), HELP_OPEN, False, {32, 96}),
    (acceptance, Oracle(scope_values={SCOPE[6]: 1.1}), "covered by the scope", True, {32}),
    (acceptance, Oracle(scope_values={SCOPE[6]: 0.78}), COVERAGE_OPEN, False, {32, 96}),
    (acceptance, Oracle(ratio=0.95), COPY, True, {32, 96}),
    (acceptance, Oracle(ratio=0.75), COVERAGE_OPEN, False, {32, 96}),
]


@pytest.mark.parametrize(("race", "oracle", "reason", "is_decided", "looks"), ENDS)
def test_a_race_ends_at_the_look_that_shows_it(
    race: Any, oracle: Oracle, reason: str, is_decided: bool, looks: set[int]
) -> None:
    decision, _ = run(race(SETTINGS, SCOPE, NOTHING), oracle)
    assert decision is not None
    assert (decision.reason, decision.decided, oracle.looks) == (reason, is_decided, looks)


@pytest.mark.parametrize("scope", [1, 10])
def test_a_game_at_the_threshold_is_rarely_accepted(scope: int) -> None:
    """True γ exactly 1 − α2, noise as in the main job: the error over all looks stays below 5 %."""
    rng = np.random.default_rng(scope)
    games = SCOPE[:1] + [TaskId(f"other{index}", "black") for index in range(1, scope)]
    acceptances = 0
    for _ in range(250):
        common = rng.normal(0, 8, 96)
        own = 9 + common + rng.normal(0, 8, 96)
        teaching_gains = {game: 7.2 + common + rng.normal(0, 8, 96) for game in games}

        def answer(question: Question, own=own, teaching_gains=teaching_gains) -> Bounds:  # type: ignore[no-untyped-def]
            n, plain = question.plays, two_sided(LOOKS.confidence(question.plays))
            wide = two_sided(LOOKS.confidence(question.plays, scope))
            helps = TransferValues(UNDEFINED, Interval(0.9, 0.8, 1.0), UNDEFINED)
            values = {
                g: ratio_interval(teaching_gains[g][:n], own[:n], wide, plain)
                for g in question.scope_games
            }
            gain = mean_interval(own[:n], plain)
            apart = dict.fromkeys(question.cross_ratio_games, Interval(0.1, 0.0, 0.2))
            bounds = {"own": OwnGain(gain, total=gain), "scope_values": values}
            bounds |= {"parent_cross_ratio": Interval(0.1, 0.0, 0.2), "scope_cross_ratios": apart}
            help_values = {"values": helps, "help_gain": Interval(8.0, 7.0, 9.0)}
            return bounds | help_values if question.helps else bounds

        decision, _ = run(acceptance(SETTINGS, games, NOTHING), answer)
        acceptances += decision is not None and decision.verdict is Verdict.ACCEPTED
    assert acceptances / 250 <= 0.05


# -- From gains to verdicts: what fine-tuning makes worse is never accepted ------------------------


TEST_LOOKS = Looks((96, 192), 0.05)
PARENT, CANDIDATE = TaskId("parent", "black"), TaskId("candidate", "black")


@dataclass
class Gains:
    """Gains by source and target: total and permuted means (bits), 12 bits of spread a play."""

    means: dict[tuple[TaskId, TaskId], tuple[float, float]]
    rng: np.random.Generator
    samples: dict[tuple[TaskId, TaskId], tuple[Scores, Scores]] = field(default_factory=dict)

    def attempts(self, source: TaskId) -> int:
        return 1

    def gains(
        self, source: TaskId, target: TaskId, plays: int, kind: GainKind, attempt: int = 0
    ) -> Scores:
        pair = (source, target)
        if pair not in self.samples:
            total, permuted = (mean + self.rng.normal(0, 12, 192) for mean in self.means[pair])
            self.samples[pair] = total, permuted
        total, permuted_scores = self.samples[pair]
        return (total if kind == GainKind.TOTAL else total - permuted_scores)[:plays]


Means = dict[tuple[TaskId, TaskId], tuple[float, float]]


def verdicts(means: Means, rule: DecisionRule, seed: int) -> list[Decision | None]:
    """Selection's decision and acceptance's; means are (total, permuted)."""
    thresholds = Thresholds(0.3, 0.2, Definition.CAPTURED, GainKind.SPECIFIC, rule)
    gains = Gains(means, np.random.default_rng(seed))
    bounds = CandidateBounds(gains, TEST_LOOKS, thresholds, CANDIDATE, PARENT, {PARENT: PARENT})
    settings = RaceSettings(TEST_LOOKS, thresholds, scan=8)
    nothing = Evidence(Purpose.ACCEPTANCE, TEST_LOOKS)
    races = (race(settings, [PARENT], nothing) for race in (selection, acceptance))
    return [run(race, bounds.bounds)[0] for race in races]


def acceptances(means: Means, rule: DecisionRule) -> int:
    """In how many of thirty samples both races accept."""
    found = (verdicts(means, rule, seed) for seed in range(30))
    return sum(
        first is None and last is not None and last.verdict is Verdict.ACCEPTED
        for first, last in found
    )


def of_candidate(own: tuple[float, float], parent_gains: tuple[float, float]) -> Means:
    """What a candidate learns of its own game and of its parent."""
    taught = {(PARENT, PARENT): (9.0, 0.0), (PARENT, CANDIDATE): (0.5, 0.0)}
    return taught | {(CANDIDATE, PARENT): parent_gains, (CANDIDATE, CANDIDATE): own}


def of_copy(share: float) -> Means:
    """An exact copy of a parent that learned ``share`` of what the copy did."""
    games = PARENT, CANDIDATE
    return {(s, t): (9.0 * (share if s == PARENT else 1.0), 0.0) for s in games for t in games}


@pytest.mark.parametrize(
    ("means", "by_values"),
    [
        pytest.param(of_candidate((-3.0, -12.0), (8.0, 0.0)), 22, id="its own game gets worse"),
        pytest.param(of_candidate((9.0, 0.0), (-3.0, -12.0)), 22, id="its parent gets worse"),
        *(pytest.param(of_copy(share), 5, id=f"a copy {share}") for share in (0.3, 0.45, 0.6)),
    ],
)
def test_what_the_values_alone_accept_wrongly_the_cross_ratio_refuses(
    means: Means, by_values: int
) -> None:
    """Play that gets worse, whose specific gain is positive as moves get worse still on other maps;
    and a copy of a badly trained parent: γ is small only because the parent learned little; then C
    is large, and C·γ is 1."""
    assert acceptances(means, DecisionRule.VALUES) > by_values
    assert acceptances(means, DecisionRule.CROSS_RATIO) == 0


def test_a_gain_on_every_map_alike_is_an_artifact() -> None:
    decision, _ = verdicts(of_candidate((9.0, 20.0), (8.0, 0.0)), DecisionRule.CROSS_RATIO, 0)
    assert decision is not None
    assert (decision.verdict, decision.decided) == (Verdict.ARTIFACT, True)


def test_gammas_upper_bound_is_at_the_full_level_and_its_lower_one_shared() -> None:
    """Accepting asks for every bound, refusing for one of many."""
    rng = np.random.default_rng(0)
    others = {TaskId(f"g{k}", "black"): TaskId(f"g{k}", "black") for k in range(30)}
    means = {(game, CANDIDATE): (4.5, 0.0) for game in others} | {(CANDIDATE, CANDIDATE): (9.0, 0)}
    gains, game = Gains(means, rng), next(iter(others))

    def scope_value_bounds(rule: DecisionRule, scope: dict[TaskId, TaskId]) -> tuple[float, float]:
        thresholds = Thresholds(0.3, 0.2, Definition.CAPTURED, GainKind.SPECIFIC, rule)
        bounds = CandidateBounds(gains, TEST_LOOKS, thresholds, CANDIDATE, PARENT, scope)
        interval = bounds._scope_value(game, 192)
        return interval.low, interval.high

    alone = scope_value_bounds(DecisionRule.CROSS_RATIO, {game: game})
    among = scope_value_bounds(DecisionRule.CROSS_RATIO, others)
    value_bounds = scope_value_bounds(DecisionRule.VALUES, others)
    assert alone[1] == among[1] < value_bounds[1]
    assert alone[0] > among[0]
    assert among[0] < value_bounds[0], "the cross-ratios have a part of the error"
