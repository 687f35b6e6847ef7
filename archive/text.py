"""Numbers, intervals, counts, durations and lists as people read them: one function for each kind,
for terminals, the report, exports and progress lines.

A minus is a real one and what rounds to 0 has none; – stands for no number, … for an open bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol


class Estimate(Protocol):
    """A value with its bounds: of a measure, of a matrix, of a rating."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def number(value: float | None, digits: int = 2) -> str:
    """``1,234.50``, ``−0.25``."""
    return _decimal(value, f",.{digits}f", digits)


def signed(value: float | None, digits: int = 1) -> str:
    """``+3.0``, ``−0.2``; what rounds to 0 is ``+0.0``."""
    return _decimal(value, f"+,.{digits}f", digits)


def percent(share: float | None, digits: int = 0) -> str:
    """``34%`` of a share of 0.34."""
    return _decimal(share, f".{digits}%", digits + 2)


def _decimal(value: float | None, form: str, digits: int) -> str:
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "…"
    return format(round(value, digits) + 0.0, form).replace("-", "−")  # + 0.0: −0 is 0


def interval(estimate: Estimate, form: Callable[[float | None], str] = number) -> str:
    """``0.43 [0.31, …]``, the numbers in the given form; no bounds where these are NaN; – without
    a value."""
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None or math.isnan(value) or (low is not None and math.isnan(low)):
        return form(value)
    texts = ["…" if bound is None else form(bound) for bound in (low, high)]
    for place, bound in enumerate((low, high)):  # which side of 0 it is on is to be read
        if bound is not None and bound < -1e-9 and not set(texts[place]) & set("123456789−"):
            texts[place] = f"−{texts[place].strip('+')}"
    low_text, high_text = texts
    return f"{form(value)} [{low_text}, {high_text}]"


def bounds(estimate: Estimate) -> str:
    """The same within a sentence, where no value is ``not defined``."""
    return "not defined" if estimate.value is None else interval(estimate)


def plural(count: int, noun: str) -> str:
    """``1 game``, ``1,200 games``, ``2 families``."""
    nouns = f"{noun[:-1]}ies" if noun[-1] == "y" and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else nouns}"


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``; empty without any."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def duration(seconds: float) -> str:
    """``42 s``, ``12 min``, ``3.4 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def cell(value: object) -> str:
    """Any value in a table: a float with three digits, – for None."""
    return number(value, 3) if value is None or isinstance(value, float) else str(value)
