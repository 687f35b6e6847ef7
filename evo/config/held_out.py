"""Settings of ``+experiment=curriculum`` and ``+experiment=held_out``, which play programs that no
growth saw."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field, Strict

from evo.config.models import FinetuneConfig
from xgl.settings import Count, Natural, NonNegative, Positive, Share, settings

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

    run: str | None = None
    """Run folder of the growth whose games are learned."""
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


@settings
class ReferenceConfig:
    """Fine-tunes on each held-out program itself, only by REINFORCE: they show how much there is to
    learn."""

    count: Count = 3
    """Training seeds of each program."""
    tokens: Natural = 500000
    """Budget of each fine-tune: as many steps as it pays for."""
    maps: Count = 8
    """Maps of one gradient step."""
    rollouts: Annotated[int, Strict(), Field(ge=2)] = 16
    """Plays on each of them."""
    plays: Annotated[int, Strict(), Field(ge=2)] = 1000
    """Maps that each of these fine-tunes and the base player play; the candidates' maps come
    first."""

    def learner(self, finetune: FinetuneConfig) -> FinetuneConfig:
        """Fine-tune settings of the references, from the candidates' (``finetune``)."""
        return replace(
            finetune,
            tokens=self.tokens,
            steps=None,
            maps=self.maps,
            rollouts=self.rollouts,
            averaged_share=0.0,
            warm_start=replace(finetune.warm_start, rounds=0),
        )


@settings
class HeldOutConfig:
    """What candidates of growths teach outside their family (+experiment=held_out)."""

    runs: tuple[str, ...] = ()
    """Run folders of the growths whose playable candidates are learned again."""
    seeds: Count = 2
    """Fresh training seeds of each candidate; its budget is finetune.tokens."""
    programs: Annotated[tuple[str, ...], Field(min_length=1)] = HELD_OUT
    """Games of the library that every fine-tune, every script and the base player play, read in
    game.dialect; none of them may occur in a growth."""
    maps: Annotated[int, Strict(), Field(ge=2)] = 192
    """Maps of each program, which are used for nothing else."""
    reference: ReferenceConfig = ReferenceConfig()

    def __post_init__(self) -> None:
        if self.reference.plays < self.maps:
            raise ValueError(
                f"reference.plays: found {self.reference.plays}, expected at least maps, "
                f"{self.maps}"
            )
