"""Scope growth on the toy model: one setting under one seed, and the share that it covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evo.config.toy import SettingConfig, ToyConfig
from evo.experiments.toy.world import (
    Neighbourhood,
    Skills,
    ToyGame,
    ToyOracle,
    grid,
    matrix,
    share_covered,
)
from evo.growth.algorithm import ScopeMember, grow

Scope = list[ScopeMember[ToyGame]]


@dataclass(frozen=True)
class ToyGrowth:
    """The last scope of one growth; ``covered_share`` is the share of the grid at 1 − α2."""

    title: str
    setting: SettingConfig
    seed: int
    members: Scope
    covered_share: float

    @property
    def generations(self) -> int:
        """Generations in which a game was accepted."""
        return max(member.generation for member in self.members)

    @property
    def skills(self) -> Skills:
        """Skills of the scope, in the order of acceptance, shape (m, 2)."""
        return matrix([member.game for member in self.members])


def places(config: ToyConfig, first_seed: int) -> list[tuple[str, int]]:
    """Every setting's title under every seed, setting by setting."""
    seeds = range(first_seed, first_seed + config.seeds)
    return [(title, seed) for title in config.settings() for seed in seeds]


def with_coverage(config: ToyConfig, last: Mapping[tuple[str, int], Scope]) -> list[ToyGrowth]:
    """The growths, by title and seed, with the shares that their last scopes cover."""
    games, settings = grid(config.grid), config.settings()
    growths = []
    for (title, seed), members in last.items():
        scope = matrix([member.game for member in members])
        share = share_covered(scope, games, 1 - settings[title].alpha2)
        growths.append(ToyGrowth(title, settings[title], seed, members, share))
    return growths


def scopes(setting: SettingConfig, seed: int) -> list[Scope]:
    """Algorithm 1 from the setting's initial scope to its end: Σ_0, Σ_1, …"""
    initial = list(dict.fromkeys(ToyGame.of(point) for point in setting.start))
    return list(grow(initial, ToyOracle(), Neighbourhood(setting.radius, seed), setting, seed))


def last_scope(setting: SettingConfig, seed: int) -> Scope:
    """The scope that a growth ends with."""
    return scopes(setting, seed)[-1]


def growths_of(title: str, growths: Iterable[ToyGrowth]) -> list[ToyGrowth]:
    """The growths of one setting."""
    return [growth for growth in growths if growth.title == title]


def middle(growths: Sequence[ToyGrowth]) -> ToyGrowth:
    """The growth whose covered share is the (lower) median, as the example of a setting."""
    return sorted(growths, key=lambda growth: growth.covered_share)[(len(growths) - 1) // 2]
