"""Xent Measures: the normalised scores of measured players, over the newest scope and by scope
number, as histograms on one scale and their statistics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from archive import charts
from archive.charts import Panel, panels
from archive.errors import DamagedError, LookupFailedError
from archive.run import Row, Run
from archive.schema import ScopeRow, TaskId
from archive.statistics.intervals import Scores
from archive.statistics.measure import XentMeasure, xent_measure
from archive.statistics.rounds import ScoreLevels, narms_draws, series
from archive.store.archive import Archive
from xgl.diagram.svg import Element


class Histogram(NamedTuple):
    """The scores behind one histogram, with its name, and bootstrap samples of each over its maps
    (games, draws); ``shift`` is the distance to the scope before (1-Wasserstein, in normalised
    scores), None for the first and where a game of either is not measured."""

    name: str
    values: tuple[float, ...]
    draws: Scores
    shift: float | None = None

    @property
    def measure(self) -> XentMeasure:
        """Mean, median and quantiles with their bounds."""
        return xent_measure(np.array(self.values), self.draws)


_LEVELS = "b", "theta", "m", "rounds", "maps", "k_m"
_ROUND = "policy_id", "game_id", "role", "map_seed", "play_seed", "round", "control", "score"
_Measured = tuple[Row, Scores]
"""A row of ``measures``, and bootstrap samples of its score."""


class PlayerMeasure(NamedTuple):
    """One player: μ over all its measured games of the scope, and μ_k for each scope Σ_k.
    ``of_covers``: the games are those of the scope's cover; else all of the scope."""

    player: str
    base: str
    m: int
    whole: Histogram
    scopes: Sequence[Histogram]
    of_covers: bool


def gather_measures(
    run: Run, measured_archives: Sequence[Archive] = ()
) -> tuple[PlayerMeasure, ...]:
    """Players in the order in which they were measured; none where none was. ``measured_archives``:
    runs of ``+experiment=measure`` on what this run exported. Raises LookupFailedError for one of
    other games, and for scores in different units."""
    scope_ids = {member.task_id for members in run.scopes.values() for member in members}
    by_player: dict[str, dict[TaskId, _Measured]] = {}
    for source in measured_archives:
        rounds, known = defaultdict[tuple[str, TaskId], list[Row]](list), False
        for row in source.rows("rounds", _ROUND):
            rounds[row["policy_id"], TaskId.of(row)].append(row)
        for row in source.rows("measures"):
            task_id, player = TaskId(row["exported_game_id"], row["role"]), row["policy_id"]
            if task_id not in scope_ids:
                continue
            try:
                levels = ScoreLevels(*(row[name] for name in _LEVELS))
                scores, _ = series(rounds[player, TaskId.of(row)])
                draws = narms_draws(scores, levels, row["at_round"])
            except (ValueError, IndexError) as error:
                raise DamagedError(f"{source.folder}, measures", f"'{error}'", "levels") from None
            known = True
            by_player.setdefault(player, {})[task_id] = row, draws  # the newest counts
        if not known:
            found = f"--measured: {source.folder} holds no game of {run.run_id}'s scopes"
            raise LookupFailedError(f"{found}, expected a run that measured what it exported")
    units = {(row["base"], row["m"]) for own in by_player.values() for row, _ in own.values()}
    if len(units) > 1:
        found = " and ".join(f"{base} with m = {m}" for base, m in sorted(units))
        raise LookupFailedError(f"--measured: found scores in units of {found}, expected one base")
    covers = _covers(run)
    return tuple(_measure(player, rows, run.scopes, covers) for player, rows in by_player.items())


def _covers(run: Run) -> dict[int, set[TaskId]]:
    """Members of each scope's cover, the one at the largest η."""
    members: dict[int, dict[float, set[TaskId]]] = {}
    for row in run.rows("covers", ["scope", "eta", "game_id", "role"]):
        members.setdefault(row["scope"], {}).setdefault(row["eta"], set()).add(TaskId.of(row))
    return {scope: by_eta[max(by_eta)] for scope, by_eta in members.items()}


def _measure(
    player: str,
    measured: Mapping[TaskId, _Measured],
    scopes: Mapping[int, Sequence[ScopeRow]],
    covers: Mapping[int, set[TaskId]],
) -> PlayerMeasure:
    from scipy.stats import wasserstein_distance  # slow to load

    def histogram(name: str, task_ids: Iterable[TaskId]) -> Histogram:
        rows, draws = zip(*(measured[each] for each in task_ids), strict=True)
        return Histogram(name, tuple(row["narms"] for row in rows), np.stack(draws))

    histograms: list[Histogram] = []
    before: tuple[float, ...] = ()
    for number, members in scopes.items():
        task_ids = covers.get(number) or {member.task_id for member in members}
        if known := [task_id for task_id in sorted(task_ids) if task_id in measured]:
            is_whole, name = len(known) == len(task_ids), f"scope {number}"
            name += "" if is_whole else f", {len(known)} of {len(task_ids)} games"
            own = histogram(name, known)
            shift = float(wasserstein_distance(before, own.values)) if before and is_whole else None
            histograms.append(own._replace(shift=shift))
            before = own.values if is_whole else ()
    *_, (last, _) = measured.values()
    whole = histogram(player, measured)
    return PlayerMeasure(player, last["base"], last["m"], whole, histograms, bool(covers))


def histograms(samples: Sequence[Histogram]) -> Element:
    """A panel for each sample, at least one: shares of its games in 24 bins, and its median."""
    values = [value for sample in samples for value in sample.values]
    edges = np.linspace(min([0.0, *values]), max([1.0, *values]), 25)
    every, style = list[Panel](), f"series {charts.series(0)}"
    for sample in samples:
        shares = np.histogram(sample.values, edges)[0] / len(sample.values)
        outline = np.repeat(edges, 2).tolist(), [0.0, *np.repeat(shares, 2).tolist(), 0.0]
        middle = [sample.measure.quantiles[0.5].value or 0.0] * 2
        curves = [(*outline, style), (middle, [0.0, float(shares.max())], "other")]
        every.append(Panel(sample.name, ("normalised score", "share of games"), curves))
    legend = {"share of games": style, "median": "other"}
    return panels("Histograms of normalised scores", every, legend, 2, alike=True)
