"""How many skills the games of a scope ask for: the participation ratio of who teaches whom.

The gains of n fine-tunes on n games, each game's divided by what its own fine-tune gains there, are
an n × n matrix of shares. With its singular values σ, the ratio (Σσ²)² / Σσ⁴ counts the directions
that share its weight: 1 where every fine-tune does the same everywhere (n copies of a game), n
where each gains only on its own game.
"""

from __future__ import annotations

import numpy as np

from archive.statistics.values.intervals import CONFIDENCE, Scores


def shares(gains: Scores) -> Scores:
    """Transfer values (n, n): each column of ``gains`` (n, n), bits, a fine-tune a row and a game a
    column, divided by its entry on the diagonal. Raises ``ValueError`` for a game on which its own
    fine-tune gains nothing."""
    own = np.diag(gains)
    if np.any(own <= 0):
        raise ValueError("shares need games on which their own fine-tunes gain bits")
    return np.asarray(gains / own, dtype=np.float64)


def effective_skills(gains: Scores) -> float:
    """The participation ratio of the shares of ``gains`` (n, n), from 1 to n."""
    squares = np.linalg.svd(shares(gains), compute_uv=False) ** 2
    return float(squares.sum() ** 2 / (squares**2).sum())


def effective_skills_of_copies(
    gains: Scores, errors: Scores, draws: int = 1000, seed: int = 0
) -> float:
    """The mean ratio that n copies of one game would have if they were measured as badly: every
    cell is what the game's own fine-tune gains, plus noise of its standard error. ``gains`` and
    ``errors`` (n, n), bits; draws in which a game seems to teach itself nothing are left out."""
    rng = np.random.default_rng(seed)
    own = np.broadcast_to(np.diag(gains), gains.shape)
    samples = (own + errors * rng.standard_normal(gains.shape) for _ in range(draws))
    return float(np.mean([effective_skills(each) for each in samples if np.all(np.diag(each) > 0)]))


def skills_interval(
    plays: Scores, confidence: float = CONFIDENCE, draws: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """Percentile bounds of the ratio over plays, given the fine-tunes; ``plays`` (n, n, m) are the
    gains, bits, on m maps a game. All fine-tunes play the same maps, so maps are drawn together.
    The ratio of a noisier matrix is larger: bounds lie high by about what copies show above 1."""
    rng = np.random.default_rng(seed)
    count = plays.shape[-1]
    means = (plays[..., rng.integers(count, size=count)].mean(-1) for _ in range(draws))
    ratios = [effective_skills(each) for each in means if np.all(np.diag(each) > 0)]
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
