"""A run for those who work in Python, returned by ``evo.grow`` and ``Run.open``: tables as data
frames, and the run at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from itertools import product, zip_longest
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, get_args

import pyarrow as pa

from archive import run
from archive.errors import LookupFailedError
from archive.report.page import write_report
from archive.report.summary import gather_report, summary
from archive.schema import TaskId
from archive.statistics.covers import CoverQuestion, scope_cover
from archive.store.archive import Archive
from archive.views import matrix as views
from xgl import Game
from xgl.files import user_path
from xgl.notebook import pre

Backend = Literal["pandas", "polars", "pyarrow"]
DataFrame: TypeAlias = Any
"""A ``pandas.DataFrame``, ``polars.DataFrame`` or ``pyarrow.Table``, whichever is installed."""
BACKENDS: tuple[Backend, ...] = get_args(Backend)
_BOUNDED = [f"{value}{part}" for value in views.VALUES for part in ("", "_low", "_high")]
_MATRIX = pa.schema(
    [
        *((name, pa.string()) for name in ("source", "target", "source_role", "target_role")),
        *((name, pa.float64()) for name in _BOUNDED),
        *(("gain_kind", pa.string()), ("purpose", pa.string()), ("plays", pa.int64())),
    ]
)


def chosen_backend(name: str | None) -> Backend:
    """The library that makes data frames; without a name the first that is installed, or Arrow,
    which always is. Raises LookupFailedError."""
    installed = [backend for backend in BACKENDS if find_spec(backend) is not None]
    for backend in installed:
        if name in (None, backend):
            return backend
    expected = f"one that is installed: {', '.join(installed)}"
    raise LookupFailedError(f"backend: found {name!r}, expected {expected}")


class Run:
    """One run of an archive, as it was when it was opened.

    Tables come as data frames of ``backend``. Only ``report`` writes a file.
    Games are named by id, which may be short, or by their name in the scope. Methods raise
    :class:`archive.ArchiveError`: one sentence that says what was expected.
    """

    def __init__(self, read: run.Run, backend: Backend = "pyarrow") -> None:
        self.read, self.backend = read, backend

    @classmethod
    def open(
        cls, path: str | Path | None = None, run_id: str | None = None, backend: str | None = None
    ) -> Self:
        """The run in a run folder or an archive folder; without ``path`` the last scope growth in
        ``runs/``, here or in a folder above, and a line that says which.

        ``run_id`` (may be short) chooses where an archive holds several: by default the last one
        touched. ``backend``: pandas, polars or pyarrow; by default the first that is installed.
        """
        library = chosen_backend(backend)
        if path is None:
            path = run.newest_run(run.GROWTH)
            print(f"the last scope growth: {path}")
        return cls(run.Run(Archive.open(path), run_id), library)

    @property
    def run_id(self) -> str:
        """Its id."""
        return self.read.run_id

    @property
    def folder(self) -> Path:
        """The run folder; the archive's own where it is in none."""
        return self.read.folder

    @property
    def settings(self) -> Mapping[str, Any]:
        """The configuration that the run began with."""
        return self.read.config

    def table(self, name: str) -> DataFrame:
        """The run's rows of any table of the archive (docs/reference/archive.md), as they stand."""
        return self._frame(self._rows(name))

    def scope(self) -> DataFrame:
        """The newest scope, oldest first: name, title, id, role, parent, γ, program."""
        members = {member.task_id: member for member in self.read.newest_scope[1]}
        titles = self.read.titles
        rows = [
            {"name": name, "title": titles.get(task_id), **asdict(members[task_id])}
            for task_id, name in self.read.names.items()
        ]
        return self._frame(self._with_programs(pa.Table.from_pylist(rows)))

    def decisions(self) -> DataFrame:
        """A row for each decision, with its reason, its numbers and the program."""
        return self._frame(self._with_programs(self._rows("decisions")))

    def transfer_matrix(self, *, everything: bool = False) -> DataFrame:
        """What fine-tuning on one game does for another: a row for each pair with gain (bits), C
        (``captured``) and V (``def37``), their one-sided bounds at 95 %, and the plays behind them;
        ``plays`` is 0 if a pair was not measured. ``gain_kind``: the gains that the run decides by.

        Games are the newest scope's; with ``everything`` all that were fine-tuned.
        """
        matrix = views.read_matrix(self.read, everything)
        _, kind = self.read.deciding_value
        rows = []
        for source, target in product(matrix.sources, matrix.targets):
            row: dict[str, Any] = {"source": source.game_id, "source_role": source.role}
            row |= {"target": target.game_id, "target_role": target.role, "plays": 0}
            if cell := matrix.cells.get((source, target)):
                row |= {"gain_kind": kind, "purpose": cell.purpose, "plays": cell.plays}
                for name, estimate in views.estimates(cell).items():
                    ends = {f"{name}_{end}": estimate[end] for end in ("low", "high")}
                    row |= {name: estimate["value"], **ends}
            rows.append(row)
        return self._frame(pa.Table.from_pylist(rows, _MATRIX))

    def curves(self) -> DataFrame:
        """A row for each optimiser step, from 1, of each fine-tune: the mean score (bits), the
        policy's entropy (bits a token), the norm of the gradient."""
        rows = []
        for finetune in self.read.finetunes:
            names = ("finetune_id", "game_id", "role", "replicate")
            head = {name: finetune[name] for name in names}
            steps = zip_longest(finetune["curve"], finetune["entropy"], finetune["grad_norm"])
            for step, (score, entropy, norm) in enumerate(steps, 1):
                row = {"step": step, "mean_score": score, "entropy": entropy, "grad_norm": norm}
                rows.append(head | row)
        return self._frame(pa.Table.from_pylist(rows))

    def cover(
        self, eta: float, *, finetuned: bool = False, skip_unplayable: bool = False
    ) -> DataFrame:
        """The fewest games that cover the newest scope at ``eta``, a row for each, by the value
        that the run decides by.

        ``finetuned``: members may be any fine-tuned games; ``skip_unplayable``: leave out games
        that have no defined value. Raises CoverError if there is no cover.
        """
        members = [member.task_id for member in self.read.newest_scope[1]]
        value = self.read.deciding_value
        question = CoverQuestion(eta, *value, finetuned, skip_unplayable=skip_unplayable)
        answer = scope_cover(self.read, members, question)
        facts = {"eta": eta, "delta": answer.delta, "exact": answer.cover.exact}
        rows = [
            {**source._asdict(), "covers": [target.key for target in targets], **facts}
            for source, targets in answer.covers.items()
        ]
        return self._frame(self._with_programs(pa.Table.from_pylist(rows)))

    def plays(self, game: str) -> DataFrame:
        """A row for each play of a game (``id:role``: in that role): who played, on which map, the
        moves, the score; ``trained_on`` is the game (``id:role`` unless it is black) whose
        fine-tune played, null of the base player and of scripts."""
        game_id, role = self.read.find_game(game)
        roles = [("role", "=", role)] if role else []
        rows = self._rows("scores", [("game_id", "=", game_id), *roles])
        if not rows.num_rows and not self.read.table("scores", ["score"]).num_rows:
            expected = f"a run of +experiment={run.GROWTH}, not of {self.read.experiment}"
            raise LookupFailedError(
                f"run {self.run_id}: found no play in scores, expected {expected}"
            )
        if role and not rows.num_rows:
            raise LookupFailedError(f"game {game_id}: found no play in the role {role}")
        games = {row["finetune_id"]: TaskId.of(row).key for row in self.read.finetunes}
        trained_on = [games.get(policy_id) for policy_id in rows["policy_id"].to_pylist()]
        rows = rows.drop_columns(["game_id"])
        return self._frame(rows.add_column(1, "trained_on", pa.array(trained_on, pa.string())))

    def game(self, game: str) -> Game:
        """A game of the archive, to look at and to play."""
        game_id, _ = self.read.find_game(game)
        return run.stored_game(self.read.games([game_id])[game_id])

    def report(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the whole run as one page for a browser."""
        write_report(self.read, path, force=force)
        return user_path(path)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, run_id={self.run_id!r})"

    def __str__(self) -> str:
        """The run in a few sentences."""
        about = self.read.history
        try:
            sentences = [*summary(gather_report(self.read))]
        except LookupFailedError as error:  # no scope: a measure, say
            sentences = [str(error)]
        head = f"Run {about.run_id} (seed {about.seed}; {self.read.state})"
        return "\n".join([head, "", *sentences])

    def _repr_html_(self) -> str:
        return pre(self)

    def _rows(self, name: str, filters: Sequence[tuple[str, str, object]] = ()) -> pa.Table:
        """A run's rows of a table without its id, or all rows of a table that runs share."""
        rows = self.read.table(name, None, filters)
        return rows.drop_columns(["run_id"]) if "run_id" in rows.column_names else rows

    def _with_programs(self, rows: pa.Table) -> pa.Table:
        """Rows about games, with the column ``program``: canonical text, null if not archived."""
        games = self.read.rows("games", ["game_id", "code"])
        codes = {game["game_id"]: game["code"] for game in games}
        programs = [codes.get(game_id) for game_id in rows["game_id"].to_pylist()]
        return rows.append_column("program", pa.array(programs, pa.string()))

    def _frame(self, rows: pa.Table) -> DataFrame:
        """``pandas.DataFrame``, ``polars.DataFrame`` or the ``pyarrow.Table`` itself."""
        if self.backend == "polars":
            import polars

            return polars.from_arrow(rows)
        return rows.to_pandas() if self.backend == "pandas" else rows
