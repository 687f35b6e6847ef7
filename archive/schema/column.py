"""Declarations of tables and columns: an Arrow type with its unit, its meaning and the meaning of
null, all of which are stored in the Parquet files as metadata."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

STRING, BOOL = pa.string(), pa.bool_()
INT32, INT64, FLOAT64 = pa.int32(), pa.int64(), pa.float64()
INSTANT = pa.timestamp("us", tz="UTC")
# Parquet calls the items of a list "element"; with this name a type reads back as declared.
STRINGS = pa.list_(pa.field("element", STRING, nullable=False))
INTS = pa.list_(pa.field("element", INT64, nullable=False))
FLOATS = pa.list_(pa.field("element", FLOAT64, nullable=False))


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
    """One table: its name, what one row is, and its columns in order."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of every Parquet file of this table."""
        return pa.schema([c.field for c in self.columns], metadata={"meaning": self.meaning})

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(c.name for c in self.columns)


def values_of(enum: Iterable[str]) -> tuple[str, ...]:
    """The strings of a StrEnum, in order of definition."""
    return tuple(str(member) for member in enum)


RUN = Column("run_id", STRING, "id", "the run that wrote the row")
GENERATION = Column(
    "generation",
    INT32,
    "count",
    "of the game: length of its line of descent from the initial scope, whose games have 0",
)
SCOPE = Column("scope", INT32, "count", "number of the scope, from 0: k of Σ_k")
GAME = Column("game_id", STRING, "id", "the game, a key of games")
ROLE = Column("role", STRING, "name", "the main player of the game; (game_id, role) is the unit")
PARENT = Column(
    "parent_game_id", STRING, "id", "the game that it is related to", "of the initial scope"
)
PARENT_ROLE = Column(
    "parent_role", STRING, "name", "main player of the parent", "of the initial scope"
)
ROUND = Column("round", INT32, "count", "the round of proposals for this parent, from 0")
INDEX = Column("index", INT32, "count", "place within the round, from 0")
SECONDS = Column(
    "seconds",
    FLOAT64,
    "s",
    "processor time spent; wall-clock time where an accelerator did the work, or another program",
    finite=True,
)
