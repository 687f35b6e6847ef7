"""The tables of the archive: each column with type, unit, meaning and meaning of null.

Bits are base-2 logarithms of the judge's probabilities. Units distinguish tokens of the player and
tokens of the judge. An added, changed or removed column raises SCHEMA_VERSION.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from importlib.resources import files
from typing import NamedTuple

import pyarrow as pa

from xgl.language.syntax import MAIN_PLAYER


class RunEvent(StrEnum):
    CREATED = "created"
    RESUMED = "resumed"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    OUT_OF_BUDGET = "out_of_budget"


class Purpose(StrEnum):
    """The purpose of a map or a play; maps of different purposes have disjoint seeds."""

    CALIBRATION = "calibration"
    TRAINING = "training"
    SELECTION = "selection"
    ACCEPTANCE = "acceptance"
    CHECKPOINT = "checkpoint"
    MEASURE = "measure"


class PairPurpose(StrEnum):
    """The purpose of games between two agents of a game that is a program."""

    BASELINE = "baseline"
    SELECTION = "selection"
    CONFIRMATION = "confirmation"


class ProposalOutcome(StrEnum):
    """The usual outcomes of a proposal; the column is an open string: samplers add their own."""

    CANDIDATE = "candidate"
    INVALID = "invalid"
    SEEN = "seen"
    DEGENERATE = "degenerate"
    PASSED_OVER = "passed_over"


class PlayOutcome(StrEnum):
    FINISHED = "finished"
    FORFEIT = "forfeit"
    OVERSIZE = "oversize"


class Verdict(StrEnum):
    """The verdict on a candidate; all but accepted count as refused in the search. An artifact is
    learned, but the learned moves are not about the map."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNDECIDED = "undecided"
    ARTIFACT = "artifact"


class Reason(StrEnum):
    """The reason of a verdict; ``tables.md`` says which verdict it stands for, and explains it."""

    NEW_AND_USEFUL = "helps and is new"
    NEVER_FEASIBLE = "never feasible"
    FORFEIT_RATE = "forfeit rate"
    TOO_LONG = "too long to learn"
    CONSTANT_SCORE = "constant score"
    NO_HEADROOM = "nothing about the map to learn"
    ILL_POSED = "ill-posed"
    NOT_FEW_SHOT = "not few-shot playable"
    NOT_LEARNED = "not playable"
    NOT_ABOUT_MAP = "its gain is not about the map"
    NO_HELP = "does not help its parent"
    COVERED = "covered by the scope"
    SAME_SKILL = "teaches what a game of the scope teaches"
    RIVAL_ACCEPTED = "another of its list was accepted"
    RIVALS_TESTED = "others of its list were tested instead"
    PASSED_OVER = "passed over before training"
    UNLIKELY = "acceptance too unlikely"
    OWN_GAIN_OPEN = "own gain not confirmed"
    HELP_OPEN = "help to its parent not settled"
    COVERAGE_OPEN = "coverage not settled"

    @property
    def verdict(self) -> Verdict:
        return Verdict(_REASONS[self][0])

    @property
    def meaning(self) -> str:
        """An explanation for a reader who does not know it."""
        return _REASONS[self][1]


class Definition(StrEnum):
    """Which transfer value decides: the captured fraction C, or V of Definition 37."""

    CAPTURED = "captured"
    DEF37 = "def37"

    @property
    def symbol(self) -> str:
        """C or V."""
        return "C" if self is Definition.CAPTURED else "V"

    @property
    def column(self) -> str:
        """The column of decisions that holds this value of the candidate on its parent."""
        return "captured" if self is Definition.CAPTURED else "captured_def37"


class DecisionRule(StrEnum):
    """Which conditions decide (docs/specification.md, "The decision rule")."""

    VALUES = "values"
    """The gain that decides, help and γ alone."""
    CROSS_RATIO = "cross_ratio"
    """Also requires that the total gains on the game and on its parent are above 0, and that the
    cross-ratio C·γ, in which luck of training cancels, is at most 1 − α2."""


class GainKind(StrEnum):
    """Which gain C and V use: the total gain, or the part that permuting the moves removes."""

    TOTAL = "total"
    SPECIFIC = "specific"


