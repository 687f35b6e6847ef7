"""Toy games, their transfer values in closed form, and Λ as a neighbourhood (§6.1.2, §6.3.4).

A game is a vector g of d non-negative skills, in the figure's space Σ √g_i ≤ 1, and
V_G(G~) = Σ_i min(g~_i, g_i) / ‖g~‖₁ is the share of G~'s skills that playing G captures.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from archive import Reason, Verdict
from evo.config.toy import in_space
from evo.growth.algorithm import AcceptanceResult, Assessment, Candidate, Place
from evo.record.steps import Steps
from xgl.random_streams import stream

Skills = NDArray[np.float64]
"""One game, shape (d,), or games, shape (n, d)."""

TILE = 32
"""Targets whose sums are held at once: with thousands of sources they stay in a core's cache."""
DRAWS = 10_000
"""Most draws from a neighbourhood for each requested candidate; then the list stays shorter."""
WIDEST = 64
"""Most draws at a time for each requested candidate."""


@dataclass(frozen=True)
class ToyGame:
    """A vector of skills, float64, kept as bytes: equal and hashed by value, and a scope of
    thousands becomes a matrix by one copy."""

    skill_bytes: bytes

    @classmethod
    def of(cls, skills: Sequence[float] | Skills) -> ToyGame:
        """Raises ValueError unless the skills are finite, not negative and not all 0."""
        vector = np.ascontiguousarray(skills, dtype=np.float64)
        if vector.ndim != 1 or not (np.isfinite(vector).all() and (vector >= 0).all()):
            raise ValueError(f"found skills {skills}, expected finite numbers of at least 0")
        if not vector.any():
            raise ValueError("found no skill above 0, expected at least one")
        return cls(vector.tobytes())

    @property
    def skills(self) -> tuple[float, ...]:
        """g_1, …, g_d."""
        return tuple(np.frombuffer(self.skill_bytes).tolist())


def matrix(games: Sequence[ToyGame]) -> Skills:
    """The skills of games of equal length, shape (n, d)."""
    return np.frombuffer(b"".join(game.skill_bytes for game in games)).reshape(len(games), -1)


def transfer(sources: Skills, targets: Skills) -> Skills:
    """V of each source on each target (§6.1.2): (m, d) and (n, d) to (n, m), in [0, 1].

    Skills are added one after another, as a sum over i is written, so that the values do not
    depend on how many games are asked about at once.
    """
    sums = np.zeros((len(targets), len(sources)))
    smaller = np.empty_like(sums)
    for theirs, ours in zip(targets.T, np.ascontiguousarray(sources.T), strict=True):
        sums += np.minimum(theirs[:, None], ours, out=smaller)
    return sums / _norms(targets)[:, None]


def coverage(scope: Skills, targets: Skills, threads: int = 1) -> Skills:
    """γ of each target: the most that one game of the scope captures of it, shape (n,).

    ``scope`` (m, d) must not be empty. ``threads`` changes the time only.
    """
    tiles = [targets[start : start + TILE] for start in range(0, len(targets), TILE)]
    best = partial(_best, scope)
    if threads == 1 or len(tiles) < 2:
        return np.concatenate([np.empty(0), *map(best, tiles)])
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(best, tiles)))


def _best(scope: Skills, targets: Skills) -> Skills:
    best: Skills = transfer(scope, targets).max(axis=1)
    return best


def _norms(games: Skills) -> Skills:
    """‖g‖₁, added in the order in which captured skills are: so V_G(G) is 1 and not nearly 1."""
    return np.add.accumulate(games, axis=1)[:, -1]


