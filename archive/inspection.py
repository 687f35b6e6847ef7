"""What `python -m archive inspect` shows: gathered once, then printed for people or programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from archive.query import (
    Member,
    Run,
    VerdictCount,
    find_run,
    games,
    recent_decisions,
    runs,
    scopes,
    verdict_counts,
)
from archive.schema import SCHEMA_VERSION, TABLES
from archive.store import Archive
from archive.tables import add as _add
from archive.tables import counted as _counted
from archive.tables import heading as _heading
from archive.tables import safe as _text
from archive.tables import table as _table

_SHORT = 12


@dataclass(frozen=True)
class Inspection:
    """The state of one run: `scopes` by generation, `codes` by game id, `rows` by table."""

    folder: str
    schema_version: int
    runs: Sequence[Run]
    run_id: str
    scopes: Mapping[int, Sequence[Member]]
    codes: Mapping[str, str]
    verdicts: Sequence[VerdictCount]
    decisions: Sequence[Mapping[str, Any]]
    rows: Mapping[str, int]


def gather(archive: Archive, run_id: str | None = None, decisions: int = 10) -> Inspection:
    """The state of a run (default: the last touched) with its newest `decisions` decisions.

    Raises LookupFailedError when the run, or a game of its scope, is not archived.
    """
    run = find_run(archive, run_id)
    by_generation = scopes(archive, run.run_id)
    members = [member for scope in by_generation.values() for member in scope]
    found = games(archive, (member.game_id for member in members))
    return Inspection(
        folder=str(archive.folder),
        schema_version=SCHEMA_VERSION,
        runs=runs(archive),
        run_id=run.run_id,
        scopes=by_generation,
        codes={game_id: row["code"] for game_id, row in found.items()},
        verdicts=verdict_counts(archive, run.run_id),
        decisions=recent_decisions(archive, run.run_id, decisions),
        rows={name: archive.count(name) for name in TABLES},
    )


def to_json(state: Inspection) -> str:
    """The state as JSON; times in ISO 8601, infinities as the strings "inf" and "-inf"."""
    return json.dumps(_plain(asdict(state)), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def show(state: Inspection, console: Console) -> None:
    """Prints the state: runs, scope, verdicts, decisions, tables."""
    for part in (_runs(state), *_scope(state), _verdicts(state), _decisions(state), _tables(state)):
        console.print(part)
    console.print(_text(f"The tables are in {state.folder}, schema {state.schema_version}."))


def _runs(state: Inspection) -> Table:
    table = _table("Runs", "run", "seed", "code", "events (UTC)")
    for run in state.runs:
        events = "\n".join(f"{at:%Y-%m-%d %H:%M:%S} {event}" for event, at in run.events)
        _add(table, run.run_id, run.seed, run.code_version or "unknown", events)
    return table


def _scope(state: Inspection) -> list[Table | Text]:
    """The scope by generation: its new members, each followed by its program."""
    parts: list[Table | Text] = [_heading(f"Scope of run {state.run_id}")]
    seen: set[tuple[str, str]] = set()
    for generation, members in state.scopes.items():
        parts.append(_text(f"Generation {generation}: {_counted(len(members), 'game')}"))
        for member in members:
            if (member.game_id, member.role) not in seen:
                parts.append(_text(_member(member, state.codes[member.game_id])))
            seen.add((member.game_id, member.role))
    return parts


def _member(member: Member, code: str) -> str:
    origin = "initial"
    if member.parent_game_id is not None:
        gamma = "unknown" if member.gamma is None else f"{member.gamma:.3f}"
        origin = f"γ {gamma}, from {member.parent_game_id[:_SHORT]}"
    program = "\n".join(f"      {line}" for line in code.splitlines())
    return f"  {member.game_id[:_SHORT]} ({member.role}): {origin}\n{program}"


def _verdicts(state: Inspection) -> Table:
    table = _table("Verdicts by reason", "verdict", "reason", "count")
    for verdict in state.verdicts:
        _add(table, verdict.verdict, verdict.reason, verdict.count)
    return table


def _decisions(state: Inspection) -> Table:
    table = _table("Latest decisions", "gen", "game", "verdict", "captured", "γ", "decided on")
    for row in state.decisions:
        value = "captured" if row["definition"] == "captured" else "captured_def37"
        seeds = row["purpose"] or "no scores"
        _add(
            table,
            row["generation"],
            f"{row['game_id'][:_SHORT]}\n({row['role']})",
            f"{row['verdict']}\n{row['reason']}",
            _interval(row, value),
            _interval(row, "gamma"),
            seeds if row["decided"] or row["purpose"] is None else f"{seeds}, not settled",
        )
    return table


def _interval(row: Mapping[str, Any], name: str) -> str:
    value, low, high = (row[name], row[f"{name}_low"], row[f"{name}_high"])
    if value is None and low is None and high is None:
        return "–"
    shown = ["?" if number is None else f"{number:.2f}" for number in (value, low, high)]
    return f"{shown[0]}\n[{shown[1]}, {shown[2]}]"


def _tables(state: Inspection) -> Table:
    table = _table("Tables", "table", "rows", "files")
    for name, count in state.rows.items():
        _add(table, name, count, f"{name}/*.parquet")
    return table
