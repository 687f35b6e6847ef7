"""Reading archives of older schema versions as the current one: their files lack columns that were
added later, and in version 3 some reasons end with what is now the column ``detail``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from archive.schema import TABLES, Reason

VERSIONS = (3, 4, 5, 6, 7, 8, 9, 10, 11)
"""Older schema versions that can be read."""
_ESTIMATES = ("cross_ratio", "gamma_cross_ratio", "beyond_scripts", "specific_beyond_scripts")
_COUNTS = ("failed_ensures", "format_failures", "cut_moves", "cut_tokens")
ADDED: Mapping[str, frozenset[str]] = {
    "decisions": frozenset(
        {
            "detail",
            "rule",
            "first_play",
            "scope_finetunes",
            "total_gain",
            "total_gain_low",
            "help_gain",
            "help_gain_low",
            "best_script",
            "script_plays",
            "script_gain",
        }
    )
    | {f"{name}{end}" for name in _ESTIMATES for end in ("", "_low", "_high")},
    "rounds": frozenset(_COUNTS),
    "measures": frozenset({"forfeits", *_COUNTS}),
}
"""For each table the columns that older files may lack; all but ``detail`` are read as null."""
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
    current = TABLES[table].schema
    missing = set(current.names) - set(schema.names)
    fields = [field for field in current if field.name not in missing]
    return bool(missing) and missing <= ADDED.get(table, set()) and schema.equals(pa.schema(fields))


def stored_columns(schema: pa.Schema, columns: Sequence[str]) -> list[str]:
    """The columns of an older file, of this schema, from which ``columns`` are made."""
    available = set(schema.names)
    sources = ("reason" if name == "detail" and name not in available else name for name in columns)
    names = list(dict.fromkeys(name for name in sources if name in available))
    return names or schema.names[:1]  # some column, for the number of rows


def upgrade(part: pa.Table, table: str, columns: Sequence[str]) -> pa.Table:
    """Rows of an older file with ``columns`` as the current schema declares them. Raises
    ValueError."""
    if "reason" in part.column_names and "detail" not in part.column_names:
        pairs = [parse_reason(text) for text in part["reason"].to_pylist()]
        index = part.column_names.index("reason")
        reasons = pa.array([str(reason) for reason, _ in pairs], pa.string())
        part = part.set_column(index, "reason", reasons)
        part = part.append_column("detail", pa.array([detail for _, detail in pairs], pa.string()))
    current = TABLES[table].schema
    for name in columns:
        if name not in part.column_names:
            nothing = pa.nulls(len(part), current.field(name).type)
            part = part.append_column(name, nothing)
    return part.select(list(columns)).cast(pa.schema([current.field(name) for name in columns]))
