"""Plays by policy, game and purpose, and the policies that stand for a game."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from archive.schema import TABLES, GainKind, PlaysKey, TaskId
from xgl.analysis.static_facts import analyse
from xgl.language.canonical import Game

Scores = NDArray[np.float64]
SCORE_COLUMNS = (*TABLES["scores"].key[1:], "score", "permuted_score")
"""Columns that are read of the table ``scores``."""
PURPOSES = ("acceptance", "selection")
"""Plays that values may rest on, the preferred first."""


@dataclass(frozen=True)
class Plays:
    """Plays of one policy on one game for one purpose, in the order of their seeds.

    ``seeds`` (n, 2) int64: map and play seed, no pair twice; ``own``: scores with the moves made
    for the map, ``permuted_scores``: with moves made for other maps, (n,) float64 in bits, NaN if
    not computed.
    """

    seeds: NDArray[np.int64]
    own: Scores
    permuted_scores: Scores

    def at(self, indices: slice | NDArray[np.int64] | NDArray[np.bool_]) -> Plays:
        """The plays with these indices (a slice, an array or a mask), in their order."""
        return Plays(self.seeds[indices], self.own[indices], self.permuted_scores[indices])

    def of_play_seeds(self, play_seeds: Sequence[int] | NDArray[np.int64]) -> Plays:
        """The plays with these play seeds, ascending."""
        ordered = self.at(np.argsort(self.seeds[:, 1], kind="stable"))
        return ordered.at(np.isin(ordered.seeds[:, 1], play_seeds))

    def kind(self, gain: GainKind) -> Scores:
        """Total scores, or the map-specific part (n,)."""
        return self.own if gain == GainKind.TOTAL else self.own - self.permuted_scores


def on_common_seeds(samples: Sequence[Plays]) -> list[Plays]:
    """The samples, at least one, on the seeds that all of them have, in their order."""
    first, *others = samples
    if all(np.array_equal(first.seeds, sample.seeds) for sample in others):
        return list(samples)
    shared = set.intersection(*({*map(tuple, sample.seeds.tolist())} for sample in samples))
    masks = ([tuple(pair) in shared for pair in sample.seeds.tolist()] for sample in samples)
    return [sample.at(np.array(mask, bool)) for sample, mask in zip(samples, masks, strict=True)]


def representative_policies(
    finetunes: Iterable[Mapping[str, object]],
    decisions: Iterable[Mapping[str, Any]],
    replicates: int,
) -> dict[TaskId, tuple[str, ...]]:
    """The policies that stand for each fine-tuned game, ``replicates`` of each.

    A game of the scope with several fine-tunes is represented by the first that the latest decision
    naming all of them lists, the best one at that decision: what is dismissed late names what there
    was before. Every other game is represented by its newest one of the whole budget, if any."""
    rows = list(finetunes)
    by_game, whole = policies_of(rows), policies_of(r for r in rows if not r.get("state_hash"))
    policies = {each: whole.get(each, ids)[-replicates:] for each, ids in by_game.items()}
    game = {policy_id: task_id for task_id, ids in by_game.items() for policy_id in ids}
    best: dict[TaskId, tuple[str, ...]] = {}
    for row in decisions:
        named: dict[TaskId, tuple[str, ...]] = {}
        for policy in row["scope_finetunes"]:
            if policy in game:
                named[game[policy]] = (*named.get(game[policy], ()), policy)
        best |= {each: ids for each, ids in named.items() if {*best.get(each, ())} <= {*ids}}
    for task_id, (policy, *_) in best.items():
        start = by_game[task_id].index(policy)
        policies[task_id] = by_game[task_id][start : start + replicates]
    return policies


def policies_of(finetunes: Iterable[Mapping[str, Any]]) -> dict[TaskId, tuple[str, ...]]:
    """The fine-tunes of each game by share and training seed; several may end in any order."""
    by_game: dict[TaskId, list[str]] = {}
    for row in sorted(finetunes, key=lambda row: (row["share"], row["replicate"])):
        by_game.setdefault(TaskId.of(row), []).append(str(row["finetune_id"]))
    return {task_id: tuple(ids) for task_id, ids in by_game.items()}


def plays_of(scores: pa.Table) -> dict[PlaysKey, Plays]:
    """Score rows of one run (columns SCORE_COLUMNS) by policy, game, role and purpose. Of a play
    that is there twice, which ``verify`` names, the first counts."""
    names = list(SCORE_COLUMNS[:4])
    codes = [scores.column(name).combine_chunks().dictionary_encode() for name in names]
    parts = [code.indices.to_numpy() for code in codes]
    seeds = np.stack([scores.column(n).to_numpy() for n in ("map_seed", "play_seed")], axis=1)
    own, permuted_scores = (
        scores.column(n).to_numpy(zero_copy_only=False).astype(np.float64)
        for n in ("score", "permuted_score")
    )
    order = np.lexsort((seeds[:, 1], seeds[:, 0], *reversed(parts)))
    places = np.stack([*parts, *seeds.T], axis=1)[order]
    order = order[np.any(np.diff(places, axis=0, prepend=-1), axis=1)]
    keys = np.stack([part[order] for part in parts], axis=1)
    starts = np.flatnonzero(np.any(keys[1:] != keys[:-1], axis=1)) + 1
    groups = [group for group in np.split(order, starts) if len(group)]
    first = pa.array([group[0] for group in groups], pa.int64())
    return {
        PlaysKey.of(row): Plays(seeds[group], own[group], permuted_scores[group])
        for row, group in zip(scores.select(names).take(first).to_pylist(), groups, strict=True)
    }


def floor_of(plays: Iterable[tuple[str, float]], game: Game, role: str) -> float:
    """The lowest finished score, minus one bit for each move token of the role; 0 if none finished.

    ``plays`` are (outcome, bits) of the base player's calibration plays, before any fine-tuning
    (docs/specification.md, "The floor").
    """
    finished = [bits for outcome, bits in plays if outcome == "finished"]
    move_tokens = analyse(game.program, game.metadata, role).move_tokens
    return min(finished) - move_tokens if finished else 0.0
