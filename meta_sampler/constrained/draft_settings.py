"""What samplers whose language model writes in the grammar have in common: decoding and caps."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from meta_sampler.base import SamplerError
from meta_sampler.constrained.grammar_settings import GrammarSettings
from xgl.language import syntax as syn


@dataclass(frozen=True)
class DraftSettings:
    """Raises :class:`SamplerError` in one sentence for a value that cannot be."""

    may_be_zero: ClassVar[tuple[str, ...]] = ()
    """Whole numbers that may be 0."""

    temperature: float = 1.0
    """Divides the logits; 0 takes the likeliest token."""
    top_p: float = 1.0
    """Share of the probability, among the tokens that the grammar allows, to choose from."""
    max_tokens: int = 160
    """Most tokens of a draft; of one that goes on by then, the complete lines are taken."""
    batch: int = 16
    """Drafts that are written at once."""
    attempts: int = 16
    """Drafts for one proposal before it is given up."""
    max_lines: int = 6
    """Most instructions of a child."""
    max_move_tokens: int = 8
    """Most judge tokens that the main player may write in a play."""
    max_stories: int = 3
    """Most ``story()`` of a child."""
    max_steps: int = 8
    """Most steps of the unrolled program."""
    max_terms: int = 4
    """Most terms of one reward."""
    max_joined: int = 5
    """Most strings joined in one expression."""
    players: tuple[str, ...] = (syn.MAIN_PLAYER,)
    """Players that a child may name; those of the parent may always stay."""
    ends_at_reward: bool = True
    """Whether a program ends as soon as the main player is paid; small models find no end."""
    literals: bool = False
    """Whether literals may stand outside statements."""
    truths: bool = False
    """Whether statements such as "no common words" may stand; small players forfeit on them."""
    loops: bool = False
    """Whether beacons and replays may stand."""
    helpers: bool = False
    """Whether lists and helper functions may stand."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value, least = getattr(self, item.name), item.name not in self.may_be_zero
            if item.type == "int" and (type(value) is not int or value < least):
                expected = f"a whole number from {int(least)}"
                raise SamplerError(f"{item.name} is {value!r}, expected {expected}")
            if item.type == "float" and (type(value) not in (int, float) or value != value):
                raise SamplerError(f"{item.name} is {value!r}, expected a number")
            if item.type == "bool" and type(value) is not bool:
                raise SamplerError(f"{item.name} is {value!r}, expected true or false")
        self._check_players()
        if not self.temperature >= 0 or not 0 < self.top_p <= 1:
            found = f"temperature {self.temperature} and top_p {self.top_p}"
            raise SamplerError(f"found {found}, expected at least 0, and in (0, 1]")
        self.grammar(self.players)

    def _check_players(self) -> None:
        known = ", ".join(syn.PLAYERS)
        try:
            unknown = isinstance(self.players, str) or bool({*self.players} - {*syn.PLAYERS})
        except TypeError:
            unknown = True
        if unknown:
            raise SamplerError(f"players is {self.players!r}, expected a list of {known}")
        object.__setattr__(self, "players", tuple(self.players))

    def grammar(self, players: tuple[str, ...]) -> GrammarSettings:
        """How much of the language a child may use, with these players."""
        return GrammarSettings(
            max_lines=self.max_lines,
            max_limit=self.max_move_tokens,
            max_terms=self.max_terms,
            max_joined=self.max_joined,
            players=players,
            literals=self.literals,
            ends_at_reward=self.ends_at_reward,
            truths=self.truths,
            loops=self.loops,
            helpers=self.helpers,
        )
