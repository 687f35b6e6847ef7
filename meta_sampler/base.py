"""The protocol of meta-samplers (paper §6.3): games related to a game, and their provenance."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from hashlib import sha256

from xgl.chat.settings import Usage
from xgl.language.canonical import Game
from xgl.language.syntax import MAIN_PLAYER


class SamplerError(ValueError):
    """A meta-sampler cannot be built or used; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a proposal was made, for a game's lineage."""

    sampler: str
    operators: tuple[str, ...]
    """Names of the operators that were applied, in order."""
    parents: tuple[str, ...]
    """Game ids: the parent first, then every other game that contributed lines."""
    model: str = ""
    """Reference of the language model that wrote it; empty if none did."""
    prompt_hash: str = ""
    """:func:`prompt_hash` of the prompt that the model read."""
    raw: str = ""
    """What the model wrote, before any repair."""
    repairs: tuple[str, ...] = ()
    """What was repaired in ``raw``, in order."""
    tokens: int = 0
    """Tokens that the model read and wrote for it, rejected drafts included; of an answer with
    several games the first has them all."""
    dollars: float = 0.0
    """Cost of these tokens; 0 for a model without prices."""
    intent: str = ""
    """The aim of the game in the model's words, in a line."""
    seconds: float = field(default=0.0, compare=False)
    """Wall-clock time spent on it, rejected drafts included."""


def prompt_hash(prompt: object) -> str:
    """16 hexadecimal digits of all that a model reads: a text, or messages."""
    text = prompt if isinstance(prompt, str) else json.dumps(prompt)
    return sha256(text.encode()).hexdigest()[:16]


class Fate(StrEnum):
    """Why a proposal is not a game."""

    INVALID = auto()  # not a program
    UNFINISHED = auto()  # the model stopped before the program was complete
    NO_PROGRAM = auto()  # the answer holds no program
    UNSOUND = auto()  # above a cap, unable to teach, or with a lint warning that its parent lacks
    KNOWN = auto()  # the normal form of a game that is known


@dataclass(frozen=True, slots=True)
class Proposal:
    """A program proposed by a meta-sampler; ``game`` is None when ``text`` cannot be used."""

    text: str
    game: Game | None
    errors: tuple[str, ...]
    provenance: Provenance
    fate: Fate = Fate.INVALID
    """Why ``game`` is None; no meaning if there is a game."""


class Progress(Enum):
    """How far a candidate came, and the credit of who made it: acceptances are rare, so a candidate
    that another run might accept counts too."""

    REFUSED = 0.0
    OPEN = 0.25
    """Plays ran out before help or coverage was decided, or another of its list was preferred."""
    ACCEPTED = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on a proposal, for the sampler that made it."""

    game_id: str
    operators: tuple[str, ...]
    progress: Progress
    explanation: str = ""
    """Verdict and reason, for a reader."""
    parent_id: str = ""
    """Game id of the parent that it was proposed for."""
    code: str = ""
    """Canonical text of the game."""
    sampler: str = ""
    """Name of the sampler that proposed it."""


class MetaSampler(ABC):
    """Λ of Algorithm 1. What it has learned changes only in ``observe``; a resumed run observes
    again what its archive holds.

    ``propose`` is a pure function of that and its arguments: same seed, same proposals.
    """

    @abstractmethod
    def propose(
        self, parent: Game, scope: Sequence[Game], n: int, seed: int, role: str = MAIN_PLAYER
    ) -> list[Proposal]:
        """At most ``n`` games related to ``parent``, none of them in ``scope``; ``role``: the
        main player of the parent."""

    def observe(self, outcomes: Sequence[Outcome]) -> None:  # noqa: B027
        """Learn from committed decisions, in their order; a sampler without memory does not."""

    def check(self) -> None:  # noqa: B027
        """Raises :class:`~xgl.errors.PlayerError` if a service that it needs cannot be used, so
        that a run with a wrong key, model or address does not begin."""

    def charge(self, sampler: str, tokens: int, dollars: float) -> None:  # noqa: B027
        """Count the cost of a proposal that a sampler of this name made in an earlier session
        towards its budget, if it has one."""

    def spent(self) -> Usage:
        """What counts towards its budget."""
        return Usage()
