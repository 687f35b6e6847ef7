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
from archive.run import Run, RunHistory, VerdictCount, games, locate, resolve, runs
from archive.schema import (
    BASE_POLICY,
    SCHEMA_VERSION,
    TABLES,
    Definition,
    GainKind,
    PairPurpose,
    PlayOutcome,
    ProposalOutcome,
    Purpose,
    Reason,
    RunEvent,
    ScopeRow,
    TaskId,
    Verdict,
)
from archive.store.archive import Archive
from archive.store.files import Commit, DataFile
from xgl.version import __version__

__all__ = [
    "BASE_POLICY",
    "SCHEMA_VERSION",
    "TABLES",
    "Archive",
    "ArchiveError",
    "Commit",
    "CoverError",
    "DamagedError",
    "DataFile",
    "Definition",
    "GainKind",
    "LockedError",
    "LookupFailedError",
    "NotAnArchiveError",
    "PairPurpose",
    "PlayOutcome",
    "ProposalOutcome",
    "Purpose",
    "Reason",
    "RowError",
    "Run",
    "RunEvent",
    "RunHistory",
    "ScopeRow",
    "TaskId",
    "Verdict",
    "VerdictCount",
    "VersionError",
    "WriteError",
    "__version__",
    "games",
    "locate",
    "resolve",
    "runs",
]