@dataclass(frozen=True)
class ToyOracle:
    """Implements :class:`evo.growth.algorithm.Oracle`: values are exact, so ranks are confirmed."""

    threads: int = 1

    def assess(
        self, candidates: Sequence[Candidate[ToyGame]], scope: Sequence[ToyGame]
    ) -> Steps[ToyGame, list[Assessment[ToyGame]]]:
        """Values of a list, whose candidates have one parent."""
        yield from ()
        parent, games = candidates[0].parent, matrix([candidate.game for candidate in candidates])
        helps = transfer(games, matrix([parent]))[0]
        gammas = coverage(matrix(scope), games, self.threads)
        rows = zip(candidates, helps.tolist(), gammas.tolist(), strict=True)
        return [Assessment(candidate, parent, value, gamma) for candidate, value, gamma in rows]

    def test(
        self, assessment: Assessment[ToyGame], scope: Sequence[ToyGame], doublings: int = 0
    ) -> Steps[ToyGame, AcceptanceResult]:
        """What is known needs no test."""
        yield from ()
        return AcceptanceResult(Verdict.ACCEPTED, assessment.gamma)

    def dismiss(
        self, assessment: Assessment[ToyGame], result: AcceptanceResult | None, reason: Reason
    ) -> None:
        """Nothing is recorded."""


@dataclass(frozen=True)
class Neighbourhood:
    """Λ of Fig. 6.1: games drawn uniformly from those of the space within Euclidean distance
    ``radius`` (ρ) of the parent.

    A list is shorter than requested if the space is so thin around the parent that ``DRAWS`` draws
    for each candidate are not enough.
    """

    radius: float
    seed: int

    def propose(self, place: Place[ToyGame], scope: Sequence[ToyGame], n: int) -> list[ToyGame]:
        name = (place.generation, place.parent.skill_bytes.hex(), place.round)
        draw = stream("toy", self.seed, *name)
        centre = np.frombuffer(place.parent.skill_bytes)
        points = np.empty((0, len(centre)))
        n_drawn, width = 0, 1
        while len(points) < n and n_drawn < DRAWS * n:
            near = centre + self.radius * _ball(draw, width * n, len(centre))
            points = np.concatenate([points, near[in_space(near)]])[:n]
            n_drawn, width = n_drawn + width * n, min(2 * width, WIDEST)
        return [ToyGame(row.tobytes()) for row in points]


def random_games(draw: np.random.Generator, n: int, d: int) -> Skills:
    """Games drawn uniformly from the space, shape (n, d).

    For u_i = √g_i the space is the simplex Σ u_i ≤ 1 with density ∝ Π u_i: a Dirichlet law with
    weight 2 for each skill and 1 for what is left.
    """
    weights = np.full(d + 1, 2.0)
    weights[-1] = 1.0
    games: Skills = draw.dirichlet(weights, n)[:, :-1] ** 2
    return games


def _ball(draw: np.random.Generator, n: int, d: int) -> Skills:
    """Points drawn uniformly from the unit ball, shape (n, d)."""
    directions = draw.standard_normal((n, d))
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    points: Skills = directions / lengths * draw.random((n, 1)) ** (1 / d)
    return points


def grid(points: int) -> Skills:
    """The games of the space among the centres of points × points cells of the unit square,
    shape (n, 2)."""
    axis = (np.arange(points) + 0.5) / points
    centres = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    games: Skills = centres[in_space(centres)]
    return games


def share_covered(scope: Skills, games: Skills, level: float) -> float:
    """The share of ``games`` (n, 2) that ``scope`` (m, 2) covers at ``level``, in [0, 1]."""
    return float((coverage(scope, games) >= level).mean())


def frontier(angles: Skills) -> Skills:
    """Distance of the curve √x + √y = 1 from the origin in each direction, shape (n,)."""
    return 1 / (np.sqrt(np.cos(angles)) + np.sqrt(np.sin(angles))) ** 2


def reach(scope: Skills, angles: Skills, level: float) -> Skills:
    """Distance from the origin to which a scope (m, 2) covers each direction at ``level``.

    In direction (a, b) a game (x, y) covers t·(a, b) iff min(ta, x) + min(tb, y) ≥ level·t(a+b).
    The left side is the least of four sums linear in t, each of which bounds t or does not; the
    covered t therefore begin at 0 and have no gap. Returns shape (n,), for ``level`` below 1.
    """
    a, b = np.cos(angles)[:, None], np.sin(angles)[:, None]
    x, y = scope.T
    target = level * (a + b)
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = [
            (x + y) / target,
            np.where(target > b, x / (target - b), np.inf),
            np.where(target > a, y / (target - a), np.inf),
        ]
    farthest: Skills = np.minimum.reduce(bounds).max(axis=1)
    return farthest
