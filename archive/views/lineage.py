"""Ancestors and descendants of a game: the chain of its parents, the tree below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.tree import Tree

from archive.run import Row, Run, explanation
from archive.schema import Definition
from archive.text import number
from archive.views.tables import SHORT, plain_text


@dataclass(frozen=True)
class Descent:
    """One game with how it was made and judged; None if it was not (an initial game)."""

    game_id: str
    parent_game_id: str | None
    generation: int
    operators: Sequence[str]
    sampler: str | None
    verdict: str
    reason: str | None
    captured: float | None
    gamma: float | None
    code: str


@dataclass(frozen=True)
class Lineage:
    """``ancestors`` from the initial game down to the game itself; ``descendants`` below it,
    parents before children."""

    run_id: str
    game_id: str
    ancestors: Sequence[Descent]
    descendants: Sequence[Descent]


def gather(run: Run, game: str) -> Lineage:
    """Raises LookupFailedError for a game that the run neither began with nor decided on."""
    descents = _descents(run)
    game_id = run.find_game(game, descents)
    ancestors = [descents[game_id]]
    seen_ids = {game_id}
    while (parent := ancestors[0].parent_game_id) in descents and parent not in seen_ids:
        assert parent is not None
        ancestors.insert(0, descents[parent])
        seen_ids.add(parent)
    return Lineage(run.run_id, game_id, ancestors, _descendants(descents, game_id))


def _descendants(descents: Mapping[str, Descent], game_id: str) -> list[Descent]:
    children: dict[str | None, list[Descent]] = {}
    for descent in descents.values():
        children.setdefault(descent.parent_game_id, []).append(descent)
    descendants, waiting, seen_ids = [], [game_id], {game_id}
    while waiting:
        for child in children.get(waiting.pop(0), []):
            if child.game_id not in seen_ids:
                seen_ids.add(child.game_id)
                descendants.append(child)
                waiting.append(child.game_id)
    return descendants


def _descents(run: Run) -> dict[str, Descent]:
    """Every game of the run that was fine-tuned for a verdict or began it, by id."""
    codes = {row["game_id"]: row["code"] for row in run.rows("games", ["game_id", "code"])}
    columns = ["game_id", "sampler", "operators"]
    rows = run.rows("proposals", columns, [("outcome", "=", "candidate")])
    proposals = {row["game_id"]: row for row in rows}
    initial = run.rows("scopes", filters=[("scope", "=", 0)])
    descents = {row["game_id"]: _from_scope(row, codes) for row in initial}
    for row in run.decisions:
        descents[row["game_id"]] = _from_decision(row, proposals.get(row["game_id"]), codes)
    return descents


def _from_scope(row: Row, codes: Mapping[str, str]) -> Descent:
    code = codes.get(row["game_id"], "")
    return Descent(row["game_id"], None, 0, (), None, "initial", None, None, None, code)


def _from_decision(row: Row, proposal: Row | None, codes: Mapping[str, str]) -> Descent:
    value = Definition(row["definition"]).column
    return Descent(
        game_id=row["game_id"],
        parent_game_id=row["parent_game_id"],
        generation=row["generation"],
        operators=proposal["operators"] if proposal else (),
        sampler=proposal["sampler"] if proposal else None,
        verdict=row["verdict"],
        reason=explanation(row),
        captured=row[value],
        gamma=row["gamma"],
        code=codes.get(row["game_id"], ""),
    )


def show(lineage: Lineage, console: Console) -> None:
    """A tree: the chain of ancestors, then everything below the game."""
    nodes: dict[str, Tree] = {}
    root: Tree | None = None
    for descent in (*lineage.ancestors, *lineage.descendants):
        label = plain_text(_label(descent, descent.game_id == lineage.game_id))
        above = nodes.get(descent.parent_game_id or "")
        nodes[descent.game_id] = above.add(label) if above else Tree(label)
        root = root or nodes[descent.game_id]
    if root is not None:
        console.print(root)


def _label(descent: Descent, itself: bool) -> str:
    mark = " ←" if itself else ""
    if descent.verdict == "initial":
        head = f"{descent.game_id[:SHORT]} initial{mark}"
    else:
        origin = ", ".join(descent.operators) or descent.sampler or "unknown"
        numbers = f"captured {number(descent.captured)}, γ {number(descent.gamma)}"
        head = (
            f"{descent.game_id[:SHORT]} {descent.verdict} in generation {descent.generation} "
            f"({descent.reason}); {origin}; {numbers}{mark}"
        )
    return "\n".join([head, *(f"  {line}" for line in descent.code.splitlines())])
