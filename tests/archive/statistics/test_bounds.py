"""From gains to verdicts: what fine-tuning makes worse is never accepted
(docs/specification.md, "The decision rule")."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from archive import Purpose, Verdict
from archive.schema import DecisionRule, Definition, GainKind, TaskId
from archive.statistics.intervals import Scores
from archive.statistics.race import CandidateBounds, RaceSettings, acceptance, run, selection
from archive.statistics.rule import Decision, Evidence, Looks, Thresholds

LOOKS = Looks((96, 192), 0.05)
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
            total, permuted_scores = (
                mean + self.rng.normal(0, 12, 192) for mean in self.means[pair]
            )
            self.samples[pair] = (total, permuted_scores)
        total, permuted_scores = self.samples[pair]
        return (total if kind == GainKind.TOTAL else total - permuted_scores)[:plays]


def verdicts(
    own: tuple[float, float], parent_gains: tuple[float, float], rule: DecisionRule, seed: int
) -> list[Decision | None]:
    """Selection's decision and acceptance's; means are (total, permuted)."""
    thresholds = Thresholds(0.3, 0.2, Definition.CAPTURED, GainKind.SPECIFIC, rule)
    means = {
        (PARENT, PARENT): (9.0, 0.0),
        (CANDIDATE, PARENT): parent_gains,
        (PARENT, CANDIDATE): (0.5, 0.0),
        (CANDIDATE, CANDIDATE): own,
    }
    gains = Gains(means, np.random.default_rng(seed))
    scope = {PARENT: PARENT}
    bounds = CandidateBounds(gains, LOOKS, thresholds, CANDIDATE, PARENT, scope)
    settings = RaceSettings(LOOKS, thresholds, scan=8)
    nothing = Evidence(Purpose.ACCEPTANCE, LOOKS)
    races = (race(settings, [PARENT], nothing) for race in (selection, acceptance))
    return [run(race, bounds.bounds)[0] for race in races]


def badly_trained_parent(share: float, seed: int, rule: DecisionRule) -> list[Decision | None]:
    """Decisions on an exact copy of a parent that learned ``share`` of what the copy did."""
    thresholds = Thresholds(0.3, 0.2, Definition.CAPTURED, GainKind.SPECIFIC, rule)
    means = {
        (source, target): (9.0 * (share if source == PARENT else 1.0), 0.0)
        for source in (PARENT, CANDIDATE)
        for target in (PARENT, CANDIDATE)
    }
    gains = Gains(means, np.random.default_rng(seed))
    bounds = CandidateBounds(gains, LOOKS, thresholds, CANDIDATE, PARENT, {PARENT: PARENT})
    settings = RaceSettings(LOOKS, thresholds, scan=8)
    nothing = Evidence(Purpose.ACCEPTANCE, LOOKS)
    races = (race(settings, [PARENT], nothing) for race in (selection, acceptance))
    return [run(race, bounds.bounds)[0] for race in races]


def is_accepted(decisions: list[Decision | None]) -> bool:
    decision = decisions[1]
    return decisions[0] is None and decision is not None and decision.verdict is Verdict.ACCEPTED


@pytest.mark.parametrize(
    ("own", "parent_gains"),
    [
        pytest.param((-3.0, -12.0), (8.0, 0.0), id="its own game is played worse"),
        pytest.param((9.0, 0.0), (-3.0, -12.0), id="its parent is played worse"),
    ],
)
def test_play_that_gets_worse_is_not_accepted(
    own: tuple[float, float], parent_gains: tuple[float, float]
) -> None:
    """The specific gain is positive, as moves get worse still on other maps."""
    by_specific_alone = sum(
        is_accepted(verdicts(own, parent_gains, DecisionRule.VALUES, k)) for k in range(40)
    )
    assert by_specific_alone > 30
    assert not any(
        is_accepted(verdicts(own, parent_gains, DecisionRule.CROSS_RATIO, k)) for k in range(40)
    )


def test_a_gain_on_every_map_alike_is_an_artifact() -> None:
    decision, _ = verdicts((9.0, 20.0), (8.0, 0.0), DecisionRule.CROSS_RATIO, 0)
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
        bounds = CandidateBounds(gains, LOOKS, thresholds, CANDIDATE, PARENT, scope)
        interval = bounds._scope_value(game, 192)
        return interval.low, interval.high

    alone = scope_value_bounds(DecisionRule.CROSS_RATIO, {game: game})
    among = scope_value_bounds(DecisionRule.CROSS_RATIO, others)
    value_bounds = scope_value_bounds(DecisionRule.VALUES, others)
    assert alone[1] == among[1] < value_bounds[1]
    assert alone[0] > among[0]
    assert among[0] < value_bounds[0], "the cross-ratios have a part of the error"


@pytest.mark.parametrize("share", [0.3, 0.45, 0.6])
def test_a_copy_of_a_badly_trained_parent_is_not_new(share: float) -> None:
    """γ is small only because the parent learned little; then C is large, and C·γ is 1."""
    by_gamma_alone = sum(
        is_accepted(badly_trained_parent(share, k, DecisionRule.VALUES)) for k in range(30)
    )
    assert by_gamma_alone > 5
    assert not any(
        is_accepted(badly_trained_parent(share, k, DecisionRule.CROSS_RATIO)) for k in range(30)
    )
