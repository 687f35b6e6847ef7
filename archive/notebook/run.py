"""A run that can be read, returned by ``evo.grow`` and ``Run.open``; and a run at a glance, as
notebooks show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

import pyarrow as pa

from archive import run
from archive.charts.plot import document, plain, stack
from archive.errors import LookupFailedError
from archive.notebook import tables
from archive.notebook.tables import Backend, DataFrame, chosen_backend, data_frame
from archive.report.contents import GameFacts
from archive.report.figures.curves import cover_curve, learning_curves
from archive.report.figures.heat_map import heat_map, value_legend
from archive.report.figures.thresholds import thresholds
from archive.report.from_archive import RunReport, definition, gather_report
from archive.report.page import write_report
from archive.report.summary import summary
from archive.run import GROWTH
from archive.schema import Definition, GainKind
from archive.statistics.intervals import CONFIDENCE
from archive.store.archive import Archive
from archive.store.disk import require_ending, writing
from archive.views.tables import SHORT
from xgl import Game
from xgl.diagram.svg import Element, el
from xgl.notebook import heading, panel, table
from xgl.paths import user_path
from xgl.writing import write_whole


@dataclass(frozen=True)

# -- figures: SVG, drawn with the report's own kit -------------------------------------------------

class Figure:
    """A drawing for light and dark screens. ``svg`` is a whole SVG document."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the SVG document to a file. Raises WriteError, also for a name such as a.png."""
        path = user_path(path)
        require_ending(path, ".svg")
        with writing(path):
            write_whole(path, self.svg.encode())


def matrix_figure(report: RunReport, value: Definition | None = None) -> Figure:
    """Transfer values between the games of the newest scope as a heat map."""
    value = value or definition(report.thresholds)
    parts = [heat_map(report.matrix, report.games, value), value_legend(value)]
    return _figure(stack(str(parts[0].attributes["aria_label"]), *parts))


def decisions_figure(report: RunReport) -> Figure:
    """Candidates that have both values, by their value on the parent and by γ, with the two
    thresholds. Raises LookupFailedError if nothing was decided."""
    if report.thresholds is None:
        raise LookupFailedError(
            f"run {report.run.run_id}: found no decision, expected at least one"
        )
    names = [game.name for game in report.games]
    return _figure(thresholds(report.candidates, report.thresholds, names))


def cover_figure(report: RunReport) -> Figure:
    """Games of the smallest cover by η. Raises LookupFailedError if no game can be covered."""
    if not report.covers.steps:
        raise LookupFailedError(
            f"run {report.run.run_id}: found no game with a known value, expected at least one"
        )
    names = [game.name for game in report.games]
    return _figure(cover_curve(report.covers.steps, names, len(report.games)))


def curves_figure(
    named_curves: Mapping[str, Sequence[Sequence[float]]], others: Sequence[Sequence[float]]
) -> Figure:
    """Learning curves of games by name, in front of ``others``. Raises LookupFailedError for
    none."""
    drawing = learning_curves(named_curves, others)
    if drawing is None:
        raise LookupFailedError(
            "found no fine-tune of two steps, expected a run that trains, such as one of "
            f"+experiment={GROWTH}"
        )
    return _figure(drawing)


def _figure(drawing: Element) -> Figure:
    return Figure(document(drawing))


Choices = TypeVar("Choices", bound=StrEnum)


def _enum_member(name: str, text: str, kind: type[Choices]) -> Choices:
    try:
        return kind(text)
    except ValueError:
        names = ", ".join(kind)
        raise LookupFailedError(f"{name}: found {text!r}, expected one of {names}") from None


