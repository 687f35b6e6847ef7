"""All that is known of one game, and its line of descent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.tree import Tree

from archive.errors import LookupFailedError
from archive.run import Row, Run, explanation, games
from archive.schema import SCRIPT_POLICY, Definition, TaskId
from archive.statistics.rule import bounds_of
from archive.store.archive import Archive
from archive.text import number
from archive.views.tables import LEGEND, listing, plain_text, program, short, stacked


def gather(archive: Archive, game_id: str) -> dict[str, Any]:
    """Rows about one game, over all runs: ``scopes`` and ``children`` once for each run, ``plays``
    counted by policy and purpose with mean scores, ``scripts`` beside the game's fine-tunes. Raises
    LookupFailedError for an id that no game has."""
    game = games(archive, [game_id])[game_id]
    its: list[tuple[str, str, object]] = [("game_id", "=", game_id)]
    finetunes = archive.rows("finetunes", filters=its)
    for row in finetunes:
        row["adapter_stored"] = row["adapter_hash"] in archive.adapters()
    plays = _plays(archive, its)
    has_scripts = any(row["policy_id"].startswith(SCRIPT_POLICY) for row in plays)
    children = archive.rows("scopes", filters=[("parent_game_id", "=", game_id)])
    return {
        "game": game,
        "proposals": archive.rows("proposals", filters=its),
        "finetunes": finetunes,
        "decisions": archive.rows("decisions", filters=its),
        "scopes": _unique_members(archive.rows("scopes", filters=its)),
        "children": _unique_members(children),
        "plays": plays,
        "scripts": _script_comparisons(archive, game_id) if has_scripts else (),
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


def _script_comparisons(archive: Archive, game_id: str) -> list[dict[str, Any]]:
    """Comparisons of each run that played scripts, a decision's as it holds them; what they need
    loads only here."""
    from archive.statistics.scripts import beyond_scripts, comparison_of, script_columns

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


# -- for people ------------------------------------------------------------------------------------


def _curve(row: Row) -> str:
    curve = row["curve"]
    return f"{number(curve[0])} → {number(curve[-1])}" if curve else "–"


def _bounds(name: str) -> Callable[[Row], str]:
    return lambda row: stacked(bounds_of(row, name))


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
            "helps parent": lambda row: _bounds(Definition(row["definition"]).column)(row),
            "known already": _bounds("gamma"),
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
    "scripts": (
        "Beside fixed rules (bits a play)",
        {
            "run": "run_id",
            "on": "purpose",
            "plays": "script_plays",
            "best rule": "best_script",
            "gains": lambda row: number(row["script_gain"]),
            "training is beyond": _bounds("beyond_scripts"),
            "about the map": _bounds("specific_beyond_scripts"),
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


# -- ancestors and descendants of a game -----------------------------------------------------------

Game = dict[str, Any]
"""One game with how it was made and judged."""


def gather_lineage(run: Run, game: str) -> dict[str, Any]:
    """``ancestors`` from the initial game down to the game itself; ``descendants`` below it,
    parents before children. A game with several seats is taken in the first, or in that of
    ``GAME:ROLE``. Raises LookupFailedError for a game that the run neither began with nor decided
    on, and for a seat that it has not."""
    members = _games(run)
    name, colon, role = game.rpartition(":")
    game_id = run.find_game(name if colon else game, [each.game_id for each in members])
    seats = [
        each for each in members if each.game_id == game_id and (not colon or each.role == role)
    ]
    if not seats:
        roles = ", ".join(each.role for each in members if each.game_id == game_id)
        raise LookupFailedError(f"found no {role} of {name}, expected one of {roles}")
    ancestors, seen = [members[seats[0]]], {seats[0]}
    while (parent := _parent(ancestors[0])) in members and parent not in seen:
        ancestors.insert(0, members[parent])
        seen.add(parent)
    return {
        "run_id": run.run_id,
        "game_id": game_id,
        "role": seats[0].role,
        "ancestors": ancestors,
        "descendants": _descendants(members, seats[0]),
    }


def _parent(game: Game) -> TaskId:
    """A game's parent in its role; of a game without one a name that no game has."""
    return TaskId(game["parent_game_id"] or "", game["parent_role"] or "")


def _descendants(games: Mapping[TaskId, Game], task_id: TaskId) -> list[Game]:
    children: dict[TaskId, list[Game]] = {}
    for game in games.values():
        children.setdefault(_parent(game), []).append(game)
    descendants, waiting, seen = [], [task_id], {task_id}
    while waiting:
        for child in children.get(waiting.pop(0), []):
            if (child_id := TaskId.of(child)) not in seen:
                seen.add(child_id)
                descendants.append(child)
                waiting.append(child_id)
    return descendants


def _games(run: Run) -> dict[TaskId, Game]:
    """Every game of the run that was fine-tuned for a verdict or began it, by game and role."""
    codes = {row["game_id"]: row["code"] for row in run.rows("games", ["game_id", "code"])}
    columns = ["game_id", "role", "sampler", "operators"]
    rows = run.rows("proposals", columns, [("outcome", "=", "candidate")])
    proposals = {TaskId.of(row): row for row in rows}
    games = {}
    for row in (*run.rows("scopes", filters=[("scope", "=", 0)]), *run.decisions):
        task_id, is_decided = TaskId.of(row), "verdict" in row
        made = proposals.get(task_id, {}) if is_decided else {}
        games[task_id] = {
            "game_id": task_id.game_id,
            "role": task_id.role,
            "parent_game_id": row["parent_game_id"] if is_decided else None,
            "parent_role": row["parent_role"] if is_decided else None,
            "generation": row["generation"] if is_decided else 0,
            "operators": made.get("operators", ()),
            "sampler": made.get("sampler"),
            "verdict": row.get("verdict", "initial"),
            "reason": explanation(row) if is_decided else None,
            "captured": row[Definition(row["definition"]).column] if is_decided else None,
            "gamma": row["gamma"] if is_decided else None,
            "code": codes.get(task_id.game_id, ""),
        }
    return games


def show_lineage(lineage: Mapping[str, Any], console: Console) -> None:
    """A tree: the chain of ancestors, then everything below the game."""
    nodes: dict[TaskId, Tree] = {}
    games = (*lineage["ancestors"], *lineage["descendants"])
    several = len({game["role"] for game in games}) > 1
    root: Tree | None = None
    for game in games:
        task_id = TaskId.of(game)
        is_asked = task_id == TaskId(lineage["game_id"], lineage["role"])
        name = f"{short(game['game_id'])}{f' ({task_id.role})' if several else ''}"
        label = plain_text(_label(game, name, " ←" if is_asked else ""))
        above = nodes.get(_parent(game))
        nodes[task_id] = above.add(label) if above else Tree(label)
        root = root or nodes[task_id]
    if root is not None:
        console.print(root)


def _label(game: Game, name: str, mark: str) -> str:
    head = f"{name} {game['verdict']}{mark}"
    if game["verdict"] != "initial":
        origin = ", ".join(game["operators"]) or game["sampler"] or "unknown"
        numbers = f"helps parent {number(game['captured'])}, known already {number(game['gamma'])}"
        head = (
            f"{name} {game['verdict']} in generation {game['generation']} "
            f"({game['reason']}); {origin}; {numbers}{mark}"
        )
    return "\n".join([head, *(f"  {line}" for line in game["code"].splitlines())])
