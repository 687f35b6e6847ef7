"""Settings of ``+experiment=universality``."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, Strict

from xgl.settings import Count, Natural, Positive, PositiveShare, settings, value_text

Several = Annotated[int, Strict(), Field(ge=2)]
Maps = Annotated[int, Strict(), Field(ge=4)]
Scale = Annotated[float, Strict(), Field(ge=0.01, le=99)]


def _check_different(values: tuple[object, ...]) -> tuple[object, ...]:
    if len(set(values)) < len(values):
        raise ValueError(f"found {value_text(values)}, expected each once")
    return values


Names = Annotated[tuple[str, ...], AfterValidator(_check_different)]
Scales = Annotated[tuple[Scale, ...], AfterValidator(_check_different)]


@settings
class UniversalityConfig:
    """Whether measures of independent growths rank models alike (+experiment=universality)."""

    runs: Names = ()
    """Two or more run folders of scope growths, or folders of exported measures; the latter have no
    random games to compare with."""
    eta: Positive | None = None
    """η of the covers that are measured; null: all games of the newest scopes."""
    draw: Natural = 0
    """Seed of the random draw of playable games: from each growth as many as its measure has."""
    programs: Names | None = None
    """Games of the library that the ladder's adapters are fine-tuned on; null: those of
    curriculum.held_out."""
    scales: Scales = (0.5, 1.0)
    """Scales of each adapter, as shares of what it adds to the base; each is one model of the
    ladder."""
    temperatures: Scales = (0.5, 1.0, 2.0)
    """Temperatures of the base player; each is one model of the ladder."""
    players: Names = ()
    """Further models of the ladder, named as in +experiment=measure."""
    rounds: Several = 8
    """K: rounds on each map."""
    maps: Maps = 12
    """Maps of each game, at most."""
    margin: PositiveShare = 0.8
    """Least share of the noise ceiling at which measures count as ranking alike."""
    resamples: Count = 2000
    """Bootstrap samples of models and growths."""
