"""The Xent Measure of a model and its change with the scope (Def. 43, 47; Remarks 44, 51), and
scores compared with the best known ones (docs/specification.md, "Ceilings").

Only a complete block of scores can be rated: models that all played the same games, each on at
least two common maps. The largest is used, what is left out is named, and nothing is imputed.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from archive.errors import RatingError
from archive.run import Row, Run
from archive.schema import PlayOutcome, Purpose, TaskId
from archive.statistics.intervals import CONFIDENCE, UNDEFINED, Interval, Scores, bootstrapped
from archive.store.archive import Archive

QUANTILES = (0.1, 0.25, 0.75, 0.9)


class XentMeasure(NamedTuple):
    """Statistics of μ_Γ(M); every Interval is a statistic with its bootstrap bounds.

    ``quantiles``: by probability. All in the unit of the normalised score (1).
    """

    games: int
    mean: Interval
    median: Interval
    quantiles: Mapping[float, Interval]


def xent_measure(
    scores: Scores,
    confidence: float = CONFIDENCE,
    draws: int = 2000,
    seed: int = 0,
    over_maps: Scores | None = None,
) -> XentMeasure:
    """The measure of normalised ``scores`` (games,) float64, all finite, at least one.

    Bounds are two-sided at ``confidence`` from ``draws`` bootstrap samples of the games, or, with
    ``over_maps`` (games, draws), the bootstrap scores of each game, from samples of games and maps.
    Raises ValueError if a score is missing.
    """
    scores = np.asarray(scores, np.float64)
    if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
        raise ValueError(f"found scores {scores}, expected a finite one for each of some games")
    draws = draws if over_maps is None else over_maps.shape[1]
    indices = np.random.default_rng(seed).integers(0, len(scores), (draws, len(scores)))
    samples = (
        scores[indices] if over_maps is None else over_maps[indices, np.arange(draws)[:, None]]
    )
    mean = bootstrapped(float(scores.mean()), samples.mean(axis=1), confidence)
    quantiles = {
        level: bootstrapped(
            float(np.quantile(scores, level)), np.quantile(samples, level, axis=1), confidence
        )
        for level in (0.5, *QUANTILES)
    }
    median = quantiles.pop(0.5)
    return XentMeasure(len(scores), mean, median, quantiles)


MapSeeds = tuple[int, int]
"""Map seed and play seed."""
DRAWS = 2000


class BestKnown(NamedTuple):
    """The best score known on one map, in bits, the moves that earn it, and who found them: a
    solver, or the policy that played them."""

    score: float
    found_by: str
    moves: tuple[str, ...]


class CeilingGap(NamedTuple):
    """One player on one game, over the N maps with a known finished play. ``share``: of the
    distance from the base's mean score b to the mean of the best known, with bounds over maps,
    given b; undefined if the best known is no better than b. ``bits``: mean score of the best known
    minus that of the player, bits a play; ``best``: mean of the best known."""

    share: Interval
    bits: Interval
    best: float
    maps: int


def best_known(ceilings: Iterable[Row], plays: Iterable[Row] = ()) -> dict[MapSeeds, BestKnown]:
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
    """One game of a measure: its best known scores by map, and by player the gap to them, of one
    play and of the best of its first ℓ rounds. ``exported_game_id``: the game of the scope that it
    came from."""

    task_id: TaskId
    exported_game_id: str
    best_by_map: Mapping[MapSeeds, BestKnown]
    one_play: Mapping[str, CeilingGap]
    after_rounds: Mapping[str, CeilingGap]

    @property
    def best(self) -> float:
        """Mean over maps of the best known, bits."""
        return float(np.mean([best.score for best in self.best_by_map.values()]))

    @property
    def finders(self) -> str:
        """The three finders with the most maps, with their numbers of maps."""
        counts = Counter(best.found_by for best in self.best_by_map.values())
        return ", ".join(f"{name} {count}" for name, count in counts.most_common(3))


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
        rounds, one, after = tables["rounds"][task_id], dict[str, Any](), dict[str, Any]()
        best_by_map = best_known(rows, rounds)
        measures = tables["measures"][task_id]
        for measure in measures:
            maxima = _first_and_best(rounds, measure["policy_id"], measure["at_round"])
            if common := [key for key in maxima if key in best_by_map]:
                own = np.array([maxima[key] for key in common])
                best = np.array([best_by_map[key].score for key in common])
                for gaps, scores in ((one, own[:, 0]), (after, own[:, -1])):
                    gaps[measure["policy_id"]] = ceiling_gap(scores, best, measure["b"], confidence)
        if measures:
            origin = measures[0]["exported_game_id"]
            games.append(GameCeiling(task_id, origin, best_by_map, one, after))
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
    rng = np.random.default_rng(0)
    indices = rng.integers(0, len(scores), (DRAWS, len(scores)))
    own, most = scores[indices].mean(axis=1), best[indices].mean(axis=1)
    bits = bootstrapped(float((best - scores).mean()), most - own, confidence)
    way, share = float(best.mean()) - b, UNDEFINED
    if way > ROUNDING:
        value = float(scores.mean() - b) / way
        share = Interval(value, -math.inf, math.inf)
        if (most - b > ROUNDING).all():
            share = bootstrapped(value, (own - b) / (most - b), confidence)
    return CeilingGap(share, bits, float(best.mean()), len(best))


FEWEST_MAPS = 2
MOST_BLOCKS = 4096
"""Largest number of sets of models that the search for the largest block compares."""
SAME = {
    "measure": ("digest", None),
    "judge": ("measure", "judge"),
    "precision": ("measure", "dtype"),
    "base player": ("measure", "base"),
    "number of levels": ("measure", "m"),
    "seed": ("seed", None),
}
"""Settings that runs must share for their scores to be compared: section and key by name."""

Maps = dict[MapSeeds, dict[int, float]]
"""Scores in bits by round, of each map."""


class GameScores(NamedTuple):
    """One game: ``best`` (models, maps) bits over rounds 1..ℓ; ``step`` mθ bits, None without
    levels; ``narms`` (models,), NaN if a model has none."""

    task_id: TaskId
    exported_id: str
    at_round: int
    best: Scores
    step: float | None
    narms: Scores


class PairedScores(NamedTuple):
    """A complete block of ``models`` × ``games``, each in the order of their names; ``left_out``:
    one sentence for each model or game that is not in it."""

    models: tuple[str, ...]
    games: tuple[GameScores, ...]
    left_out: tuple[str, ...]

    def mean_narms(self) -> Scores:
        """Mean narms of each model over the games that have levels (models,); NaN without any."""
        values = np.stack([game.narms for game in self.games], axis=1)
        complete = values[:, np.isfinite(values).all(axis=0)]
        return complete.mean(axis=1) if complete.size else np.full(len(self.models), np.nan)


class _Game(NamedTuple):
    """One game, over all runs: the maps of each model, and its rows of ``measures``."""

    rounds: dict[str, Maps]
    measures: list[Row]


def read_paired_scores(
    archives: Sequence[Archive],
    models: Collection[str] | None = None,
    games: Iterable[TaskId] | None = None,
    run_id: str | None = None,
) -> PairedScores:
    """The largest complete block of all measured runs in ``archives``, restricted to ``models``,
    ``games`` and one run if they are given.

    Raises :class:`RatingError` if there is none, or if runs differ in a setting of ``SAME``.
    """
    runs = [
        run
        for archive in archives
        for run in Run.all(archive)
        if run_id in (None, run.run_id) and "digest" in run.config  # it measured models
    ]
    _require_comparable(runs)
    by_id = _games(runs, models)
    if games is not None:
        by_id = {task_id: by_id[task_id] for task_id in sorted(set(games)) if task_id in by_id}
    players = sorted({name for game in by_id.values() for name in game.rounds})
    configured = {str(name) for run in runs for name in run.config.get("players") or ()}
    absent = [] if models is not None else sorted(configured - {*players})
    if not players:
        folders = ", ".join(str(archive.folder) for archive in archives)
        raise RatingError(
            f"{folders}: found no measured game, expected rounds of +experiment=measure"
        )
    chosen_models, members = _largest_block(players, by_id)
    if not members:
        raise RatingError(
            f"no game was played by a model on {FEWEST_MAPS} maps: found fewer, expected more maps"
        )
    names = [name for name in players if name in chosen_models]
    return PairedScores(
        tuple(names),
        tuple(_scores(task_id, by_id[task_id], names) for task_id in members),
        (
            *(f"model {name} is left out: it has played no game" for name in absent),
            *_left_out(players, by_id, chosen_models, members),
        ),
    )


def _require_comparable(runs: Sequence[Run]) -> None:
    for run in runs[1:]:
        for what, (section, key) in SAME.items():
            one, other = (
                each.config.get(section) if key is None else each.setting(section, key)
                for each in (runs[0], run)
            )
            if one != other:
                raise RatingError(
                    f"runs {runs[0].run_id} and {run.run_id} differ in their {what}: found {one} "
                    f"and {other}, expected the same: measure the models of one of them again"
                )


def _games(runs: Sequence[Run], models: Collection[str] | None) -> dict[TaskId, _Game]:
    games: dict[TaskId, _Game] = {}
    filters = [("purpose", "=", str(Purpose.MEASURE)), ("control", "=", False)]
    columns = ["policy_id", "game_id", "role", "map_seed", "play_seed", "round", "score"]
    for run in runs:
        for row in run.rows("rounds", columns, filters):
            if models is not None and row["policy_id"] not in models:
                continue
            maps = games.setdefault(TaskId.of(row), _Game({}, [])).rounds
            scores = maps.setdefault(row["policy_id"], {})
            its = scores.setdefault((row["map_seed"], row["play_seed"]), {})
            if (before := its.setdefault(row["round"], row["score"])) != row["score"]:
                raise RatingError(
                    f"{row['policy_id']} was measured twice on game {row['game_id']}, with "
                    f"different scores ({before:g} and {row['score']:g} bits on one map): name one "
                    "of the two runs"
                )
        for row in run.rows("measures"):
            games.setdefault(TaskId.of(row), _Game({}, [])).measures.append(row)
    return {task_id: games[task_id] for task_id in sorted(games) if games[task_id].rounds}


# -- the block -----------------------------------------------------------------------------------


def _largest_block(
    players: Sequence[str], games: Mapping[TaskId, _Game]
) -> tuple[frozenset[str], list[TaskId]]:
    """The block of models and games with the most pairs; among equals, with the most models."""
    blocks = (
        (models, [t for t, game in games.items() if len(_common(game, models)) >= FEWEST_MAPS])
        for models in _candidates(players, games)
    )
    return max(blocks, key=lambda block: (len(block[0]) * len(block[1]), len(block[0])))


def _candidates(players: Sequence[str], games: Mapping[TaskId, _Game]) -> list[frozenset[str]]:
    """Sets of models that may have maps in common: the models that played each map, and
    intersections of these sets, up to about ``MOST_BLOCKS``."""
    groups = {frozenset(players): None}
    for game in games.values():
        of_map: dict[MapSeeds, set[str]] = {}
        for name, maps in game.rounds.items():
            for seeds in maps:
                of_map.setdefault(seeds, set()).add(name)
        groups |= dict.fromkeys(map(frozenset, of_map.values()))
    fresh = list(groups)
    while fresh and len(groups) < MOST_BLOCKS:
        pairs = combinations(list(groups), 2)
        fresh = [both for a, b in pairs if (both := a & b) and both not in groups]
        groups |= dict.fromkeys(fresh[:MOST_BLOCKS])
    return [*groups, *(frozenset([name]) for name in players)]


def _common(game: _Game, models: Iterable[str]) -> list[MapSeeds]:
    """Maps that all ``models`` played, in order."""
    maps = [set(game.rounds.get(name, ())) for name in models]
    return sorted(set.intersection(*maps)) if maps else []


def _scores(task_id: TaskId, game: _Game, models: Sequence[str]) -> GameScores:
    """``at_round``, ℓ: the least round at which normalised scores were taken, and at most the least
    number of rounds that a map was played."""
    fewest_rounds = min(max(of) for maps in game.rounds.values() for of in maps.values())
    at, maps = min([fewest_rounds, *(m["at_round"] for m in game.measures)]), _common(game, models)
    best = [
        [max(s for r, s in game.rounds[name][pair].items() if r <= at) for pair in maps]
        for name in models
    ]
    last = game.measures[-1]["exported_game_id"] if game.measures else ""
    narms = {row["policy_id"]: row["narms"] for row in game.measures}
    return GameScores(
        task_id,
        last or task_id.game_id,
        at,
        np.array(best, np.float64),
        min((row["m"] * row["theta"] for row in game.measures), default=None),
        np.array([narms.get(name, np.nan) for name in models]),
    )


def _left_out(
    players: Sequence[str],
    games: Mapping[TaskId, _Game],
    chosen_models: frozenset[str],
    members: Sequence[TaskId],
) -> list[str]:
    sentences = []
    for name in players:
        if name not in chosen_models:
            missing = [t.game_id for t in members if len(_common(games[t], [name])) < FEWEST_MAPS]
            where = f"has not played {joined(missing)}" if missing else "shares too few maps"
            sentences.append(f"model {name} is left out: it {where}")
    for task_id, game in games.items():
        if task_id not in members:
            missing = [
                name for name in players if name in chosen_models and name not in game.rounds
            ]
            why = f"{joined(missing)} has not played it" if missing else "too few common maps"
            sentences.append(f"game {task_id.game_id} is left out: {why}")
    return sentences


def joined(names: Sequence[str], most: int = 3) -> str:
    """``a, b, c and 2 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
