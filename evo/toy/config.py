"""Configuration of ``+experiment=toy_growth``; defaults live in ``conf/`` only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evo.config.checks import ConfigError, above, at_least, between, coverage, run_identity
from evo.config.run_config import compose_as, from_mapping
from evo.toy.world import in_space

NAME = "toy_growth"
CLAIM = "Fig. 6.1"
"""Title of the setting that ``toy.setting`` describes."""


@dataclass(frozen=True)
class SettingConfig:
    """One setting of Fig. 6.1: Λ and the parameters of Algorithm 1."""

    start: list[list[float]]
    """Σ_0: points (x, y) of the space, √x + √y ≤ 1."""
    radius: float
    """ρ: Λ draws within this distance of the parent."""
    alpha1: float
    """A candidate must capture at least this share of its parent."""
    alpha2: float
    """Nothing known may capture more than 1 − α2 of the candidate."""
    generations: int
    """Most generations."""
    list_size: int
    """Candidates in one list."""
    max_candidates: int | None
    """Candidates in one growth; null: no such budget."""
    coverage_against: str
    """γ over scope_and_pending, or over scope (the literal Algorithm 1)."""
    max_accepts_per_parent: int | None
    """Accepted games from one parent; null: no limit."""

    def __post_init__(self) -> None:
        points = [point for point in self.start if len(point) == 2]
        if not self.start or len(points) < len(self.start) or not in_space(np.array(points)).all():
            raise ConfigError(
                f"toy.setting.start: found {self.start}, expected points [x,y] other than [0,0] "
                "with √x + √y ≤ 1"
            )
        between("toy.setting.radius", self.radius, 0, 2)
        above("toy.setting.alpha1", self.alpha1, 0)
        between("toy.setting.alpha2", self.alpha2, 0, 1)
        for name in ("generations", "list_size"):
            at_least(f"toy.setting.{name}", getattr(self, name), 1)
        for name in ("max_candidates", "max_accepts_per_parent"):
            if getattr(self, name) is not None:
                at_least(f"toy.setting.{name}", getattr(self, name), 1)
        coverage("toy.setting", self.coverage_against, self.max_accepts_per_parent)


@dataclass(frozen=True)
class ToyConfig:
    seeds: int
    """Growths of each setting, under the run's seed and those that follow it."""
    grid: int
    """Points along each axis of the unit square of the grid on which coverage is counted."""
    setting: SettingConfig
    """The setting of the claim."""
    contrasts: list[dict[str, Any]]
    """Settings shown beside it: each a title, and what of ``setting`` it changes."""

    def __post_init__(self) -> None:
        at_least("toy.seeds", self.seeds, 1)
        between("toy.grid", self.grid, 9, 4001)
        self.settings()

    def settings(self) -> dict[str, SettingConfig]:
        """All settings by title, that of the claim first. Raises :class:`ConfigError`."""
        found = {CLAIM: self.setting}
        for contrast in self.contrasts:
            changes = dict(contrast)
            title = str(changes.pop("title", CLAIM))
            if title in found:
                raise ConfigError(
                    f"toy.contrasts: found {contrast}, expected a title of its own beside what it "
                    "changes, such as {title: lists of 10, list_size: 10}"
                )
            try:
                found[title] = from_mapping(SettingConfig, {**asdict(self.setting), **changes})
            except ConfigError as error:
                raise ConfigError(f"toy.contrasts: {title}: {error}") from None
        return found


@dataclass(frozen=True)
class ArchiveRoot:
    root: str
    """Folder that holds the run folders."""


@dataclass(frozen=True)
class ToyRunConfig:
    """Everything that a toy growth depends on."""

    name: str
    """Run folder below archive.root."""
    seed: int
    """The first growth's; the others' follow it."""
    experiment: str
    """toy_growth."""
    toy: ToyConfig
    archive: ArchiveRoot

    def __post_init__(self) -> None:
        run_identity(self.seed, self.name)
        if self.seed + self.toy.seeds > 2**63:
            raise ConfigError(f"seed: found {self.seed}, expected room for {self.toy.seeds} seeds")

    @property
    def folder(self) -> Path:
        return Path(self.archive.root) / self.name


def load(overrides: Sequence[str]) -> ToyRunConfig:
    """Compose ``conf/config_toy.yaml`` with command-line overrides; raises ConfigError."""
    return compose_as(ToyRunConfig, "config_toy", [NAME], overrides)
