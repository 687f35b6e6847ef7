"""What `python -m archive inspect` shows: gathered once, then printed for people or programs.

All that is known of one game is gathered in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from archive.run import Row, Run, explanation, games, runs
from archive.schema import SCHEMA_VERSION, TABLES, ScopeRow, TaskId, Verdict
from archive.statistics.programs import gather as gather_programs
from archive.statistics.rule import bounds_of
from archive.store.archive import Archive
from archive.text import interval, number, percent, plural
from archive.views.tables import (
    LEGEND,
    beyond_rules,
    heading,
    helps_parent,
    known_already,
    listing,
    plain_text,
    program,
    short,
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
    verdicts = {name: name for name in ("verdict", "reason", "count")}
    decisions = {
        "game": lambda row: f"{short(row['game_id'])}\n({row['role']})",
        "verdict": verdict_text,
        "helps parent": helps_parent,
        "known already (γ)": known_already,
    }
    if any(row["best_script"] for row in state["decisions"]):
        decisions["beyond fixed rules"] = beyond_rules
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
    if verification.faults:
        console.print(listing("Does not fit", verification.faults, columns))
    checks = ", ".join(f"{count:,} {name}" for name, count in verification.checked.items() if count)
    lines = [f"{verification.folder}: checked {checks}."]
    for reason, count in verification.unchecked.items():
        lines.append(f"{plural(count, 'decision')} not taken again: {reason}.")
    faults = plural(len(verification.faults), "fault")
    lines.append(f"{faults}." if verification.faults else "Everything fits.")
    for line in lines:
        console.print(plain_text(line))


_MISMATCH = ("where", "found", "expected")


def gather_game(archive: Archive, game_id: str) -> dict[str, Any]:
    """Rows about one game, over all runs: ``scopes`` once for each run, ``plays`` counted by policy
    and purpose with mean scores. Raises LookupFailedError for an id that no game has."""
    game = games(archive, [game_id])[game_id]
    its: list[tuple[str, str, object]] = [("game_id", "=", game_id)]
    finetunes = archive.rows("finetunes", filters=its)
    for row in finetunes:
        row["adapter_stored"] = row["adapter_hash"] in archive.adapters()
    keys = ["run_id", "policy_id", "purpose"]
    groups = archive.table("scores", [*keys, "score"], its).group_by(keys, use_threads=False)
    counts = groups.aggregate([("score", "count"), ("score", "mean")])
    scopes = archive.rows("scopes", filters=its)
    members = {(row["run_id"], row["role"]): row for row in reversed(scopes)}
    return {
        "game": game,
        "proposals": archive.rows("proposals", filters=its),
        "finetunes": finetunes,
        "decisions": archive.rows("decisions", filters=its),
        "scopes": list(members.values()),
        "plays": counts.rename_columns([*keys, "plays", "mean"]).to_pylist(),
    }


# -- for people ------------------------------------------------------------------------------------


def _curve(row: Row) -> str:
    curve = row["curve"]
    return f"{number(curve[0])} → {number(curve[-1])}" if curve else "–"


GAME_TABLES: Mapping[str, tuple[str, Mapping[str, str | Callable[[Row], object]]]] = {
    "proposals": (
        "Proposed",
        {
            "run": "run_id",
            "generation": "generation",
            "parent": lambda row: short(row["parent_game_id"]),
            "sampler": "sampler",
            "operators": lambda row: ", ".join(row["operators"]),
            "outcome": "outcome",
        },
    ),
    "finetunes": (
        "Fine-tuned",
        {
            "player": "finetune_id",
            "of its budget": lambda row: f"{row['share']:.0%}",
            "steps": "steps",
            "tokens": lambda row: f"{row['tokens']:,}",
            "bits at start and end": _curve,
            "adapter": lambda row: "stored" if row["adapter_stored"] else "not stored",
        },
    ),
    "decisions": (
        "Decided",
        {
            "run": "run_id",
            "generation": "generation",
            "verdict": lambda row: f"{row['verdict']}\n{explanation(row)}",
            "helps parent": helps_parent,
            "known already": known_already,
            "beyond fixed rules": lambda row: (
                f"{beyond_rules(row)}\n{row['best_script'] or ''}".rstrip()
            ),
            "gain (bits), about the map": lambda row: "\n".join(
                map(number, (row["total_gain"], row["specific_gain"]))
            ),
        },
    ),
    "scopes": (
        "In the scope",
        {
            "run": "run_id",
            "generation": "generation",
            "known already (γ)": lambda row: number(row["gamma"], 3),
            "parent": lambda row: short(row["parent_game_id"] or "– (initial)"),
        },
    ),
    "plays": (
        "Played",
        {
            "run": "run_id",
            "player": "policy_id",
            "purpose": "purpose",
            "plays": "plays",
            "mean score (bits)": lambda row: number(row["mean"]),
        },
    ),
}
"""Title and columns of the table of each kind of row."""


def show_game(sheet: Mapping[str, Any], console: Console) -> None:
    """The program, then a table for each kind of row there is."""
    game = sheet["game"]
    console.print(plain_text(f"Game {game['game_id']} ({game['dialect']}, {game['steps']} steps)"))
    console.print(plain_text(program(game["code"])))
    console.print(plain_text(f"  metadata {game['metadata_json']}"))
    for name, (title, columns) in GAME_TABLES.items():
        if sheet[name]:
            console.print(listing(title, sheet[name], columns))
    console.print(plain_text(LEGEND))
