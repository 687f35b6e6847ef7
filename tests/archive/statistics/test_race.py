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
from archive.statistics import intervals, race as racing
from archive.statistics.rule import Decision, Evidence, Looks, OwnGain, Thresholds

LOOKS = Looks((32, 96), 0.05)
SETTINGS = racing.RaceSettings(LOOKS, Thresholds(0.3, 0.2, "captured", "total"), scan=2)
NOTHING = Evidence(Purpose.SELECTION, LOOKS)
SCOPE = [TaskId(f"g{index}", "black") for index in range(7)]


def about(value: float, width: float) -> intervals.Interval:
    return intervals.Interval(value, value - width, value + width)


def captured(share: intervals.Interval) -> intervals.TransferValues:
    return intervals.TransferValues(intervals.UNDEFINED, share, intervals.UNDEFINED)


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

    def __call__(self, asked: racing.Question) -> racing.Bounds:
        self.looks.add(asked.plays)
        width = {32: 0.2, 96: 0.1}[asked.plays]
        own, helps = about(self.own, 10 * width), about(self.helps, width)
        decides = own if self.about_map is None else about(self.about_map, 10 * width)
        values = {g: about(self.scope_values.get(g, 0.1), width) for g in asked.scope_games}
        ratios = {g: about(0.1, width) for g in asked.cross_ratio_games}
        bounds: racing.Bounds = {"scope_values": values, "scope_cross_ratios": ratios}
        if asked.own:
            bounds |= {"own": OwnGain(decides, total=own)}
        if asked.helps:
            bounds |= {"values": captured(helps), "help_gain": about(9 * self.helps, 10 * width)}
        if asked.parent_cross_ratio:
            bounds |= {"parent_cross_ratio": about(self.ratio, width)}
        return bounds


ARTIFACT, COPY = "its gain is not about the map", "teaches what a game of the scope teaches"
COVERED = "covered by the scope"
HELP_OPEN, COVERAGE_OPEN = "help to its parent not settled", "coverage not settled"
ENDS = [
    (racing.selection, Oracle(own=-3.0), "not playable", True, {32}),
    (racing.selection, Oracle(own=0.5), "not playable", False, {32, 96}),
    (racing.selection, Oracle(about_map=-3.0), ARTIFACT, True, {32}),
    (racing.selection, Oracle(about_map=0.5), ARTIFACT, False, {32, 96}),
    (racing.selection, Oracle(helps=0.0), "does not help its parent", True, {32}),
    (racing.selection, Oracle(helps=0.15), "does not help its parent", True, {32, 96}),
    (racing.selection, Oracle(helps=0.25), HELP_OPEN, False, {32, 96}),
    (racing.selection, Oracle(scope_values={SCOPE[3]: 1.2}), COVERED, True, {32}),
    (racing.selection, Oracle(scope_values={SCOPE[3]: 0.95}), COVERED, True, {32, 96}),
    (racing.selection, Oracle(ratio=1.1), COPY, True, {32}),
    (racing.selection, Oracle(ratio=0.85), COVERAGE_OPEN, False, {32, 96}),
    (racing.acceptance, Oracle(own=0.5), "own gain not confirmed", False, {32, 96}),
    (racing.acceptance, Oracle(helps=0.05), "does not help its parent", True, {32}),
    (racing.acceptance, Oracle(helps=0.32), HELP_OPEN, False, {32, 96}),
    (racing.acceptance, Oracle(scope_values={SCOPE[6]: 1.1}), COVERED, True, {32}),
    (racing.acceptance, Oracle(scope_values={SCOPE[6]: 0.78}), COVERAGE_OPEN, False, {32, 96}),
    (racing.acceptance, Oracle(ratio=0.95), COPY, True, {32, 96}),
    (racing.acceptance, Oracle(ratio=0.75), COVERAGE_OPEN, False, {32, 96}),
]


