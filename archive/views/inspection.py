"""What `python -m archive inspect` shows: gathered once, then printed for people or programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from archive.run import Run, explanation, runs
from archive.schema import SCHEMA_VERSION, TABLES, Definition, ScopeRow, TaskId, Verdict
from archive.statistics.programs import gather as gather_programs
from archive.statistics.rule import bounds_of
from archive.text import interval, number, percent, plural
from archive.views.tables import (
    LEGEND,
    heading,
    listing,
    plain_text,
    program,
    short,
    stacked,
    terminal_tables,
)

if TYPE_CHECKING:
    from archive.verification import Verification

State = Mapping[str, Any]
"""The state of one run, as :func:`gather` gives it."""
_GAINS = (
    *("game_id", "total_gain", "specific_gain", "best_script"),
    *("beyond_scripts", "beyond_scripts_low", "beyond_scripts_high"),
)


def gather(run: Run, decisions: int = 10) -> dict[str, Any]:
    """The state of a run with its newest `decisions` decisions: `scopes` by number, `codes` by game
    id, `titles` (what a game pays for) by game and role, `accepted` (the decision that took each
    game into the scope) by game id, `rows` by table.

    Raises LookupFailedError when a game of its scope is not archived.
    """
    archive = run.archive
    members = [member for scope in run.scopes.values() for member in scope]
    rows = run.games(member.game_id for member in members)
    return {
        "folder": str(archive.folder),
        "schema_version": SCHEMA_VERSION,
        "runs": runs(archive),
        "run_id": run.run_id,
        "scopes": run.scopes,
        "codes": {game_id: row["code"] for game_id, row in rows.items()},
        "titles": {task_id.key: title for task_id, title in run.titles.items()},
        "accepted": {
            row["game_id"]: {name: row[name] for name in _GAINS}
            for row in run.decisions
            if row["verdict"] == Verdict.ACCEPTED
        },
        "verdicts": run.verdict_counts(),
        "decisions": run.decisions[: -decisions - 1 : -1],
        "rows": {name: archive.count(name) for name in TABLES},
        "programs": gather_programs(run),
    }


def show(state: State, console: Console) -> None:
    """Prints the state: runs, scope, verdicts, decisions, tables."""
    has_programs = bool(state["programs"]["gg_games"])
    console.print(
        listing(
            "Runs",
            state["runs"],
            {
                "run": lambda run: run.run_id,
                "seed": lambda run: run.seed,
                "code": lambda run: run.code_version or "unknown",
                "events (UTC)": lambda run: "\n".join(
                    f"{at:%Y-%m-%d %H:%M:%S} {event}" for event, at in run.events
                ),
            },
        )
    )
    if state["scopes"] or not has_programs:
        console.print(heading(f"Scope of run {state['run_id']}"))
        # As it stands, since wrapping many programs takes longer than reading them.
        console.out(plain_text(_scope(state)).plain, highlight=False)
    columns = {
        "table": lambda item: item[0],
        "rows": lambda item: f"{item[1]:,}",
        "files": lambda item: f"{item[0]}/*.parquet",
    }
    tables = listing("Tables", [item for item in state["rows"].items() if item[1]], columns)
    own = terminal_tables(state["programs"]) if has_programs else [*_verdicts_and_decisions(state)]
    for part in (*own, tables):
        console.print(part)
    if state["decisions"]:
        console.print(plain_text(LEGEND))
    where = f"The tables are in {state['folder']}, schema {state['schema_version']}."
    console.print(plain_text(where))


def _scope(state: State) -> str:
    """The scopes: of each its new members, each followed by its program."""
    parts: list[str] = []
    seen_ids: set[TaskId] = set()
    for scope, members in state["scopes"].items():
        parts.append(f"Scope {scope}: {plural(len(members), 'game')}")
        parts += [_member(state, member) for member in members if member.task_id not in seen_ids]
        seen_ids |= {member.task_id for member in members}
    return "\n".join(parts)


def _member(state: State, member: ScopeRow) -> str:
    origin = "initial"
    if member.parent_game_id is not None:
        known = f"known games taught {percent(member.gamma)} of it"
        origin = f"from {short(member.parent_game_id)}, {known} (γ {number(member.gamma, 3)})"
    decision = state["accepted"].get(member.game_id)
    gains = "" if decision is None else _gains(decision)
    title = state["titles"].get(member.task_id.key, "")
    head = f"  {short(member.game_id)} ({member.role}) {title}: {origin}{gains}"
    return f"{head}\n{program(state['codes'][member.game_id])}"


def _gains(decision: Mapping[str, Any]) -> str:
    """What training gains, and how far that is beyond the best script."""
    if decision["total_gain"] is None:
        return ""
    total, specific = number(decision["total_gain"]), number(decision["specific_gain"])
    text = f"; training gains {total} bits a play, {specific} of them about the map"
    if decision["beyond_scripts"] is None:
        return text
    lead = interval(bounds_of(decision, "beyond_scripts"))
    return f"{text}, {lead} above the best fixed rule, {decision['best_script']}"


def _verdicts_and_decisions(state: State) -> list[Table]:
    """Verdicts by reason; the latest decisions, with the lead over scripts where scripts played."""
    verdicts = {
        "verdict": lambda each: each.verdict,
        "reason": lambda each: each.reason,
        "count": lambda each: each.count,
    }
    decisions = {
        "game": lambda row: f"{short(row['game_id'])}\n({row['role']})",
        "verdict": verdict_text,
        "helps parent": lambda row: stacked(bounds_of(row, Definition(row["definition"]).column)),
        "known already (γ)": lambda row: stacked(bounds_of(row, "gamma")),
    }
    if any(row["best_script"] for row in state["decisions"]):
        decisions["beyond fixed rules"] = lambda row: stacked(bounds_of(row, "beyond_scripts"))
    return [
        listing("Verdicts by reason", state["verdicts"], verdicts),
        listing("Latest decisions", state["decisions"], decisions),
    ]


def verdict_text(row: Mapping[str, Any]) -> str:
    """Verdict, reason and the plays that decided, a line each."""
    plays = f"{row['purpose']} plays" if row["purpose"] else "no scores"
    return f"{row['verdict']}\n{explanation(row)}\n({plays})"


def show_verification(verification: Verification, console: Console) -> None:
    """Mismatches as tables, then what was checked and the verdict."""
    columns = {name: lambda each, name=name: getattr(each, name) for name in _MISMATCH}
    for title, mismatches in (
        ("Does not fit", verification.faults),
        ("Allowed", verification.notes),
    ):
        if mismatches:
            console.print(listing(title, mismatches, columns))
    checks = ", ".join(f"{count:,} {name}" for name, count in verification.checked.items() if count)
    lines = [f"{verification.folder}: checked {checks}."]
    for reason, count in verification.unchecked.items():
        lines.append(f"{plural(count, 'decision')} not taken again: {reason}.")
    faults = plural(len(verification.faults), "fault")
    lines.append(f"{faults}." if verification.faults else "Everything fits.")
    for line in lines:
        console.print(plain_text(line))


_MISMATCH = ("where", "found", "expected")
