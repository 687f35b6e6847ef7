"""How often rounds of simulated candidates end in a wrong verdict.

    python benchmarks/error_rates.py [--rounds 2000] [--rule values]

Rounds run the search's own races (``archive.statistics.race``) and ranking under the
default plays; scores are drawn instead of played: gains of a mean and spread like the main job's (9
bits on average, 12 bits of spread a play, correlation ½ between policies on one map). A round is a
list of
eight candidates, of which the acceptance test may take one. Plays alone are random here, given
the fine-tunes; ``training_luck.py`` draws these too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from archive import Purpose, Verdict
from archive.schema import DecisionRule, Definition, GainKind, TaskId
from archive.statistics.race import (
    Bounds,
    CandidateBounds,
    Question,
    RaceSettings,
    acceptance,
    run_together,
    selection,
)
from archive.statistics.rule import Evidence, Looks, Thresholds, error_per_test
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.growth.algorithm import Assessment, Candidate, Place, rank

CANDIDATES = 8
MEAN, SPREAD, CORRELATION = 9.0, 12.0, 0.5
Gains = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """True values of every candidate: its own gain in bits, C on the parent, C of the parent, which
    is the scope's first game, on it, C of all others on it and of it on them."""

    title: str
    own: float
    helps: float
    gamma: float
    others: float


@dataclass(frozen=True)
class Rules:
    """What the configuration says about decisions."""

    selection: RaceSettings
    acceptance: RaceSettings
    confirmations: int


def rules(alpha1: float, alpha2: float, rule: DecisionRule) -> Rules:
    """The defaults of the group ``transfer`` with other thresholds."""
    transfer = load(RunConfig, ["+experiment=scope_growth"]).transfer
    thresholds = Thresholds(alpha1, alpha2, Definition.CAPTURED, GainKind.TOTAL, rule)
    error = 1 - transfer.confidence
    share = error_per_test(error, transfer.confirmations)
    return Rules(
        RaceSettings(Looks(tuple(transfer.selection_plays), error), thresholds, transfer.scan),
        RaceSettings(Looks(tuple(transfer.acceptance_plays), share), thresholds, transfer.scan),
        transfer.confirmations,
    )


CANDIDATE = TaskId("candidate", "black")


class SimulatedGains:
    """Plays of one candidate for one purpose: gains (n,) of every policy that may be asked for. The
    parent is the scope's first game."""

    def __init__(self, truth: Truth, scope: int, plays: int, rng: np.random.Generator) -> None:
        self.truth, self.plays, self.rng = truth, plays, rng
        self.scope = {
            TaskId(str(index), "black"): TaskId(str(index), "black") for index in range(scope)
        }
        self.parent = next(iter(self.scope))
        shares = [truth.gamma] + [truth.others] * (scope - 1)
        samples = _paired_gains([truth.own, *(share * truth.own for share in shares)], plays, rng)
        sources = (CANDIDATE, *self.scope)
        self.samples = {
            (each, CANDIDATE): sample for each, sample in zip(sources, samples, strict=True)
        }

    def gains(
        self, source: TaskId, target: TaskId, plays: int, kind: GainKind, rank: int = 0
    ) -> Gains:
        """Of one game of the scope or the candidate on another."""
        if (source, target) not in self.samples:  # the candidate and a game of the scope, on that
            share = self.truth.helps if target == self.parent else self.truth.others
            own, crossed = _paired_gains([MEAN, share * MEAN], self.plays, self.rng)
            self.samples |= {(target, target): own, (CANDIDATE, target): crossed}
        return self.samples[source, target][:plays]

    def attempts(self, source: TaskId) -> int:
        """Every game was fine-tuned once."""
        return 1

    def bounds(self, question: Question, settings: RaceSettings) -> Bounds:
        """What the search finds in an archive."""
        at = (settings.looks, settings.thresholds, CANDIDATE, self.parent, self.scope)
        return CandidateBounds(self, *at).bounds(question)


def _paired_gains(means: list[float], plays: int, rng: np.random.Generator) -> Gains:
    """(policies, plays): gains that share what the base player and the map contribute."""
    common = rng.normal(0, SPREAD * CORRELATION**0.5, plays)
    alone = rng.normal(0, SPREAD * (1 - CORRELATION) ** 0.5, (len(means), plays))
    return np.array(means)[:, None] + common + alone


