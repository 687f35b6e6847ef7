"""Gains of fine-tunes beyond every scripted player (docs/specification.md, "Scripts")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from archive.plays import PURPOSES, Plays
from archive.run import Row, Run
from archive.schema import BASE_POLICY, SCRIPT_POLICY, GainKind, PlaysKey, Reason, TaskId
from archive.statistics import intervals
from archive.statistics.matrix import transfer_matrix
from archive.statistics.replay import Case, Policies, own_gain_at
from archive.statistics.rule import Decision, Looks, OwnGain, bounds_columns, bounds_of

SHOWN_CONFIDENCE = 0.975
"""Confidence of each bound that is only shown: two-sided intervals at 95 %."""
CONTENDER_CONFIDENCE = 0.99
"""Confidence of each comparison that finds a script worse than the best one, before it is left out
of further plays."""


class ScriptComparison(NamedTuple):
    """A game's fine-tune compared with the scripts on the first ``plays`` maps, in bits a play.

    ``best``: policy id of the script with the highest mean score, ``best_gain``: its mean score
    above the base player's; ``total`` and ``specific``: lead of the fine-tune over every script
    that made these plays, the smallest of its leads.
    """

    plays: int
    best: str
    best_gain: float
    total: intervals.Interval
    specific: intervals.Interval


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
    best = max(scripts, key=lambda name: float(scripts[name].own.mean()))
    total, specific = (_lead(policies, scripts, kind, confidence) for kind in GainKind)
    gain = float(scripts[best].own.mean() - base.own.mean())
    return ScriptComparison(len(base.own), best, gain, total, specific)


def _lead(
    policies: Sequence[Plays], scripts: Mapping[str, Plays], kind: GainKind, confidence: float
) -> intervals.Interval:
    """The smallest lead over a script, which is the lead over the best one."""
    shared = intervals.bonferroni(confidence, len(scripts) * len(GainKind))
    leads = [intervals.replicated_gains(policies, script, kind) for script in scripts.values()]
    lows = [intervals.mean_interval(lead, intervals.two_sided(confidence)).low for lead in leads]
    highs = [intervals.mean_interval(lead, intervals.two_sided(shared)).high for lead in leads]
    return intervals.Interval(min(float(lead.mean()) for lead in leads), min(lows), min(highs))


def contenders(scripts: Mapping[str, Plays]) -> list[str]:
    """Policy ids of the scripts that may be the best, in their order: all but those that surely
    score less than the one with the highest mean, in total and about the map (paired one-sided t
    bounds at ``CONTENDER_CONFIDENCE``). Raises ``ValueError`` if seeds differ."""
    names, level = set[str](), intervals.two_sided(CONTENDER_CONFIDENCE)
    for kind in GainKind:
        best = max(scripts.values(), key=lambda plays: float(plays.kind(kind).mean()))
        leads = {name: intervals.gains(plays, best, kind) for name, plays in scripts.items()}
        names |= {
            name for name, lead in leads.items() if intervals.mean_interval(lead, level).high >= 0
        }
    return [name for name in scripts if name in names]


class Headroom(NamedTuple):
    """How much a game pays for looking at the map: the mean score of the best script with its own
    moves minus that of the best one with moves made for other maps, in bits a play; ``low``: the
    lower bound, at 95 %, of the difference between these two scripts."""

    bits: float
    low: float

    def refusal(self, least: float) -> Decision | None:
        """The refusal of a game whose headroom is below ``least`` bits; None otherwise."""
        if self.bits >= least:
            return None
        detail = f"{self.bits:.1f} bits, transfer.headroom asks for {least:g}"
        return Decision(Reason.NO_HEADROOM, True, detail)


def headroom(scripts: Sequence[Plays]) -> Headroom:
    """The headroom of a game, from scripts' plays on the same maps.

    Moves made for other maps cannot depend on this map: their score needs no look at it. Raises
    ``ValueError`` without scripts.
    """
    own_best = max((plays.own for plays in scripts), key=np.mean)
    blind_best = max((plays.permuted_scores for plays in scripts), key=np.mean)
    level = intervals.two_sided(intervals.CONFIDENCE)
    low = intervals.mean_interval(own_best - blind_best, level).low
    return Headroom(float(np.mean(own_best) - np.mean(blind_best)), low)


def beyond_scripts(
    plays: Mapping[PlaysKey, Plays],
    policies: Sequence[str],
    task_id: TaskId,
    purpose: str,
    play_seeds: range | None = None,
    confidence: float = SHOWN_CONFIDENCE,
) -> ScriptComparison | None:
    """A game's fine-tunes against the scripts on the plays of one purpose: those with the seeds
    ``play_seeds``, or by default all that every player made. None if a player lacks plays."""
    names = [key.policy_id for key in plays if key.scripted and key[1:] == (task_id, purpose)]
    keys = {name: PlaysKey(name, task_id, purpose) for name in (BASE_POLICY, *policies, *names)}
    existing = {name: plays[key] for name, key in keys.items() if key in plays}
    if len(existing) < len(keys) or not names or not policies:
        return None
    seeds = set.intersection(*({*sample.seeds[:, 1].tolist()} for sample in existing.values()))
    if len(seeds) < 2 or not seeds.issuperset(play_seeds or ()):
        return None
    seeds_used = sorted(play_seeds or seeds)
    by_name = {name: sample.of_play_seeds(seeds_used) for name, sample in existing.items()}
    own, scripts = [by_name[name] for name in policies], {name: by_name[name] for name in names}
    return compare(own, scripts, by_name[BASE_POLICY], confidence)


def script_confidence(looks: Looks, plays: int) -> float:
    """Confidence of each bound of a comparison on ``plays`` plays: that of the first look with at
    least as many plays."""
    return looks.confidence(next(look for look in looks.plays if look >= plays))


def replay_script_comparison(
    case: Case, row: Mapping[str, object], plays: Mapping[PlaysKey, Plays], policies: Policies
) -> ScriptComparison | None:
    """The comparison of a row of ``decisions`` once more, on the plays that it names."""
    first = row["script_plays"]
    if not isinstance(first, int) or not 0 < first <= case.looks.plays[-1]:
        return None
    finetunes = next(iter(policies.get(case.candidate, ())), ())
    play_seeds = range(case.first_play, case.first_play + first)
    level = script_confidence(case.looks, first)
    return beyond_scripts(plays, finetunes, case.candidate, case.purpose, play_seeds, level)


def script_columns(comparison: ScriptComparison | None) -> dict[str, Any]:
    """The columns of ``decisions`` that a comparison fills."""
    result = comparison or ScriptComparison(0, "", 0.0, intervals.UNDEFINED, intervals.UNDEFINED)
    columns = {
        "best_script": result.best.removeprefix(SCRIPT_POLICY),
        "script_plays": result.plays,
        "script_gain": result.best_gain,
        **bounds_columns("beyond_scripts", result.total),
        **bounds_columns("specific_beyond_scripts", result.specific),
    }
    return columns if comparison else dict.fromkeys(columns)


# -- what views, the report and notebooks show of a game of the scope: the numbers of the decision
# that accepted it; of one that the run began with or trained again, those of all its plays


def _decision(run: Run, task_id: TaskId) -> Row | None:
    """The decision that accepted a game, while its fine-tune stands for the game."""
    decision = run.accepted.get(task_id)
    is_in_force = decision and decision["finetune_id"] in run.policies.get(task_id, ())
    return decision if is_in_force else None


def own_gain(run: Run, task_id: TaskId) -> OwnGain:
    """Total and specific gain of a game's own fine-tune."""
    decision = _decision(run, task_id)
    if decision and (seen := own_gain_at(decision, run.plays, run.policies_at(decision))):
        return seen
    plays, only, own = (run.plays, run.policies), ([task_id], [task_id]), (task_id, task_id)
    cells = [transfer_matrix(*plays, *only, kind).cells.get(own) for kind in GainKind]
    total, specific = (cell.values.gain if cell else intervals.UNDEFINED for cell in cells)
    return OwnGain(specific=specific, total=total)


def beside_scripts(run: Run, task_id: TaskId) -> ScriptComparison | None:
    """A game's fine-tune compared with the scripts; None if no script played it."""
    decision, policies = _decision(run, task_id), run.policies.get(task_id, ())
    shown = None if decision is None else comparison_of(decision)
    for purpose in PURPOSES:
        shown = shown or beyond_scripts(run.plays, policies, task_id, purpose)
    return shown


def comparison_of(decision: Mapping[str, Any]) -> ScriptComparison | None:
    """The comparison that a row of ``decisions`` holds; None if no script played."""
    if decision["best_script"] is None or decision["script_gain"] is None:
        return None
    leads = (bounds_of(decision, f"{kind}beyond_scripts") for kind in ("", "specific_"))
    best, gain = SCRIPT_POLICY + decision["best_script"], decision["script_gain"]
    return ScriptComparison(decision["script_plays"], best, gain, *leads)
