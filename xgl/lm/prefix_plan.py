"""Common beginnings of prompts: what to encode once, for which rows.

A group's first prompts are equal; after a move, a reward or a failed ensure they differ at the
end only. The plan below encodes the fewest tokens of all that give each row one stem.
"""

from __future__ import annotations

from collections.abc import Sequence

Ids = tuple[int, ...]


WORTH = 1 / 3
"""Least share of all tokens that stems must save: a second pass costs something too."""


def plan(prompts: Sequence[Ids]) -> tuple[list[Ids], list[int]]:
    """Stems, and for each of the distinct ``prompts`` the index of the stem that it begins with.

    Either every prompt is its own stem in full, or every prompt is longer than its stem, so that
    a caller reads the rests of all or of none. No prompt may be empty.
    """
    ordered = sorted(prompts)
    runs = _runs(ordered)
    saved = sum((last - first - 1) * _shared(ordered, first, last) for first, last in runs)
    if saved < WORTH * sum(map(len, prompts)) or len(min(ordered, key=len)) == 1:
        return list(prompts), list(range(len(prompts)))
    stems: list[Ids] = []
    place: dict[Ids, int] = {}
    for first, last in runs:
        place |= dict.fromkeys(ordered[first:last], len(stems))
        stems.append(ordered[first][: _shared(ordered, first, last)])
    return stems, [place[prompt] for prompt in prompts]


def _shared(ordered: Sequence[Ids], first: int, last: int) -> int:
    """Length of a run's stem: what its members share, but never the whole of one of them."""
    shortest = min(map(len, ordered[first:last]))
    return min(_common(ordered[first], ordered[last - 1]), shortest - 1)


def _runs(ordered: Sequence[Ids]) -> list[tuple[int, int]]:
    """The cut of sorted prompts into runs that saves most: (members − 1) · common tokens each."""
    size = len(ordered)
    shared = [_common(ordered[i], ordered[i + 1]) for i in range(size - 1)]
    best, start = [0] * (size + 1), list(range(-1, size))
    for last in range(1, size + 1):
        best[last], start[last] = best[last - 1], last - 1
        common = len(ordered[last - 1]) - 1
        for first in range(last - 2, -1, -1):
            common = min(common, shared[first], len(ordered[first]) - 1)
            if common <= 0:
                break
            saved = best[first] + (last - first - 1) * common
            if saved > best[last]:
                best[last], start[last] = saved, first
    runs, last = [], size
    while last:
        runs.append((start[last], last))
        last = start[last]
    return runs[::-1]


def _common(one: Ids, other: Ids) -> int:
    """Number of leading tokens that two prompts share."""
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))
