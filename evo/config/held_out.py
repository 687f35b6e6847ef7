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
"""Programs of the paper whose fine-tunes gain about the map, which no growth begins with."""


@settings
class CurriculumConfig:
    """Players trained on several games together (+experiment=curriculum)."""

    run: str | None = None
    """The growth whose games are learned: a run folder."""
    seeds: Count = 3
    """Training seeds of each curriculum."""
    tokens: Natural = 600000
    """Budget of one curriculum's fine-tune, over all its games."""
    learning_rate: Positive = 0.0005
    """Learning rate of AdamW at the first step of REINFORCE, in place of finetune.learning_rate: a
    curriculum makes ten times as many steps as a fine-tune on one game, and at that rate the
    embedded player collapses."""
    decay: Share = 1.0
    """Share of the learning rate that is gone at the end, in place of finetune.decay."""
    kl: NonNegative = 0.1
    """Weight of the divergence from the base player, in place of finetune.kl."""
    eta: Share = 0.3
    """η of the cover."""
    held_out: Annotated[tuple[str, ...], Field(min_length=1)] = HELD_OUT
    """Games of the library that each player plays before and after, read in game.dialect."""

    def learner(self, finetune: FinetuneConfig) -> FinetuneConfig:
        """How they learn, where one game is learned as ``finetune`` says."""
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
    """Fine-tunes on each held-out program itself, by REINFORCE alone: what there is to learn."""

    count: Count = 3
    """Training seeds of each program."""
    tokens: Natural = 500000
    """Budget of each: as many steps as it pays for."""
    maps: Count = 8
    """Maps of one gradient step."""
    rollouts: Annotated[int, Strict(), Field(ge=2)] = 16
    """Plays on each of them."""
    plays: Annotated[int, Strict(), Field(ge=2)] = 1000
    """Maps that each of these and the base player play, those of the candidates first."""

    def learner(self, finetune: FinetuneConfig) -> FinetuneConfig:
        """Fine-tune settings of the references, from the candidates' (``finetune``)."""
        return replace(
            finetune,
            tokens=self.tokens,
            steps=None,
            maps=self.maps,
            rollouts=self.rollouts,
            averaged=0.0,
            warm_start=replace(finetune.warm_start, rounds=0),
        )


@settings
class HeldOutConfig:
    """What candidates of growths teach outside their family (+experiment=held_out)."""

    runs: tuple[str, ...] = ()
    """The growths whose playable candidates are learned again: run folders."""
    seeds: Count = 2
    """Fresh training seeds of each candidate; its budget is finetune.tokens."""
    programs: Annotated[tuple[str, ...], Field(min_length=1)] = HELD_OUT
    """Games of the library that every fine-tune, script and the base player play, read in
    game.dialect; none that a growth has met."""
    maps: Annotated[int, Strict(), Field(ge=2)] = 192
    """Maps of each program, which nothing else plays."""
    reference: ReferenceConfig = ReferenceConfig()

    def __post_init__(self) -> None:
        if self.reference.plays < self.maps:
            raise ValueError(
                f"reference.plays: found {self.reference.plays}, expected at least maps, "
                f"{self.maps}"
            )
