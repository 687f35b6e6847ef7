"""What several models scored on the same maps of the same games, from archives of
``+experiment=measure``.

Only a complete block can be rated: models that all played the same games, each on at least two
common maps. The largest is kept, the rest is named; nothing is imputed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from archive.errors import RatingError
from archive.query import run_config, runs
from archive.schema import Purpose, TaskId
from archive.statistics.intervals import Scores
from archive.store.archive import Archive

FEWEST_MAPS = 2
MOST_BLOCKS = 4096
"""Sets of models that are compared in the search for the largest block."""
SAME = {
    "measure": ("digest", None),
    "judge": ("measure", "judge"),
    "precision": ("measure", "dtype"),
    "base player": ("measure", "base"),
    "number of levels": ("measure", "m"),
    "seed": ("seed", None),
}
"""What runs must share for their scores to be compared, by its name for people."""

Best = dict[tuple[int, int], float]
"""Best score over rounds 1..ℓ, bits, by map seed and play seed."""


@dataclass(frozen=True)
class GameScores:
    """One game: ``best`` (models, maps) bits over rounds 1..ℓ; ``step`` mθ bits, None without
    levels; ``narms`` (models,), NaN where a model has none."""

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
        """Of each model over the games that have levels (models,); NaN without any."""
        values = np.stack([game.narms for game in self.games], axis=1)
        known = values[:, np.isfinite(values).all(axis=0)]
        return known.mean(axis=1) if known.size else np.full(len(self.models), np.nan)


@dataclass
class _Game:
    """What is known of one game, over all runs."""

    exported_id: str = ""
    rounds: dict[str, dict[tuple[int, int], dict[int, float]]] = field(default_factory=dict)
    at_rounds: list[int] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    narms: dict[str, float] = field(default_factory=dict)

    def at_round(self) -> int:
        """ℓ: the least round at which normalised scores were taken; without any, the least
        number of rounds that a map was played for."""
        played = min(max(of) for maps in self.rounds.values() for of in maps.values())
        return min([played, *self.at_rounds])


def read_paired_scores(
    archives: Sequence[Archive],
    models: Iterable[str] | None = None,
    games: Iterable[TaskId] | None = None,
    run_id: str | None = None,
) -> PairedScores:
    """The largest complete block of all measured runs in ``archives``, of ``models``, ``games`` and
    one run where they are given.

    Raises :class:`RatingError` where there is none, or where runs differ in what makes scores
    comparable.
    """
    chosen_runs = [[each for each in _measuring(a) if run_id in (None, each)] for a in archives]
    _require_comparable(archives, chosen_runs)
    known = _games(archives, chosen_runs)
    absent = [] if models is not None else _without_games(archives, chosen_runs, known)
    if models is not None:
        kept = set(models)
        for each in known.values():
            each.rounds = {name: of for name, of in each.rounds.items() if name in kept}
    if games is not None:
        known = {task_id: known[task_id] for task_id in sorted(set(games)) if task_id in known}
    players = sorted({name for each in known.values() for name in each.rounds})
    if not players:
        places = ", ".join(str(archive.folder) for archive in archives)
        raise RatingError(
            f"{places}: found no measured game, expected rounds of +experiment=measure"
        )
    chosen, members = _largest_block(players, known)
    if not members:
        raise RatingError(
            f"no game was played by a model on {FEWEST_MAPS} maps: found fewer, expected more maps"
        )
    names = [name for name in players if name in chosen]
    return PairedScores(
        tuple(names),
        tuple(_scores(task_id, known[task_id], names) for task_id in members),
        (
            *(f"model {name} is left out: it has played no game" for name in absent),
            *_left_out(players, known, chosen, members),
        ),
    )


# -- rows ----------------------------------------------------------------------------------------


def _require_comparable(archives: Sequence[Archive], run_ids: Sequence[Sequence[str]]) -> None:
    first: tuple[str, Mapping[str, Any]] | None = None
    for archive, chosen in zip(archives, run_ids, strict=True):
        for run_id in chosen:
            config = run_config(archive, run_id)
            if first is None:
                first = run_id, config
            for what, (section, key) in SAME.items():
                one, other = (_setting(each, section, key) for each in (first[1], config))
                if one != other:
                    raise RatingError(
                        f"runs {first[0]} and {run_id} differ in their {what}: found {one} and "
                        f"{other}, expected the same: measure the models of one of them again"
                    )


def _measuring(archive: Archive) -> list[str]:
    """Runs that measured models on an exported measure."""
    known = [run.run_id for run in runs(archive)]
    return [run_id for run_id in known if "digest" in run_config(archive, run_id)]


def _setting(config: Mapping[str, Any], section: str, key: str | None) -> Any:
    settings = config.get(section)
    return settings if key is None or not isinstance(settings, Mapping) else settings.get(key)


def _games(archives: Sequence[Archive], run_ids: Sequence[Sequence[str]]) -> dict[TaskId, _Game]:
    known: dict[TaskId, _Game] = {}
    wanted = [("purpose", "=", str(Purpose.MEASURE)), ("control", "=", False)]
    columns = ["policy_id", "game_id", "role", "map_seed", "play_seed", "round", "score"]
    for archive, chosen in zip(archives, run_ids, strict=True):
        mine = ("run_id", "in", list(chosen))
        for row in archive.rows("rounds", columns, [*wanted, mine]) if chosen else ():
            game = known.setdefault(TaskId.of(row), _Game())
            maps = game.rounds.setdefault(row["policy_id"], {})
            scores = maps.setdefault((row["map_seed"], row["play_seed"]), {})
            before = scores.setdefault(row["round"], row["score"])
            if before != row["score"]:
                raise RatingError(
                    f"{row['policy_id']} was measured twice on game {row['game_id']}, with "
                    f"different scores ({before:g} and {row['score']:g} bits on one map): name one "
                    "of the two runs"
                )
        for row in archive.rows("measures", filters=[mine]) if chosen else ():
            _add_measured(known.setdefault(TaskId.of(row), _Game()), row)
    return {task_id: known[task_id] for task_id in sorted(known) if known[task_id].rounds}


def _without_games(
    archives: Sequence[Archive], run_ids: Sequence[Sequence[str]], known: Mapping[TaskId, _Game]
) -> list[str]:
    """Models that a run was to measure and none has measured."""
    wanted = [
        str(name)
        for archive, chosen in zip(archives, run_ids, strict=True)
        for run_id in chosen
        for name in run_config(archive, run_id).get("players") or ()
    ]
    played = {name for game in known.values() for name in game.rounds}
    return sorted({*wanted} - played)


def _add_measured(game: _Game, row: Mapping[str, Any]) -> None:
    game.exported_id = row["exported_game_id"]
    game.at_rounds.append(row["at_round"])
    game.steps.append(row["m"] * row["theta"])
    game.narms[row["policy_id"]] = row["narms"]


# -- the block -----------------------------------------------------------------------------------


def _largest_block(
    players: Sequence[str], known: Mapping[TaskId, _Game]
) -> tuple[frozenset[str], list[TaskId]]:
    """The models and games with the most pairs; of equals the one with more models."""
    best: tuple[int, int] = (0, 0)
    chosen: tuple[frozenset[str], list[TaskId]] = (frozenset(), [])
    for models in _candidates(players, known):
        members = [t for t, game in known.items() if len(_common(game, models)) >= FEWEST_MAPS]
        size = (len(models) * len(members), len(models))
        if members and size > best:
            best, chosen = size, (models, members)
    return chosen


def _candidates(players: Sequence[str], known: Mapping[TaskId, _Game]) -> list[frozenset[str]]:
    """Sets of models that may have maps in common: those that played each map, and what is common
    to some of these sets, as far as ``MOST_BLOCKS`` allow."""
    groups = {frozenset(players): None}
    for game in known.values():
        of_map: dict[tuple[int, int], set[str]] = {}
        for name, maps in game.rounds.items():
            for each in maps:
                of_map.setdefault(each, set()).add(name)
        groups |= dict.fromkeys(map(frozenset, of_map.values()))
    fresh = list(groups)
    while fresh and len(groups) < MOST_BLOCKS:
        pairs = combinations(list(groups), 2)
        fresh = [both for a, b in pairs if (both := a & b) and both not in groups]
        groups |= dict.fromkeys(fresh[:MOST_BLOCKS])
    return [*groups, *(frozenset([name]) for name in players)]


def _common(game: _Game, models: Iterable[str]) -> list[tuple[int, int]]:
    """Maps that all of them played, in order."""
    played = [set(game.rounds.get(name, ())) for name in models]
    return sorted(set.intersection(*played)) if played else []


def _scores(task_id: TaskId, game: _Game, models: Sequence[str]) -> GameScores:
    at, maps = game.at_round(), _common(game, models)
    best = [
        [max(s for r, s in game.rounds[name][pair].items() if r <= at) for pair in maps]
        for name in models
    ]
    return GameScores(
        task_id,
        game.exported_id or task_id.game_id,
        at,
        np.array(best, np.float64),
        min(game.steps) if game.steps else None,
        np.array([game.narms.get(name, np.nan) for name in models]),
    )


def _left_out(
    players: Sequence[str],
    known: Mapping[TaskId, _Game],
    chosen: frozenset[str],
    members: Sequence[TaskId],
) -> list[str]:
    sentences = []
    for name in players:
        if name not in chosen:
            missing = [t.game_id for t in members if len(_common(known[t], [name])) < FEWEST_MAPS]
            where = f"has not played {_listed(missing)}" if missing else "shares too few maps"
            sentences.append(f"model {name} is left out: it {where}")
    for task_id, game in known.items():
        if task_id not in members:
            missing = [name for name in players if name in chosen and name not in game.rounds]
            why = f"{_listed(missing)} has not played it" if missing else "too few common maps"
            sentences.append(f"game {task_id.game_id} is left out: {why}")
    return sentences


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
