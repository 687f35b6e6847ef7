"""Numbers, counts and lists as text of the page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from archive.statistics.intervals import Interval


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """A count with its noun: ``1 game``, ``2 games``, ``1,200 games``; ``nouns``: irregular."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def list_text(names: list[str]) -> str:
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


def signed_text(value: float, digits: int = 1) -> str:
    """A number with its sign, a real minus; what rounds to 0 is +0."""
    return f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", "−")


def duration(seconds: float) -> str:
    """``42 s``, ``12 min``, ``3.4 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
