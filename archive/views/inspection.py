"""What `python -m archive inspect` shows: gathered once, then printed for people or programs.

All that is known of one game is gathered in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from archive.errors import LookupFailedError
from archive.run import Row, Run, explanation, games, runs
from archive.schema import SCHEMA_VERSION, TABLES, ScopeRow, TaskId
from archive.statistics.curricula import gains_rows
from archive.statistics.programs import NAMES
from archive.statistics.rule import bounds_of
from archive.store.archive import Archive
from archive.text import interval, number, percent, plural
from archive.views.tables import (
    LEGEND,
    add,
    gains_tables,
    heading,
    judged,
    plain_text,
    program,
    short,
    table,
    terminal_tables,
)
from xgl.language.syntax import MAIN_PLAYER

if TYPE_CHECKING:
    from archive.verification import Verification

State = Mapping[str, Any]
"""The state of one run, as :func:`gather` gives it."""
Cells = tuple[object, ...]


def gather(run: Run) -> dict[str, Any]:
    """The state of a run with its newest ten decisions: `scopes` by number, `codes` by game
    id, `titles` (what a game pays for) and `accepted` (the decision that took each game into the
    scope) by game and role, `rows` by table.

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
        "accepted": {task_id.key: row for task_id, row in run.accepted.items()},
        "verdicts": run.verdict_counts(),
        "decisions": run.decisions[:-11:-1],
        "rows": {name: archive.count(name) for name in TABLES},
        "programs": {name: run.rows(name) for name in NAMES},
        "measures": run.rows("measures"),
        "curricula": gains_rows(run),
    }


def show(state: State, console: Console) -> None:
    """Prints the state: runs, scope, verdicts, decisions, tables."""
    view = table("Runs", "run", "seed", "code", "events (UTC)")
    for run in state["runs"]:
        events = "\n".join(f"{at:%Y-%m-%d %H:%M:%S} {event}" for event, at in run.events)
        add(view, run.run_id, run.seed, run.code_version or "unknown", events)
    console.print(view)
    if state["scopes"]:
        console.print(heading(f"Scope of run {state['run_id']}"))
        # As it stands, since wrapping many programs takes longer than reading them.
        console.out(plain_text(_scope(state)).plain)
    counts = ((name, f"{n:,}", f"{name}/*.parquet") for name, n in state["rows"].items() if n)
    decided = [*_verdicts_and_decisions(state)] if state["decisions"] else []
    own = (*decided, *terminal_tables(state["programs"]), *_results(state))
    for part in (*own, table("Tables", "table", "rows", "files", rows=counts)):
        console.print(part)
    if state["decisions"]:
        console.print(LEGEND)
    console.print(f"The tables are in {state['folder']}, schema {state['schema_version']}.")


def _results(state: State) -> Iterator[Table]:
    if state["measures"]:
        view = table("Measured players", "player", "game", "narms", "levels of")
        for row in state["measures"]:
            task = f"{short(row['game_id'])} ({row['role']})"
            add(view, row["policy_id"], task, interval(bounds_of(row, "narms")), row["base"])
        yield view
    gains = state["curricula"]
    tasks = [TaskId.of(row) for row in gains if row["game_id"]]
    yield from gains_tables(gains, {task: f"{short(task.game_id)} ({task.role})" for task in tasks})


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
    gains, decision = "", state["accepted"].get(member.task_id.key)
    if decision and decision["total_gain"] is not None:
        total, specific = number(decision["total_gain"]), number(decision["specific_gain"])
        gains = f"; training gains {total} bits a play, {specific} about the map"
        if decision["beyond_scripts"] is not None:
            lead = interval(bounds_of(decision, "beyond_scripts"))
            gains += f", {lead} above the best fixed rule, {decision['best_script']}"
    title = state["titles"].get(member.task_id.key, "")
    head = f"  {short(member.game_id)} ({member.role}) {title}: {origin}{gains}"
    return f"{head}\n{program(state['codes'][member.game_id])}"


def _verdicts_and_decisions(state: State) -> list[Table]:
    """Verdicts by reason; the latest decisions, with the lead over scripts where scripts played."""
    names = ("verdict", "reason", "count")
    counts = ([row[name] for name in names] for row in state["verdicts"])
    beyond = ["beyond fixed rules"] if any(row["best_script"] for row in state["decisions"]) else []
    columns = ("game", "verdict", "helps parent", "known already (γ)", *beyond)
    decisions = table("Latest decisions", *columns)
    for row in state["decisions"]:
        game = f"{short(row['game_id'])}\n({row['role']})"
        add(decisions, *[game, verdict_text(row), *judged(row)][: len(columns)])
    return [table("Verdicts by reason", *names, rows=counts), decisions]


def verdict_text(row: Mapping[str, Any]) -> str:
    """Verdict, reason and the plays that decided, a line each."""
    plays = f"{row['purpose']} plays" if row["purpose"] else "no scores"
    return f"{row['verdict']}\n{explanation(row)}\n({plays})"


_FITS = "Everything fits. Decisions were taken again; of other numbers only hashes were checked."


