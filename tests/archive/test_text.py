"""Numbers, intervals, counts and lists as people read them."""

from __future__ import annotations

import math
import re
from functools import partial

from hypothesis import given, strategies as st

from archive.statistics.intervals import UNDEFINED, Interval
from archive.text import bounds, interval, number, percent, signed

FORMS = (number, signed, percent, partial(number, digits=0), partial(signed, digits=3))


@given(st.floats(-1e9, 1e9), st.sampled_from(FORMS))
def test_a_number_reads_back_within_its_last_digit_and_has_a_real_minus(
    value: float, form: object
) -> None:
    text = form(value)  # type: ignore[operator]
    assert "-" not in text
    plain = text.replace("−", "-").replace(",", "")
    read = float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)
    digits = len(re.sub(r"[^0-9]", "", plain.partition(".")[2])) + (2 if "%" in plain else 0)
    assert abs(read - value) <= 0.500001 * 10.0**-digits + 1e-12 * abs(value)
    assert not (read == 0 and "−" in text)


def test_intervals() -> None:
    assert interval(Interval(-0.254, -0.5, math.inf)) == "−0.25 [−0.50, …]"
    assert interval(Interval(0.34, 0.1, 0.5), percent) == "34% [10%, 50%]"
    assert interval(Interval(3.0, math.nan, math.nan)) == "3.00"
    assert (interval(UNDEFINED), bounds(UNDEFINED)) == ("–", "not defined")
