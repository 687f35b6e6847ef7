"""The contents of a report: gathered once from an archive's rows, then only drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from archive.schema import Definition, GainKind, TaskId
from archive.statistics.intervals import Interval
from archive.statistics.rule import OwnGain
from archive.statistics.scripts import ScriptComparison


@dataclass(frozen=True)
class Token:
    """A piece of a scored text; ``bits`` as they count for the player, None if unscored."""

    text: str
    bits: float | None


@dataclass(frozen=True)
class ScoredText:
    """One xent of a reward: the expression, what it is worth in bits, and the text by token."""

    expression: str
    bits: float
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class BestPlay:
    """A play among a game's best: who played, the map's texts, the moves, the score in bits, and
    the base player's on the same seeds; ``terms`` are empty if their bits are not known."""

    policy_id: str
    map_seed: int
    play_seed: int
    texts: tuple[str, ...]
    moves: tuple[str, ...]
    score: float
    base: float | None
    terms: tuple[ScoredText, ...] = ()


@dataclass(frozen=True)
class GameTransfer:
    """How much of what playing ``game`` teaches is learned by playing another, or the reverse."""

    game: int
    value: Interval


@dataclass(frozen=True)
class GameFacts:
    """One game of the newest scope; ``parent`` and ``children`` are places in the report's list.

    ``title``: what it pays for. ``known_as``: the title of the library's game that it equals, if
    any. ``faults``: why the program that is archived cannot be read.
    """

    place: int
    task_id: TaskId
    name: str
    title: str
    known_as: str
    code: str
    dialect: str
    metadata_json: str
    rules: tuple[str, ...]
    rewards: tuple[int, ...]
    """Places of the rules that say what is paid."""
    faults: str
    drawing: str
    pay: str
    """Its reward lines, for one line of a list."""
    steps: int
    generation: int
    parent: int | None
    children: tuple[int, ...]
    gamma: float | None
    decision: Mapping[str, Any] | None
    sampler: str
    operators: tuple[str, ...]
    training: Mapping[str, Any] | None
    """The row of its fine-tune."""
    own: OwnGain
    """What training on it gains, in all and about the map, as the decision on it says."""
    scripts: ScriptComparison | None
    plays: tuple[BestPlay, ...]
    no_bits: str
    """Why the plays show no bits for each token; empty if they do."""
    teaches: tuple[GameTransfer, ...]
    taught_by: tuple[GameTransfer, ...]


@dataclass(frozen=True)
class DecidedCandidate:
    """A decision that has both values; ``place`` is that of an accepted game."""

    game_id: str
    verdict: str
    reason: str
    generation: int
    value: Interval
    gamma: Interval
    place: int | None


@dataclass(frozen=True)
class Count:
    """How often something happened, in words for a newcomer; ``kind`` groups counts."""

    kind: str
    name: str
    meaning: str
    count: int


@dataclass(frozen=True)
class StageCost:
    """The cost of one stage of the search: tokens of the player (or sampler) and worker seconds."""

    name: str
    meaning: str
    items: int
    noun: str
    tokens: int
    seconds: float


@dataclass(frozen=True)
class RunThresholds:
    """α1 and α2, the value that decides and the gain that it is made of."""

    alpha1: float
    alpha2: float
    definition: Definition
    gain_kind: GainKind
    confidence: float | None
