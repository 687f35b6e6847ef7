"""How far an exported game's scores differ from the paper's dialect, and whether it ranks moves
equally.

Moves that the run sampled are played on the exported maps twice: in the exported form, and in the
paper's dialect. For the latter a game of the paper's dialect is played as it was archived; one of
the xent dialect is played under the paper's scoring, with BOS before everything and the first token
counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archive.export.selection import Map
from archive.schema import TaskId
from archive.store.archive import Archive
from xgl.analysis.static_facts import analyse
from xgl.errors import OversizeError, XGLError
from xgl.language.canonical import Game
from xgl.language.dialects import PAPER
from xgl.players import FixedMovesPlayer
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import Judge, ScoreRequest, Seeds, StoryRequest, TokenScores, TruthRequest

MAPS, MOVES = 8, 12
"""Most maps and moves of a game that are compared: every move on every map."""
SAME = 1e-6
"""Bits within which two moves have one rank."""

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Exactness:
    """Differences (exported − paper) in bits a play, over finished plays of ``moves`` on ``maps``.

    ``pairs`` of moves on one map differ by the paper's scores; ``pairs_kept`` is the share
    that the exported game ranks alike, ``best_kept`` the share of maps whose best move stays best.
    Null if no play finished.
    """

    plays: int
    maps: int
    moves: int
    mean_bits: float | None
    mean_abs_bits: float | None
    max_abs_bits: float | None
    pairs: int
    pairs_kept: float | None
    best_kept: float | None
    ranking_survived: bool | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class TextsOf:
    """A story source with the texts of maps."""

    def __init__(self, maps: Sequence[Map]) -> None:
        self.maps: Mapping[int, Map] = {game_map.map_seed: game_map for game_map in maps}

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        return [self.maps[seed].stories[request.site] for seed, request in requests]


class PaperScored:
    """A judge under the paper's scoring, for requests of any dialect."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.count, self.truncate = judge.count, judge.truncate
        self.first_tokens = judge.first_tokens

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores | OversizeError]:
        return self.judge.score([replace(request, scoring=PAPER.scoring) for request in requests])

    def truths(self, requests: list[TruthRequest]) -> list[bool | OversizeError]:
        return self.judge.truths(requests)


def sampled_moves(
    archive: Archive, run_id: str, task_id: TaskId, most: int = MOVES
) -> list[tuple[str, ...]]:
    """Different moves that the run's policies made in a game, the policies by turns."""
    filters = [
        ("run_id", "=", run_id),
        ("game_id", "=", task_id.game_id),
        ("role", "=", task_id.role),
    ]
    rows = archive.rows("scores", ["policy_id", "play_seed", "outcome", "moves"], filters)
    turns: dict[str, int] = {}
    ranked_moves: list[tuple[int, int, tuple[str, ...]]] = []
    order = {policy: index for index, policy in enumerate(dict.fromkeys(_policies(rows)))}
    for row in rows:
        if row["outcome"] == "finished" and row["moves"]:
            turn = turns[row["policy_id"]] = turns.get(row["policy_id"], -1) + 1
            ranked_moves.append((turn, order[row["policy_id"]], tuple(row["moves"])))
    return list(dict.fromkeys(moves for _, _, moves in sorted(ranked_moves)))[:most]


def _policies(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [row["policy_id"] for row in rows]


def compare(
    archived_game: Game,
    exported_game: Game,
    role: str,
    maps: Sequence[Map],
    moves: Sequence[tuple[str, ...]],
    judge: Judge,
) -> Exactness:
    """Play both; the other players repeat the same moves on both sides."""
    maps = maps[:MAPS]
    exported_scores = play_scores(exported_game, role, maps, moves, judge)
    if archived_game.dialect == PAPER.name:
        paper_scores = play_scores(archived_game, role, maps, moves, judge)
    else:
        paper_scores = play_scores(exported_game, role, maps, moves, PaperScored(judge))
    return summary(paper_scores, exported_scores)


def play_scores(
    game: Game,
    role: str,
    maps: Sequence[Map],
    moves: Sequence[tuple[str, ...]],
    judge: Judge,
) -> Scores:
    """(maps, moves) float64 scores of the role in bits; NaN if a play did not finish."""
    seeds = [[Seeds(game_map.map_seed, index) for index in range(len(moves))] for game_map in maps]
    flat = [seed for row in seeds for seed in row]
    chairs = dict.fromkeys((*analyse(game.program).players, role))
    players = {name: FixedMovesPlayer({s: moves[s.play_seed] for s in flat}) for name in chairs}
    cast = Cast(judge, TextsOf(maps), dict(players))
    try:
        plays = play_all([Instance(game, seed) for seed in flat], cast)
    except XGLError:  # of the judge, or of a flag out of order: nothing is comparable
        return np.full((len(maps), len(moves)), np.nan)
    scores = [
        play.scores.get(role, 0.0) if play.outcome_for(role) == "finished" else np.nan
        for play in plays
    ]
    return np.array(scores, dtype=float).reshape(len(maps), len(moves))


def summary(paper_scores: Scores, exported_scores: Scores) -> Exactness:
    """The comparison of two (maps, moves) tables of scores."""
    both = np.isfinite(paper_scores) & np.isfinite(exported_scores)
    differences = (exported_scores - paper_scores)[both]
    agreements = [
        _agrees(a, b)
        for first, second, sound in zip(paper_scores, exported_scores, both, strict=True)
        for a, b in zip(_differences(first[sound]), _differences(second[sound]), strict=True)
        if abs(a) > SAME
    ]
    best = [
        bool(second[sound][np.argmax(first[sound])] >= second[sound].max() - SAME)
        for first, second, sound in zip(paper_scores, exported_scores, both, strict=True)
        if sound.sum() > 1
    ]
    return Exactness(
        plays=int(both.sum()),
        maps=int(both.any(axis=1).sum()),
        moves=int(both.any(axis=0).sum()),
        mean_bits=_number(np.mean, differences),
        mean_abs_bits=_number(np.mean, np.abs(differences)),
        max_abs_bits=_number(np.max, np.abs(differences)),
        pairs=len(agreements),
        pairs_kept=_number(np.mean, np.array(agreements, dtype=float)),
        best_kept=_number(np.mean, np.array(best, dtype=float)),
        ranking_survived=all(agreements) if agreements else None,
    )


def _agrees(one: float, other: float) -> bool:
    return abs(other) > SAME and (one > 0) == (other > 0)


def _differences(scores: Scores) -> list[float]:
    return [float(a - b) for a, b in combinations(scores, 2)]


def _number(function: Any, values: Scores) -> float | None:
    return float(function(values)) if values.size else None
