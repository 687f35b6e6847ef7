"""Limits on the games that the mutation sampler may propose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from meta_sampler.base import SamplerError
from xgl.language import syntax as syn


@dataclass(frozen=True, slots=True)
class MutateSettings:
    """Caps that keep children cheap to play, and what operators may draw."""

    max_lines: int = 12
    """Most instructions of a child."""
    max_move_tokens: int = 24
    """Most judge tokens the main player may write in one unrolled play."""
    max_stories: int = 3
    """Most ``story()`` sites of a child."""
    max_steps: int = 32
    """Most steps of a child's unrolled program."""
    max_terms: int = 6
    """Most terms of one reward; beyond the paper's largest, sums are only longer."""
    max_joined: int = 5
    """Most strings joined in one expression."""
    players: tuple[str, ...] = (syn.MAIN_PLAYER,)
    """Players that operators may bring in; those of the parent may always stay."""
    truths: bool = False
    """Whether statements such as "no common words" may be added; small players forfeit on them."""
    loops: bool = True
    """Whether beacons and replays may be added; those of the parent may always stay."""
    attempts: int = 40
    """Draws for one proposal before it is given up."""
    memory: float = 0.99
    """Factor by which each observed outcome fades the earlier ones."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Weights of operators before anything was observed, where they differ from the table's."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.type == "int" and (type(value) is not int or value < 1):
                raise SamplerError(f"{item.name} is {value!r}, expected a whole number from 1")
            if item.type == "bool" and type(value) is not bool:
                raise SamplerError(f"{item.name} is {value!r}, expected true or false")
        if not isinstance(self.memory, float | int) or not 0 < self.memory <= 1:
            raise SamplerError(f"memory is {self.memory!r}, expected a number in (0, 1]")
        if not isinstance(self.weights, Mapping):
            raise SamplerError(f"weights is {self.weights!r}, expected operators with weights")
        self._check_players()
        if self.max_lines > syn.MAX_LINES or self.max_steps > syn.MAX_STEPS:
            limits = f"{syn.MAX_LINES} lines and {syn.MAX_STEPS} steps"
            raise SamplerError(f"max_lines or max_steps is beyond the language's {limits}")

    def _check_players(self) -> None:
        if isinstance(self.players, str) or syn.MAIN_PLAYER not in self.players:
            names = f"a list of players with {syn.MAIN_PLAYER}"
            raise SamplerError(f"players is {self.players!r}, expected {names}")
        unknown = [name for name in self.players if name not in syn.PLAYERS]
        if unknown:
            known = ", ".join(syn.PLAYERS)
            raise SamplerError(f"unknown player {unknown[0]!r}, expected some of {known}")
        object.__setattr__(self, "players", tuple(self.players))
