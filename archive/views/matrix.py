"""Gains, C and V between games with their intervals, and the components that they make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console

from archive.errors import LookupFailedError
from archive.run import Run
from archive.schema import Definition, GainKind, TaskId
from archive.statistics.values.transfer_graph import TransferGraph, transfer_graph
from archive.statistics.values.transfer_matrix import TransferMatrix, transfer_matrix
from archive.text import plural
from archive.views.tables import SHORT, add, plain_text, stacked, table

WIDE = 8
"""Games that a square table has room for."""


@dataclass(frozen=True)
class BoundedEstimate:
    """An estimate with one-sided bounds; None if undefined or unbounded."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Pair:
    """What fine-tuning on ``source`` does for ``target``; gains in bits."""

    source: str
    target: str
    source_role: str
    target_role: str
    gain: BoundedEstimate
    captured: BoundedEstimate
    def37: BoundedEstimate
    purpose: str
    plays: int


@dataclass(frozen=True)
class Matrix:
    """All measured pairs; ``unmeasured`` are the (source, target) without common plays."""

    run_id: str
    games: Sequence[str]
    gain_kind: str
    confidence: float
    pairs: Sequence[Pair]
    unmeasured: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Component:
    """The games reached from one game by links downstream and upstream, itself included."""

    game_id: str
    role: str
    downstream: Sequence[str]
    upstream: Sequence[str]


@dataclass(frozen=True)
class Components:
    """Links G1 → G2 iff the value of G1 on G2 is at least ``alpha`` (Def. 54).

    ``covered`` says whether the downstream component of the initial scope is everything;
    ``strong`` are the sets of games that reach one another.
    """

    run_id: str
    alpha: float
    definition: str
    games: Sequence[Component]
    links: Sequence[tuple[str, str]]
    initial: Sequence[str]
    downstream: Sequence[str]
    upstream: Sequence[str]
    covered: bool
    strong: Sequence[Sequence[str]]
    unmeasured: int
    undefined: int


@dataclass(frozen=True)
class MatrixChoice:
    """Which games, by which gain (None: the one that the run decides by), and the confidence of
    bounds."""

    everything: bool
    kind: GainKind | None
    confidence: float


def read_matrix(run: Run, choice: MatrixChoice) -> tuple[GainKind, TransferMatrix]:
    """The gain and the matrix that a choice asks for. Games: the newest scope, or all fine-tuned,
    which a run without a scope shows anyway.

    Raises LookupFailedError if there is no such game.
    """
    games = tuple(run.policies)
    if run.scopes and not (games and choice.everything):
        games = tuple(member.task_id for member in run.newest_scope[1])
    if not games:
        _ = run.newest_scope  # raises, with the kind of run that has a scope
    kind = choice.kind or run.deciding_value[1]
    return kind, transfer_matrix(run.plays, run.policies, games, games, kind, choice.confidence)


def gather(run: Run, choice: MatrixChoice) -> Matrix:
    """The matrix of a run. Raises LookupFailedError."""
    kind, matrix = read_matrix(run, choice)
    pairs = [
        Pair(
            source.game_id,
            target.game_id,
            source.role,
            target.role,
            _number(cell.values.gain),
            _number(cell.values.captured),
            _number(cell.values.def37),
            cell.purpose,
            cell.plays,
        )
        for (source, target), cell in matrix.cells.items()
    ]
    missing = [(source.game_id, target.game_id) for source, target in matrix.unmeasured_pairs()]
    names = [task_id.game_id for task_id in matrix.sources]
    return Matrix(run.run_id, names, kind, choice.confidence, pairs, missing)


def gather_components(
    run: Run, choice: MatrixChoice, alpha: float, definition: Definition
) -> Components:
    """Components of the games of a run. Raises LookupFailedError, and where α is not above 0."""
    if not alpha > 0:
        raise LookupFailedError(f"--alpha: found {alpha:g}, expected a number above 0")
    _, matrix = read_matrix(run, choice)
    initial = {member.task_id for member in run.scopes.get(0, ())}
    values = matrix.values(definition)
    graph = transfer_graph(matrix.sources, values, alpha)
    start = [task_id for task_id in matrix.sources if task_id in initial]
    down, up = graph.downstream(start), graph.upstream(start)
    others = values[~np.eye(len(values), dtype=bool)]
    return Components(
        run.run_id,
        alpha,
        definition,
        [_component(graph, task_id) for task_id in graph.games],
        [
            (source.game_id, target.game_id)
            for source in graph.games
            for target in graph.down[source]
        ],
        _ids(graph.games, frozenset(start)),
        _ids(graph.games, down),
        _ids(graph.games, up),
        len(down) == len(graph.games),
        [[task_id.game_id for task_id in component] for component in graph.strong()],
        int(np.isnan(others).sum()),
        int((others == -np.inf).sum()),
    )


