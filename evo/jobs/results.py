"""What jobs return: values that a worker sends to the process that drives a run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Generic, TypeVar

Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Finetune:
    """A trained adapter and the record of its training; curves have one entry a step.

    ``curve`` is the mean score (bits), ``entropy`` the policy's mean entropy (bits a token),
    ``distinct_moves`` and ``forfeit_rate`` shares of the last step's plays, None without a step.
    ``state``: what it goes on from, if it paused before the end of its budget; curves are those
    since its beginning, tokens and seconds those since its last pause.
    """

    adapter: bytes
    curve: list[float]
    entropy: list[float]
    grad_norm: list[float]
    distinct_moves: float | None
    forfeit_rate: float | None
    prompt_tokens: int
    generated_tokens: int
    seconds: float
    state: bytes | None = None

    @property
    def tokens(self) -> int:
        """Processed tokens 𝒯: prompts and moves of the trained player, over all rollouts."""
        return self.prompt_tokens + self.generated_tokens


@dataclass(frozen=True)
class SecondScore:
    """One play under another judge, bits; None if an ensure refused the moves."""

    score: float | None
    permuted_score: float | None
    seconds: float


@dataclass(frozen=True)
class MapText:
    """One text of a map: its story site, its length in judge tokens, the prompt that asked for it,
    and how many maps the game has; 0: any number."""

    map_seed: int
    site: int
    text: str
    tokens: int
    prompt: str = ""
    count: int = 0


@dataclass(frozen=True)
class Result(Generic[Outcome]):
    """Outcome of a job, and the texts of the maps it was played on."""

    outcome: Outcome
    map_texts: tuple[MapText, ...]


def seconds_of_work() -> float:
    """A clock for differences, seconds: the processor time of all threads of this process, so that
    work costs the same while other programs run; wall-clock time if an accelerator does the
    work."""
    import torch  # loads slowly; whoever works has it already

    return time.perf_counter() if torch.accelerator.is_available() else time.process_time()
