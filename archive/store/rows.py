"""Rows to Arrow, strictly: a value that does not fit the schema raises and is never repaired.

Conversions that keep the value are allowed: an int in a float column, a NumPy scalar, a member of
a StrEnum. A column whose values are of the plain Python type is checked by its set of types and by
Arrow; only a doubtful one is checked value by value, to name the first row at fault.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from archive.errors import RowError
from archive.schema import BOOL, FLOAT64, INSTANT, INT32, INT64, STRING, TABLES, Column, Table

Row = Mapping[str, object]

_PLAIN: Mapping[pa.DataType, type] = {
    STRING: str,
    BOOL: bool,
    INT32: int,
    INT64: int,
    FLOAT64: float,
    INSTANT: datetime,
}
_ACCEPTED: Mapping[pa.DataType, tuple[type, ...]] = {
    STRING: (str,),
    BOOL: (bool, np.bool_),
    INT32: (int, np.integer),
    INT64: (int, np.integer),
    FLOAT64: (float, int, np.floating, np.integer),
    INSTANT: (datetime,),
}
_LIMITS: Mapping[pa.DataType, int] = {INT32: 2**31, INT64: 2**63}
_ARROW_REFUSALS = (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError)


def table_of(name: str) -> Table:
    """The declared table `name`. Raises RowError for a name that is not declared."""
    if name not in TABLES:
        raise RowError(f"found table {name!r}, expected one of {', '.join(TABLES)}")
    return TABLES[name]


def to_arrow(name: str, rows: Sequence[Row]) -> pa.Table:
    """The rows as an Arrow table of exactly the declared schema.

    Raises RowError, naming table, row and column, for an unknown table, a missing or unknown
    column, a null where null has no meaning, a value of another type or out of range, a naive
    datetime, a NaN, an infinity in a finite column, or a word that is not of the enum.
    """
    table = table_of(name)
    expected = set(table.names)
    for number, row in enumerate(rows):
        if row.keys() != expected:
            raise RowError(f"{name} row {number}: {_wrong_keys(row, expected)}")
    arrays = [_array(table, column, [row[column.name] for row in rows]) for column in table.columns]
    return pa.table(arrays, schema=table.schema)


def _sound_array(column: Column, array: pa.Array | pa.ChunkedArray) -> bool:
    """Whether the column accepts every value of the array, checked only by Arrow."""
    if array.null_count and column.null is None:
        return False
    scalars = pc.list_flatten(array) if pa.types.is_list(array.type) else array
    if scalars is not array and scalars.null_count:
        return False
    if scalars.type == FLOAT64:
        sound = pc.is_finite(scalars) if column.finite else pc.invert(pc.is_nan(scalars))
        return bool(pc.all(sound, min_count=0).as_py())
    allowed = pa.array([*column.values, None], STRING) if column.values else None
    return allowed is None or bool(pc.all(pc.is_in(scalars, allowed), min_count=0).as_py())


def _wrong_keys(row: Row, expected: set[str]) -> str:
    if missing := sorted(expected - row.keys()):
        return f"found no column {', '.join(missing)}, expected every declared column"
    unknown = ", ".join(sorted(map(str, row.keys() - expected)))
    return f"found unknown column {unknown}, expected {', '.join(sorted(expected))}"


def _array(table: Table, column: Column, values: list[object]) -> pa.Array:
    try:
        array = pa.array(values, type=column.type)
    except _ARROW_REFUSALS as refusal:
        _raise_first_fault(table, column, values)
        raise RowError(f"{table.name}, column {column.name!r}: {refusal}") from refusal
    if not (_is_plain(column, values) and _sound_array(column, array)):
        _raise_first_fault(table, column, values)
    return array


def _is_plain(column: Column, values: list[object]) -> bool:
    """Whether all values are null or of the one Python type that Arrow converts as it stands; times
    may lack their zone."""
    types, kind = set(map(type, values)) - {type(None)}, column.type
    if pa.types.is_list(kind) and types <= {list}:
        kind, lists = kind.value_type, (value for value in values if isinstance(value, list))
        types = set(map(type, chain.from_iterable(lists)))
    return kind != INSTANT and types <= {_PLAIN.get(kind)}


def _raise_first_fault(table: Table, column: Column, values: Sequence[object]) -> None:
    for number, value in enumerate(values):
        if fault := _fault(column, value):
            raise RowError(f"{table.name} row {number}, column {column.name!r}: {fault}")


def _fault(column: Column, value: object) -> str | None:
    """The fault of a value, as 'found …, expected …', or None."""
    if value is None:
        return None if column.null is not None else f"found null, expected {_expected_type(column)}"
    if not pa.types.is_list(column.type):
        return _scalar_fault(column, column.type, value)
    if not isinstance(value, list | tuple):
        return f"found {_value_text(value)}, expected {_expected_type(column)}"
    faults = (_scalar_fault(column, column.type.value_type, item) for item in value)
    return next((fault for fault in faults if fault), None)


def _scalar_fault(column: Column, kind: pa.DataType, value: object) -> str | None:
    fault = f"found {_value_text(value)}, expected {_expected_type(column)}"
    if not isinstance(value, _ACCEPTED[kind]) or (isinstance(value, bool) and kind != BOOL):
        return fault
    if isinstance(value, datetime):
        return f"{fault} with a time zone" if value.tzinfo is None else None
    if isinstance(value, str):
        if column.values and value not in column.values:
            return f"found {_value_text(value)}, expected one of {', '.join(column.values)}"
        return None if _encodes(value) else fault
    if kind in _LIMITS and not -_LIMITS[kind] <= int(value) < _LIMITS[kind]:  # type: ignore[call-overload]
        return fault
    return fault if kind == FLOAT64 and not _sound(column, value) else None


def _sound(column: Column, value: object) -> bool:
    """Whether the number is representable, no NaN, and finite where it must be."""
    if isinstance(value, int | np.integer):
        return abs(int(value)) <= 2**53
    number = float(value)  # type: ignore[arg-type]
    return math.isfinite(number) if column.finite else not math.isnan(number)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _expected_type(column: Column) -> str:
    finite = "finite " if column.finite else ""
    return f"{finite}{column.type} ({column.unit})"


def _value_text(value: object) -> str:
    text = ascii(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} of type {type(value).__name__}"
