"""What the sampler ``local`` may write, and how it decodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meta_sampler.constrained.draft_settings import DraftSettings


@dataclass(frozen=True)
class LocalSettings(DraftSettings):
    """Those of every writer in the grammar, and which model it is and what it is shown."""

    may_be_zero: ClassVar[tuple[str, ...]] = ("examples",)

    model: str = "embedded"
    """Model reference: embedded, smollm2, a folder, or a hub id."""
    device: str = "auto"
    """A torch device, or auto: a GPU where there is one."""
    dtype: str = "auto"
    """float32, bfloat16, or auto: bfloat16 on a GPU, float32 elsewhere."""
    examples: int = 4
    """Games shown beside the parent, as many as the model's window holds."""
