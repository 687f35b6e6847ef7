"""A finite world for the open-ended schedule: games are numbers, values are exact, works cost what
they are said to cost, and a runner that may be killed and started again."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from support.search import Killed

from archive import Reason, Verdict
from evo.config.schema import GrowthConfig
from evo.growth.algorithm import AcceptanceResult, Assessment, Candidate, Place, Selection
from evo.growth.forecast import Forecast
from evo.growth.open_ended import OpenEnded
from evo.record.budget import Cost
from evo.record.steps import Steps

Work = tuple[str | int, ...]
"""Such as ("learn", game), ("play", source, target)."""


@dataclass
class Bench:
    """Does works by saying so; ``archived`` survives a kill, ``patience`` works from now."""

    archived: list[tuple[Work, ...]] = field(default_factory=list)
    patience: int | None = None
    width: int = 1
    """Works of one kind that a group may hold."""
    joined_most: int = 1
    course: list[tuple[Work, ...]] = field(default_factory=list)
    offered: list[int] = field(default_factory=list)
    """Groups that workers had to choose from, at each step."""

    def joins(self, group: tuple[Work, ...]) -> bool:
        return self.joined_most > 1 and str(group[0][0]).startswith("learn")

    def groups(self, works: Sequence[Work]) -> list[tuple[Work, ...]]:
        by_kind: dict[str | int, list[Work]] = {}
        for work in works:
            by_kind.setdefault(work[0], []).append(work)
        return [
            tuple(each[start : start + self.width])
            for each in by_kind.values()
            for start in range(0, len(each), self.width)
        ]

    def length(self, group: tuple[Work, ...]) -> float:
        return 10.0 if str(group[0][0]).startswith("learn") else float(len(group))

    def finish(self, groups: Sequence[tuple[Work, ...]]) -> Cost:
        first = groups[0]
        if len(self.course) >= len(self.archived):
            if self.patience == 0:
                raise Killed
            self.patience = None if self.patience is None else self.patience - 1
            self.archived.append(first)
        assert self.archived[len(self.course)] == first, "the archive is a prefix of the course"
        self.course.append(first)
        self.offered.append(len(groups))
        tokens = 100 if first[0][0] == "learn" else 10
        return Cost(tokens * len(first), float(len(first)))


@dataclass
class OpenWorld:
    """Λ and the oracle. ``values`` of source and target; ``stubborn`` games stay undecided for so
    many tests."""

    games: int
    values: Mapping[tuple[int, int], float | None]
    alpha1: float
    alpha2: float
    seed: int
    stubborn: Mapping[int, int] = field(default_factory=dict)
    power: float = 0.5
    tokens: int = 10
    """Of a test of twice the plays."""
    hopeless: frozenset[int] = frozenset()
    """Refused before they cost a fine-tune."""
    unlikely: frozenset[int] = frozenset()
    """Of which selection says that a test would hardly accept them."""
    expected: Mapping[int, Forecast] = field(default_factory=dict)
    """Of games of which not all is expected."""
    parents: list[int] = field(default_factory=list)
    """Of the lists."""
    proposed: list[int] = field(default_factory=list)
    decided: dict[int, str] = field(default_factory=dict)
    tests: list[tuple[int, int]] = field(default_factory=list)
    """Game and repeat."""

    # -- Sampler -------------------------------------------------------------------------------

    def propose(self, place: Place[int], scope: Sequence[int], n: int) -> list[int]:
        self.parents.append(place.parent)
        draw = random.Random(f"{self.seed}/{place.parent}/{place.round}")
        earlier = {*self.proposed, *scope}
        new = [game for game in range(self.games) if game not in earlier]
        games = draw.sample(new, min(n, len(new)))
        self.proposed += games
        return games

    # -- OpenOracle ----------------------------------------------------------------------------

    def assess(
        self, candidates: Sequence[Candidate[int]], scope: Sequence[int]
    ) -> Steps[Work, list[Assessment[int]]]:
        raise AssertionError("of Algorithm 1 alone")

    def learn(self, initial: Sequence[int]) -> Steps[Work, list[int]]:
        yield [("learn", game) for game in initial]
        return [game for game in initial if game not in self.hopeless]

    def screen(self, candidate: Candidate[int], scope: Sequence[int]) -> Steps[Work, bool]:
        game = candidate.game
        yield [("screen", game)]
        if game in self.hopeless:
            self.decided[game] = "hopeless"
        return game not in self.hopeless

    def forecast(self, candidate: Candidate[int], scope: Sequence[int]) -> Steps[Work, Forecast]:
        yield from ()
        return self.expected.get(candidate.game, Forecast())

    def pass_over(
        self, candidate: Candidate[int], scope: Sequence[int], forecast: Forecast
    ) -> None:
        assert candidate.game not in self.decided, "one decision each"
        assert forecast == self.expected.get(candidate.game, Forecast())
        self.decided[candidate.game] = "passed over"

    def examine(
        self, candidate: Candidate[int], scope: Sequence[int]
    ) -> Steps[Work, Assessment[int]]:
        game, parent = candidate.game, candidate.parent
        yield [("learn", game)]
        yield [("play", game, parent)]
        power = 0.04 if game in self.unlikely else 0.5
        helps = self.values[game, parent]
        found = Assessment(candidate, parent, helps, None, Selection.UNHELPFUL, power)
        if not self.helps(game, parent):
            return found
        return (yield from self.compare(replace(found, selection=Selection.PASSED), scope))

    def try_other_parents(
        self, assessment: Assessment[int], scope: Sequence[int]
    ) -> Steps[Work, Assessment[int]]:
        game = assessment.candidate.game
        yield [("play", game, other) for other in scope]
        parents = [other for other in scope if self.helps(game, other)]
        if not parents:
            return self._out(assessment, "helps none")
        best = max(parents, key=lambda other: self.values[game, other] or 0.0)
        found = replace(assessment, selection=Selection.PASSED, parent=best)
        return (yield from self.compare(found, scope))

    def compare(
        self, assessment: Assessment[int], newer: Sequence[int]
    ) -> Steps[Work, Assessment[int]]:
        game = assessment.candidate.game
        yield [("play", other, game) for other in newer]
        values = [v for other in newer if (v := self.values[other, game]) is not None]
        gamma = max([*values, assessment.gamma or 0.0])
        result = replace(assessment, gamma=gamma)
        return result if gamma <= 1 - self.alpha2 else self._out(result, "covered")

    def test(
        self, assessment: Assessment[int], scope: Sequence[int], doublings: int = 0
    ) -> Steps[Work, AcceptanceResult]:
        game = assessment.candidate.game
        self.tests.append((game, doublings))
        yield [("test", game, doublings)]
        if doublings < self.stubborn.get(game, 0):
            return AcceptanceResult(Verdict.UNDECIDED, assessment.gamma, self.power, self.tokens)
        self.decided[game] = "accepted"
        return AcceptanceResult(Verdict.ACCEPTED, assessment.gamma)

    def dismiss(
        self, assessment: Assessment[int], result: AcceptanceResult | None, reason: Reason
    ) -> None:
        unlikely = result is None and reason is Reason.UNLIKELY
        self._out(assessment, "unlikely" if unlikely else "dismissed")

    def helps(self, game: int, parent: int) -> bool:
        value = self.values[game, parent]
        return value is not None and value >= self.alpha1

    def _out(self, assessment: Assessment[int], reason: str) -> Assessment[int]:
        assert assessment.candidate.game not in self.decided, "one decision each"
        self.decided[assessment.candidate.game] = reason
        return replace(assessment, selection=Selection.DECIDED)


EIGHTHS = [None, *(n / 8 for n in range(0, 10))]


def random_world(draw: random.Random) -> OpenWorld:
    """Values in eighths, so that values on the bounds are common; some undefined."""
    games = draw.randint(2, 25)
    pairs = [(source, target) for source in range(games) for target in range(games)]
    values = {(s, t): 1.0 if s == t else draw.choice(EIGHTHS) for s, t in pairs}
    stubborn = {game: draw.choice([0, 0, 1, 2]) for game in range(games)}
    thresholds = draw.randint(1, 8) / 8, draw.randint(1, 5) / 8
    seed, power = draw.getrandbits(32), draw.choice([0.0, 0.3, 1.0])
    hopeless = frozenset(game for game in range(1, games) if draw.random() < 0.2)
    unlikely = frozenset(game for game in range(1, games) if draw.random() < 0.2)
    shares = (0.0, 0.4, 0.9)
    expected = {game: Forecast(*draw.choices(shares, k=2)) for game in range(games)}
    world = OpenWorld(games, values, *thresholds, seed, stubborn, power)
    return replace(world, hopeless=hopeless, unlikely=unlikely, expected=expected)


def random_settings(draw: random.Random) -> GrowthConfig:
    return GrowthConfig(
        list_size=draw.randint(1, 6),
        max_candidates=draw.choice([None, draw.randint(1, 30)]),
        lookahead=draw.randint(1, 6),
        max_accepted=draw.choice([None, None, draw.randint(1, 3)]),
        virtual_workers=draw.randint(1, 4),
        least_yield=draw.choice([0.0, 0.0, 20.0]),
        examined_share=draw.choice([0.3, 0.6, 1.0]),
    )


def growth(
    world: OpenWorld,
    settings: GrowthConfig,
    bench: Bench,
    tests: int = 100,
    initial: Sequence[int] = (0,),
) -> OpenEnded[int, Assessment[int], Work]:
    """A growth of a fresh copy of the world, from game 0; each list pays for ``tests``."""
    fresh = replace(world, proposed=[], decided={}, tests=[], parents=[])
    return OpenEnded(initial, fresh, fresh, bench, settings, tests, world.seed)


def scope_games(run: OpenEnded[int, Assessment[int], Work]) -> Iterator[list[int]]:
    """The games of each scope."""
    return ([member.game for member in scope] for scope in run.scopes())
