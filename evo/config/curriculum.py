"""Settings of ``+experiment=curriculum``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from evo.config.models import FinetuneConfig
from xgl.settings import Count, Natural, NonNegative, Positive, Role, Share, settings

HELD_OUT = (
    "fig_3_01_single_text",
    "fig_3_01_multi_texts",
    "fig_3_03_one_way_cut",
    "fig_3_03_unrelated_prefixes",
    "fig_3_03_one_way_explanations",
    "fig_4_02_dex_texts",
)
"""Programs of the paper on which fine-tuning has a specific gain, and with which no growth
begins."""


@settings
class CurriculumConfig:
    """Players trained on several games together (+experiment=curriculum)."""

    run: Annotated[str | None, Role.RESUMABLE] = None
    """Run folder of the growth whose games are learned; a resumed run finds it where it lies
    now."""
    seeds: Count = 3
    """Training seeds of each curriculum."""
    tokens: Natural = 600000
    """Budget of one curriculum's fine-tune, over all its games."""
    learning_rate: Positive = 0.0005
    """Learning rate of AdamW at the first step of REINFORCE, instead of finetune.learning_rate: a
    curriculum makes ten times as many steps as a fine-tune on one game, and at the higher rate the
    embedded player would collapse."""
    decay: Share = 1.0
    """Share by which the learning rate falls until the end, instead of finetune.decay."""
    kl: NonNegative = 0.1
    """Weight of the divergence from the base player, instead of finetune.kl."""
    eta: Share = 0.3
    """η of the cover."""
    held_out: Annotated[tuple[str, ...], Field(min_length=1)] = HELD_OUT
    """Games of the library that each player plays before and after training, read in
    game.dialect."""

    def learner(self, finetune: FinetuneConfig) -> FinetuneConfig:
        """Fine-tune settings of a curriculum, from those of one game (``finetune``)."""
        return replace(
            finetune,
            tokens=self.tokens,
            steps=None,
            learning_rate=self.learning_rate,
            decay=self.decay,
            kl=self.kl,
            replicates=1,
        )
