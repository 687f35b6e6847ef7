"""How often rounds of simulated candidates end in a wrong verdict.

    python benchmarks/error_rates.py [--rounds 2000]

Rounds run the search's own races (``archive.statistics.race``) and ranking under the default plays;
scores are drawn instead of played: gains of a mean and spread like the main job's (9 bits on
average, 12 bits of spread a play, correlation ½ between policies on one map). A round is a list of
eight candidates, of which the acceptance test may take one.
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
from archive.schema import Definition, GainKind, TaskId
from archive.statistics.decision_rule import Evidence, Own, Thresholds
from archive.statistics.intervals import mean_interval, two_sided
from archive.statistics.looks import Looks, error_per_test
from archive.statistics.race import (
    Bounds,
    Question,
    RaceSettings,
    acceptance,
    run_together,
    selection,
)
from archive.statistics.transfer_values import transfer_values
from evo.config.compose import load
from evo.search.growth import Assessment, Candidate, Place, rank

CANDIDATES = 8
MEAN, SPREAD, CORRELATION = 9.0, 12.0, 0.5
Gains = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """True values of every candidate: its own gain in bits, C on the parent, C of the scope's
    first game on it, C of all others."""

    title: str
    own: float
    helps: float
    covered: float
    others: float


@dataclass(frozen=True)
class Rules:
    """What the configuration says about decisions."""

    selection: RaceSettings
    acceptance: RaceSettings
    confirmations: int


def rules(alpha1: float, alpha2: float) -> Rules:
    """The defaults of the group ``transfer`` with other thresholds."""
    transfer = load(["+experiment=scope_growth"]).transfer
    thresholds = Thresholds(alpha1, alpha2, Definition.CAPTURED, GainKind.TOTAL)
    error = 1 - transfer.confidence
    share = error_per_test(error, transfer.confirmations)
    return Rules(
        RaceSettings(Looks(tuple(transfer.selection_plays), error), thresholds, transfer.scan),
        RaceSettings(Looks(tuple(transfer.acceptance_plays), share), thresholds, transfer.scan),
        transfer.confirmations,
    )


class Drawn:
    """Plays of one candidate for one purpose: gains (n,) of every policy that may be asked for."""

    def __init__(self, truth: Truth, scope: int, plays: int, rng: np.random.Generator) -> None:
        self.parent_own, self.on_parent = _paired([MEAN, truth.helps * MEAN], plays, rng)
        shares = [truth.covered] + [truth.others] * (scope - 1)
        self.own, *taught = _paired([truth.own, *(s * truth.own for s in shares)], plays, rng)
        self.taught = {TaskId(str(index), "black"): gains for index, gains in enumerate(taught)}

    def bounds(self, question: Question, looks: Looks) -> Bounds:
        """What ``evo.search.stages`` finds in an archive."""
        n, plain = question.plays, two_sided(looks.confidence(question.plays))
        wide = two_sided(looks.confidence(question.plays, len(self.taught)))
        own, none = self.own[:n], None
        gain = mean_interval(own, plain)
        helps = transfer_values(self.on_parent[:n], self.parent_own[:n], none, plain, plain)
        return Bounds(
            own=Own(gain, gain, 1.0, gain) if question.own else None,
            help_gain=helps.gain if question.helps else None,
            values=helps if question.helps else None,
            taught={
                game: transfer_values(self.taught[game][:n], own, none, wide, plain).captured
                for game in question.taught
            },
        )


def _paired(means: list[float], plays: int, rng: np.random.Generator) -> Gains:
    """(policies, plays): gains that share what the base player and the map contribute."""
    common = rng.normal(0, SPREAD * CORRELATION**0.5, plays)
    alone = rng.normal(0, SPREAD * (1 - CORRELATION) ** 0.5, (len(means), plays))
    return np.array(means)[:, None] + common + alone


def accepts(truth: Truth, scope: int, rules: Rules, rng: np.random.Generator) -> bool:
    """Whether one round takes one of its candidates."""
    names = [str(index) for index in range(CANDIDATES)]
    ids = [TaskId(str(index), "black") for index in range(scope)]
    settings = rules.selection
    drawn = {name: Drawn(truth, scope, settings.looks.plays[-1], rng) for name in names}
    nothing = Evidence(Purpose.SELECTION, settings.looks)
    races = {name: selection(settings, ids, nothing) for name in names}
    ends = run_together(races, _answering(drawn, settings.looks))
    going = {name: evidence for name, (decision, evidence) in ends.items() if decision is None}
    assessed = [
        Assessment(
            Candidate(name, Place(0, "parent", 0), index),
            evidence.values.captured.value,
            evidence.gamma.interval.value,
        )
        for index, (name, evidence) in enumerate(going.items())
    ]
    alpha1, alpha2 = settings.thresholds.alpha1, settings.thresholds.alpha2
    for each in rank(assessed, alpha1, alpha2)[: rules.confirmations]:
        seen = going[each.candidate.game].taught
        order = sorted(ids, key=lambda game: -(seen[game].value or 0.0))
        if confirmed(truth, order, rules.acceptance, rng):
            return True
    return False


def confirmed(
    truth: Truth, order: Sequence[TaskId], settings: RaceSettings, rng: np.random.Generator
) -> bool:
    """Whether one acceptance test on fresh plays takes its candidate."""
    fresh = {"": Drawn(truth, len(order), settings.looks.plays[-1], rng)}
    race = acceptance(settings, order, Evidence(Purpose.ACCEPTANCE, settings.looks))
    decision, _ = run_together({"": race}, _answering(fresh, settings.looks))[""]
    return decision is not None and decision.verdict is Verdict.ACCEPTED


def _answering(
    drawn: Mapping[str, Drawn], looks: Looks
) -> Callable[[Mapping[str, Question]], dict[str, Bounds]]:
    return lambda asked: {name: drawn[name].bounds(asked[name], looks) for name in asked}


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
    arguments = parser.parse_args()
    titles = ["eight candidates, each a", "scope", "1 − α2", "rounds", "accepting", "99 % bound"]
    print("|", " | ".join([*titles, "one straight to the test", "99 % bound"]), "|")
    print("| --- " * 8 + "|")
    for truth, alpha2 in [(t, 0.1) for t in WRONG] + [(t, a) for t in RIGHT for a in (0.1, 0.2)]:
        for scope in (1, 10, 100):
            rng = np.random.default_rng([arguments.seed, scope])
            n, courses = arguments.rounds, rules(0.3, alpha2)
            ids = [TaskId(str(index), "black") for index in range(scope)]
            row = [truth.title, scope, f"{1 - alpha2:.1f}", n]
            for trial in (
                partial(accepts, truth, scope, courses, rng),
                partial(confirmed, truth, ids, courses.acceptance, rng),
            ):
                count = sum(trial() for _ in range(n))
                row += [f"{count / n:.2%}", f"{upper_bound(count, n):.2%}"]
            print("|", " | ".join(map(str, row)), "|", flush=True)


if __name__ == "__main__":
    main()
