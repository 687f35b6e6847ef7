"""Scores of several models on the same maps of the same games, from archives of
``+experiment=measure``.

Only a complete block can be rated: models that all played the same games, each on at least two
common maps. The largest block is used, and everything left out is named; nothing is imputed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from archive.errors import RatingError
from archive.run import Run
from archive.schema import Purpose, TaskId
from archive.statistics.intervals import Scores
from archive.store.archive import Archive

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

Maps = dict[tuple[int, int], dict[int, float]]
"""Scores in bits by round, of each map (map seed and play seed)."""


@dataclass(frozen=True)
class GameScores:
    """One game: ``best`` (models, maps) bits over rounds 1..ℓ; ``step`` mθ bits, None without
    levels; ``narms`` (models,), NaN if a model has none."""

    task_id: TaskId
    exported_id: str
    at_round: int
    best: Scores
    step: float | None
    narms: Scores


@dataclass(frozen=True)
class PairedScores:
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
    measures: list[Mapping[str, Any]]


def read_paired_scores(
    archives: Sequence[Archive],
    models: Iterable[str] | None = None,
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
    by_id = _games(runs)
    players = sorted({name for game in by_id.values() for name in game.rounds})
    configured = {str(name) for run in runs for name in run.config.get("players") or ()}
    absent = [] if models is not None else sorted(configured - {*players})
    if models is not None:
        players = sorted({*models} & {*players})
        for task_id, game in by_id.items():
            kept = {name: game.rounds[name] for name in players if name in game.rounds}
            by_id[task_id] = game._replace(rounds=kept)
    if games is not None:
        by_id = {task_id: by_id[task_id] for task_id in sorted(set(games)) if task_id in by_id}
        players = sorted({name for game in by_id.values() for name in game.rounds})
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


def _games(runs: Sequence[Run]) -> dict[TaskId, _Game]:
    games: dict[TaskId, _Game] = {}
    filters = [("purpose", "=", str(Purpose.MEASURE)), ("control", "=", False)]
    columns = ["policy_id", "game_id", "role", "map_seed", "play_seed", "round", "score"]
    for run in runs:
        for row in run.rows("rounds", columns, filters):
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
    best: tuple[int, int] = (0, 0)
    block: tuple[frozenset[str], list[TaskId]] = (frozenset(), [])
    for models in _candidates(players, games):
        members = [t for t, game in games.items() if len(_common(game, models)) >= FEWEST_MAPS]
        size = (len(models) * len(members), len(models))
        if members and size > best:
            best, block = size, (models, members)
    return block


def _candidates(players: Sequence[str], games: Mapping[TaskId, _Game]) -> list[frozenset[str]]:
    """Sets of models that may have maps in common: the models that played each map, and
    intersections of these sets, up to about ``MOST_BLOCKS``."""
    groups = {frozenset(players): None}
    for game in games.values():
        of_map: dict[tuple[int, int], set[str]] = {}
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


def _common(game: _Game, models: Iterable[str]) -> list[tuple[int, int]]:
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
            where = f"has not played {_join_names(missing)}" if missing else "shares too few maps"
            sentences.append(f"model {name} is left out: it {where}")
    for task_id, game in games.items():
        if task_id not in members:
            missing = [
                name for name in players if name in chosen_models and name not in game.rounds
            ]
            why = f"{_join_names(missing)} has not played it" if missing else "too few common maps"
            sentences.append(f"game {task_id.game_id} is left out: {why}")
    return sentences


def _join_names(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
