"""Models on two families of games: programs with opponents, and Xent games with a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from archive import Archive
from archive.charts.document import document
from archive.charts.plot import Plot, canvas, circle, line, series, text
from archive.statistics.measures.win_rates import Tally, bootstrap, over_plays, tallies_of
from archive.statistics.studies.rank_agreement import RankAgreement, rank_agreement
from archive.statistics.values.intervals import Scores
from archive.store.disk import write_whole, writing
from archive.views.tables import add
from xgl.diagram.svg import Element
from xgl.errors import ConfigError
from xgl.escaping import visible

Row = Mapping[str, Any]
LEFT, TOP, SIZE = 60.0, 56.0, 340.0


@dataclass(frozen=True)
class MeasuredModel:
    """One player: its win rate with bounds, and its mean normalised score on Xent games."""

    name: str
    rate: float
    low: float
    high: float
    narms: float


@dataclass(frozen=True)
class MeasureComparison:
    """Players that both runs have; the counts of games behind each score; how the orders agree,
    None below three players."""

    models: tuple[MeasuredModel, ...]
    programs: int
    xent_games: int
    agreement: RankAgreement | None


def compare(programs: Path, measure_run: Path) -> MeasureComparison:
    """Compare a run of ``+experiment=gg_bench`` with one of ``+experiment=measure``.

    Raises :class:`ConfigError` if the two have no player in common, and
    :class:`~archive.ArchiveError`.
    """
    plays, narms = _rows(programs, "gg_plays"), _rows(measure_run, "measures")
    measured_names = {row["policy_id"] for row in narms}
    names = [
        name for name in dict.fromkeys(row["player"] for row in plays) if name in measured_names
    ]
    if not names:
        raise ConfigError(
            f"compare: {programs} and {measure_run} have no player in common, expected the same "
            "names in ggbench.players and players"
        )
    tallies = {name: tallies_of(plays, name) for name in names}
    scores = _scores(narms, names)
    return MeasureComparison(
        tuple(
            MeasuredModel(name, over_plays(each).mean, *bootstrap(each), float(row.mean()))
            for (name, each), row in zip(tallies.items(), scores, strict=True)
        ),
        min(map(len, tallies.values())),
        scores.shape[1],
        _agreement(scores, list(tallies.values())),
    )


def _rows(run: Path, table: str) -> list[Row]:
    with Archive.open(run) as archive:
        return list(archive.rows(table))


def _scores(rows: Sequence[Row], names: Sequence[str]) -> Scores:
    """narms (players, games), of the games that all of them have played."""
    narms = {(row["policy_id"], row["game_id"], row["role"]): row["narms"] for row in rows}
    games = [
        game
        for game in dict.fromkeys((row["game_id"], row["role"]) for row in rows)
        if all((name, *game) in narms for name in names)
    ]
    if not games:
        raise ConfigError("compare: found no Xent game that all of these players have played")
    return np.array([[narms[name, *game] for game in games] for name in names])


def _agreement(scores: Scores, tallies: Sequence[Sequence[Tally]]) -> RankAgreement | None:
    if len(scores) < 3 or len({len(each) for each in tallies}) > 1:
        return None

    def counts(of: str) -> NDArray[np.int_]:
        return np.array([[getattr(tally, of) for tally in each] for each in tallies])

    return rank_agreement(scores, counts("wins"), counts("plays"))


def show(comparison: MeasureComparison, console: Console) -> None:
    """Print the table, and how the two orders agree."""
    table = Table("player", "win rate", "95 %", "mean narms", title_justify="left")
    table.title = f"{comparison.programs} programs, {comparison.xent_games} Xent games"
    for each in sorted(comparison.models, key=lambda model: -model.rate):
        bounds = f"{each.low:.2f} to {each.high:.2f}"
        add(table, each.name, f"{each.rate:.3f}", bounds, f"{each.narms:.2f}")
    console.print(table)
    console.print(agreement_text(comparison), highlight=False, soft_wrap=True)


def agreement_text(comparison: MeasureComparison) -> str:
    """The rank agreement, in words."""
    agreement = comparison.agreement
    if agreement is None:
        return "No rank correlation: that takes three players that have played the same games."
    if not np.isfinite(agreement.rho):
        return "No rank correlation: one family does not tell these players apart."
    return (
        f"Spearman's rho over {agreement.models} players: {agreement.rho:+.2f} "
        f"({agreement.low:+.2f} to {agreement.high:+.2f} over draws of the games of both "
        f"families); two-sided p {agreement.p_value:.3f} if the players' order were arbitrary."
    )


def figure(comparison: MeasureComparison) -> Element:
    """A point for each player, its win rate with bounds over its mean narms."""
    values = [each.narms for each in comparison.models]
    room = 0.1 * (max(values) - min(values)) or 1.0
    ends = (min(values) - room, max(values) + room)
    plot = Plot.box((LEFT, TOP), (SIZE, SIZE), ends, (0.0, 1.0))
    labels = "mean normalised score on Xent games (narms)", "win rate on programs"
    shapes = list(plot.grid(*labels))
    for index, each in enumerate(comparison.models):
        x, y = plot.place(each.narms, each.rate)
        colour = f"solid {series(index)}"
        shapes.append(line(x, plot.y(each.low), x, plot.y(each.high), "rule"))
        shapes.append(circle(x, y, 5.0, colour))
        row = TOP + 14 + 20 * index
        shapes.append(circle(LEFT + SIZE + 26, row - 4, 5.0, colour))
        shapes.append(text(LEFT + SIZE + 38, row, visible(each.name)[-44:], "name"))
    title = "Models on two families of games"
    return canvas((LEFT + SIZE + 330, TOP + SIZE + 56), title, *shapes)


def write_figure(comparison: MeasureComparison, path: Path) -> None:
    """Write the figure as an SVG file. Raises :class:`archive.WriteError`."""
    with writing(path):
        write_whole(path, document(figure(comparison)).encode())
