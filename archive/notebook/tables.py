"""The tables behind a run's data frames, each made of archived rows, and Arrow tables as what the
reader works with: pandas, Polars, or Arrow itself."""

from __future__ import annotations

from dataclasses import asdict
from importlib.util import find_spec
from itertools import product, zip_longest
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa

from archive.errors import LookupFailedError
from archive.run import Run
from archive.schema import GainKind
from archive.statistics.covers import CoverQuestion, scope_cover
from archive.views import matrix as views

_BOUNDED = [f"{value}{part}" for value in views.VALUES for part in ("", "_low", "_high")]
_MATRIX = pa.schema(
    [(name, pa.string()) for name in ("source", "target", "source_role", "target_role")]
    + [(name, pa.float64()) for name in _BOUNDED]
    + [("purpose", pa.string()), ("plays", pa.int64())]
)
_SCOPE = pa.schema(
    [(name, pa.string()) for name in ("name", "game_id", "role", "parent_game_id")]
    + [("gamma", pa.float64()), ("generation", pa.int64())]
)
_CURVES = pa.schema(
    [(name, pa.string()) for name in ("finetune_id", "game_id", "role")]
    + [(name, pa.int64()) for name in ("replicate", "step")]
    + [(name, pa.float64()) for name in ("mean_score", "entropy", "grad_norm")]
)
_COVER = pa.schema(
    [
        ("game_id", pa.string()),
        ("role", pa.string()),
        ("covers", pa.list_(pa.string())),
        ("eta", pa.float64()),
        ("delta", pa.float64()),
        ("exact", pa.bool_()),
    ]
)


def run_table(run: Run, name: str) -> pa.Table:
    """A run's rows of a table of the archive, or all rows of a table that runs share. Raises
    LookupFailedError for an unknown table."""
    table = run.table(name)
    return table.drop_columns(["run_id"]) if "run_id" in table.column_names else table


def decisions(run: Run) -> pa.Table:
    """All decisions of a run in their order, with the program that each is about."""
    return _with_programs(run, run_table(run, "decisions"))


def scope(run: Run) -> pa.Table:
    """The newest scope in the order of acceptance, with programs. Raises LookupFailedError."""
    members = {member.task_id: member for member in run.newest_scope[1]}
    rows = [{"name": name, **asdict(members[task_id])} for task_id, name in run.names.items()]
    return _with_programs(run, pa.Table.from_pylist(rows, _SCOPE))


def _with_programs(run: Run, rows: pa.Table) -> pa.Table:
    """Rows about games, with the column ``program``: canonical text, null where not archived."""
    games = run.table("games", ["game_id", "code"])
    codes = dict(zip(*(games[name].to_pylist() for name in games.column_names), strict=True))
    programs = [codes.get(game_id) for game_id in rows["game_id"].to_pylist()]
    return rows.append_column("program", pa.array(programs, pa.string()))


def transfer_matrix(
    run: Run, everything: bool, kind: GainKind | None, confidence: float
) -> pa.Table:
    """A row for each pair of games: what fine-tuning on ``source`` does for ``target``.

    Bounds are one-sided. A value is null where undefined or unbounded; in a pair that was not
    measured all are, and ``plays`` is 0. Raises LookupFailedError without any game.
    """
    _, matrix = views.read_matrix(run, everything, kind, confidence)
    rows = []
    for source, target in product(matrix.sources, matrix.targets):
        row: dict[str, Any] = {"source": source.game_id, "source_role": source.role, "plays": 0}
        row |= {"target": target.game_id, "target_role": target.role}
        if cell := matrix.cells.get((source, target)):
            row |= {"purpose": cell.purpose, "plays": cell.plays}
            for name, estimate in views.estimates(cell).items():
                ends = {f"{name}_{end}": estimate[end] for end in ("low", "high")}
                row |= {name: estimate["value"], **ends}
        rows.append(row)
    return pa.Table.from_pylist(rows, _MATRIX)


