"""What every meta-sampler offers (paper §6.3): games related to a game, and how they arose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Protocol, runtime_checkable

from xgl import Game


class SamplerError(ValueError):
    """A meta-sampler that cannot be built, restored or asked; the message is one sentence."""


class BudgetReached(SamplerError):  # noqa: N818  # what happened, no mistake of anyone
    """A sampler's budget of tokens or dollars is spent; nothing more was asked for."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a proposal came about, so that a game's lineage can be told."""

    sampler: str
    operators: tuple[str, ...]
    """Names of what was applied, in order."""
    parents: tuple[str, ...]
    """Game ids: the parent first, then every other game that contributed lines."""
    model: str = ""
    """Reference of the language model that wrote it; empty where none did."""
    prompt_hash: str = ""
    """Of the prompt that the model read."""
    raw: str = ""
    """What the model wrote, before any repair."""
    repairs: tuple[str, ...] = ()
    """What was mended in ``raw``, in order."""
    tokens: int = 0
    """Tokens that the model read and wrote for it, rejected drafts included."""
    dollars: float = 0.0
    """What those tokens cost; 0 for a model that is paid for otherwise."""
    intent: str = ""
    """What the model said it was after, in a line."""
    seconds: float = field(default=0.0, compare=False)
    """Wall-clock time spent on it, rejected drafts included."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A program proposed by a meta-sampler; ``game`` is None when ``text`` cannot be used."""

    text: str
    game: Game | None
    errors: tuple[str, ...]
    provenance: Provenance
    fate: str = "invalid"
    """Why ``game`` is None, in a word."""


class Progress(Enum):
    """How far a candidate came, the farther the later in this list."""

    UNPLAYABLE = auto()
    """The base player cannot play it, or playing it costs too much."""
    UNLEARNED = auto()
    """Fine-tuning taught nothing about its maps."""
    UNCONFIRMED = auto()
    """What fine-tuning taught was not seen again on fresh maps."""
    UNHELPFUL = auto()
    """What was learned does not help its parent."""
    COVERED = auto()
    """A game of the scope teaches it already."""
    OPEN = auto()
    """Plays ran out before help or coverage was decided."""
    OUTRANKED = auto()
    """Another game of its list was preferred."""
    ACCEPTED = auto()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a proposal, told to the sampler that made it."""

    game_id: str
    operators: tuple[str, ...]
    progress: Progress
    explanation: str = ""
    """Verdict and reason, for a reader."""
    parent_id: str = ""
    """Game id of the parent that it was proposed for."""
    code: str = ""
    """Canonical text of the game."""
    parent_code: str = ""
    """That of the parent."""

    @property
    def accepted(self) -> bool:
        """Whether the game is in the scope now."""
        return self.progress is Progress.ACCEPTED


class MetaSampler(Protocol):
    """Λ of Algorithm 1. Its state changes only in ``observe`` and ``restore``.

    ``propose`` is a pure function of the state and its arguments: same seed, same proposals.
    """

    def propose(self, parent: Game, scope: Sequence[Game], n: int, seed: int) -> list[Proposal]:
        """At most ``n`` games related to ``parent``, none of them in ``scope``."""
        ...

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Learn from committed decisions, given in index order."""
        ...

    def state(self) -> dict[str, Any]:
        """Everything learned so far, as JSON can hold it."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state that ``state`` gave."""
        ...


@runtime_checkable
class Remote(Protocol):
    """A sampler that asks somebody who is paid, beside being a :class:`MetaSampler`."""

    def check(self) -> None:
        """Ask once, so that what cannot work is told before a run begins.

        Raises :class:`SamplerError`.
        """
        ...

    def charge(self, tokens: int, dollars: float) -> None:
        """Count what proposals that are not asked for again have cost towards the budget."""
        ...
