"""Which of more proposals than can be judged go on: the more, the farther from what is known."""

from __future__ import annotations

from collections.abc import Sequence

from xgl.random_streams import stream

POOL = 2
"""Candidates that are collected for each one that goes on, where distance has a weight."""


def pool_size(n: int, weight: float) -> int:
    """How many candidates to collect for ``n`` places."""
    return n if weight == 0 else POOL * n


def chosen(distances: Sequence[int], n: int, weight: float, *key: str | int) -> list[int]:
    """Places of ``n`` candidates, in order, drawn without repetition with probabilities in
    proportion to distance to the power ``weight``; ``key`` names the draw.

    The largest u^(1/w) are kept (Efraimidis and Spirakis, Inf. Process. Lett. 97, 2006); all that
    are as near as can be come last.
    """
    if weight == 0 or len(distances) <= n:
        return list(range(len(distances)))[:n]
    draws = stream("diversity", *key).random(len(distances))
    keys = [u ** (1 / d**weight) if d > 0 else -1.0 for u, d in zip(draws, distances, strict=True)]
    best = sorted(range(len(keys)), key=lambda place: -keys[place])[:n]
    return sorted(best)