def accepts(truth: Truth, scope: int, rules: Rules, rng: np.random.Generator) -> bool:
    """Whether one round takes one of its candidates."""
    names = [str(index) for index in range(CANDIDATES)]
    ids = [TaskId(str(index), "black") for index in range(scope)]
    settings = rules.selection
    gains_by_name = {
        name: SimulatedGains(truth, scope, settings.looks.plays[-1], rng) for name in names
    }
    nothing = Evidence(Purpose.SELECTION, settings.looks)
    races = {name: selection(settings, ids, nothing) for name in names}
    ends = run_together(races, _answering(gains_by_name, settings))
    survivors = {name: evidence for name, (decision, evidence) in ends.items() if decision is None}
    assessments = [
        Assessment(
            Candidate(name, Place(0, "parent", 0), index),
            "parent",
            evidence.values.captured.value,
            evidence.gamma.interval.value,
        )
        for index, (name, evidence) in enumerate(survivors.items())
    ]
    alpha1, alpha2 = settings.thresholds.alpha1, settings.thresholds.alpha2
    for each in rank(assessments, alpha1, alpha2)[: rules.confirmations]:
        values = survivors[each.candidate.game].scope_values
        order = sorted(ids, key=lambda game: -(values[game].value or 0.0))
        if confirms(truth, order, rules.acceptance, rng):
            return True
    return False


def confirms(
    truth: Truth, order: Sequence[TaskId], settings: RaceSettings, rng: np.random.Generator
) -> bool:
    """Whether one acceptance test on fresh plays takes its candidate."""
    fresh = {"": SimulatedGains(truth, len(order), settings.looks.plays[-1], rng)}
    race = acceptance(settings, order, Evidence(Purpose.ACCEPTANCE, settings.looks))
    decision, _ = run_together({"": race}, _answering(fresh, settings))[""]
    return decision is not None and decision.verdict is Verdict.ACCEPTED


def _answering(
    gains_by_name: Mapping[str, SimulatedGains], settings: RaceSettings
) -> Callable[[Mapping[str, Question]], dict[str, Bounds]]:
    return lambda questions: {
        name: gains_by_name[name].bounds(question, settings) for name, question in questions.items()
    }


def upper_bound(count: int, trials: int, confidence: float = 0.99) -> float:
    """Clopper and Pearson's one-sided upper bound on a rate."""
    return 1.0 if count == trials else float(stats.beta.ppf(confidence, count + 1, trials - count))


WRONG = [
    Truth("near-copy of one game of the scope (γ = 0.98)", MEAN, 0.9, 0.98, 0.2),
    Truth("near-copy of every game of the scope (γ = 0.98)", MEAN, 0.9, 0.98, 0.98),
    Truth("covered as much as is allowed (γ = 0.9)", MEAN, 0.9, 0.9, 0.2),
    Truth("near-copy, small own gain (3 bits)", 3.0, 0.9, 0.98, 0.2),
    Truth("useless to its parent (C = 0.25)", MEAN, 0.25, 0.3, 0.3),
    Truth("null control: no gain at all", 0.0, 0.0, 0.0, 0.0),
]
RIGHT = [
    Truth("clearly new (γ = 0.3)", MEAN, 0.9, 0.3, 0.1),
    Truth("clearly new (γ = 0.5)", MEAN, 0.9, 0.5, 0.1),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--rule", type=DecisionRule, choices=list(DecisionRule), default=DecisionRule.CROSS_RATIO
    )
    arguments = parser.parse_args()
    titles = ["eight candidates, each a", "scope", "1 − α2", "rounds", "accepting", "99 % bound"]
    print("|", " | ".join([*titles, "one straight to the test", "99 % bound"]), "|")
    print("| --- " * 8 + "|")
    for truth, alpha2 in [(t, 0.1) for t in WRONG] + [(t, a) for t in RIGHT for a in (0.1, 0.2)]:
        for scope in (1, 10, 100):
            rng = np.random.default_rng([arguments.seed, scope])
            n, courses = arguments.rounds, rules(0.3, alpha2, arguments.rule)
            ids = [TaskId(str(index), "black") for index in range(scope)]
            row = [truth.title, scope, f"{1 - alpha2:.1f}", n]
            for trial in (
                partial(accepts, truth, scope, courses, rng),
                partial(confirms, truth, ids, courses.acceptance, rng),
            ):
                count = sum(trial() for _ in range(n))
                row += [f"{count / n:.2%}", f"{upper_bound(count, n):.2%}"]
            print("|", " | ".join(map(str, row)), "|", flush=True)


if __name__ == "__main__":
    main()
