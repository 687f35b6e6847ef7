"""The space of Fig. 6.1, x, y ≥ 0 with √x + √y ≤ 1, and how much of it a scope covers.

A scope covers a game G at level c when some G~ of it has V_G~(G) ≥ c.
"""

from __future__ import annotations

import numpy as np

from evo.toy.world import Skills, coverage, in_space


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
    """How far from the origin a scope (m, 2) covers the quadrant at ``level``, in each direction.

    In direction (a, b) a game (x, y) covers t·(a, b) iff min(ta, x) + min(tb, y) ≥ level·t(a+b).
    The left side is the least of four sums linear in t, each of which bounds t or does not; the
    covered t therefore begin at 0 and have no gap. Returns shape (n,), for ``level`` below 1.
    """
    a, b = np.cos(angles)[:, None], np.sin(angles)[:, None]
    x, y = scope.T
    wanted = level * (a + b)
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = [
            (x + y) / wanted,
            np.where(wanted > b, x / (wanted - b), np.inf),
            np.where(wanted > a, y / (wanted - a), np.inf),
        ]
    farthest: Skills = np.minimum.reduce(bounds).max(axis=1)
    return farthest
