"""What a fine-tune learned beyond every scripted player (docs/specification.md, "Scripts")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archive.schema import BASE_POLICY, SCRIPT_POLICY, GainKind, PlaysKey, Reason, TaskId
from archive.statistics.decision_rule import Decision
from archive.statistics.intervals import (
    UNDEFINED,
    Interval,
    bonferroni,
    mean_interval,
    two_sided,
)
from archive.statistics.looks import Looks
from archive.statistics.plays import PURPOSES, Plays
from archive.statistics.replay import Case, Policies
from archive.statistics.transfer_values import replicated_gains

SHOWN_CONFIDENCE = 0.975
"""Of each bound where nothing is decided: two-sided intervals at 95 %."""


@dataclass(frozen=True)
class ScriptComparison:
    """A game's fine-tune beside the scripts on the first ``plays`` maps, in bits a play.

    ``best``: policy id of the script with the highest mean score, ``best_gain`` what it earns above
    the base player; ``total`` and ``specific``: how far the fine-tune is beyond *every* script, the
    smallest of its leads.
    """

    plays: int
    best: str
    best_gain: float
    total: Interval
    specific: Interval


def compare(
    policies: Sequence[Plays], scripts: Mapping[str, Plays], base: Plays, confidence: float
) -> ScriptComparison:
    """A game's fine-tunes (one, or one under each training seed) against scripts, on one set of
    maps.

    The best script is chosen on the plays that measure it, which overestimates it: the comparison
    is conservative. Each lower bound is at ``confidence``, because the fine-tune is beyond every
    script only if it is beyond each one (an intersection-union test, Berger 1982). Upper bounds
    share the error over scripts and the two kinds of gain, since any of these leads may be the
    smallest. Raises ``ValueError`` if there is no script or seeds differ.
    """
    if not scripts:
        raise ValueError("found no script's plays, expected at least one's")
    best = max(scripts, key=lambda name: float(scripts[name].own.mean()))
    total, specific = (_lead(policies, scripts, kind, confidence) for kind in GainKind)
    gain = float(scripts[best].own.mean() - base.own.mean())
    return ScriptComparison(len(base.own), best, gain, total, specific)


def _lead(
    policies: Sequence[Plays], scripts: Mapping[str, Plays], kind: GainKind, confidence: float
) -> Interval:
    """Over the best script, which is the one that leaves the smallest lead."""
    shared = bonferroni(confidence, len(scripts) * len(GainKind))
    leads = [replicated_gains(policies, script, kind) for script in scripts.values()]
    lows = [mean_interval(lead, two_sided(confidence)).low for lead in leads]
    highs = [mean_interval(lead, two_sided(shared)).high for lead in leads]
    return Interval(min(float(lead.mean()) for lead in leads), min(lows), min(highs))


@dataclass(frozen=True)
class Headroom:
    """What a game pays for looking at the map: the mean score of the best script with its own
    moves minus that of the best one with moves made for other maps, in bits a play; ``low``: the
    lower bound, at 95 %, of this difference between these two."""

    bits: float
    low: float

    def refusal(self, least: float) -> Decision | None:
        """The refusal of a game that pays less than ``least`` bits for it."""
        if self.bits >= least:
            return None
        return Decision(
            Reason.NO_HEADROOM, True, f"{self.bits:.1f} bits, transfer.headroom asks for {least:g}"
        )


def headroom(scripts: Sequence[Plays]) -> Headroom:
    """Of a game, by scripts' plays on the same maps.

    A script whose moves were made for other maps cannot know this one: what it earns is to be had
    blindly. Raises ``ValueError`` without scripts.
    """
    sighted = max((plays.own for plays in scripts), key=np.mean)
    blind = max((plays.permuted for plays in scripts), key=np.mean)
    seen = mean_interval(sighted - blind, two_sided(0.95))
    return Headroom(float(np.mean(sighted) - np.mean(blind)), seen.low)


def replay_headroom(
    plays: Mapping[PlaysKey, Plays], task_id: TaskId, purpose: str, count: int
) -> Headroom | None:
    """The same from the archive, on the first ``count`` plays; None where scripts made fewer."""
    samples = [
        _of_seeds(sample, np.arange(count))
        for key, sample in plays.items()
        if key.scripted and key[1:] == (task_id, purpose)
    ]
    if not samples or any(len(sample.own) < count for sample in samples):
        return None
    return headroom(samples)


def beyond_scripts(
    plays: Mapping[PlaysKey, Plays],
    policies: Sequence[str],
    task_id: TaskId,
    purpose: str,
    wanted: range | None = None,
    confidence: float = SHOWN_CONFIDENCE,
) -> ScriptComparison | None:
    """A game's fine-tunes against the scripts on the plays of one purpose: those with the play
    seeds ``wanted``, or all that everybody made. None where some did not play."""

    def made(policy: str) -> Plays | None:
        return plays.get(PlaysKey(policy, task_id, purpose))

    names = [key.policy_id for key in plays if key.scripted and key[1:] == (task_id, purpose)]
    samples = {name: made(name) for name in (BASE_POLICY, *policies, *names)}
    there = {name: sample for name, sample in samples.items() if sample is not None}
    if len(there) < len(samples) or not names or not policies:
        return None
    seeds = set.intersection(*({*each.seeds[:, 1].tolist()} for each in there.values()))
    if len(seeds) < 2 or not seeds.issuperset(wanted or ()):
        return None
    kept = np.array(sorted(wanted or seeds))
    cut = {name: _of_seeds(sample, kept) for name, sample in there.items()}
    scripts = {name: cut[name] for name in names}
    return compare([cut[name] for name in policies], scripts, cut[BASE_POLICY], confidence)


def shown_comparison(
    plays: Mapping[PlaysKey, Plays], policies: Sequence[str], task_id: TaskId
) -> ScriptComparison | None:
    """The same for a reader: on acceptance plays where there are any, else on selection plays."""
    each = (beyond_scripts(plays, policies, task_id, purpose) for purpose in PURPOSES)
    return next((comparison for comparison in each if comparison is not None), None)


def script_confidence(looks: Looks, plays: int) -> float:
    """Of each bound of a comparison on so many plays: that of the first look at which a test has as
    many."""
    return looks.confidence(next(look for look in looks.plays if look >= plays))


def replay_script_comparison(
    case: Case, row: Mapping[str, object], plays: Mapping[PlaysKey, Plays], policies: Policies
) -> ScriptComparison | None:
    """The comparison of a row of ``decisions`` once more, on the plays that it names."""
    first = row["script_plays"]
    if not isinstance(first, int) or not 0 < first <= case.looks.plays[-1]:
        return None
    its = next(iter(policies.get(case.candidate, ())), ())
    wanted = range(case.first_play, case.first_play + first)
    level = script_confidence(case.looks, first)
    return beyond_scripts(plays, its, case.candidate, case.purpose, wanted, level)


def apply_script_gate(decision: Decision, comparison: ScriptComparison | None) -> Decision:
    """The decision where a game may join the scope only if what it teaches is beyond every script,
    in all and about the map: an acceptance needs both lower bounds above 0."""
    if decision.reason is not Reason.NEW_AND_USEFUL:
        return decision
    leads = [comparison.total, comparison.specific] if comparison else [UNDEFINED]
    if all(lead.low > 0 for lead in leads):
        return decision
    if any(lead.high <= 0 for lead in leads):
        return Decision(Reason.SCRIPTED, decided=True)
    return Decision(Reason.SCRIPTS_OPEN, decided=False)


def script_columns(comparison: ScriptComparison | None) -> dict[str, float | int | str | None]:
    """The columns of ``decisions`` that a comparison fills."""
    seen = comparison or ScriptComparison(0, "", 0.0, UNDEFINED, UNDEFINED)
    columns: dict[str, float | int | str | None] = {
        "best_script": seen.best.removeprefix(SCRIPT_POLICY),
        "script_plays": seen.plays,
        "script_gain": seen.best_gain,
        "beyond_scripts": seen.total.value,
        "beyond_scripts_low": seen.total.low,
        "beyond_scripts_high": seen.total.high,
        "specific_beyond_scripts": seen.specific.value,
        "specific_beyond_scripts_low": seen.specific.low,
        "specific_beyond_scripts_high": seen.specific.high,
    }
    return columns if comparison else dict.fromkeys(columns)


def _of_seeds(sample: Plays, play_seeds: NDArray[np.int64]) -> Plays:
    """The plays with these play seeds, in the order of these."""
    order = np.argsort(sample.seeds[:, 1], kind="stable")
    order = order[np.isin(sample.seeds[order, 1], play_seeds)]
    return Plays(sample.seeds[order], sample.own[order], sample.permuted[order])
