"""Rows to Arrow: what fits keeps its value, what does not is refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from archive import RowError, Verdict
from archive.store.files import to_arrow

MakeRow = Callable[..., dict[str, Any]]

REFUSED = [
    ("scores", {"score": math.nan}, r"scores row 1, column 'score': found nan .* finite double"),
    ("scores", {"score": -math.inf}, r"found -inf of type float, expected finite double \(bits\)"),
    ("scores", {"score": None}, r"column 'score': found null, expected finite double"),
    ("scores", {"score": "1.0"}, r"found '1.0' of type str, expected finite double"),
    ("scores", {"score": True}, r"found True of type bool"),
    ("scores", {"score": 2**60 + 1}, r"column 'score': found 1152921504606846977"),
    ("scores", {"map_seed": 1.0}, r"column 'map_seed': found 1.0 of type float, expected int64"),
    ("scores", {"map_seed": 2**63}, r"column 'map_seed': found 9223372036854775808"),
    ("games", {"steps": 2**31}, r"column 'steps': found 2147483648 .* expected int32 \(steps\)"),
    ("games", {"code": b"x"}, r"column 'code': found b'x' of type bytes, expected string"),
    ("games", {"code": "\ud800"}, r"column 'code': found '\\ud800'"),
    ("scores", {"moves": "abc"}, r"column 'moves': found 'abc' of type str, expected list"),
    ("scores", {"moves": ["a", None]}, r"column 'moves': found None of type NoneType"),
    ("scores", {"purpose": "test"}, r"found 'test' .* expected one of calibration, training"),
    ("finetunes", {"curve": [0.0, math.inf]}, r"column 'curve': found inf"),
    ("runs", {"at": datetime(2026, 1, 1)}, r"expected timestamp.* with a time zone"),
]


@pytest.mark.parametrize(("table", "changes", "message"), REFUSED)
def test_a_value_that_does_not_fit_is_refused(
    make_row: MakeRow, table: str, changes: dict[str, Any], message: str
) -> None:
    good = make_row(table)
    assert to_arrow(table, [good]).num_rows == 1
    with pytest.raises(RowError, match=message):
        to_arrow(table, [good, make_row(table, **changes), good])


def test_missing_and_unknown_columns_are_refused(make_row: MakeRow) -> None:
    short = make_row("games")
    del short["steps"]
    with pytest.raises(RowError, match=r"games row 0: found no column steps, expected every"):
        to_arrow("games", [short])
    with pytest.raises(RowError, match=r"games row 1: found unknown column extra"):
        to_arrow("games", [make_row("games"), {**make_row("games"), "extra": 1}])


def test_values_of_equal_meaning_are_kept(make_row: MakeRow) -> None:
    score = make_row(
        "scores",
        score=3,
        raw_score=np.float32(0.5),
        permuted_score=np.float64(0.25),
        map_seed=np.int64(9),
        moves=("a", "b"),
    )
    decision = make_row("decisions", verdict=Verdict.UNDECIDED, decided=np.bool_(True))
    row = to_arrow("scores", [score]).to_pylist()[0]
    assert (row["score"], row["raw_score"], row["permuted_score"]) == (3.0, 0.5, 0.25)
    assert (row["map_seed"], row["moves"]) == (9, ["a", "b"])
    row = to_arrow("decisions", [decision]).to_pylist()[0]
    assert (row["verdict"], row["decided"]) == ("undecided", True)


def test_instants_are_kept_to_the_microsecond(make_row: MakeRow) -> None:
    at = datetime(2026, 5, 4, 3, 2, 1, 999999, tzinfo=UTC)
    assert to_arrow("runs", [make_row("runs", at=at)])["at"].to_pylist() == [at]