class Run:
    """One run of an archive, as it was when it was opened.

    Tables come as data frames of ``backend``. Only ``report`` and ``Figure.save`` write files.
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
    def archive(self) -> Archive:
        """Its archive."""
        return self.read.archive

    @property
    def folder(self) -> Path:
        """The run folder; the archive's own where it is in none."""
        return self.read.folder

    @property
    def settings(self) -> Mapping[str, Any]:
        """The configuration that the run began with."""
        return self.read.config

    # -- tables ------------------------------------------------------------------------------

    def table(self, name: str) -> DataFrame:
        """The run's rows of any table of the archive (docs/reference/archive.md), as they stand."""
        return self._frame(tables.run_table(self.read, name))

    def scope(self) -> DataFrame:
        """The newest scope, oldest first: name, id, role, parent, γ when accepted, program."""
        return self._frame(tables.scope(self.read))

    def decisions(self) -> DataFrame:
        """A row for each decision, with its reason, its numbers and the program."""
        return self._frame(tables.decisions(self.read))

    def transfer_matrix(
        self,
        value: str | None = None,
        *,
        everything: bool = False,
        gain: str | None = None,
        confidence: float = CONFIDENCE,
    ) -> DataFrame:
        """What fine-tuning on one game does for another.

        Without ``value`` a row for each pair with gain (bits), C (``captured``) and V
        (``def37``), their one-sided bounds at ``confidence``, and the plays behind them; ``plays``
        is 0 if a pair was not measured. With one of ``gain``, ``captured``, ``def37`` a square:
        a row for each game trained on, a column for each game played.

        Games are the newest scope's; with ``everything`` all that were fine-tuned. ``gain``:
        total or specific; by default what the run decides by.
        """
        kind = None if gain is None else _enum_member("gain", gain, GainKind)
        if not 0.5 <= confidence < 1:
            raise LookupFailedError(
                f"confidence: found {confidence:g}, expected a number from 0.5 to below 1"
            )
        pairs = tables.transfer_matrix(self.read, everything, kind, confidence)
        return self._frame(pairs if value is None else tables.square(pairs, value))

    def curves(self) -> DataFrame:
        """A row for each step of each fine-tune: mean score, entropy, norm of the gradient."""
        return self._frame(tables.curves(self.read))

    def cover(
        self, eta: float, *, finetuned: bool = False, skip_unplayable: bool = False
    ) -> DataFrame:
        """The fewest games that cover the newest scope at ``eta``, a row for each.

        ``finetuned``: members may be any fine-tuned games; ``skip_unplayable``: leave out games
        that have no defined value.
        """
        if not 0 <= eta < float("inf"):
            raise LookupFailedError(f"eta: found {eta:g}, expected a number from 0 up")
        rows = tables.cover(self.read, eta, finetuned, skip_unplayable)
        return self._frame(rows)

    def plays(self, game: str) -> DataFrame:
        """A row for each play of a game: who played, on which map, the moves, the score."""
        return self._frame(tables.plays(self.read, self.read.find_game(game)))

    # -- games -------------------------------------------------------------------------------

    def game(self, game: str) -> Game:
        """A game of the archive, to look at and to play."""
        game_id = self.read.find_game(game)
        return run.stored_game(self.read.games([game_id])[game_id])

    # -- figures -----------------------------------------------------------------------------

    def plot_transfer_matrix(self, value: str | None = None) -> Figure:
        """A heat map of C (``captured``) or V (``def37``) between the games of the scope."""
        definition = None if value is None else _enum_member("value", value, Definition)
        return matrix_figure(self._report, definition)

    def plot_curves(self, *games: str) -> Figure:
        """Learning curves: of the scope, with names, in front of all others, or only of
        ``games``."""
        chosen_ids = [self.read.find_game(game) for game in games]
        names = {task_id.game_id: name for task_id, name in self.read.names.items()}
        by_name: dict[str, list[list[float]]] = {}
        others: list[list[float]] = []
        for row in self.read.finetunes:
            game_id = row["game_id"]
            if game_id in (chosen_ids or names):
                by_name.setdefault(names.get(game_id, game_id[:SHORT]), []).append(row["curve"])
            elif not chosen_ids:
                others.append(row["curve"])
        return curves_figure(by_name, others)

    def plot_decisions(self) -> Figure:
        """Candidates by what they teach their parent and by what the scope teaches them."""
        return decisions_figure(self._report)

    def plot_cover(self) -> Figure:
        """Games of the smallest cover of the scope, by η."""
        return cover_figure(self._report)

    def report(self, path: str | Path, *, force: bool = False, judge: bool | str = True) -> Path:
        """Write the whole run as one page for a browser; ``judge``: where the archive lacks the
        bits of each token, ask the run's judge, which needs the extra ``score``; its name, where
        another user began the run."""
        write_report(self.read, path, force=force, judge=judge)
        return user_path(path)

    # -- itself ------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, run_id={self.run_id!r})"

    def _repr_html_(self) -> str:
        try:
            return run_html(self._report)
        except LookupFailedError as error:  # no scope: a measure, say
            return bare_html(self.run_id, str(self.settings.get("experiment", "")), str(error))

    @cached_property
    def _report(self) -> RunReport:
        return gather_report(self.read)

    def _frame(self, table: pa.Table) -> DataFrame:
        return data_frame(table, self.backend)


MOST = 20
"""Games of a scope that are shown."""


def run_html(report: RunReport) -> str:
    """The summary in two sentences, the scope, and the verdicts."""
    about, games = report.run.history, report.games
    state = about.events[-1][0] if about.events else "empty"
    facts = f"seed {about.seed}; {state}; {len(games)} games in the scope"
    verdicts = [(verdict.kind, verdict.name, f"{verdict.count:,}") for verdict in report.verdicts]
    more = len(games) - MOST
    return panel(
        heading(f"Run {about.run_id}", facts),
        *(el("div", sentence) for sentence in summary(report)),
        table(("game", "pays", "total gain, bits", "γ"), [*map(_row, games[:MOST])], 2),
        el("div", f"… and {more} more games", class_="xgl-soft") if more > 0 else None,
        table(("verdict", "reason", "candidates"), verdicts, 1) if verdicts else None,
    )


def bare_html(run_id: str, experiment: str, reason: str) -> str:
    """A run without a scope to show, with the reason."""
    return panel(heading(f"Run {run_id}", experiment), el("div", reason))


def _row(game: GameFacts) -> tuple[str, str, str, str]:
    gain, gamma = game.own.total.value, game.gamma
    numbers = ("–" if number is None else plain(number) for number in (gain, gamma))
    return (game.name, game.pay, *numbers)  # type: ignore[return-value]
