"""Archives of schema version 3, read as those of today: their decisions have no column ``detail``,
and some of their reasons end with what is the detail now."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from archive.schema import TABLES, Reason

VERSIONS = (3,)
"""Older schema versions that can be read."""
_TABLE, _ADDED = "decisions", "detail"
_REASON = re.compile(rf"({'|'.join(map(re.escape, Reason))})(?::? (.+))?")


def parse_reason(text: str) -> tuple[Reason, str | None]:
    """Reason and detail of a text such as ``never feasible`` or ``forfeit rate 0.60 above 0.25``.

    Raises ValueError for a text that begins with no known reason.
    """
    match = _REASON.fullmatch(text)
    if match is None:
        raise ValueError(f"reason {text!r}")
    return Reason(match[1]), match[2]


def is_older(table: str, schema: pa.Schema) -> bool:
    """Whether a file of ``table`` with this schema was written under an older version."""
    declared = TABLES[table].schema
    return table == _TABLE and schema.equals(declared.remove(declared.get_field_index(_ADDED)))


def stored_columns(columns: Sequence[str]) -> list[str]:
    """The columns of an older file from which ``columns`` are made."""
    return list(dict.fromkeys("reason" if name == _ADDED else name for name in columns))


def upgraded(part: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Rows of an older file with ``columns`` as they are declared today. Raises ValueError."""
    if "reason" in part.column_names:
        parsed = [parse_reason(text) for text in part["reason"].to_pylist()]
        place = part.column_names.index("reason")
        reasons = pa.array([str(reason) for reason, _ in parsed], pa.string())
        part = part.set_column(place, "reason", reasons)
        part = part.append_column(_ADDED, pa.array([detail for _, detail in parsed], pa.string()))
    declared = TABLES[_TABLE].schema
    fields = [declared.field(name) for name in columns]
    return part.select(list(columns)).cast(pa.schema(fields))