BASE_POLICY = "base"
SCRIPT_POLICY = "script:"
"""Prefix of the policy ids of scripted players, before the name of the script."""
SEARCH_POLICIES = (SCRIPT_POLICY + "unlikely_best", SCRIPT_POLICY + "unlikely_median")
"""Policies of the best and the median of random moves on each map. They show what a game pays for
surprise alone, so they are no moves to imitate, nor the best that is known."""


class TaskId(NamedTuple):
    """A game in one role: the unit that policies are fine-tuned on, and the member of a scope."""

    game_id: str
    role: str

    @classmethod
    def of(cls, row: Mapping[str, object]) -> TaskId:
        """The task of a row, from its columns game_id and role."""
        return cls(str(row["game_id"]), str(row["role"]))

    @property
    def key(self) -> str:
        """``game_id``, with ``:role`` unless it is black: names random streams and labels."""
        return self.game_id if self.role == MAIN_PLAYER else f"{self.game_id}:{self.role}"

    @property
    def label(self) -> str:
        """The key, with eight digits of the id."""
        return self.key.replace(self.game_id, self.game_id[:8])


@dataclass(frozen=True)
class ScopeRow:
    """One member of a scope; ``parent_game_id`` and ``gamma`` are None for the initial scope.
    ``parent_role``: as its decision names it, None where there is none."""

    game_id: str
    role: str
    parent_game_id: str | None
    gamma: float | None
    generation: int
    parent_role: str | None = field(default=None, compare=False)

    @property
    def task_id(self) -> TaskId:
        """The game in its role."""
        return TaskId(self.game_id, self.role)


class PlaysKey(NamedTuple):
    """The plays of one policy on one task for one purpose."""

    policy_id: str
    task_id: TaskId
    purpose: str

    @property
    def scripted(self) -> bool:
        """Whether a scripted player made the plays."""
        return self.policy_id.startswith(SCRIPT_POLICY)

    @classmethod
    def of(cls, row: Mapping[str, object]) -> PlaysKey:
        """The key of a row of scores or of rounds."""
        return cls(str(row["policy_id"]), TaskId.of(row), str(row["purpose"]))


SCHEMA_VERSION = 17

STRING, FLOAT64 = pa.string(), pa.float64()


def _list_of(type: pa.DataType) -> pa.DataType:
    # Parquet calls the items of a list "element"; with this name a type reads back as declared.
    return pa.list_(pa.field("element", type, nullable=False))


TYPES = {
    "instant": pa.timestamp("us", tz="UTC"),
    "strings": _list_of(STRING),
    "int64s": _list_of(pa.int64()),
    "doubles": _list_of(FLOAT64),
}
"""Types by their names in ``tables.md``, beside those that Arrow calls the same."""


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


def _rows(lines: Iterable[str]) -> list[list[str]]:
    """The cells of a Markdown table's rows; empty last cells are left out."""
    rows = (line.strip("| ").split(" | ") for line in lines if line.startswith("| "))
    return [[cell.removesuffix(" |") for cell in row] for row in rows][2:]


def _table(section: str) -> Table:
    """A heading, a sentence, perhaps a line with the key, and a row for each column."""
    name, meaning, *lines = filter(None, section.splitlines())
    keys = [line.removeprefix("Key: ") for line in lines if line.startswith("Key: ")]
    columns = tuple(_column(*row) for row in _rows(lines))
    return Table(name, meaning, columns, tuple(name for key in keys for name in key.split(", ")))


def _column(name: str, kind: str, unit: str, meaning: str, null: str | None = None) -> Column:
    if unit == "enum":
        words = globals().get(kind) or kind.split(", ")
        return Column(name, STRING, unit, meaning, null, tuple(map(str, words)))
    word = kind.removeprefix("finite ")
    type = TYPES.get(word) or pa.type_for_alias(word)
    return Column(name, type, unit, meaning, null, finite=kind.startswith("finite "))


_HEAD, *_SECTIONS = (files(__name__) / "tables.md").read_text(encoding="utf-8").split("\n## ")
_REASONS = {word: facts for word, *facts in _rows(_HEAD.partition("`Reason`")[2].splitlines())}
TABLES: Mapping[str, Table] = {table.name: table for table in map(_table, _SECTIONS)}