def show_verification(verification: Verification, console: Console) -> None:
    """Mismatches as tables, then what was checked and the verdict."""
    if faults := verification.faults:
        console.print(table("Does not fit", "where", "found", "expected", rows=faults))
    checked = {n.removesuffix("s") if c == 1 else n: c for n, c in verification.checked.items()}
    checks = ", ".join(f"{count:,} {name}" for name, count in checked.items() if count)
    console.print(f"{verification.folder}: checked {checks}.")
    for reason, count in verification.unchecked.items():
        console.print(f"{plural(count, 'decision')} not taken again: {reason}.")
    console.print(f"{plural(len(faults), 'fault')}." if faults else _FITS)


def gather_game(archive: Archive, game_id: str, role: str = "") -> dict[str, Any]:
    """Rows about one game, in any role or that which is named, over all runs: ``scopes`` once for
    each run, ``plays`` counted by policy, role and purpose with mean scores. Raises
    LookupFailedError for an unknown id, and for a role without a row."""
    game = games(archive, [game_id])[game_id]
    its: list[tuple[str, str, object]] = [("game_id", "=", game_id)]
    its += [("role", "=", role)] if role else []
    finetunes = archive.rows("finetunes", filters=its)
    stored = archive.adapters()
    for row in finetunes:
        row["adapter_stored"] = row["adapter_hash"] in stored
    keys = ["run_id", "policy_id", "role", "purpose"]
    groups = archive.table("scores", [*keys, "score"], its).group_by(keys, use_threads=False)
    counts = groups.aggregate([("score", "count"), ("score", "mean")])
    scopes = archive.rows("scopes", filters=its)
    members = {(row["run_id"], row["role"]): row for row in reversed(scopes)}
    tables = {
        "proposals": archive.rows("proposals", filters=its),
        "finetunes": finetunes,
        "decisions": archive.rows("decisions", filters=its),
        "scopes": list(members.values()),
        "plays": counts.rename_columns([*keys, "plays", "mean"]).to_pylist(),
    }
    if role and not any(tables.values()):
        raise LookupFailedError(f"game {game_id}: found nothing in the role {role}")
    return {"game": game, **tables}


def _proposed(row: Row) -> Cells:
    origin = row["run_id"], row["generation"], short(row["parent_game_id"])
    return *origin, row["sampler"], ", ".join(row["operators"]), row["outcome"]


def _finetuned(row: Row) -> Cells:
    curve, stored = row["curve"], "stored" if row["adapter_stored"] else "not stored"
    bits = f"{number(curve[0])} → {number(curve[-1])}" if curve else "–"
    effort = f"{row['share']:.0%}", row["steps"], f"{row['tokens']:,}"
    return f"{row['finetune_id']}{_seat(row)}", *effort, bits, stored


def _decided(row: Row) -> Cells:
    verdict = f"{row['verdict']}{_seat(row)}\n{explanation(row)}"
    *values, lead = judged(row)
    beyond = f"{lead}\n{row['best_script'] or ''}".rstrip()
    gains = f"{number(row['total_gain'])}\n{number(row['specific_gain'])}"
    return row["run_id"], row["generation"], verdict, *values, beyond, gains


def _in_scope(row: Row) -> Cells:
    place = row["run_id"], f"{row['generation']}{_seat(row)}"
    return *place, number(row["gamma"], 3), short(row["parent_game_id"] or "– (initial)")


def _played(row: Row) -> Cells:
    player = f"{row['policy_id']}{_seat(row)}"
    return row["run_id"], player, row["purpose"], row["plays"], number(row["mean"])


def _seat(row: Row) -> str:
    """The role of a row, where it is not the usual one."""
    return "" if row["role"] == MAIN_PLAYER else f" ({row['role']})"


_PROPOSAL = ("generation", "parent", "sampler", "operators", "outcome")
_TRAINING = ("of its budget", "steps", "tokens", "bits at start and end", "adapter")
_VALUES = ("helps parent", "known already", "beyond fixed rules", "gain (bits), about the map")
GAME_TABLES: Mapping[str, tuple[Callable[[Row], Cells], *tuple[str, ...]]] = {
    "proposals": (_proposed, "Proposed", "run", *_PROPOSAL),
    "finetunes": (_finetuned, "Fine-tuned", "player", *_TRAINING),
    "decisions": (_decided, "Decided", "run", "generation", "verdict", *_VALUES),
    "scopes": (_in_scope, "In the scope", "run", "generation", "known already (γ)", "parent"),
    "plays": (_played, "Played", "run", "player", "purpose", "plays", "mean score (bits)"),
}
"""Of each kind of rows about a game the cells of a row, the title and the columns."""


def show_game(sheet: Mapping[str, Any], console: Console) -> None:
    """The program, then a table for each kind of row there is."""
    game = sheet["game"]
    console.print(f"Game {game['game_id']} ({game['dialect']}, {game['steps']} steps)")
    console.print(plain_text(program(game["code"])))
    console.print(f"  metadata {game['metadata_json']}")
    for name, (cells, *heads) in GAME_TABLES.items():
        if sheet[name]:
            console.print(table(*heads, rows=map(cells, sheet[name])))
    console.print(LEGEND)
