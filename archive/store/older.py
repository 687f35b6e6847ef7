"""Archives of older schema versions, read as those of today: files of that time lack columns that
were added since, and in version 3 some reasons end with what is the detail now."""

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
"""By table, the columns that older files may lack; but for ``detail`` they are null there."""
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
    missing = set(declared.names) - set(schema.names)
    kept = [field for field in declared if field.name not in missing]
    return bool(missing) and missing <= ADDED.get(table, set()) and schema.equals(pa.schema(kept))


def stored_columns(schema: pa.Schema, columns: Sequence[str]) -> list[str]:
    """The columns of an older file, of this schema, from which ``columns`` are made."""
    there = set(schema.names)
    made_of = ("reason" if name == "detail" and name not in there else name for name in columns)
    stored = list(dict.fromkeys(name for name in made_of if name in there))
    return stored or schema.names[:1]  # some column, for the number of rows


def upgraded(part: pa.Table, table: str, columns: Sequence[str]) -> pa.Table:
    """Rows of an older file with ``columns`` as they are declared today. Raises ValueError."""
    if "reason" in part.column_names and "detail" not in part.column_names:
        parsed = [parse_reason(text) for text in part["reason"].to_pylist()]
        place = part.column_names.index("reason")
        reasons = pa.array([str(reason) for reason, _ in parsed], pa.string())
        part = part.set_column(place, "reason", reasons)
        part = part.append_column("detail", pa.array([detail for _, detail in parsed], pa.string()))
    declared = TABLES[table].schema
    for name in columns:
        if name not in part.column_names:
            nothing = pa.nulls(len(part), declared.field(name).type)
            part = part.append_column(name, nothing)
    return part.select(list(columns)).cast(pa.schema([declared.field(name) for name in columns]))
