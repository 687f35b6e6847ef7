"""The archive: runs, games, fine-tunings, scores and decisions, stored permanently.

`Archive` writes and reads; `schema` declares the tables; `Run` reads one run; `archive.export`
makes folders of files. The folder itself is plain Parquet, described in docs/reference/archive.md.
"""

from archive.errors import (
    ArchiveError,
    CoverError,
    DamagedError,
    LockedError,
    LookupFailedError,
    NotAnArchiveError,
    RowError,
    VersionError,
    WriteError,
)
from archive.run import Run, games, locate, resolve, runs
from archive.schema import (
    BASE_POLICY,
    SCHEMA_VERSION,
    TABLES,
    Definition,
    GainKind,
    PairPurpose,
    ProposalOutcome,
    Purpose,
    Reason,
    RunEvent,
    ScopeRow,
    TaskId,
    Verdict,
)
from archive.store.archive import Archive
from xgl.version import __version__

__all__ = [
    "BASE_POLICY",
    "SCHEMA_VERSION",
    "TABLES",
    "Archive",
    "ArchiveError",
    "CoverError",
    "DamagedError",
    "Definition",
    "GainKind",
    "LockedError",
    "LookupFailedError",
    "NotAnArchiveError",
    "PairPurpose",
    "ProposalOutcome",
    "Purpose",
    "Reason",
    "RowError",
    "Run",
    "RunEvent",
    "ScopeRow",
    "TaskId",
    "Verdict",
    "VersionError",
    "WriteError",
    "__version__",
    "games",
    "locate",
    "resolve",
    "runs",
]
