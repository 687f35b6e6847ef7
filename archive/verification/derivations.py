"""Checks scopes and decisions against the plays that they are derived from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from archive.run import Row, Run, explanation
from archive.schema import Purpose, Reason, ScopeRow, TaskId, Verdict
from archive.statistics.replay import (
    MissingPlaysError,
    calibrations,
    cases,
    decide_again,
    limits,
    replay,
)
from archive.statistics.rule import (
    REASONS,
    Calibration,
    Decision,
    Limits,
    refusal,
    value_columns,
)
from archive.statistics.scripts import (
    replay_headroom,
    replay_script_comparison,
    script_columns,
)
from archive.verification.files import Mismatch, same


def decisions(run: Run, unchecked_counts: Counter[str]) -> Iterator[Mismatch]:
    """Recomputes every decision. Those with a reason that does not follow from plays are counted in
    ``unchecked_counts``."""
    accepted_rows = [row for row in run.decisions if row["verdict"] == Verdict.ACCEPTED]
    accepting = set() if run.is_open_ended else {_list(row) for row in accepted_rows}
    is_refused = None
    if known_limits := limits(run):
        is_refused = partial(_refusal, run, calibrations(run), known_limits)
    for row, case in cases(run):
        if case is None:
            yield from _without_plays(row, unchecked_counts, is_refused)
            continue
        if early_refusal := is_refused and is_refused(row):
            yield Mismatch(where(row), "a fine-tuned game", f"refused, {str(early_refusal)!r}")
        policies = run.policies_at(row)
        try:
            result = replay(case, run.plays, policies)
        except (MissingPlaysError, ValueError) as error:
            yield Mismatch(where(row), "plays missing", f"what it was decided on ({error})")
            continue
        scripts = replay_script_comparison(case, row, run.plays, policies)
        columns = value_columns(result.evidence, len(case.scope)) | script_columns(scripts)
        for name, value in columns.items():
            if not same(row[name], value):
                yield Mismatch(where(row), f"{name} {row[name]}", f"{value}, from the scores")
        for name in ("alpha1", "alpha2"):
            if (setting := run.setting("growth", name)) not in (row[name], None):
                yield Mismatch(where(row), f"{name} {row[name]}", f"growth.{name}, {setting}")
        yield from _verdict(row, decide_again(case, result), _list(row) in accepting)


def where(row: Row) -> str:
    """The name of a decision by its position in the run."""
    name = f"generation {row['generation']}, parent {row['parent_game_id']}, round {row['round']}"
    return f"decisions, run {row['run_id']}, {name}, game {row['game_id']}"


def scopes(run: Run) -> Iterator[Mismatch]:
    """Checks Σ_{k+1} = Σ_k ∪ Ω_k; under the open-ended
    schedule Σ_k is the initial games and the first k accepted ones."""
    initial = [ScopeRow(m.game_id, m.role, None, None, 0) for m in run.scopes.get(0, ())]
    accepted = _accepted(run)
    for number, members in run.scopes.items():
        if run.is_open_ended:
            expected = [*initial, *accepted][: len(initial) + number]
        else:
            new = (member for member in accepted if member.generation == number)
            expected = [*run.scopes.get(number - 1, ()), *new] if number else initial
        yield from _difference(run.run_id, number, members, expected)


def _accepted(run: Run) -> list[ScopeRow]:
    """Members by decisions, each once in a generation. The open-ended schedule counts generations
    from a game's parent."""
    depths = {member.task_id: 0 for member in run.scopes.get(0, ())}
    members: dict[tuple[TaskId, int], ScopeRow] = {}
    for row in run.decisions:
        if row["verdict"] == Verdict.ACCEPTED:
            task_id, generation = TaskId.of(row), row["generation"]
            if run.is_open_ended:
                parent = TaskId(row["parent_game_id"], row["parent_role"])
                generation = depths[task_id] = depths.get(parent, 0) + 1
            member = ScopeRow(*task_id, row["parent_game_id"], row["gamma"], generation)
            members.setdefault((task_id, generation), member)
    return list(members.values())


