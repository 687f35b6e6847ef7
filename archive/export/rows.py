"""Rows of data sets: games of a selection on archived maps, with what is known of their scores.

Training maps and evaluation maps share neither a seed nor a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archive.errors import ExportError
from archive.export.folder import ROWS, Options
from archive.export.selection import Map, Texts, archived_game, choose, levels_of
from archive.run import Run
from archive.schema import BASE_POLICY, SEARCH_POLICIES, TaskId
from archive.statistics.rounds import thresholds
from archive.text import listed
from xgl.analysis.static_facts import analyse
from xgl.environments.rows import Base, Row
from xgl.escaping import json_text
from xgl.language.canonical import Game
from xgl.language.model_names import model_names
from xgl.runtime.plan import asked_stories
from xgl.runtime.requests import StoryRequest

SPLITS = {"train": ("training",), "test": ("acceptance", "selection", "calibration")}


@dataclass(frozen=True)
class KnownScores:
    """The archived scores of a game in a role, in bits: the floor, the base player's plays, and the
    best score of any policy, over all maps and by map seed."""

    floor: float
    base: Base | None
    best: float | None
    best_on: Mapping[int, float]


@dataclass(frozen=True)
class TaskRow:
    """One row: its split, what is played, and what is known of the game's scores."""

    split: str
    row: Row
    scores: KnownScores

    @property
    def task_id(self) -> TaskId:
        return TaskId(self.row.game.game_id, self.row.role)

    @property
    def id(self) -> str:
        """Game, role and map."""
        return f"{self.row.game.game_id}-{self.row.role}-{self.row.map_seed}"

    @property
    def info(self) -> str:
        """What ``xgl.environments.rows.read_row`` reads: game, map, floor and base."""
        row, whole = self.row, self.row.game
        facts = {
            "game_id": whole.game_id,
            "role": row.role,
            "code": whole.code,
            "dialect": whole.dialect,
            "metadata": asdict(whole.metadata),
            "map_seed": row.map_seed,
            "stories": list(row.stories),
            "floor": row.floor,
            "base": None if row.base is None else asdict(row.base),
        }
        return json_text(facts)

    def columns(self) -> dict[str, Any]:
        """Id, game, role, split and scores, as the card of a data set describes them."""
        base = self.scores.base
        return {
            "id": self.id,
            "game_id": self.row.game.game_id,
            "role": self.row.role,
            "split": self.split,
            "limits": [limit for _, limit in self.row.asks],
            "base_mean": None if base is None else base.mean,
            "base_spread": None if base is None else base.spread,
            "best_score": self.scores.best,
            "best_score_on_map": self.scores.best_on.get(self.row.map_seed),
        }


def task_rows(run: Run, options: Options) -> list[TaskRow]:
    """Every game of the scope or cover on at most ``options.maps`` maps of each split: a row of
    each game in turn, so that the first rows of a split hold many games.

    Raises ExportError if no map is archived; also LookupFailedError for a game that is not.
    """
    selection = choose(run, options.eta)
    game_rows = run.games(game_id for game_id, _ in selection.covers)
    games = [(archived_game(game_rows[game_id]), role) for game_id, role in selection.covers]
    known = [known_scores(run, whole, role) for whole, role in games]
    rows: list[TaskRow] = []
    for split, purposes in SPLITS.items():
        texts = Texts(run, purposes)
        by_game = [
            [
                TaskRow(split, Row(whole, role, *game_map, scores.floor, scores.base), scores)
                for game_map in _maps(texts, asked_stories(whole), options.maps or ROWS)
            ]
            for (whole, role), scores in zip(games, known, strict=True)
        ]
        rows += (row for turn in zip_longest(*by_game) for row in turn if row is not None)
    if not rows:
        raise ExportError("found no map whose texts are archived, expected a run that played")
    return rows


def require_judge_alone(rows: Sequence[TaskRow]) -> None:
    """Raises ExportError for a game that needs models under the judge: who reads the rows loads the
    judge alone."""
    games = {each.row.game.game_id: each.row.game for each in rows}
    for game_id, whole in games.items():
        if names := model_names(whole):
            raise ExportError(
                f"game {game_id}: found that it needs the model {names[0]!r} under the judge, "
                "expected games of one judge; --format xgl, sft and dpo hold it"
            )


