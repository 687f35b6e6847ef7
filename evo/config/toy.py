"""Settings of ``+experiment=toy_growth``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, Strict

from evo.config.schema import GrowthSettings, NamedRun
from xgl.errors import ConfigError
from xgl.settings import Count, Fraction, Positive, settings

NAME = "toy_growth"
CLAIM = "Fig. 6.1"
"""Title of the setting that ``toy.setting`` describes."""

Point = tuple[Annotated[float, Strict()], ...]


def in_space(games: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask (n,) of the points (n, d) that are games of Fig. 6.1: g_i ≥ 0, not all 0, Σ √g_i ≤ 1."""
    roots = np.sqrt(games.clip(0)).sum(axis=1)
    inside: NDArray[np.bool_] = (games >= 0).all(axis=1) & (roots <= 1) & (roots > 0)
    return inside


def _check_points(points: tuple[Point, ...]) -> tuple[Point, ...]:
    pairs = all(len(point) == 2 for point in points)
    if not points or not pairs or not in_space(np.array(points)).all():
        lists = [[*point] for point in points]
        raise ValueError(f"found {lists}, expected points [x,y] other than [0,0] with √x + √y ≤ 1")
    return points


@settings
class SettingConfig(GrowthSettings):
    """One setting of Fig. 6.1: Λ and the parameters of Algorithm 1."""

    start: Annotated[tuple[Point, ...], AfterValidator(_check_points)] = ((0.05, 0.05),)
    """Σ_0: points (x, y) of the space, √x + √y ≤ 1."""
    radius: Annotated[float, Strict(), Field(gt=0, lt=2)] = 0.1
    """ρ: Λ draws within this distance of the parent."""
    alpha1: Positive = 0.9
    """Least share of its parent that a candidate must capture."""
    alpha2: Fraction = 0.05
    """No known game may capture more than 1 − α2 of the candidate."""
    generations: Count = 100
    list_size: Count = 100


@settings
class ToyConfig:
    """The claim of Fig. 6.1, over many seeds, and where it fails."""

    seeds: Count = 20
    """Growths of each setting, with the run's seed and those after it."""
    grid: Annotated[int, Strict(), Field(ge=10, le=4000)] = 400
    """Points along each axis of the grid on the unit square on which coverage is counted."""
    setting: SettingConfig = SettingConfig()
    """The setting of the claim."""
    contrasts: tuple[dict[str, Any], ...] = (
        {"title": "lists of 10", "list_size": 10},  # too few candidates to find what is new
        {"title": "from (0.5, 0.02)", "start": [[0.5, 0.02]]},  # α1 too strict for this corner
        {"title": "from (0.5, 0.02), α1 = 0.8", "start": [[0.5, 0.02]], "alpha1": 0.8},
    )
    """Settings to compare with: each a title, and its changes to ``setting``."""

    def __post_init__(self) -> None:
        self.settings()

    def settings(self) -> dict[str, SettingConfig]:
        """All settings by title, that of the claim first. Raises :class:`ConfigError`."""
        by_title = {CLAIM: self.setting}
        for contrast in self.contrasts:
            changes = dict(contrast)
            title = str(changes.pop("title", CLAIM))
            if title in by_title:
                raise ConfigError(
                    f"contrasts: found {contrast}, expected a title of its own beside what it "
                    "changes, such as {title: lists of 10, list_size: 10}"
                )
            try:
                by_title[title] = SettingConfig(**asdict(self.setting) | changes)
            except ConfigError as error:
                raise ConfigError(f"contrasts: {title}: {error}") from None
        return by_title


@settings
class ToyRunConfig(NamedRun):
    """Everything that a toy growth depends on."""

    experiment: Literal["toy_growth"]
    """Name of the experiment."""
    toy: ToyConfig = ToyConfig()

    def __post_init__(self) -> None:
        if self.seed + self.toy.seeds > 2**63:
            raise ValueError(f"seed: found {self.seed}, expected room for {self.toy.seeds} seeds")
