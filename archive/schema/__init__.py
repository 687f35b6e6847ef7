"""The tables of the archive: each column with type, unit, meaning and meaning of null.

Bits are base-2 logarithms of the judge's probabilities. Units distinguish tokens of the player and
tokens of the judge. An added, changed or removed column raises SCHEMA_VERSION.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from archive.schema.column import Table
from archive.schema.enums import (
    BASE_POLICY,
    SCRIPT_POLICY,
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
from archive.schema.ggbench import GGBENCH
from archive.schema.plays import (
    CEILINGS,
    CURRICULA,
    FINETUNES,
    MAPS,
    MEASURES,
    ROUNDS,
    SCORED_TEXTS,
    SCORES,
    SECOND_SCORES,
)
from archive.schema.ratings import IMPROVEMENT_PATHS, RATINGS, REDUNDANCY_RATINGS
from archive.schema.search import (
    COVERS,
    DECISIONS,
    GAMES,
    PROPOSALS,
    RUNS,
    SCOPES,
)

__all__ = [
    "BASE_POLICY",
    "SCHEMA_VERSION",
    "SCRIPT_POLICY",
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

SCHEMA_VERSION = 14

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        table.name: table
        for table in (
            RUNS,
            GAMES,
            PROPOSALS,
            MAPS,
            FINETUNES,
            CURRICULA,
            SCORES,
            SECOND_SCORES,
            SCORED_TEXTS,
            DECISIONS,
            SCOPES,
            COVERS,
            ROUNDS,
            MEASURES,
            CEILINGS,
            RATINGS,
            IMPROVEMENT_PATHS,
            REDUNDANCY_RATINGS,
            *GGBENCH,
        )
    }
)
