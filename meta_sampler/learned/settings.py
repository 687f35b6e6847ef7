"""What the sampler ``learned`` may write, how it decodes, and how it learns from verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meta_sampler.base import SamplerError
from meta_sampler.constrained.draft_settings import DraftSettings


@dataclass(frozen=True)
class LearnedSettings(DraftSettings):
    """Those of every writer in the grammar, and those of learning."""

    may_be_zero: ClassVar[tuple[str, ...]] = ("steps",)

    max_tokens: int = 128
    ends_at_reward: bool = False
    """Whether a program ends as soon as the main player is paid; this model finds its own end."""
    steps: int = 8
    """Gradient steps from the shipped weights to what the verdicts so far ask for; 0: none."""
    learning_rate: float = 0.0005
    """AdamW's, in these steps."""
    spread: float = 2.0
    """Beyond this factor to either side, a token's probability earns nothing more by changing."""
    kl: float = 0.2
    """Weight of the divergence from the shipped model, in nats a token."""
    memory: int = 256
    """Verdicts that are learned from, the latest ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.learning_rate <= 0.1:
            raise SamplerError(f"learning_rate is {self.learning_rate}, expected one in (0, 0.1]")
        if not self.spread > 1:
            raise SamplerError(f"spread is {self.spread}, expected a factor above 1")
        if not self.kl >= 0:
            raise SamplerError(f"kl is {self.kl}, expected a number from 0")
