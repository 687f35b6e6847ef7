"""What the archive's words mean, for somebody who reads them for the first time."""

from __future__ import annotations

import math
from collections.abc import Mapping

from archive.statistics.intervals import Interval

FATES: Mapping[str, str] = {
    "candidate": "went on to be measured",
    "invalid": "not a valid program",
    "seen": "already met in this run",
    "known": "already known to the sampler",
    "degenerate": "no move can change the reward",
    "too_long": "unrolls to too many steps",
    "infeasible": "its rules cannot be satisfied",
    "constant": "always scores the same",
    "ill_posed": "its best move depends on tiny probabilities",
    "unfinished": "the model stopped before the program was complete",
    "unsound": "the edit would have made a broken program",
}
"""Outcomes of proposals."""

STAGES: Mapping[str, str] = {
    "proposing": "inventing candidate programs",
    "calibration": "plays of the untrained player, which show whether a game is fit",
    "fine-tuning": "training one player on each candidate",
    "selection": "plays that measure what each training taught",
    "acceptance": "plays on fresh maps that confirm, or refute, the best candidates",
}
"""Stages of the search, in their order."""


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 game``, ``2 games``, ``1,200 games``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def listed(names: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def bounds(interval: Interval) -> str:
    """``0.43 [0.31, 0.55]``, with … for a bound that is open."""
    if interval.value is None:
        return "not defined"
    low, high = (
        "…" if math.isinf(bound) else f"{bound:.2f}" for bound in (interval.low, interval.high)
    )
    return f"{interval.value:.2f} [{low}, {high}]".replace("-", "−")
