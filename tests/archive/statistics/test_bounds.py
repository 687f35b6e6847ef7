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


Means = dict[tuple[TaskId, TaskId], tuple[float, float]]


def verdicts(means: Means, rule: DecisionRule, seed: int) -> list[Decision | None]:
    """Selection's decision and acceptance's; means are (total, permuted)."""
    thresholds = Thresholds(0.3, 0.2, Definition.CAPTURED, GainKind.SPECIFIC, rule)
    gains = Gains(means, np.random.default_rng(seed))
    bounds = CandidateBounds(gains, LOOKS, thresholds, CANDIDATE, PARENT, {PARENT: PARENT})
    settings = RaceSettings(LOOKS, thresholds, scan=8)
    nothing = Evidence(Purpose.ACCEPTANCE, LOOKS)
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
        bounds = CandidateBounds(gains, LOOKS, thresholds, CANDIDATE, PARENT, scope)
        interval = bounds._scope_value(game, 192)
        return interval.low, interval.high

    alone = scope_value_bounds(DecisionRule.CROSS_RATIO, {game: game})
    among = scope_value_bounds(DecisionRule.CROSS_RATIO, others)
    value_bounds = scope_value_bounds(DecisionRule.VALUES, others)
    assert alone[1] == among[1] < value_bounds[1]
    assert alone[0] > among[0]
    assert among[0] < value_bounds[0], "the cross-ratios have a part of the error"
