"""Scopes and decisions against the plays that they are derived from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from archive.query import ScopeRow, explanation
from archive.schema import (
    BASE_POLICY,
    GainKind,
    PlaysKey,
    Purpose,
    Reason,
    Rule,
    TaskId,
    Verdict,
)
from archive.statistics.calibration import REASONS, refusal
from archive.statistics.decision_cases import Row, RunRecord, cases
from archive.statistics.decision_rule import Decision, value_columns
from archive.statistics.intervals import mean_interval, two_sided
from archive.statistics.looks import Looks
from archive.statistics.plays import Plays
from archive.statistics.replay import MissingPlaysError, decide_again, replay
from archive.statistics.scripts import (
    apply_script_gate,
    replay_headroom,
    replay_script_comparison,
    script_columns,
)
from archive.store.older import ADDED
from archive.verification.findings import Finding

SETTINGS = {
    "alpha1": ("growth", "alpha1"),
    "alpha2": ("growth", "alpha2"),
    "definition": ("transfer", "definition"),
    "gain_kind": ("transfer", "gain"),
    "rule": ("transfer", "rule"),
}
"""Columns of decisions that repeat a setting of the run."""
_RELATIVE, _ABSOLUTE = 1e-6, 1e-9


def decisions(record: RunRecord, unchecked: Counter[str]) -> Iterator[Finding]:
    """Every decision, taken again. Those whose reason says nothing that plays could answer are
    counted in ``unchecked``."""
    accepted = [row for row in record.decisions if row["verdict"] == Verdict.ACCEPTED]
    accepting = set() if record.open_ended else {_list(row) for row in accepted}
    for row, case in cases(record):
        yield from _settings(record, row)
        if case is None:
            yield from _without_plays(record, row, unchecked)
            continue
        if refused := _refusal(record, row):
            yield Finding(where(row), "a fine-tuned game", f"refused, {str(refused)!r}")
        policies = record.policies(row)
        try:
            seen = replay(case, record.plays, policies)
        except (MissingPlaysError, ValueError) as error:
            yield Finding(where(row), "plays missing", f"what it was decided on ({error})")
            continue
        scripts = replay_script_comparison(case, row, record.plays, policies)
        columns = value_columns(seen.evidence, len(case.scope)) | script_columns(scripts)
        if row["rule"] is None:  # written before there were these columns
            columns = {name: columns[name] for name in columns.keys() - ADDED["decisions"]}
        yield from _columns(row, columns)
        decision = decide_again(case, seen)
        if decision is not None and record.setting("growth", "beyond_scripts"):
            decision = apply_script_gate(decision, scripts)
        yield from _verdict(row, decision, _list(row) in accepting)


def where(row: Row) -> str:
    """A decision by its place in the run."""
    place = f"generation {row['generation']}, parent {row['parent_game_id']}, round {row['round']}"
    return f"decisions, run {row['run_id']}, {place}, game {row['game_id']}"


def scopes(record: RunRecord) -> Iterator[Finding]:
    """Σ_{k+1} = Σ_k ∪ Ω_k, members in the order of their acceptance; under the open-ended schedule
    the initial games and the first k that were accepted."""
    if record.open_ended:
        yield from _open_scopes(record)
        return
    accepted: dict[int, list[ScopeRow]] = {}
    for row in record.decisions:
        if row["verdict"] == Verdict.ACCEPTED:
            place = accepted.setdefault(row["generation"], [])
            if all(m.task_id != TaskId.of(row) for m in place):
                place.append(_member(row))
    for generation, members in record.scopes.items():
        expected: Sequence[ScopeRow] = members
        if generation == 0:
            expected = [ScopeRow(m.game_id, m.role, None, None, 0) for m in members]
        elif generation - 1 in record.scopes:
            before = record.scopes[generation - 1]
            expected = [*before, *accepted.get(generation - 1, [])]
        else:
            name = f"scopes, run {record.run_id}, generation {generation - 1}"
            yield Finding(name, "no members", f"some, since generation {generation} has")
        yield from _difference(record.run_id, generation, members, expected)


def _open_scopes(record: RunRecord) -> Iterator[Finding]:
    initial = [ScopeRow(m.game_id, m.role, None, None, 0) for m in record.scopes.get(0, ())]
    depths = {member.game_id: 0 for member in initial}
    members = list(initial)
    for row in record.decisions:
        if row["verdict"] == Verdict.ACCEPTED:
            depth = depths.get(row["parent_game_id"], 0) + 1
            depths[row["game_id"]] = depth
            members.append(replace(_member(row), accepted_in=depth))
    for generation, found in record.scopes.items():
        expected = members[: len(initial) + generation]
        yield from _difference(record.run_id, generation, found, expected)


def check_initial_scope(record: RunRecord) -> Iterator[Finding]:
    """Every game of the initial scope is improved by its own fine-tuning, on selection plays."""
    level, policies = _initial_level(record), _initial_policies(record)
    for member in record.scopes.get(0, ()):
        name = f"scopes, run {record.run_id}, generation 0, game {member.game_id}"
        task_id = member.task_id
        pair = [
            record.plays.get(PlaysKey(policy, task_id, Purpose.SELECTION))
            for policy in (policies.get(task_id, ("",))[0], BASE_POLICY)
        ]
        gains = _paired(*pair)
        if gains is None:
            yield Finding(name, "no paired selection plays", "its own fine-tuning's and the base's")
        elif level is not None:
            low = mean_interval(gains, two_sided(level)).low
            if low <= 0:
                yield Finding(name, f"own gain with lower bound {low:.3g} bits", "one above 0")


def _initial_policies(record: RunRecord) -> dict[TaskId, tuple[str, ...]]:
    """Who spoke for each game when the run had just begun, as its first decision says."""
    first = next((row for row in record.decisions if row["purpose"] is not None), None)
    if first is None:
        return record.newest()
    return {task_id: attempts[0] for task_id, attempts in record.policies(first).items()}


def _initial_level(record: RunRecord) -> float | None:
    """Confidence of the test of an initial game's total gain: that of the last look of selection.
    None where it was not asked, was of several fine-tunings, or is not known."""
    plays, confidence = (
        record.setting("transfer", key) for key in ("selection_plays", "confidence")
    )
    both = record.setting("transfer", "rule") == Rule.CROSS_RATIO
    needed = both or record.setting("transfer", "gain") == GainKind.TOTAL
    if not needed or record.setting("finetune", "replicates") != 1:
        return None
    try:
        return Looks(tuple(plays), 1 - confidence).confidence(plays[-1])
    except (TypeError, ValueError, IndexError):
        return None


def adapters(record: RunRecord, stored: frozenset[str]) -> Iterator[Finding]:
    """Adapters of the scope are stored, and of games that are not decided yet, of the fine-tunes
    that were not started again; all adapters where the run keeps all."""
    members = {m.task_id for scope in record.scopes.values() for m in scope}
    refused = {TaskId.of(row) for row in record.decisions} - members
    keeps = record.setting("archive", "keep") == "all"
    newest = {policy_id for ids in record.newest().values() for policy_id in ids}
    for row in record.finetunes:
        needed = keeps or (TaskId.of(row) not in refused and row["finetune_id"] in newest)
        digest = row["adapter_hash"]
        if needed and digest is not None and digest not in stored:
            name = f"finetunes, run {record.run_id}, finetune_id {row['finetune_id']}"
            yield Finding(name, "a missing adapter", f"adapters/{digest}.safetensors")


def _settings(record: RunRecord, row: Row) -> Iterator[Finding]:
    for column, (section, key) in SETTINGS.items():
        setting = record.setting(section, key)
        if setting is not None and row[column] is not None and row[column] != setting:
            expected = f"{section}.{key} of the run, {setting}"
            yield Finding(where(row), f"{column} {row[column]}", expected)


def _without_plays(record: RunRecord, row: Row, unchecked: Counter[str]) -> Iterator[Finding]:
    """Refused on calibration plays, for a reason that those give."""
    if row["verdict"] == Verdict.ACCEPTED:
        yield Finding(where(row), "accepted without plays", "refused")
    elif row["reason"] not in list(Reason):
        yield Finding(where(row), f"reason {row['reason']!r}", f"one of {', '.join(Reason)}")
    elif row["reason"] not in {*REASONS, Reason.NO_HEADROOM} or record.limits is None:
        unchecked[row["reason"]] += 1
    else:
        refused = _refusal(record, row)
        facts = (row["verdict"], row["reason"], row["detail"])
        if refused is None:
            yield Finding(where(row), explanation(row), "a game to fine-tune on")
        elif facts not in (
            (refused.verdict, refused.reason, refused.detail),
            (refused.verdict, refused.reason, None),
        ):
            found = f"{row['verdict']}, {explanation(row)!r}"
            expected = f"{refused.verdict}, {str(refused)!r}, from the calibration plays"
            yield Finding(where(row), found, expected)


def _refusal(record: RunRecord, row: Row) -> Decision | None:
    """The refusal of a game that was not to be fine-tuned; None where it was."""
    task_id = TaskId.of(row)
    calibration = record.calibrations.get(task_id)
    if calibration is None or record.limits is None:
        return None
    return refusal(calibration, record.limits) or _no_headroom(record, task_id)


def _no_headroom(record: RunRecord, task_id: TaskId) -> Decision | None:
    transfer = [record.setting("transfer", key) for key in ("script_plays", "selection_plays")]
    least = record.setting("transfer", "headroom")
    if least is None:
        return None
    count = min(transfer[0], transfer[1][0])
    seen = replay_headroom(record.plays, task_id, Purpose.SELECTION, count)
    return None if seen is None else seen.refusal(least)


def _columns(row: Row, expected: Mapping[str, object]) -> Iterator[Finding]:
    for name, value in expected.items():
        if not _equal(row[name], value):
            yield Finding(where(row), f"{name} {row[name]}", f"{value}, from the scores")


def _verdict(row: Row, decision: Decision | None, list_accepted: bool) -> Iterator[Finding]:
    possible = [decision] if decision else _untested(list_accepted)
    expected = [(each.verdict, each.reason, each.decided) for each in possible]
    given = (row["verdict"], row["reason"], row["decided"])
    if given not in expected:
        yield Finding(where(row), _described(*given), _described(*expected[0]))


def _untested(list_accepted: bool) -> list[Decision]:
    """What may become of a candidate that is ranked, and that no test accepted or refused."""
    outranked = Reason.RIVAL_ACCEPTED if list_accepted else Reason.RIVALS_TESTED
    return [Decision(reason, decided=False) for reason in (outranked, Reason.UNLIKELY)]


def _described(verdict: str, reason: str, decided: bool) -> str:
    return f"{verdict}, {str(reason)!r}, {'' if decided else 'not '}decided by the intervals"


def _difference(
    run_id: str, generation: int, members: Sequence[ScopeRow], expected: Sequence[ScopeRow]
) -> Iterator[Finding]:
    name = f"scopes, run {run_id}, generation {generation}, game"
    known = {(m.game_id, m.role): m for m in expected}
    for member in members:
        wanted = known.get(member.task_id)
        if wanted is None:
            yield Finding(f"{name} {member.game_id}", "a member", "no decision accepted it")
        elif not _same(member, wanted):
            yield Finding(f"{name} {member.game_id}", _facts(member), _facts(wanted))
    present = {m.task_id for m in members}
    for member in expected:
        if member.task_id not in present:
            yield Finding(f"{name} {member.game_id}", "no row", "a member, since it was accepted")
    there = [task_id for task_id in known if task_id in present]
    if there != [m.task_id for m in members if m.task_id in known]:
        yield Finding(f"{name}s", "another order", "the order of acceptance")


def _same(one: ScopeRow, other: ScopeRow) -> bool:
    facts = (one.parent_game_id, one.accepted_in) == (other.parent_game_id, other.accepted_in)
    return facts and _equal(one.gamma, other.gamma)


def _facts(member: ScopeRow) -> str:
    return f"parent {member.parent_game_id}, gamma {member.gamma}, accepted_in {member.accepted_in}"


def _member(row: Row) -> ScopeRow:
    return ScopeRow(
        row["game_id"], row["role"], row["parent_game_id"], row["gamma"], row["generation"] + 1
    )


def _list(row: Row) -> tuple[Any, ...]:
    return (row["generation"], row["parent_game_id"], row["round"])


def _paired(policy: Plays | None, base: Plays | None) -> Any:
    """Gains on the seeds that both have; None with fewer than 2."""
    if policy is None or base is None:
        return None
    known = {tuple(pair): score for pair, score in zip(base.seeds.tolist(), base.own, strict=True)}
    shared = [
        score - known[tuple(pair)]
        for pair, score in zip(policy.seeds.tolist(), policy.own, strict=True)
        if tuple(pair) in known
    ]
    return np.array(shared) if len(shared) > 1 else None


def _equal(found: object, expected: object) -> bool:
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    return found == expected
