"""The words that columns may hold, and the keys that rows of several tables share."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class RunEvent(StrEnum):
    """What happened to a run."""

    CREATED = "created"
    RESUMED = "resumed"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    OUT_OF_BUDGET = "out_of_budget"


class Purpose(StrEnum):
    """What a map or a play serves; maps of different purposes are disjoint by seed."""

    CALIBRATION = "calibration"
    TRAINING = "training"
    SELECTION = "selection"
    ACCEPTANCE = "acceptance"
    MEASURE = "measure"


class ProposalOutcome(StrEnum):
    """The usual fates of a proposal. The column is an open string: samplers may add their own."""

    CANDIDATE = "candidate"
    INVALID = "invalid"
    SEEN = "seen"
    DEGENERATE = "degenerate"
    TOO_LONG = "too_long"
    INFEASIBLE = "infeasible"
    CONSTANT = "constant"
    ILL_POSED = "ill_posed"
    PASSED_OVER = "passed_over"


class PlayOutcome(StrEnum):
    """How a play ended."""

    FINISHED = "finished"
    FORFEIT = "forfeit"
    OVERSIZE = "oversize"


class Verdict(StrEnum):
    """What was decided on a candidate; all but accepted count as refused in the search. An artifact
    is learned, but what is learned is not about the map."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNDECIDED = "undecided"
    ARTIFACT = "artifact"


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


class GainKind(StrEnum):
    """Which gain C and V are made of: all of it, or what permuting the moves takes away."""

    TOTAL = "total"
    SPECIFIC = "specific"


BASE_POLICY = "base"


class TaskId(NamedTuple):
    """A game seen from one role: what a policy is fine-tuned on, and what a scope is made of."""

    game_id: str
    role: str

    @classmethod
    def of(cls, row: Mapping[str, object]) -> TaskId:
        """The columns game_id and role of a row."""
        return cls(str(row["game_id"]), str(row["role"]))


class PlaysKey(NamedTuple):
    """The plays of one policy on one task for one purpose."""

    policy_id: str
    task_id: TaskId
    purpose: str

    @classmethod
    def of(cls, row: Mapping[str, object]) -> PlaysKey:
        """The key of a row of scores or of rounds."""
        return cls(str(row["policy_id"]), TaskId.of(row), str(row["purpose"]))
