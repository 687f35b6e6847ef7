"""Credit for moves: what a play paid after each, and the groups that moves are compared within
(docs/specification.md, "Fine-tuning")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evo.jobs.evaluate import Task
from xgl.random_streams import seed as named_seed
from xgl.runtime.requests import Move, Moved, Play, Rewarded, Seeds


@dataclass(frozen=True)
class Credit:
    """A move, the score collected after it (bits), and the group it is compared within: map seed,
    line, and how often that line was met before."""

    move: Move
    reward_to_go: float
    group: tuple[int, int, int]

    @property
    def map_seed(self) -> int:
        """Of the map that the move was made on."""
        return self.group[0]

    @property
    def line(self) -> int:
        """Of the elicit that asked for the move."""
        return self.group[1]


def training_seeds(seed: int, step: int, maps: int, rollouts: int, first: int = 0) -> list[Seeds]:
    """Fresh even map seeds for every step, the same for every game of a run; from the map ``first``
    of the step on."""
    places = range(first, first + maps)
    map_seeds = [2 * named_seed("training", seed, step, index, bits=61) for index in places]
    return [Seeds(map_seed, play) for map_seed in map_seeds for play in range(rollouts)]


def credits_of(play: Play, map_seed: int, task: Task, standing: bool = False) -> list[Credit]:
    """Per-elicit credit: the role's rewards after each of its moves, or of those alone that no
    failed ensure sent back, where ``standing``.

    In a play that did not finish every move is credited with the game's floor.
    """
    kept = {id(event) for event in play.standing(task.role)} if standing else None
    finished = play.outcome_for(task.role) == "finished"
    to_go, returns = 0.0, []
    for event in reversed(play.events):
        if isinstance(event, Rewarded) and event.player == task.role:
            to_go += event.bits
        if isinstance(event, Moved) and event.player == task.role:
            if kept is not None and id(event) not in kept:
                continue
            returns.append((event, to_go if finished else task.floor))
    occurrence: dict[int, int] = defaultdict(int)
    credits = []
    for moved, value in reversed(returns):
        credits.append(Credit(moved.move, value, (map_seed, moved.line, occurrence[moved.line])))
        occurrence[moved.line] += 1
    return credits


def credits_of_all(
    plays: Sequence[Play], seeds: Sequence[Seeds], task: Task, standing: bool = False
) -> list[Credit]:
    """The credits of several plays, in their order."""
    return [
        credit
        for play, each in zip(plays, seeds, strict=True)
        for credit in credits_of(play, each.map_seed, task, standing)
    ]


def shuffled(credits: Sequence[Credit], seed: int) -> list[Credit]:
    """Rewards shuffled among the moves (docs/specification.md, "Null control")."""
    order = np.random.default_rng(seed).permutation(len(credits))
    dealt = [credits[index].reward_to_go for index in order]
    return [replace(credit, reward_to_go=to) for credit, to in zip(credits, dealt, strict=True)]


def groups_of(credits: Sequence[Credit]) -> list[NDArray[np.int64]]:
    """The places of the members of each group, in the order of the groups' first members."""
    members: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for index, credit in enumerate(credits):
        members[credit.group].append(index)
    return [np.array(places) for places in members.values()]