def _component(graph: TransferGraph, task_id: TaskId) -> Component:
    down, up = graph.downstream([task_id]), graph.upstream([task_id])
    return Component(*task_id, _ids(graph.games, down), _ids(graph.games, up))


def _ids(games: Sequence[TaskId], members: frozenset[TaskId]) -> list[str]:
    return [task_id.game_id for task_id in games if task_id in members]


def _number(interval: object) -> BoundedEstimate:
    parts = [getattr(interval, name) for name in ("value", "low", "high")]
    return BoundedEstimate(
        *(part if part is not None and math.isfinite(part) else None for part in parts)
    )


def show(matrix: Matrix, console: Console) -> None:
    """Three square tables, or one line for each pair where there are too many games."""
    if len(matrix.games) > WIDE:
        console.print(_pair_table(matrix))
    else:
        pairs = {(pair.source, pair.target): pair for pair in matrix.pairs}
        titles = {
            "gain": "Gain in bits: the row's fine-tuning on the column's game",
            "captured": "C: share of what the column's own fine-tuning gains",
            "def37": "V (Def. 37): the gain over what the row's fine-tuning gains at home",
        }
        for name, title in titles.items():
            shown_table = table(title, "", *(game[:SHORT] for game in matrix.games))
            for source in matrix.games:
                cells = [_cell(pairs.get((source, target)), name) for target in matrix.games]
                add(shown_table, source[:SHORT], *cells)
            console.print(shown_table)
    console.print(
        plain_text(
            f"Run {matrix.run_id}; {matrix.gain_kind} gains; bounds one-sided at "
            f"{matrix.confidence:g}, over evaluation seeds. "
            f"{plural(len(matrix.unmeasured), 'pair')} not measured (·); – is undefined, "
            "… unbounded, * from selection plays."
        )
    )


def _cell(pair: Pair | None, name: str) -> str:
    if pair is None:
        return "·"
    estimate: BoundedEstimate = getattr(pair, name)
    marked = pair.purpose == "selection" and estimate.value is not None
    return stacked(estimate).replace("\n", "*\n" if marked else "\n")


def _pair_table(matrix: Matrix) -> object:
    rows = table("Transfer", "source", "target", "gain (bits)", "C", "V", "plays")
    for pair in matrix.pairs:
        cells = [_cell(pair, name) for name in ("gain", "captured", "def37")]
        add(rows, pair.source[:SHORT], pair.target[:SHORT], *cells, pair.plays)
    return rows


def show_components(graph: Components, console: Console) -> None:
    """For each game what it reaches and what reaches it, then the sets that reach one another."""
    rows = table(
        f"Links where {graph.definition} ≥ {graph.alpha:g}",
        "game",
        "links to",
        "down",
        "up",
    )
    down: Mapping[str, list[str]] = {component.game_id: [] for component in graph.games}
    for source, target in graph.links:
        down[source].append(target[:SHORT])
    for component in graph.games:
        reach = (len(component.downstream), len(component.upstream))
        add(rows, component.game_id[:SHORT], "\n".join(down[component.game_id]) or "–", *reach)
    console.print(rows)
    groups = "; ".join(", ".join(g[:SHORT] for g in group) for group in graph.strong)
    whole = "all games" if graph.covered else plural(len(graph.downstream), "game")
    console.print(
        plain_text(
            f"Run {graph.run_id}: the initial scope reaches {whole} of {len(graph.games)} "
            f"downstream, and is reached by {len(graph.upstream)}.\n"
            f"Reach one another: {groups}.\n"
            f"No link: {plural(graph.unmeasured, 'pair')} not measured, "
            f"{graph.undefined} undefined."
        )
    )