def counts_text(splits: Iterable[str]) -> str:
    """The number of rows of each split: ``4 train and 4 test``."""
    counts = Counter(splits)
    return listed([f"{counts[split]} {split}" for split in SPLITS])


def _maps(texts: Texts, asked: Sequence[StoryRequest], count: int) -> list[Map]:
    if not asked:
        return [Map(seed, ()) for seed in texts.seeds[:1]]
    maps = (texts.map(seed, asked) for seed in texts.seeds)
    return [game_map for game_map in maps if game_map is not None][:count]


def known_scores(run: Run, whole: Game, role: str) -> KnownScores:
    """The scores of all plays of the run but of searches; unfinished ones count as the floor, never
    as the best."""
    columns = ["policy_id", "map_seed", "outcome", "score"]
    plays = run.rows_of(TaskId(whole.game_id, role), "scores", columns)
    plays = [row for row in plays if row["policy_id"] not in SEARCH_POLICIES]
    finished_plays = [row for row in plays if row["outcome"] == "finished"]
    best_on: dict[int, float] = {}
    for row in finished_plays:
        best_on[row["map_seed"]] = max(row["score"], best_on.get(row["map_seed"], row["score"]))
    of_base = [row["score"] for row in plays if row["policy_id"] == BASE_POLICY]
    return KnownScores(
        floor=base_floor(run, whole, role),
        base=_base(of_base),
        best=max(best_on.values(), default=None),
        best_on=best_on,
    )


def _base(scores: Sequence[float]) -> Base | None:
    if not scores:
        return None
    spread = float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0
    return Base(float(np.mean(scores)), spread, len(scores))


# -- thresholds of narms (Def. 42), from the base player's repeated plays --------------------------

_COLUMNS = ["map_seed", "play_seed", "round", "score"]


def base_thresholds(run: Run, game: Game, role: str) -> dict[str, Any] | None:
    """b, θ, m, what they rest on and the floor of unfinished plays; None if the run holds no
    repeated play of the base player on the game, or its arms never rose."""
    if run.is_measured:
        return levels_of(run, TaskId(game.game_id, role))
    filters = [("policy_id", "=", BASE_POLICY), ("control", "=", False)]
    of_base = levels(run.rows_of(TaskId(game.game_id, role), "rounds", _COLUMNS, *filters))
    return of_base and {**of_base, "floor": base_floor(run, game, role)}


def base_floor(run: Run, game: Game, role: str) -> float:
    """The score of an unfinished play, in bits: the lowest finished score of the base player, minus
    a bit for each move token (docs/specification.md, "The floor"); of calibration plays if there
    are any."""
    filters = [("policy_id", "=", BASE_POLICY), ("outcome", "=", "finished")]
    rows = run.rows_of(TaskId(game.game_id, role), "scores", ["purpose", "score"], *filters)
    first = [row for row in rows if row["purpose"] == "calibration"] or rows
    lowest: float = min((row["score"] for row in first), default=0.0)
    return lowest - analyse(game.program, game.metadata, role).move_tokens


def levels(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The thresholds of rows of repeated play; samples that ended early are left out."""
    scores = _scores(rows)
    base = thresholds(scores) if scores.size else None
    if base is None:
        return None
    return {
        "b": base.b,
        "theta": base.theta,
        "m": base.m,
        "rounds": base.rounds,
        "maps": base.samples,
        "k_m": base.k_m,
        "policy": BASE_POLICY,
    }


def _scores(rows: Iterable[Mapping[str, Any]]) -> NDArray[np.float64]:
    """(N, K) float64 bits: a sample's rounds in order."""
    by_sample: dict[tuple[int, int], dict[int, float]] = {}
    for row in rows:
        sample = by_sample.setdefault((row["map_seed"], row["play_seed"]), {})
        sample[row["round"]] = row["score"]
    rounds = max((len(sample) for sample in by_sample.values()), default=0)
    whole = [sample for sample in by_sample.values() if len(sample) == rounds]
    return np.array([[sample[k] for k in sorted(sample)] for sample in whole], dtype=float)