@pytest.mark.parametrize(("race", "oracle", "reason", "is_decided", "looks"), ENDS)
def test_a_race_ends_at_the_look_that_shows_it(
    race: Any, oracle: Oracle, reason: str, is_decided: bool, looks: set[int]
) -> None:
    decision, _ = racing.run(race(SETTINGS, SCOPE, NOTHING), oracle)
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

        def answer(
            question: racing.Question, own=own, teaching_gains=teaching_gains
        ) -> racing.Bounds:  # type: ignore[no-untyped-def]
            n, plain = question.plays, intervals.two_sided(LOOKS.confidence(question.plays))
            wide = intervals.two_sided(LOOKS.confidence(question.plays, scope))
            values = {
                g: intervals.ratio_interval(teaching_gains[g][:n], own[:n], wide, plain)
                for g in question.scope_games
            }
            gain = intervals.mean_interval(own[:n], plain)
            apart = dict.fromkeys(question.cross_ratio_games, about(0.1, 0.1))
            bounds = {"own": OwnGain(gain, total=gain), "scope_values": values}
            bounds |= {"parent_cross_ratio": about(0.1, 0.1), "scope_cross_ratios": apart}
            help_values = {"values": captured(about(0.9, 0.1)), "help_gain": about(8.0, 1.0)}
            return bounds | help_values if question.helps else bounds

        decision, _ = racing.run(racing.acceptance(SETTINGS, games, NOTHING), answer)
        acceptances += decision is not None and decision.verdict is Verdict.ACCEPTED
    assert acceptances / 250 <= 0.05


TEST_LOOKS = Looks((96, 192), 0.05)
PARENT, CANDIDATE = TaskId("parent", "black"), TaskId("candidate", "black")


@dataclass
class Gains:
    """Gains by source and target: total and permuted means (bits), 12 bits of spread a play."""

    means: dict[tuple[TaskId, TaskId], tuple[float, float]]
    rng: np.random.Generator
    samples: dict[tuple[TaskId, TaskId], tuple[intervals.Scores, intervals.Scores]] = field(
        default_factory=dict
    )

    def attempts(self, source: TaskId) -> int:
        return 1

    def gains(
        self, source: TaskId, target: TaskId, plays: int, kind: GainKind, attempt: int = 0
    ) -> intervals.Scores:
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
    bounds = racing.CandidateBounds(
        gains, TEST_LOOKS, thresholds, CANDIDATE, PARENT, {PARENT: PARENT}
    )
    settings = racing.RaceSettings(TEST_LOOKS, thresholds, scan=8)
    nothing = Evidence(Purpose.ACCEPTANCE, TEST_LOOKS)
    races = (race(settings, [PARENT], nothing) for race in (racing.selection, racing.acceptance))
    return [racing.run(race, bounds.bounds)[0] for race in races]


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


def test_a_game_whose_plays_an_archive_lacks_is_no_fault() -> None:
    oracle = Oracle(scope_values={SCOPE[0]: 0.65})

    def answer(asked: racing.Question) -> racing.Bounds:
        bounds = oracle(asked)
        values = {g: value for g, value in bounds["scope_values"].items() if g != SCOPE[1]}
        return bounds | {"scope_values": values}

    decision, evidence = racing.run(racing.selection(SETTINGS, SCOPE, NOTHING), answer)
    assert decision is None
    assert {*evidence.scope_values} == {*SCOPE} - {SCOPE[1]}
    assert oracle.looks == {32, 96}


def test_gammas_upper_bound_is_at_the_full_level_and_its_lower_one_shared() -> None:
    """Accepting asks for every bound, refusing for one of many."""
    rng = np.random.default_rng(0)
    others = {TaskId(f"g{k}", "black"): TaskId(f"g{k}", "black") for k in range(30)}
    means = {(game, CANDIDATE): (4.5, 0.0) for game in others} | {(CANDIDATE, CANDIDATE): (9.0, 0)}
    gains, game = Gains(means, rng), next(iter(others))

    def scope_value_bounds(rule: DecisionRule, scope: dict[TaskId, TaskId]) -> tuple[float, float]:
        thresholds = Thresholds(0.3, 0.2, Definition.CAPTURED, GainKind.SPECIFIC, rule)
        bounds = racing.CandidateBounds(gains, TEST_LOOKS, thresholds, CANDIDATE, PARENT, scope)
        interval = bounds._scope_value(game, 192)
        return interval.low, interval.high

    alone = scope_value_bounds(DecisionRule.CROSS_RATIO, {game: game})
    among = scope_value_bounds(DecisionRule.CROSS_RATIO, others)
    value_bounds = scope_value_bounds(DecisionRule.VALUES, others)
    assert alone[1] == among[1] < value_bounds[1]
    assert alone[0] > among[0]
    assert among[0] < value_bounds[0], "the cross-ratios have a part of the error"
    two_more = others | {each: each for each in (PARENT, CANDIDATE)}
    gains.means[PARENT, CANDIDATE] = 4.5, 0.0
    assert scope_value_bounds(DecisionRule.VALUES, two_more)[0] == among[0], "the parts of two"
