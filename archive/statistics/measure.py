"""The Xent Measure of a model and its change with the scope (Def. 43, 47; Remarks 44, 51), and
scores compared with the best known ones (docs/specification.md, "Ceilings")."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from archive.run import Row
from archive.schema import PlayOutcome, TaskId
from archive.statistics import intervals
from archive.statistics.intervals import CONFIDENCE, UNDEFINED, Interval, Scores, bootstrapped
from archive.store.archive import Archive

DRAWS = 2000
"""Bootstrap samples."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


class XentMeasure(NamedTuple):
    """Statistics of μ_Γ(M): the mean, and quantiles by probability, in the unit of the normalised
    score (1), with their bounds."""

    mean: Interval
    quantiles: Mapping[float, Interval]


def xent_measure(scores: Scores, over_maps: Scores) -> XentMeasure:
    """The measure of normalised ``scores`` (games,) float64, all finite, at least one;
    ``over_maps`` (games, draws): bootstrap scores of each game.

    Bounds are two-sided at 95 % over games, whose scores vary by their maps too, and open with too
    few games: Student's of the mean, order statistics of a quantile. They are no narrower than over
    the maps of these games, whose scores may be alike by luck.
    """
    mean = replace(UNDEFINED, value=float(scores.mean()))
    if len(scores) > 1:
        mean = intervals.mean_interval(scores, CONFIDENCE)
    over_games = (intervals.quantile_interval(scores, each, CONFIDENCE) for each in QUANTILES)
    quantiles = map(_covering, over_games, np.quantile(over_maps, QUANTILES, axis=0))
    mean = _covering(mean, over_maps.mean(axis=0))
    return XentMeasure(mean, dict(zip(QUANTILES, quantiles, strict=True)))


def _covering(interval: Interval, draws: Scores) -> Interval:
    low, high = intervals.percentile_bounds(draws, CONFIDENCE)
    return replace(interval, low=min(interval.low, low), high=max(interval.high, high))


MapSeeds = tuple[int, int]
"""Map seed and play seed."""


class BestKnown(NamedTuple):
    """The best score known on one map, in bits, the moves that earn it, and who found them: a
    solver, or the policy that played them."""

    score: float
    found_by: str
    moves: tuple[str, ...]


class CeilingGap(NamedTuple):
    """One player on one game, over the maps with a known finished play. ``share``: of the distance
    from the base's mean score b to the mean of the best known, with bounds over maps, given b;
    undefined if the best known is no better than b. ``bits``: mean score of the best known minus
    that of the player, bits a play."""

    share: Interval
    bits: float


def best_known(ceilings: Iterable[Row], plays: Iterable[Row]) -> dict[MapSeeds, BestKnown]:
    """The best known moves by map, from rows of ``ceilings`` and finished ``plays`` (rows of
    ``rounds`` or ``scores``) of one game and role; the first of equals."""
    found = [(row["solver"], row) for row in ceilings]
    found += [(r["policy_id"], r) for r in plays if r["outcome"] == PlayOutcome.FINISHED]
    best: dict[MapSeeds, BestKnown] = {}
    for finder, row in found:
        key = row["map_seed"], row["play_seed"]
        if key not in best or row["score"] > best[key].score:
            best[key] = BestKnown(row["score"], finder, tuple(row["moves"]))
    return best


class GameCeiling(NamedTuple):
    """One game of a measure: the mean over maps of its best known scores, bits; the three finders
    with the most maps, with their numbers of maps; and by player the gap to the best known, of one
    play and of the best of its first ℓ rounds."""

    task_id: TaskId
    best: float
    finders: str
    one_play: Mapping[str, CeilingGap]
    after_rounds: Mapping[str, CeilingGap]


def read_ceilings(archive: Archive, confidence: float) -> list[GameCeiling]:
    """The games of measured players that have rows of ``ceilings`` in an archive, in the order of
    these rows."""
    tables: dict[str, defaultdict[TaskId, list[Row]]] = {}
    for name in ("ceilings", "rounds", "measures"):
        tables[name] = defaultdict(list)
        for row in archive.rows(name):
            tables[name][TaskId.of(row)].append(row)
    games = []
    for task_id, rows in tables["ceilings"].items():
        if not (measures := tables["measures"][task_id]):
            continue
        rounds, one, after = tables["rounds"][task_id], dict[str, Any](), dict[str, Any]()
        known = best_known(rows, rounds)
        for measure in measures:
            maxima = _first_and_best(rounds, measure["policy_id"], measure["at_round"])
            if common := [key for key in maxima if key in known]:
                own = np.array([maxima[key] for key in common])
                best = np.array([known[key].score for key in common])
                for gaps, scores in ((one, own[:, 0]), (after, own[:, -1])):
                    gaps[measure["policy_id"]] = ceiling_gap(scores, best, measure["b"], confidence)
        counts = Counter(each.found_by for each in known.values()).most_common(3)
        finders = ", ".join(f"{name} {count}" for name, count in counts)
        mean = float(np.mean([each.score for each in known.values()]))
        games.append(GameCeiling(task_id, mean, finders, one, after))
    return games


def _first_and_best(
    rounds: Sequence[Row], policy: str, at_round: int
) -> dict[MapSeeds, tuple[float, float]]:
    """By map a player's score of its first round and its best one of the first ``at_round``."""
    scores: dict[MapSeeds, list[float]] = {}
    for row in sorted(rounds, key=lambda row: (row["play_seed"], row["map_seed"], row["round"])):
        if row["policy_id"] == policy and not row["control"] and row["round"] <= at_round:
            scores.setdefault((row["map_seed"], row["play_seed"]), []).append(row["score"])
    return {seeds: (its[0], max(its)) for seeds, its in scores.items()}


ROUNDING = 1e-6
"""Bits below which a difference of means is rounding error, and no share is taken of it."""


def ceiling_gap(scores: Scores, best: Scores, b: float, confidence: float) -> CeilingGap:
    """``scores`` and ``best`` (N,) bits on the same maps in the same order, N ≥ 1; ``b`` bits: the
    base's mean. Percentile bootstrap over maps."""
    indices = np.random.default_rng(0).integers(0, len(scores), (DRAWS, len(scores)))
    own, most = scores[indices].mean(axis=1), best[indices].mean(axis=1)
    way, share = float(best.mean()) - b, UNDEFINED
    if way > ROUNDING:
        value = float(scores.mean() - b) / way
        share = Interval(value, -math.inf, math.inf)
        if (most - b > ROUNDING).all():
            share = bootstrapped(value, (own - b) / (most - b), confidence)
    return CeilingGap(share, float((best - scores).mean()))
