"""All that is known of one game."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console

from archive.run import Row, explanation, games
from archive.schema import Definition
from archive.statistics.rule import bounds_of
from archive.store.archive import Archive
from archive.text import number
from archive.views.tables import LEGEND, listing, plain_text, program, short, stacked


def gather(archive: Archive, game_id: str) -> dict[str, Any]:
    """Rows about one game, over all runs: ``scopes`` and ``children`` once for each run, ``plays``
    counted by policy and purpose with mean scores. Raises LookupFailedError for an id that no game
    has."""
    game = games(archive, [game_id])[game_id]
    its: list[tuple[str, str, object]] = [("game_id", "=", game_id)]
    finetunes = archive.rows("finetunes", filters=its)
    for row in finetunes:
        row["adapter_stored"] = row["adapter_hash"] in archive.adapters()
    children = archive.rows("scopes", filters=[("parent_game_id", "=", game_id)])
    return {
        "game": game,
        "proposals": archive.rows("proposals", filters=its),
        "finetunes": finetunes,
        "decisions": archive.rows("decisions", filters=its),
        "scopes": _unique_members(archive.rows("scopes", filters=its)),
        "children": _unique_members(children),
        "plays": _plays(archive, its),
    }


def _unique_members(rows: Sequence[Row]) -> list[Row]:
    """Each member once for each run."""
    members: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        members.setdefault((row["run_id"], row["game_id"], row["role"]), row)
    return list(members.values())


def _plays(archive: Archive, its: list[tuple[str, str, object]]) -> list[dict[str, Any]]:
    keys = ["run_id", "policy_id", "purpose"]
    groups = archive.table("scores", [*keys, "score"], its).group_by(keys, use_threads=False)
    counts = groups.aggregate([("score", "count"), ("score", "mean")])
    return counts.rename_columns([*keys, "plays", "mean"]).to_pylist()


# -- for people ------------------------------------------------------------------------------------


def _curve(row: Row) -> str:
    curve = row["curve"]
    return f"{number(curve[0])} → {number(curve[-1])}" if curve else "–"


TABLES: Mapping[str, tuple[str, Mapping[str, str | Callable[[Row], object]]]] = {
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
            "helps parent": lambda row: stacked(
                bounds_of(row, Definition(row["definition"]).column)
            ),
            "known already": lambda row: stacked(bounds_of(row, "gamma")),
            "beyond fixed rules": lambda row: (
                f"{stacked(bounds_of(row, 'beyond_scripts'))}\n{row['best_script'] or ''}".rstrip()
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
    "children": (
        "Accepted from it",
        {
            "run": "run_id",
            "generation": "generation",
            "game": lambda row: short(row["game_id"]),
            "known already (γ)": lambda row: number(row["gamma"], 3),
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


def show(sheet: Mapping[str, Any], console: Console) -> None:
    """The program, then a table for each kind of row there is."""
    game = sheet["game"]
    console.print(plain_text(f"Game {game['game_id']} ({game['dialect']}, {game['steps']} steps)"))
    console.print(plain_text(program(game["code"])))
    console.print(plain_text(f"  metadata {game['metadata_json']}"))
    for name, (title, columns) in TABLES.items():
        if sheet[name]:
            console.print(listing(title, sheet[name], columns))
    console.print(plain_text(LEGEND))
