"""Gains, C and V between games with their intervals, and the components that they make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from archive.errors import LookupFailedError
from archive.query import deciding_value, find_run, run_config
from archive.schema import Definition, GainKind, TaskId
from archive.statistics.plays import read_run_plays
from archive.statistics.transfer_graph import transfer_graph
from archive.statistics.transfer_matrix import TransferMatrix, transfer_matrix
from archive.store.archive import Archive
from archive.views.tables import SHORT, add, counted, shown, table

WIDE = 8
"""Games that a square table has room for."""


@dataclass(frozen=True)
class Estimate:
    """An estimate with one-sided bounds; None where undefined or unbounded."""

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
    gain: Estimate
    captured: Estimate
    def37: Estimate
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
    """What is reached from one game by links downstream and upstream, itself included."""

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
class Choice:
    """Which run and games, made of which gains (None: those that the run decides by), and how
    sure bounds must be."""

    run_id: str | None
    everything: bool
    kind: GainKind | None
    confidence: float


@dataclass(frozen=True)
class Measured:
    """What a choice asks for; ``initial`` is the initial scope."""

    run_id: str
    kind: GainKind
    matrix: TransferMatrix
    initial: tuple[TaskId, ...]


def measured(archive: Archive, choice: Choice) -> Measured:
    """The matrix of a run. Games: the newest scope, or all fine-tuned.

    Raises LookupFailedError where there is no such game.
    """
    run_id = find_run(archive, choice.run_id).run_id
    found = read_run_plays(archive, run_id)
    games = found.finetuned if choice.everything else ()
    if not games and found.scopes:
        games = found.scopes[max(found.scopes)]
    if not games:
        raise LookupFailedError(f"run {run_id}: found no game in its scope, expected at least one")
    kind = choice.kind or deciding_value(run_config(archive, run_id))[1]
    matrix = transfer_matrix(found.plays, found.policies, games, games, kind, choice.confidence)
    return Measured(run_id, kind, matrix, found.scopes.get(0, ()))


def gather(archive: Archive, choice: Choice) -> Matrix:
    """The matrix of a run. Raises LookupFailedError."""
    asked = measured(archive, choice)
    matrix = asked.matrix
    pairs = [
        Pair(
            source[0],
            target[0],
            source[1],
            target[1],
            _number(found.values.gain),
            _number(found.values.captured),
            _number(found.values.def37),
            found.purpose,
            found.plays,
        )
        for (source, target), found in matrix.cells.items()
    ]
    missing = [(source[0], target[0]) for source, target in matrix.unmeasured()]
    names = [task_id.game_id for task_id in matrix.sources]
    return Matrix(asked.run_id, names, asked.kind, choice.confidence, pairs, missing)


def gather_components(
    archive: Archive, choice: Choice, alpha: float, definition: Definition
) -> Components:
    """Components of the games of a run. Raises LookupFailedError, and where α is not above 0."""
    if not alpha > 0:
        raise LookupFailedError(f"--alpha: found {alpha:g}, expected a number above 0")
    asked = measured(archive, choice)
    run_id, matrix, initial = asked.run_id, asked.matrix, asked.initial
    values = matrix.values(definition)
    graph = transfer_graph(matrix.sources, values, alpha)
    start = [task_id for task_id in matrix.sources if task_id in initial]
    down, up = graph.downstream(start), graph.upstream(start)
    apart = [(row, column) for row in range(len(values)) for column in range(len(values))]
    others = [values[pair] for pair in apart if pair[0] != pair[1]]
    return Components(
        run_id,
        alpha,
        definition,
        [
            Component(*task_id, _ids(graph.games, graph.downstream([task_id])),
                      _ids(graph.games, graph.upstream([task_id])))
            for task_id in graph.games
        ],
        [(source[0], target[0]) for source in graph.games for target in graph.down[source]],
        _ids(graph.games, frozenset(start)),
        _ids(graph.games, down),
        _ids(graph.games, up),
        len(down) == len(graph.games),
        [[task_id.game_id for task_id in component] for component in graph.strong()],
        sum(math.isnan(value) for value in others),
        sum(bool(value == -math.inf) for value in others),
    )  # fmt: skip


def _ids(games: Sequence[TaskId], chosen: frozenset[TaskId]) -> list[str]:
    return [task_id.game_id for task_id in games if task_id in chosen]


def _number(found: object) -> Estimate:
    parts = [getattr(found, name) for name in ("value", "low", "high")]
    return Estimate(*(part if part is not None and math.isfinite(part) else None for part in parts))


def show(matrix: Matrix, console: Console) -> None:
    """Three square tables, or one line for each pair where there are too many games."""
    if len(matrix.games) > WIDE:
        console.print(_long(matrix))
    else:
        pairs = {(pair.source, pair.target): pair for pair in matrix.pairs}
        titles = {
            "gain": "Gain in bits: the row's fine-tuning on the column's game",
            "captured": "C: share of what the column's own fine-tuning gains",
            "def37": "V (Def. 37): the gain over what the row's fine-tuning gains at home",
        }
        for name, title in titles.items():
            found = table(title, "", *(game[:SHORT] for game in matrix.games))
            for source in matrix.games:
                cells = [_cell(pairs.get((source, target)), name) for target in matrix.games]
                add(found, source[:SHORT], *cells)
            console.print(found)
    console.print(
        shown(
            f"Run {matrix.run_id}; {matrix.gain_kind} gains; bounds one-sided at "
            f"{matrix.confidence:g}, over evaluation seeds. "
            f"{counted(len(matrix.unmeasured), 'pair')} not measured (·); – is undefined, "
            "? unbounded, * from selection plays."
        )
    )


def _cell(pair: Pair | None, name: str) -> str:
    if pair is None:
        return "·"
    found: Estimate = getattr(pair, name)
    if found.value is None:
        return "–"
    mark = "*" if pair.purpose == "selection" else ""
    low, high = ("?" if part is None else f"{part:.2f}" for part in (found.low, found.high))
    return f"{found.value:.2f}{mark}\n[{low}, {high}]"


def _long(matrix: Matrix) -> object:
    found = table("Transfer", "source", "target", "gain (bits)", "C", "V", "plays")
    for pair in matrix.pairs:
        cells = [_cell(pair, name) for name in ("gain", "captured", "def37")]
        add(found, pair.source[:SHORT], pair.target[:SHORT], *cells, pair.plays)
    return found


def show_components(found: Components, console: Console) -> None:
    """For each game what it reaches and what reaches it, then the sets that hold together."""
    rows = table(
        f"Links where {found.definition} ≥ {found.alpha:g}", "game", "links to", "down", "up"
    )
    down: Mapping[str, list[str]] = {each.game_id: [] for each in found.games}
    for source, target in found.links:
        down[source].append(target[:SHORT])
    for each in found.games:
        reach = (len(each.downstream), len(each.upstream))
        add(rows, each.game_id[:SHORT], "\n".join(down[each.game_id]) or "–", *reach)
    console.print(rows)
    groups = "; ".join(", ".join(g[:SHORT] for g in group) for group in found.strong)
    whole = "all games" if found.covered else counted(len(found.downstream), "game")
    console.print(
        shown(
            f"Run {found.run_id}: the initial scope reaches {whole} of {len(found.games)} "
            f"downstream, and is reached by {len(found.upstream)}.\n"
            f"Reach one another: {groups}.\n"
            f"No link: {counted(found.unmeasured, 'pair')} not measured, "
            f"{found.undefined} undefined."
        )
    )
