"""One game on one map as a row of a data set: what is played, and what its scores are compared
with. Rows are data: their games are parsed and played, never executed as code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from xgl.analysis.static_facts import analyse
from xgl.errors import PlayerError
from xgl.files import read_json
from xgl.language import syntax as syn
from xgl.language.canonical import Game, game, read_metadata
from xgl.language.parser import parse
from xgl.runtime.episode import Episode
from xgl.runtime.presentation import Ask
from xgl.runtime.requests import Judge, Play, Player, StoryRequest

Info = str | Mapping[str, object]
"""A row's ``info``: JSON, or the mapping that it encodes."""


class Base(NamedTuple):
    """The base player's plays of a game: mean and standard deviation in bits, and their number."""

    mean: float
    spread: float
    plays: int

    def normalise(self, score: float) -> float:
        """Standard deviations by which a score is above the mean; bits above it where all plays
        have equal scores."""
        return (score - self.mean) / (self.spread or 1.0)


@dataclass(frozen=True)
class Row:
    """A game in a role, its map, and what an unfinished play counts as (``floor``, bits). ``base``:
    what the base player scores on the game; None: not known."""

    game: Game
    role: str
    map_seed: int
    stories: tuple[str, ...]
    floor: float
    base: Base | None = None

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """The map's texts, as a story source."""
        return [self.stories[request.site] for _, request in requests]

    @cached_property
    def players(self) -> tuple[str, ...]:
        """The players that are asked for moves, in the order of the program."""
        return analyse(self.game.program).players

    @cached_property
    def asks(self) -> tuple[Ask, ...]:
        """The moves that the role is asked for while no ensure fails: registers and limits."""
        order = analyse(self.game.program, self.game.metadata, self.role).order
        lines = (self.game.program.instructions[position] for position in order)
        return tuple(
            (register, line.max_len or self.game.metadata.max_len)
            for line in lines
            if isinstance(line, syn.Elicit) and line.player == self.role
            for register in line.registers
        )

    def episode(
        self, judge: Judge, play_seed: int = 0, players: Mapping[str, Player] | None = None
    ) -> Episode:
        """A play of the row's game on its map."""
        return Episode(self.game, self.map_seed, judge, self, play_seed=play_seed, players=players)

    def score(self, play: Play, role: str | None = None) -> float:
        """Bits of ``role`` (the row's own by default), at least its floor, which a play counts as
        that did not finish or in which an answer held no move. The floor of another role is −1 for
        each token of its moves, or its score if this is lower: the archive may not hold its plays.
        """
        if role is None or role == self.role:
            return play.score_for(self.role, self.floor)
        tokens = analyse(self.game.program, self.game.metadata, role).move_tokens
        return play.score_for(role, min(-float(tokens), play.scores.get(role, 0.0)))

    def reward(self, score: float, normalise: bool) -> float:
        """The score in bits or, with ``normalise``, in standard deviations above the base player's
        mean. Raises PlayerError for a row without a base."""
        if not normalise:
            return score
        if self.base is None:
            raise PlayerError("a row to normalise: found no `base` in its info, expected one")
        return self.base.normalise(score)


def read_row(info: Info) -> Row:
    """The row of an ``info``; rows of equal text are one object. Raises ``ValueError``,
    ``KeyError`` and ``TypeError`` for an invalid row, ProgramError for an invalid game."""
    return _read(info if isinstance(info, str) else json.dumps(info))


@lru_cache(4096)
def _read(text: str) -> Row:
    facts = read_json(text)
    whole = game(parse(facts["code"], facts["dialect"]), read_metadata(facts["metadata"]))
    role, seed, floor = (facts[name] for name in ("role", "map_seed", "floor"))
    base = None if facts.get("base") is None else Base(**facts["base"])
    return Row(whole, role, seed, tuple(facts["stories"]), floor, base)


# -- the reward of one seat of a finished play, and its metrics ------------------------------------

METRICS: Mapping[str, str] = {
    "score": "bits of the seat, at least the floor, which it is after a forfeit, in a play that "
    "outgrows a window, and where an answer held no move",
    "normalised": "the same in standard deviations above the base's mean; measured role only",
    "finished": "1 where the seat's play came to its end",
    "forfeit": "1 where the seat failed an ensure too often",
    "oversize": "1 where the play outgrew a window or a budget of tokens",
    "moves": "moves that it made, retries included",
    "failed_ensures": "moves that an ensure sent back",
    "format_failures": "moves that no answer held, played as empty ones",
    "cut_moves": "moves that were longer than their limit",
    "cut_tokens": "judge tokens cut off them",
}
"""Name and meaning of each metric."""


def seat_names(row: Row) -> tuple[str, ...]:
    """The players of a row's game, the measured role first."""
    return (row.role, *(name for name in row.players if name != row.role))


def metrics(
    row: Row, play: Play, player: str, normalise: bool = False
) -> tuple[float, dict[str, float]]:
    """The reward of a seat and its :data:`METRICS`, in bits unless their meaning says otherwise.

    ``normalise``: the reward of the measured role is its normalised score; that of other roles,
    whose base is not known, is in bits.
    """
    score, outcome = row.score(play, player), play.outcome_for(player)
    outcomes = ("finished", "forfeit", "oversize")
    values = {"score": score} | {name: float(outcome == name) for name in outcomes}
    values |= {name: float(count) for name, count in play.move_counts(player).items()}
    if player != row.role or row.base is None:
        return score, values
    values["normalised"] = row.base.normalise(score)
    return (values["normalised"] if normalise else score), values