def square(pairs: pa.Table, value: str) -> pa.Table:
    """One value of a transfer matrix: a row for each source, a column for each target.

    Games are named by id, in several roles by id and role. Raises LookupFailedError for a value
    that is not one of ``views.VALUES``.
    """
    if value not in views.VALUES:
        raise LookupFailedError(
            f"value: found {value!r}, expected one of {', '.join(views.VALUES)}"
        )
    rows = pairs.to_pylist()
    tasks = dict.fromkeys((row["target"], row["target_role"]) for row in rows)
    several = len({game_id for game_id, _ in tasks}) < len(tasks)
    names = {task: f"{task[0]} ({task[1]})" if several else task[0] for task in tasks}
    lines: dict[str, dict[str, Any]] = {}
    for row in rows:
        source = names[row["source"], row["source_role"]]
        line = lines.setdefault(source, {"source": source})
        line[names[row["target"], row["target_role"]]] = row[value]
    columns = [("source", pa.string()), *((name, pa.float64()) for name in names.values())]
    return pa.Table.from_pylist(list(lines.values()), pa.schema(columns))


def curves(run: Run) -> pa.Table:
    """A row for each optimiser step, from 1, of each fine-tune of a run: the mean score (bits),
    the policy's entropy (bits a token), the norm of the gradient."""
    rows = []
    for finetune in run.finetunes:
        names = ("finetune_id", "game_id", "role", "replicate")
        head = {name: finetune[name] for name in names}
        steps = zip_longest(finetune["curve"], finetune["entropy"], finetune["grad_norm"])
        for step, (score, entropy, norm) in enumerate(steps, 1):
            row = {"step": step, "mean_score": score, "entropy": entropy, "grad_norm": norm}
            rows.append(head | row)
    return pa.Table.from_pylist(rows, _CURVES)


def cover(run: Run, eta: float, finetuned: bool, skip_unplayable: bool) -> pa.Table:
    """A row for each member of a smallest η-cover of the newest scope, by the value that the run
    decides by. Raises CoverError if there is none, LookupFailedError without a scope."""
    members = [member.task_id for member in run.newest_scope[1]]
    question = CoverQuestion(eta, *run.deciding_value, finetuned, skip_unplayable=skip_unplayable)
    answer = scope_cover(run, members, question)
    sources = [answer.matrix.sources[member] for member in answer.cover.members]
    rows = [
        {
            "game_id": source.game_id,
            "role": source.role,
            "covers": [target.game_id for target in targets],
            "eta": eta,
            "delta": None if answer.skipped_targets else answer.cover.delta,
            "exact": answer.cover.exact,
        }
        for source, targets in zip(sources, answer.covers, strict=True)
    ]
    return _with_programs(run, pa.Table.from_pylist(rows, _COVER))


def plays(run: Run, game_id: str) -> pa.Table:
    """All plays of a game in a run; ``trained_on`` is the game whose fine-tune played, null of the
    base player and of scripts. Raises LookupFailedError if the run is of a kind without scores."""
    rows = run.table("scores", None, [("game_id", "=", game_id)])
    if not rows.num_rows and not run.table("scores", ["score"]).num_rows:
        raise LookupFailedError(
            f"run {run.run_id}: found no play in scores, expected {run.expected}"
        )
    games = {row["finetune_id"]: row["game_id"] for row in run.finetunes}
    trained_on = [games.get(policy_id) for policy_id in rows["policy_id"].to_pylist()]
    rows = rows.drop_columns(["run_id", "game_id"])
    return rows.add_column(1, "trained_on", pa.array(trained_on, pa.string()))


Backend = Literal["pandas", "polars", "pyarrow"]
DataFrame: TypeAlias = Any
"""A ``pandas.DataFrame``, ``polars.DataFrame`` or ``pyarrow.Table``, whichever is installed."""
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def chosen_backend(name: str | None) -> Backend:
    """The library that makes data frames; without a name the first that is installed, or Arrow,
    which always is. Raises LookupFailedError."""
    for backend in BACKENDS:
        if name in (None, backend) and find_spec(backend) is not None:
            return backend
    if name in BACKENDS:
        raise LookupFailedError(
            f"backend: {name} is not installed, expected it: pip install {name}"
        )
    raise LookupFailedError(f"backend: found {name!r}, expected one of {', '.join(BACKENDS)}")


def data_frame(table: pa.Table, backend: Backend) -> DataFrame:
    """``pandas.DataFrame``, ``polars.DataFrame`` or the ``pyarrow.Table`` itself."""
    match backend:
        case "pandas":
            return table.to_pandas()
        case "polars":
            import polars

            return polars.from_arrow(table)
    return table
