"""What `python -m archive inspect` shows: gathered once, then printed for people or programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from archive.run import Run, RunHistory, VerdictCount, explanation, runs
from archive.schema import SCHEMA_VERSION, TABLES, Definition, ScopeRow, Verdict
from archive.statistics.decisions.decision_rule import bounds_of
from archive.statistics.measures.program_games import Rows
from archive.statistics.measures.program_games import gather as gather_programs
from archive.text import interval, number, plural
from archive.views.programs import terminal_tables
from archive.views.tables import (
    SHORT,
    add,
    heading,
    plain_text,
    program,
    stacked,
    table,
)

if TYPE_CHECKING:
    from archive.verification import Verification


@dataclass(frozen=True)
class Inspection:
    """The state of one run: `scopes` by number, `codes` by game id, `accepted`
    (the decision that took each game into the scope) by game id, `rows` by table."""

    folder: str
    schema_version: int
    runs: Sequence[RunHistory]
    run_id: str
    scopes: Mapping[int, Sequence[ScopeRow]]
    codes: Mapping[str, str]
    accepted: Mapping[str, Mapping[str, Any]]
    verdicts: Sequence[VerdictCount]
    decisions: Sequence[Mapping[str, Any]]
    rows: Mapping[str, int]
    programs: Mapping[str, Rows]


_GAINS = (
    "game_id",
    "total_gain",
    "specific_gain",
    "best_script",
    "beyond_scripts",
    "beyond_scripts_low",
    "beyond_scripts_high",
)


def gather(run: Run, decisions: int = 10) -> Inspection:
    """The state of a run with its newest `decisions` decisions.

    Raises LookupFailedError when a game of its scope is not archived.
    """
    archive = run.archive
    members = [member for scope in run.scopes.values() for member in scope]
    rows = run.games(member.game_id for member in members)
    return Inspection(
        folder=str(archive.folder),
        schema_version=SCHEMA_VERSION,
        runs=runs(archive),
        run_id=run.run_id,
        scopes=run.scopes,
        codes={game_id: row["code"] for game_id, row in rows.items()},
        accepted={
            row["game_id"]: {name: row[name] for name in _GAINS}
            for row in run.decisions
            if row["verdict"] == Verdict.ACCEPTED
        },
        verdicts=run.verdict_counts(),
        decisions=run.decisions[: -decisions - 1 : -1],
        rows={name: archive.count(name) for name in TABLES},
        programs=gather_programs(run),
    )


def show(state: Inspection, console: Console) -> None:
    """Prints the state: runs, scope, verdicts, decisions, tables."""
    console.print(_runs(state))
    if state.scopes or not state.programs["gg_games"]:
        console.print(heading(f"Scope of run {state.run_id}"))
        # As it stands, since wrapping many programs takes longer than reading them.
        console.out(plain_text(_scope(state)).plain, highlight=False)
    if state.programs["gg_games"]:
        parts = [*terminal_tables(state.programs), _tables(state)]
    else:
        parts = [_verdicts(state), _decisions(state), _tables(state)]
    for part in parts:
        console.print(part)
    console.print(plain_text(f"The tables are in {state.folder}, schema {state.schema_version}."))


def _runs(state: Inspection) -> Table:
    view = table("Runs", "run", "seed", "code", "events (UTC)")
    for run in state.runs:
        events = "\n".join(f"{at:%Y-%m-%d %H:%M:%S} {event}" for event, at in run.events)
        add(view, run.run_id, run.seed, run.code_version or "unknown", events)
    return view


def _scope(state: Inspection) -> str:
    """The scopes: of each its new members, each followed by its program."""
    parts: list[str] = []
    seen_ids: set[tuple[str, str]] = set()
    for scope, members in state.scopes.items():
        parts.append(f"Scope {scope}: {plural(len(members), 'game')}")
        for member in members:
            if member.task_id not in seen_ids:
                decision = state.accepted.get(member.game_id)
                parts.append(_member(member, state.codes[member.game_id], decision))
            seen_ids.add(member.task_id)
    return "\n".join(parts)


def _member(member: ScopeRow, code: str, decision: Mapping[str, Any] | None) -> str:
    origin = "initial"
    if member.parent_game_id is not None:
        origin = f"γ {number(member.gamma, 3)}, from {member.parent_game_id[:SHORT]}"
    gains = "" if decision is None else _gains(decision)
    return f"  {member.game_id[:SHORT]} ({member.role}): {origin}{gains}\n{program(code)}"


def _gains(decision: Mapping[str, Any]) -> str:
    """What training gains, and how far that is beyond the best script."""
    if decision["total_gain"] is None:
        return ""
    total, specific = number(decision["total_gain"]), number(decision["specific_gain"])
    text = f"; gains {total} bits, {specific} about the map"
    if decision["beyond_scripts"] is None:
        return text
    lead = interval(bounds_of(decision, "beyond_scripts"))
    return f"{text}, {lead} beyond the script {decision['best_script']}"


def _verdicts(state: Inspection) -> Table:
    view = table("Verdicts by reason", "verdict", "reason", "count")
    for verdict in state.verdicts:
        add(view, verdict.verdict, verdict.reason, verdict.count)
    return view


def _decisions(state: Inspection) -> Table:
    """The latest decisions, with the lead over scripts where scripts played."""
    has_scripts = any(row["best_script"] for row in state.decisions)
    leads = ("beyond scripts",) if has_scripts else ()
    columns = ("game", "verdict", "captured", "γ", *leads)
    view = table("Latest decisions", *columns)
    for row in state.decisions:
        plays = f"{row['purpose']} plays" if row["purpose"] else "no scores"
        names = (Definition(row["definition"]).column, "gamma", *(["beyond_scripts"] * has_scripts))
        add(
            view,
            f"{row['game_id'][:SHORT]}\n({row['role']})",
            f"{row['verdict']}\n{explanation(row)}\n({plays})",
            *(stacked(bounds_of(row, name)) for name in names),
        )
    return view


def _tables(state: Inspection) -> Table:
    view = table("Tables", "table", "rows", "files")
    for name, count in state.rows.items():
        add(view, name, f"{count:,}", f"{name}/*.parquet")
    return view


def show_verification(verification: Verification, console: Console) -> None:
    """Mismatches as tables, then what was checked and the verdict."""
    for title, mismatches in (
        ("Does not fit", verification.faults),
        ("Allowed", verification.notes),
    ):
        if mismatches:
            rows = table(title, "where", "found", "expected")
            for each in mismatches:
                add(rows, each.where, each.found, each.expected)
            console.print(rows)
    checks = ", ".join(f"{count:,} {name}" for name, count in verification.checked.items() if count)
    console.print(plain_text(f"{verification.folder}: checked {checks}."))
    for reason, count in verification.unchecked.items():
        decisions = plural(count, "decision")
        console.print(plain_text(f"{decisions} not taken again: {reason}."))
    verdict = (
        plural(len(verification.faults), "fault") if verification.faults else "everything fits"
    )
    console.print(plain_text(f"{verdict[0].upper()}{verdict[1:]}."))
