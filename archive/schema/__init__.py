"""The tables of the archive: each column with type, unit, meaning and meaning of null.

Bits are base-2 logarithms of the judge's probabilities. Units distinguish tokens of the player and
tokens of the judge. An added, changed or removed column raises SCHEMA_VERSION.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from types import MappingProxyType

import pyarrow as pa

from archive.schema import enums
from archive.schema.enums import (
    BASE_POLICY,
    SCRIPT_POLICY,
    SEARCH_POLICIES,
    DecisionRule,
    Definition,
    GainKind,
    PairPurpose,
    PlayOutcome,
    PlaysKey,
    ProposalOutcome,
    Purpose,
    Reason,
    RunEvent,
    ScopeRow,
    TaskId,
    Verdict,
)

__all__ = [
    "BASE_POLICY",
    "SCHEMA_VERSION",
    "SCRIPT_POLICY",
    "SEARCH_POLICIES",
    "TABLES",
    "DecisionRule",
    "Definition",
    "GainKind",
    "PairPurpose",
    "PlayOutcome",
    "PlaysKey",
    "ProposalOutcome",
    "Purpose",
    "Reason",
    "RunEvent",
    "ScopeRow",
    "TaskId",
    "Verdict",
]

SCHEMA_VERSION = 16

STRING, BOOL = pa.string(), pa.bool_()
INT32, INT64, FLOAT64 = pa.int32(), pa.int64(), pa.float64()
INSTANT = pa.timestamp("us", tz="UTC")


def _list_of(type: pa.DataType) -> pa.DataType:
    # Parquet calls the items of a list "element"; with this name a type reads back as declared.
    return pa.list_(pa.field("element", type, nullable=False))


TYPES = {
    "string": STRING,
    "bool": BOOL,
    "int32": INT32,
    "int64": INT64,
    "double": FLOAT64,
    "instant": INSTANT,
    "strings": _list_of(STRING),
    "int64s": _list_of(INT64),
    "doubles": _list_of(FLOAT64),
}
"""Types by their names in ``tables.md``."""


@dataclass(frozen=True)
class Column:
    """One column. It accepts null if and only if `null`, the meaning of null, is given.

    `values`, if given, are the only accepted strings. NaN is never accepted; infinities are
    accepted unless `finite`.
    """

    name: str
    type: pa.DataType
    unit: str
    meaning: str
    null: str | None = None
    values: tuple[str, ...] = ()
    finite: bool = False

    @property
    def field(self) -> pa.Field:
        """The Arrow field, with unit, meaning and null meaning as metadata."""
        metadata = {"unit": self.unit, "meaning": self.meaning, "null": self.null or "never null"}
        if self.values:
            metadata["values"] = "|".join(self.values)
        return pa.field(self.name, self.type, nullable=self.null is not None, metadata=metadata)


@dataclass(frozen=True)
class Table:
    """One table: its name, what one row is, its columns in order, and the names of those that
    identify a row; empty where nothing does."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of every Parquet file of this table."""
        return pa.schema([c.field for c in self.columns], metadata={"meaning": self.meaning})

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(c.name for c in self.columns)


def read_tables(text: str) -> Iterator[Table]:
    """The tables that a Markdown text declares, in order: a heading, a sentence, perhaps a line
    with the key, and a row for each column. Raises KeyError for an unknown type."""
    for section in text.split("\n## ")[1:]:
        name, meaning, *lines = filter(None, section.splitlines())
        rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
        keys = [line.removeprefix("Key: ") for line in lines if line.startswith("Key: ")]
        columns = tuple(_column(*(cell.removesuffix(" |") for cell in row)) for row in rows[2:])
        yield Table(name, meaning, columns, tuple(name for key in keys for name in key.split(", ")))


def _column(name: str, kind: str, unit: str, meaning: str, null: str | None = None) -> Column:
    if unit == "enum":
        words = getattr(enums, kind, None) or kind.split(", ")
        return Column(name, STRING, unit, meaning, null, tuple(map(str, words)))
    type = TYPES[kind.removeprefix("finite ")]
    return Column(name, type, unit, meaning, null, finite=kind.startswith("finite "))


_DECLARED = read_tables((files(__name__) / "tables.md").read_text(encoding="utf-8"))

TABLES: Mapping[str, Table] = MappingProxyType({table.name: table for table in _DECLARED})
