"""All that is known of one game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from archive.run import Run, explanation, games
from archive.schema import SCRIPT_POLICY, Definition, TaskId
from archive.statistics.decisions.decision_rule import bounds_of
from archive.store.archive import Archive
from archive.text import number
from archive.views.tables import SHORT, add, plain_text, program, stacked, table

Row = Mapping[str, Any]


@dataclass(frozen=True)
class GameHistory:
    """Rows about one game, over all runs of the archive; ``scopes`` has the first row of
    each run that holds it, ``plays`` counts plays by policy and purpose, with mean scores."""

    game: Row
    proposals: Sequence[Row]
    finetunes: Sequence[Row]
    decisions: Sequence[Row]
    scopes: Sequence[Row]
    children: Sequence[Row]
    plays: Sequence[Row]
    scripts: Sequence[Row]
    """For each run, role and purpose the game's fine-tunes, compared with scripted players."""


def gather(archive: Archive, game_id: str) -> GameHistory:
    """Raises LookupFailedError for an id that no game has."""
    game = games(archive, [game_id])[game_id]
    its: list[tuple[str, str, object]] = [("game_id", "=", game_id)]
    finetunes = archive.rows("finetunes", filters=its)
    for row in finetunes:
        row["adapter_stored"] = row["adapter_hash"] in archive.adapters()
    plays = _plays(archive, its)
    has_scripts = any(row["policy_id"].startswith(SCRIPT_POLICY) for row in plays)
    return GameHistory(
        game=game,
        proposals=archive.rows("proposals", filters=its),
        finetunes=finetunes,
        decisions=archive.rows("decisions", filters=its),
        scopes=_unique_members(archive.rows("scopes", filters=its)),
        children=_unique_members(
            archive.rows("scopes", filters=[("parent_game_id", "=", game_id)])
        ),
        plays=plays,
        scripts=_script_comparisons(archive, game_id) if has_scripts else (),
    )


def _unique_members(rows: Sequence[Row]) -> list[Row]:
    """Each member once for each run."""
    members: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        members.setdefault((row["run_id"], row["game_id"], row["role"]), row)
    return list(members.values())


def _plays(archive: Archive, its: list[tuple[str, str, object]]) -> list[dict[str, Any]]:
    keys = ["run_id", "policy_id", "purpose"]
    scores = archive.table("scores", [*keys, "score"], its)
    groups = scores.group_by(keys, use_threads=False).aggregate(
        [("score", "count"), ("score", "mean")]
    )
    return [
        {**{key: row[key] for key in keys}, "plays": row["score_count"], "mean": row["score_mean"]}
        for row in groups.to_pylist()
    ]


def _script_comparisons(archive: Archive, game_id: str) -> list[dict[str, Any]]:
    """Comparisons of each run that played scripts, a decision's as it holds them; what they need
    loads only here."""
    from archive.statistics.decisions.scripts import beyond_scripts, script_columns
    from archive.statistics.decisions.shown import comparison_of

    rows = []
    for run in Run.all(archive):
        played = (key for key in run.plays if key.scripted and key.task_id.game_id == game_id)
        for task_id, purpose in dict.fromkeys((key.task_id, key.purpose) for key in played):
            decided = (r for r in run.decisions if TaskId.of(r) == task_id)
            comparisons = [comparison_of(row) for row in decided if row["purpose"] == purpose]
            policies = run.policies.get(task_id, ())
            comparison = next(filter(None, comparisons), None) or beyond_scripts(
                run.plays, policies, task_id, purpose
            )
            if comparison is not None:
                where = {"run_id": run.run_id, "role": task_id.role, "purpose": purpose}
                rows.append({**where, **script_columns(comparison)})
    return rows


def show(sheet: GameHistory, console: Console) -> None:
    """The program, then a table for each kind of row there is."""
    game = sheet.game
    console.print(plain_text(f"Game {game['game_id']} ({game['dialect']}, {game['steps']} steps)"))
    console.print(plain_text(program(game["code"])))
    console.print(plain_text(f"  metadata {game['metadata_json']}"))
    for rows, make in (
        (sheet.proposals, _proposals),
        (sheet.finetunes, _finetunes),
        (sheet.decisions, _decisions),
        (sheet.scopes, _scopes),
        (sheet.children, _children),
        (sheet.plays, _play_table),
        (sheet.scripts, _script_table),
    ):
        if rows:
            console.print(make(rows))


def _proposals(rows: Sequence[Row]) -> Any:
    view = table("Proposed", "run", "gen", "parent", "sampler", "operators", "outcome")
    for row in rows:
        cells = (row["run_id"], row["generation"], (row["parent_game_id"] or "–")[:SHORT])
        add(view, *cells, row["sampler"], ", ".join(row["operators"]), row["outcome"])
    return view


def _finetunes(rows: Sequence[Row]) -> Any:
    view = table("Fine-tuned", "policy", "steps", "tokens", "bits at start and end", "adapter")
    for row in rows:
        curve = row["curve"]
        ends = f"{number(curve[0])} → {number(curve[-1])}" if curve else "–"
        adapter = "stored" if row["adapter_stored"] else "not stored"
        add(view, row["finetune_id"], row["steps"], f"{row['tokens']:,}", ends, adapter)
    return view


def _decisions(rows: Sequence[Row]) -> Any:
    gain = "gain (bits), about the map"
    view = table("Decided", "run", "gen", "verdict", "captured", "γ", gain)
    for row in rows:
        value = Definition(row["definition"]).column
        bounds = stacked(bounds_of(row, value))
        most = stacked(bounds_of(row, "gamma"))
        verdict = f"{row['verdict']}\n{explanation(row)}"
        gains = f"{number(row['total_gain'])}\n{number(row['specific_gain'])}"
        add(view, row["run_id"], row["generation"], verdict, bounds, most, gains)
    return view


def _scopes(rows: Sequence[Row]) -> Any:
    view = table("In the scope", "run", "generation", "γ when accepted", "parent")
    for row in rows:
        parent = (row["parent_game_id"] or "– (initial)")[:SHORT]
        add(view, row["run_id"], row["generation"], number(row["gamma"], 3), parent)
    return view


def _children(rows: Sequence[Row]) -> Any:
    view = table("Accepted from it", "run", "generation", "game", "γ")
    for row in rows:
        child = row["game_id"][:SHORT]
        add(view, row["run_id"], row["generation"], child, number(row["gamma"], 3))
    return view


def _play_table(rows: Sequence[Row]) -> Any:
    view = table("Played", "run", "policy", "purpose", "plays", "mean score (bits)")
    for row in rows:
        add(
            view,
            row["run_id"],
            row["policy_id"],
            row["purpose"],
            row["plays"],
            number(row["mean"]),
        )
    return view


def _script_table(rows: Sequence[Row]) -> Any:
    """How far training is beyond every scripted player, in all and about the map."""
    columns = ("run", "on", "plays", "best script", "gains", "training is beyond", "about the map")
    view = table("Beside scripted players (bits a play)", *columns)
    for row in rows:
        leads = (
            stacked(bounds_of(row, name)) for name in ("beyond_scripts", "specific_beyond_scripts")
        )
        where = (row["run_id"], row["purpose"], row["script_plays"])
        add(view, *where, row["best_script"], number(row["script_gain"]), *leads)
    return view
