"""Gains, C and V between games with their intervals, and the components that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from rich.console import Console

from archive.run import Run
from archive.schema import GainKind, TaskId
from archive.statistics.intervals import CONFIDENCE, Interval
from archive.statistics.matrix import Cell, TransferMatrix, links, transfer_matrix
from archive.text import plural
from archive.views.tables import add, finite, short, stacked, table

WIDE = 8
"""Games that a square table has room for."""
VALUES = {
    "gain": "Gain in bits: the row's fine-tuning on the column's game",
    "captured": "C: share of what training on the column's game gains there",
    "def37": "V (Def. 37): the gain over what the row's fine-tuning gains at home",
}
"""Values of a pair, with the titles of their tables."""
ABOUT = {
    GainKind.TOTAL: "",
    GainKind.SPECIFIC: " (about the map: lost when the same moves are scored on other texts)",
}


def read_matrix(
    run: Run, everything: bool, kind: GainKind | None = None, confidence: float = CONFIDENCE
) -> TransferMatrix:
    """The matrix by a ``kind`` of gain (None: what the run decides by). Games: the newest scope, or
    all fine-tuned, which a run without a scope shows anyway.

    Raises LookupFailedError if there is no such game.
    """
    games = tuple(run.policies)
    if run.scopes and not (games and everything):
        games = tuple(member.task_id for member in run.newest_scope[1])
    if not games:
        _ = run.newest_scope  # raises, with the kind of run that has a scope
    kind = kind or run.deciding_value[1]
    return transfer_matrix(run.plays, run.policies, games, games, kind, confidence)


def estimates(cell: Cell) -> dict[str, dict[str, float | None]]:
    """The values of a pair with one-sided bounds; None if undefined or unbounded."""
    return {
        name: {part: finite(getattr(interval, part)) for part in ("value", "low", "high")}
        for name, interval in cell.values._asdict().items()
    }


def gather(
    run: Run, everything: bool = False, kind: GainKind | None = None, confidence: float = CONFIDENCE
) -> dict[str, Any]:
    """All measured pairs; ``unmeasured``: those without common plays; ``shares``: for each game the
    share of the budget that its fine-tune had. Raises LookupFailedError."""
    matrix = read_matrix(run, everything, kind, confidence)
    shares = {row["finetune_id"]: row["share"] for row in run.finetunes}
    policies = [run.policies.get(task_id, ("",)) for task_id in matrix.sources]
    pairs = [
        {
            "source": source.key,
            "target": target.key,
            **estimates(cell),
            "purpose": cell.purpose,
            "plays": cell.plays,
        }
        for (source, target), cell in matrix.cells.items()
    ]
    return {
        "run_id": run.run_id,
        "games": _keys(matrix.sources),
        "shares": [shares.get(each[0], 1.0) for each in policies],
        "gain_kind": kind or run.deciding_value[1],
        "confidence": confidence,
        "pairs": pairs,
        "unmeasured": [_keys(pair) for pair in matrix.unmeasured_pairs()],
    }


def gather_components(run: Run, alpha: float) -> dict[str, Any]:
    """Links G1 → G2 iff the value of G1 on G2 by which the run decides is at least ``alpha``
    (Def. 54), what they reach, and what the ``initial`` scope reaches. Raises LookupFailedError."""
    definition = run.deciding_value[0]
    matrix = read_matrix(run, everything=False)
    initial = {member.task_id for member in run.scopes.get(0, ())}
    values = matrix.values(definition)
    edges, paths = links(values, alpha)

    def keys(chosen: Any) -> list[str]:
        return _keys(matrix.sources[place] for place in np.flatnonzero(chosen))

    start = np.array([task_id in initial for task_id in matrix.sources])
    others = values[~np.eye(len(values), dtype=bool)]
    return {
        "run_id": run.run_id,
        "alpha": alpha,
        "definition": definition,
        "games": [
            {"game": game.key, "downstream": keys(paths[place]), "upstream": keys(paths[:, place])}
            for place, game in enumerate(matrix.sources)
        ],
        "links": [_keys(matrix.sources[place] for place in edge) for edge in np.argwhere(edges)],
        "initial": keys(start),
        "downstream": keys(paths[start].any(axis=0)),
        "upstream": keys(paths[:, start].any(axis=1)),
        "unmeasured": int(np.isnan(others).sum()),
        "undefined": int((others == -np.inf).sum()),
    }


def _keys(task_ids: Iterable[TaskId]) -> list[str]:
    return [task_id.key for task_id in task_ids]


def show(matrix: Mapping[str, Any], console: Console) -> None:
    """Three square tables, or one line for each pair where there are too many games."""
    if len(matrix["games"]) > WIDE:
        view = table("Transfer", "source", "target", "gain (bits)", "C", "V", "plays")
        for pair in matrix["pairs"]:
            values = (_cell(pair, name) for name in VALUES)
            add(view, short(pair["source"]), short(pair["target"]), *values, pair["plays"])
        console.print(view)
    else:
        pairs = {(pair["source"], pair["target"]): pair for pair in matrix["pairs"]}
        for name, title in VALUES.items():
            view = table(title, "", *map(short, matrix["games"]))
            for source in matrix["games"]:
                cells = (_cell(pairs.get((source, target)), name) for target in matrix["games"])
                add(view, short(source), *cells)
            console.print(view)
    console.print(
        f"Run {matrix['run_id']}; {matrix['gain_kind']} gains{ABOUT[matrix['gain_kind']]}; "
        f"bounds one-sided at {matrix['confidence']:g}, over maps and plays. "
        f"{plural(len(matrix['unmeasured']), 'pair')} not measured (·); – is undefined, "
        "… unbounded, * from selection plays."
        + "".join(
            f" {short(game)} was fine-tuned on {share:.0%} of the budget."
            for game, share in zip(matrix["games"], matrix["shares"], strict=True)
            if share < 1
        )
    )


def _cell(pair: Mapping[str, Any] | None, name: str) -> str:
    if pair is None:
        return "·"
    mark = "*" if pair["purpose"] == "selection" and pair[name]["value"] is not None else ""
    return stacked(Interval(**pair[name])).replace("\n", f"{mark}\n")


def show_components(graph: Mapping[str, Any], console: Console) -> None:
    """For each game what it reaches and what reaches it."""
    down: dict[str, list[str]] = {game["game"]: [] for game in graph["games"]}
    for source, target in graph["links"]:
        down[source].append(short(target))
    title = f"Links where {graph['definition']} ≥ {graph['alpha']:g}"
    view = table(title, "game", "links to", "down", "up")
    for game in graph["games"]:
        below, above = len(game["downstream"]), len(game["upstream"])
        add(view, short(game["game"]), "\n".join(down[game["game"]]) or "–", below, above)
    console.print(view)
    console.print(
        f"Run {graph['run_id']}: the initial scope reaches "
        f"{plural(len(graph['downstream']), 'game')} of {len(graph['games'])} downstream, and "
        f"is reached by {len(graph['upstream'])}.\n"
        f"No link: {plural(graph['unmeasured'], 'pair')} not measured, "
        f"{graph['undefined']} undefined."
    )