def adapters(run: Run, stored_digests: frozenset[str]) -> Iterator[Mismatch]:
    """Checks that the adapters of the scope and of undecided games are stored, for the newest
    fine-tunes of a game; all adapters if the run keeps all."""
    members = {m.task_id for scope in run.scopes.values() for m in scope}
    refused_tasks = {TaskId.of(row) for row in run.decisions} - members
    keeps = run.setting("archive", "keep") == "all"
    newest = {policy_id for ids in run.newest_policies.values() for policy_id in ids}
    for row in run.finetunes:
        must_exist = keeps or (TaskId.of(row) not in refused_tasks and row["finetune_id"] in newest)
        digest = row["adapter_hash"]
        if must_exist and digest is not None and digest not in stored_digests:
            name = f"finetunes, run {run.run_id}, finetune_id {row['finetune_id']}"
            yield Mismatch(name, "a missing adapter", f"adapters/{digest}.safetensors")


def _without_plays(
    row: Row, unchecked_counts: Counter[str], is_refused: Callable[[Row], Decision | None] | None
) -> Iterator[Mismatch]:
    """Checks a decision without plays of a fine-tune: a refusal for a reason that follows from the
    calibration plays; ``is_refused`` is None where limits are not known."""
    if row["verdict"] == Verdict.ACCEPTED:
        yield Mismatch(where(row), "accepted without plays", "refused")
    elif row["reason"] not in list(Reason):
        yield Mismatch(where(row), f"reason {row['reason']!r}", f"one of {', '.join(Reason)}")
    elif row["reason"] not in {*REASONS, Reason.NO_HEADROOM} or is_refused is None:
        unchecked_counts[row["reason"]] += 1
    elif (decision := is_refused(row)) is None:
        yield Mismatch(where(row), explanation(row), "a game to fine-tune on")
    elif (row["verdict"], row["reason"]) != (decision.verdict, decision.reason) or (
        row["detail"] not in (decision.detail, None)
    ):
        actual = f"{row['verdict']}, {explanation(row)!r}"
        expected = f"{decision.verdict}, {str(decision)!r}, from the calibration plays"
        yield Mismatch(where(row), actual, expected)


def _refusal(
    run: Run, calibrations: Mapping[TaskId, Calibration], limits: Limits, row: Row
) -> Decision | None:
    """The refusal of a game before its fine-tuning; None if it was to be fine-tuned."""
    task_id = TaskId.of(row)
    calibration, least = calibrations.get(task_id), run.setting("transfer", "headroom")
    if calibration is None:
        return None
    if (early := refusal(calibration, limits)) or least is None:
        return early
    plays, selection = (
        run.setting("transfer", f"{name}_plays") for name in ("script", "selection")
    )
    headroom = replay_headroom(run.plays, task_id, Purpose.SELECTION, min(plays, selection[0]))
    return None if headroom is None else headroom.refusal(least)


def _verdict(row: Row, decision: Decision | None, list_accepted: bool) -> Iterator[Mismatch]:
    """``decision`` is None of a ranked candidate that no test accepted or refused."""
    rivals = Reason.RIVAL_ACCEPTED if list_accepted else Reason.RIVALS_TESTED
    untested = [Decision(reason, decided=False) for reason in (rivals, Reason.UNLIKELY)]
    possible = [decision] if decision else untested
    expected = [(each.verdict, each.reason, each.decided) for each in possible]
    actual = (row["verdict"], row["reason"], row["decided"])
    if actual not in expected:
        found, wanted = (
            f"{verdict}, {str(reason)!r}, {'' if decided else 'not '}decided by the intervals"
            for verdict, reason, decided in (actual, expected[0])
        )
        yield Mismatch(where(row), found, wanted)


def _difference(
    run_id: str, number: int, members: Sequence[ScopeRow], expected: Sequence[ScopeRow]
) -> Iterator[Mismatch]:
    name = f"scopes, run {run_id}, scope {number}, game"
    expected_by_id = {m.task_id: m for m in expected}
    for member in members:
        if (other := expected_by_id.get(member.task_id)) is None:
            yield Mismatch(f"{name} {member.game_id}", "a member", "no decision accepted it")
            continue
        both = [(m.parent_game_id, m.gamma, m.generation) for m in (member, other)]
        if not all(map(same, *both)):
            found, wanted = ("parent {}, gamma {}, generation {}".format(*each) for each in both)
            yield Mismatch(f"{name} {member.game_id}", found, wanted)
    present = {m.task_id for m in members}
    for member in expected:
        if member.task_id not in present:
            yield Mismatch(f"{name} {member.game_id}", "no row", "a member, since it was accepted")


def _list(row: Row) -> tuple[Any, ...]:
    return (row["generation"], row["parent_game_id"], row["parent_role"], row["round"])
