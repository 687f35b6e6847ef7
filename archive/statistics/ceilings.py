"""How much of what a game pays was earned: the best moves known, and shares of the way to them
(docs/specification.md, "Ceilings")."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from archive.schema import PlayOutcome, TaskId
from archive.statistics.intervals import UNDEFINED, Interval, Scores
from archive.store.archive import Archive

Row = Mapping[str, Any]
MapSeeds = tuple[int, int]
"""Map seed and play seed."""
DRAWS = 2000


@dataclass(frozen=True)
class BestKnown:
    """The best score known on one map, in bits, the moves that earn it, and who found them: a
    solver, or the policy that played them."""

    score: float
    found_by: str
    moves: tuple[str, ...]


@dataclass(frozen=True)
class Headroom:
    """One player on one game, over the N maps of which any finished play is known. ``share`` of the
    way from the base's mean score b to the mean of the best known, with its bounds over maps, given
    b; undefined where the best known is no better than b. ``bits``: what the best known earns more
    than the player, a play."""

    share: Interval
    bits: Interval
    best: float
    maps: int


def best_known(ceilings: Iterable[Row], plays: Iterable[Row] = ()) -> dict[MapSeeds, BestKnown]:
    """By map: the best of rows of ``ceilings`` and of finished ``plays`` (rows of ``rounds`` or
    ``scores``) of one game and role. The first of equal ones counts."""
    best: dict[MapSeeds, BestKnown] = {}
    for row in ceilings:
        _keep(best, row, row["solver"])
    for row in plays:
        if row["outcome"] == PlayOutcome.FINISHED:
            _keep(best, row, row["policy_id"])
    return best


def _keep(found: dict[MapSeeds, BestKnown], row: Row, finder: str) -> None:
    key, score = _map_seeds(row), row["score"]
    if key not in found or score > found[key].score:
        found[key] = BestKnown(score, finder, tuple(row["moves"]))


def _map_seeds(row: Row) -> MapSeeds:
    return row["map_seed"], row["play_seed"]


@dataclass(frozen=True)
class GameCeiling:
    """One game of a measure: its best known scores by map, and by player what each left of them,
    in one play and as the best of its first ℓ rounds. ``exported_game_id``: the game of the scope
    that it came from."""

    task_id: TaskId
    exported_game_id: str
    known: Mapping[MapSeeds, BestKnown]
    one_play: Mapping[str, Headroom]
    after_rounds: Mapping[str, Headroom]

    @property
    def best(self) -> float:
        """Mean over maps of the best known, bits."""
        return float(np.mean([each.score for each in self.known.values()]))

    @property
    def finders(self) -> str:
        """Who found the best on how many maps, the three most frequent."""
        counts = Counter(each.found_by for each in self.known.values())
        return ", ".join(f"{name} {count}" for name, count in counts.most_common(3))


def read_ceilings(archive: Archive, confidence: float) -> list[GameCeiling]:
    """The games of measured players for which an archive holds rows of ``ceilings``, in the order
    of these; players alone do not set a ceiling."""
    by_game: dict[str, defaultdict[TaskId, list[Row]]] = {}
    for table in ("ceilings", "rounds", "measures"):
        by_game[table] = defaultdict(list)
        for row in archive.rows(table):
            by_game[table][TaskId.of(row)].append(row)
    return [
        _game_ceiling(
            task_id, rows, by_game["rounds"][task_id], by_game["measures"][task_id], confidence
        )
        for task_id, rows in by_game["ceilings"].items()
        if by_game["measures"][task_id]
    ]


def _game_ceiling(
    task_id: TaskId,
    ceilings: Sequence[Row],
    rounds: Sequence[Row],
    measures: Sequence[Row],
    confidence: float,
) -> GameCeiling:
    known = best_known(ceilings, rounds)
    one, after = {}, {}
    for row in measures:
        maxima = _running_maxima(rounds, row["policy_id"], row["at_round"])
        if common := [key for key in maxima if key in known]:
            own = np.array([maxima[key] for key in common])
            best = np.array([known[key].score for key in common])
            one[row["policy_id"]] = headroom(own[:, 0], best, row["b"], confidence)
            after[row["policy_id"]] = headroom(own[:, -1], best, row["b"], confidence)
    return GameCeiling(task_id, measures[0]["exported_game_id"], known, one, after)


def _running_maxima(
    rounds: Sequence[Row], policy: str, at_round: int
) -> dict[MapSeeds, list[float]]:
    """By map: a player's best score of the first 1, …, ``at_round`` rounds."""
    mine = [row for row in rounds if row["policy_id"] == policy and not row["control"]]
    maxima: dict[MapSeeds, list[float]] = {}
    for row in sorted(mine, key=lambda row: (row["play_seed"], row["map_seed"], row["round"])):
        if row["round"] <= at_round:
            before = maxima.setdefault(_map_seeds(row), [])
            before.append(max([row["score"], *before[-1:]]))
    return maxima


def headroom(scores: Scores, best: Scores, b: float, confidence: float, seed: int = 0) -> Headroom:
    """``scores`` and ``best`` (N,) bits on the same maps in the same order, N ≥ 1; ``b`` bits: the
    base's mean. Percentile bootstrap over maps."""
    if scores.shape != best.shape or scores.ndim != 1 or not len(scores):
        raise ValueError(f"found shapes {scores.shape} and {best.shape}, expected (maps,) twice")
    rng = np.random.default_rng(seed)
    places = rng.integers(0, len(scores), (DRAWS, len(scores)))
    own, most = scores[places].mean(axis=1), best[places].mean(axis=1)
    bits = _interval(float((best - scores).mean()), most - own, confidence)
    way = float(best.mean()) - b
    if not way > 0:
        return Headroom(UNDEFINED, bits, float(best.mean()), len(best))
    share = Interval(float(scores.mean() - b) / way, -math.inf, math.inf)
    if (most > b).all():
        share = _interval(float(scores.mean() - b) / way, (own - b) / (most - b), confidence)
    return Headroom(share, bits, float(best.mean()), len(best))


def _interval(value: float, draws: Scores, confidence: float) -> Interval:
    low, high = np.quantile(draws, ((1 - confidence) / 2, (1 + confidence) / 2))
    return Interval(value, float(low), float(high))
