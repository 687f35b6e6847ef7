"""Models on two families of games: programs with opponents, and Xent games with a judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from archive import Archive
from archive.charts.document import document
from archive.charts.plot import Plot, canvas, circle, line, series, text
from archive.statistics.intervals import Scores
from archive.statistics.rank_agreement import RankAgreement, rank_agreement
from archive.statistics.win_rates import Tally, bootstrap, over_plays, tallies_of
from archive.store.disk import writing
from xgl.diagram.svg import Element
from xgl.errors import ConfigError
from xgl.escaping import visible
from xgl.writing import write_whole

LEFT, TOP, SIZE = 60.0, 56.0, 340.0


@dataclass(frozen=True)
class MeasureComparison:
    """Players that both runs have. ``rates``: win rate with bounds on programs, by name;
    ``narms`` (players, games): normalised scores on Xent games; ``agreement``: of the two orders,
    None below three players or for players of different games."""

    rates: dict[str, tuple[float, float, float]]
    programs: int
    narms: Scores
    agreement: RankAgreement | None


def compare(programs: Path, measure_run: Path) -> MeasureComparison:
    """Compare a run of ``+experiment=gg_bench`` with one of ``+experiment=measure``.

    Raises :class:`ConfigError` if the two have no player or no game in common, and
    :class:`~archive.ArchiveError`.
    """
    with Archive.open(programs) as first, Archive.open(measure_run) as second:
        plays, measures = first.rows("gg_plays"), second.rows("measures")
    narms = {(r["policy_id"], (r["game_id"], r["role"])): r["narms"] for r in measures}
    measured = {name for name, _ in narms}
    names = list(dict.fromkeys(r["player"] for r in plays if r["player"] in measured))
    if not names:
        raise ConfigError(
            f"compare: {programs} and {measure_run} have no player in common, expected the same "
            "names in ggbench.players and players"
        )
    games = [g for g in {game: 0 for _, game in narms} if all((name, g) in narms for name in names)]
    if not games:
        raise ConfigError("compare: found no Xent game that all of these players have played")
    scores = np.array([[narms[name, game] for game in games] for name in names])
    tallies = [tallies_of(plays, name) for name in names]
    rates = [(over_plays(each)[0], *bootstrap(each)) for each in tallies]
    agreement = _agreement(scores, tallies)
    named = dict(zip(names, rates, strict=True))
    return MeasureComparison(named, min(map(len, tallies)), scores, agreement)


def _agreement(scores: Scores, tallies: Sequence[Sequence[Tally]]) -> RankAgreement | None:
    if len(scores) < 3 or len({len(each) for each in tallies}) > 1:
        return None
    wins, plays = ([[getattr(t, of) for t in each] for each in tallies] for of in ("wins", "plays"))
    return rank_agreement(scores, np.array(wins), np.array(plays))


def agreement_text(agreement: RankAgreement | None) -> str:
    """The rank agreement, in words."""
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
    values = comparison.narms.mean(axis=1).tolist()
    room = 0.1 * (max(values) - min(values)) or 1.0
    ends = (min(values) - room, max(values) + room)
    plot = Plot.box((LEFT, TOP), (SIZE, SIZE), ends, (0.0, 1.0))
    shapes = list(plot.grid("mean normalised score on Xent games (narms)", "win rate on programs"))
    for index, (name, (rate, low, high)) in enumerate(comparison.rates.items()):
        x, y = plot.place(values[index], rate)
        colour, row = f"solid {series(index)}", TOP + 14 + 20 * index
        shapes += [line(x, plot.y(low), x, plot.y(high), "rule"), circle(x, y, 5.0, colour)]
        shapes.append(circle(LEFT + SIZE + 26, row - 4, 5.0, colour))
        shapes.append(text(LEFT + SIZE + 38, row, visible(name)[-44:], "name"))
    title = "Models on two families of games"
    return canvas((LEFT + SIZE + 330, TOP + SIZE + 56), title, *shapes)


def write_figure(comparison: MeasureComparison, path: Path) -> None:
    """Write the figure as an SVG file. Raises :class:`archive.WriteError`."""
    with writing(path):
        write_whole(path, document(figure(comparison)).encode())
