"""Scope growth on the toy model: one setting under one seed, and what it came to cover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evo.growth import GrowthSettings, Member, grow
from evo.toy.config import SettingConfig, ToyConfig
from evo.toy.space import grid, share_covered
from evo.toy.world import Neighbourhood, Skills, ToyGame, ToyOracle, matrix


@dataclass(frozen=True)
class Growth:
    """The last scope of one growth; ``covered`` is the share of the grid at 1 − α2."""

    title: str
    setting: SettingConfig
    seed: int
    members: list[Member[ToyGame]]
    covered: float

    @property
    def generations(self) -> int:
        """Generations in which a game was accepted."""
        return max(member.generation for member in self.members)

    @property
    def skills(self) -> Skills:
        """Of the scope, in the order of acceptance, shape (m, 2)."""
        return matrix([member.game for member in self.members])


def growths(config: ToyConfig, first_seed: int) -> Iterator[Growth]:
    """Every setting under every seed, setting by setting."""
    games = grid(config.grid)
    for title, setting in config.settings().items():
        for seed in range(first_seed, first_seed + config.seeds):
            members = last_scope(setting, seed)
            scope = matrix([member.game for member in members])
            covered = share_covered(scope, games, 1 - setting.alpha2)
            yield Growth(title, setting, seed, members, covered)


def last_scope(setting: SettingConfig, seed: int) -> list[Member[ToyGame]]:
    """Algorithm 1 from the setting's initial scope to its end."""
    initial = list(dict.fromkeys(ToyGame.of(point) for point in setting.start))
    algorithm = GrowthSettings(
        alpha1=setting.alpha1,
        alpha2=setting.alpha2,
        generations=setting.generations,
        list_size=setting.list_size,
        seed=seed,
        coverage_against=setting.coverage_against,  # type: ignore[arg-type]  # checked
        max_accepts_per_parent=setting.max_accepts_per_parent,
        max_candidates=setting.max_candidates,
    )
    sampler = Neighbourhood(setting.radius, seed)
    *_, members = grow(initial, ToyOracle(), sampler, algorithm)
    return members


def of(title: str, found: Iterable[Growth]) -> list[Growth]:
    """The growths of one setting."""
    return [growth for growth in found if growth.title == title]


def middle(found: Sequence[Growth]) -> Growth:
    """The growth whose covered share is the (lower) median: what a setting is like."""
    return sorted(found, key=lambda growth: growth.covered)[(len(found) - 1) // 2]
