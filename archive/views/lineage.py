"""Ancestors and descendants of a game: the chain of its parents, the tree below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.tree import Tree

from archive.run import Run, explanation
from archive.schema import Definition
from archive.text import number
from archive.views.tables import plain_text, short

Game = dict[str, Any]
"""One game with how it was made and judged."""


def gather(run: Run, game: str) -> dict[str, Any]:
    """``ancestors`` from the initial game down to the game itself; ``descendants`` below it,
    parents before children. Raises LookupFailedError for a game that the run neither began with nor
    decided on."""
    games = _games(run)
    game_id = run.find_game(game, games)
    ancestors, seen_ids = [games[game_id]], {game_id}
    while (parent := ancestors[0]["parent_game_id"]) in games and parent not in seen_ids:
        ancestors.insert(0, games[parent])
        seen_ids.add(parent)
    return {
        "run_id": run.run_id,
        "game_id": game_id,
        "ancestors": ancestors,
        "descendants": _descendants(games, game_id),
    }


def _descendants(games: Mapping[str, Game], game_id: str) -> list[Game]:
    children: dict[str | None, list[Game]] = {}
    for game in games.values():
        children.setdefault(game["parent_game_id"], []).append(game)
    descendants, waiting, seen_ids = [], [game_id], {game_id}
    while waiting:
        for child in children.get(waiting.pop(0), []):
            if child["game_id"] not in seen_ids:
                seen_ids.add(child["game_id"])
                descendants.append(child)
                waiting.append(child["game_id"])
    return descendants


def _games(run: Run) -> dict[str, Game]:
    """Every game of the run that was fine-tuned for a verdict or began it, by id."""
    codes = {row["game_id"]: row["code"] for row in run.rows("games", ["game_id", "code"])}
    columns = ["game_id", "sampler", "operators"]
    rows = run.rows("proposals", columns, [("outcome", "=", "candidate")])
    proposals = {row["game_id"]: row for row in rows}
    games = {}
    for row in (*run.rows("scopes", filters=[("scope", "=", 0)]), *run.decisions):
        game_id, is_decided = row["game_id"], "verdict" in row
        made = proposals.get(game_id, {}) if is_decided else {}
        games[game_id] = {
            "game_id": game_id,
            "parent_game_id": row["parent_game_id"] if is_decided else None,
            "generation": row["generation"] if is_decided else 0,
            "operators": made.get("operators", ()),
            "sampler": made.get("sampler"),
            "verdict": row.get("verdict", "initial"),
            "reason": explanation(row) if is_decided else None,
            "captured": row[Definition(row["definition"]).column] if is_decided else None,
            "gamma": row["gamma"] if is_decided else None,
            "code": codes.get(game_id, ""),
        }
    return games


def show(lineage: Mapping[str, Any], console: Console) -> None:
    """A tree: the chain of ancestors, then everything below the game."""
    nodes: dict[str, Tree] = {}
    root: Tree | None = None
    for game in (*lineage["ancestors"], *lineage["descendants"]):
        label = plain_text(_label(game, " ←" if game["game_id"] == lineage["game_id"] else ""))
        above = nodes.get(game["parent_game_id"] or "")
        nodes[game["game_id"]] = above.add(label) if above else Tree(label)
        root = root or nodes[game["game_id"]]
    if root is not None:
        console.print(root)


def _label(game: Game, mark: str) -> str:
    head = f"{short(game['game_id'])} {game['verdict']}{mark}"
    if game["verdict"] != "initial":
        origin = ", ".join(game["operators"]) or game["sampler"] or "unknown"
        numbers = f"captured {number(game['captured'])}, γ {number(game['gamma'])}"
        head = (
            f"{short(game['game_id'])} {game['verdict']} in generation {game['generation']} "
            f"({game['reason']}); {origin}; {numbers}{mark}"
        )
    return "\n".join([head, *(f"  {line}" for line in game["code"].splitlines())])
