"""How much of XGL a grammar admits: bounds that keep lines short and plays bounded."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from meta_sampler.base import SamplerError
from xgl.language import syntax as syn


@dataclass(frozen=True, slots=True)
class GrammarSettings:
    """What may stand in a text. Raises :class:`SamplerError` for what cannot be."""

    max_lines: int = 12
    """Most instructions; at least three: a story, a move and its reward."""
    max_limit: int = 16
    """Largest limit of an elicit, in judge tokens."""
    max_terms: int = 4
    """Most terms of one reward."""
    max_joined: int = 5
    """Most strings joined in one expression."""
    max_targets: int = 4
    """Most values that one assign stores, registers that one elicit fills, or values shown."""
    max_characters: int = 40
    """Longest literal."""
    depth: int = 1
    """Most levels of helper calls inside each other."""
    players: tuple[str, ...] = syn.PLAYERS
    """Players that a text may name; the main player may always move."""
    literals: bool = True
    """Whether literals may stand outside statements."""
    stories: bool = True
    """Whether a text begins by drawing a story, as almost every game of the papers does."""
    ends_at_reward: bool = False
    """Whether a text ends as soon as the main player is paid."""
    truths: bool = True
    """Whether statements that a judge reads may stand in conditions."""
    loops: bool = True
    """Whether beacons and replays may stand."""
    helpers: bool = True
    """Whether list registers and helper functions may stand."""

    def __post_init__(self) -> None:
        least = {"max_lines": 3}
        for name in ("max_lines", "max_limit", "max_terms", "max_joined", "max_targets", "depth"):
            value, bound = getattr(self, name), least.get(name, 1)
            if type(value) is not int or value < bound:
                raise SamplerError(f"{name} is {value!r}, expected a whole number from {bound}")
        if self.max_lines > syn.MAX_LINES:
            raise SamplerError(f"max_lines is beyond the language's {syn.MAX_LINES} lines")
        if self.depth > 2 or self.max_limit > 999:
            raise SamplerError("depth is at most 2 and max_limit at most 999")

    @property
    def max_jumps(self) -> int:
        """Most jumps of one replay: two loops inside each other stay within ``MAX_STEPS``."""
        return isqrt(syn.MAX_STEPS // self.max_lines) - 1
