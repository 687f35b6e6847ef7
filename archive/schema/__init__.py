"""The tables of the archive: each column with type, unit, meaning and meaning of null.

Bits are base-2 logarithms of the judge's probabilities. Units distinguish tokens of the player and
tokens of the judge. An added, changed or removed column raises SCHEMA_VERSION.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

from archive.schema.column import Table, read_tables
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

_DECLARED = read_tables((files(__name__) / "tables.md").read_text(encoding="utf-8"))

TABLES: Mapping[str, Table] = MappingProxyType({table.name: table for table in _DECLARED})
