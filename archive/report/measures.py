"""Xent Measures: the normalised scores of measured players, over the newest scope and by scope
number, as histograms on one scale and their statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from archive.charts import Panel, panels, series
from archive.run import Row, Run
from archive.schema import ScopeRow, TaskId
from archive.statistics.measure import XentMeasure, xent_measure
from archive.store.archive import Archive
from xgl.diagram.svg import Element


class Histogram(NamedTuple):
    """The scores behind one histogram, with its name; ``shift`` is the distance to the scope
    before (1-Wasserstein, in normalised scores), None for the first and where a game of either
    is not measured."""

    name: str
    values: tuple[float, ...]
    shift: float | None = None

    @property
    def measure(self) -> XentMeasure:
        """Mean, median and quantiles with their bounds."""
        return xent_measure(np.array(self.values))


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
    runs of ``+experiment=measure`` on what this run exported."""
    scope_ids = {member.task_id for members in run.scopes.values() for member in members}
    sources = [run.rows("measures"), *(source.rows("measures") for source in measured_archives)]
    by_player: dict[str, dict[TaskId, Row]] = {}
    for row in (row for rows in sources for row in rows):
        task_id = TaskId(row["exported_game_id"], row["role"])
        if task_id in scope_ids:
            by_player.setdefault(row["policy_id"], {})[task_id] = row  # the newest counts
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
    rows: Mapping[TaskId, Row],
    scopes: Mapping[int, Sequence[ScopeRow]],
    covers: Mapping[int, set[TaskId]],
) -> PlayerMeasure:
    from scipy.stats import wasserstein_distance  # slow to load

    scores = {task_id: row["narms"] for task_id, row in rows.items()}
    histograms: list[Histogram] = []
    before: tuple[float, ...] = ()
    for number, members in scopes.items():
        task_ids = covers.get(number) or {member.task_id for member in members}
        if values := tuple(scores[task_id] for task_id in sorted(task_ids) if task_id in scores):
            is_whole, name = len(values) == len(task_ids), f"scope {number}"
            name += "" if is_whole else f", {len(values)} of {len(task_ids)} games"
            shift = float(wasserstein_distance(before, values)) if before and is_whole else None
            histograms.append(Histogram(name, values, shift))
            before = values if is_whole else ()
    *_, last = rows.values()
    whole = Histogram(player, tuple(scores.values()))
    return PlayerMeasure(player, last["base"], last["m"], whole, histograms, bool(covers))


BINS = 24


def histograms(samples: Sequence[Histogram]) -> Element:
    """A panel for each sample, at least one: the share of its games in each bin, and its median."""
    values = [value for sample in samples for value in sample.values]
    edges = np.linspace(min([0.0, *values]), max([1.0, *values]), BINS + 1)
    every = []
    for sample in samples:
        shares = np.histogram(sample.values, edges)[0] / len(sample.values)
        outline = np.repeat(edges, 2).tolist(), [0.0, *np.repeat(shares, 2).tolist(), 0.0]
        middle = [sample.measure.quantiles[0.5].value or 0.0] * 2
        curves = [(*outline, f"series {series(0)}"), (middle, [0.0, float(shares.max())], "other")]
        every.append(Panel(sample.name, ("normalised score", "share of games"), curves))
    legend = {"share of games": f"series {series(0)}", "median": "other"}
    return panels("Histograms of normalised scores", every, legend, 2, alike=True)
