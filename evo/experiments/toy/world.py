"""Toy games, their transfer values in closed form, and Λ as a neighbourhood (§6.1.2, §6.3.4).

A game is a vector g of d non-negative skills, in the figure's space Σ √g_i ≤ 1, and
V_G(G~) = Σ_i min(g~_i, g_i) / ‖g~‖₁ is the share of G~'s skills that playing G captures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archive import Reason, Verdict
from evo.config.toy import in_space
from evo.growth.algorithm import AcceptanceResult, Assessment, Candidate, Place
from evo.record.steps import Steps
from xgl.random_streams import stream

Game = tuple[float, ...]
"""The skills of a game."""
Skills = NDArray[np.float64]
"""Games, shape (n, d)."""
PAIRS = 1 << 22
"""Pairs of games whose values are held at once."""
DRAWS, WIDEST = 10_000, 64
"""Most draws from a neighbourhood for each requested candidate, in all and at a time."""


def transfer(sources: Skills, targets: Skills) -> Skills:
    """V of each source on each target (§6.1.2): (m, d) and (n, d) to (n, m), in [0, 1].

    Skills are added one after another, as a sum over i is written, so that the values do not
    depend on how many games are asked about at once, and V_G(G) is 1 and not nearly 1.
    """
    sums = np.zeros((len(targets), len(sources)))
    for theirs, ours in zip(targets.T, sources.T, strict=True):
        sums += np.minimum(theirs[:, None], ours)
    return sums / np.add.accumulate(targets, axis=1)[:, -1:]


def coverage(scope: Skills, targets: Skills) -> Skills:
    """γ of each target: the most that one game of the scope captures of it, shape (n,)."""
    parts = np.array_split(targets, 1 + len(targets) * len(scope) // PAIRS)
    return np.concatenate([transfer(scope, part).max(axis=1) for part in parts])


@dataclass(frozen=True)
class ToyOracle:
    """Implements :class:`evo.growth.algorithm.Oracle`: values are exact, so ranks are confirmed."""

    def assess(
        self, candidates: Sequence[Candidate[Game]], scope: Sequence[Game]
    ) -> Steps[Game, list[Assessment[Game]]]:
        """Values of a list, whose candidates have one parent."""
        yield from ()
        parent, games = candidates[0].parent, np.array([each.game for each in candidates])
        helps = transfer(games, np.array([parent]))[0].tolist()
        gammas = coverage(np.array(scope), games).tolist()
        rows = zip(candidates, helps, gammas, strict=True)
        return [Assessment(candidate, parent, value, gamma) for candidate, value, gamma in rows]

    def test(
        self, assessment: Assessment[Game], scope: Sequence[Game], doublings: int = 0
    ) -> Steps[Game, AcceptanceResult]:
        """What is known needs no test."""
        yield from ()
        return AcceptanceResult(Verdict.ACCEPTED, assessment.gamma)

    def dismiss(
        self, assessment: Assessment[Game], result: AcceptanceResult | None, reason: Reason
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

    def propose(self, place: Place[Game], scope: Sequence[Game], n: int) -> list[Game]:
        centre = np.array(place.parent)
        draw = stream(
            "toy", self.seed, place.parent_generation, centre.tobytes().hex(), place.round
        )
        points, n_drawn, width = np.empty((0, len(centre))), 0, 1
        while len(points) < n and n_drawn < DRAWS * n:
            directions = draw.standard_normal((width * n, len(centre)))
            lengths = np.linalg.norm(directions, axis=1, keepdims=True)
            ball = directions / lengths * draw.random((width * n, 1)) ** (1 / len(centre))
            near = centre + self.radius * ball
            points = np.concatenate([points, near[in_space(near)]])[:n]
            n_drawn, width = n_drawn + width * n, min(2 * width, WIDEST)
        return [tuple(point) for point in points.tolist()]


# -- the space of Fig. 6.1, of two skills ----------------------------------------------------------


def grid(points: int) -> Skills:
    """The games of the space among the centres of points × points cells of the unit square,
    shape (n, 2)."""
    axis = (np.arange(points) + 0.5) / points
    centres = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    games: Skills = centres[in_space(centres)]
    return games


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
