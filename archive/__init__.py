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
from archive.run import Run, resolve, runs
from archive.schema import (
    SCHEMA_VERSION,
    TABLES,
    PairPurpose,
    ProposalOutcome,
    Purpose,
    Reason,
    RunEvent,
    Verdict,
)
from archive.store.archive import Archive
from xgl.version import __version__

__all__ = [
    "SCHEMA_VERSION",
    "TABLES",
    "Archive",
    "ArchiveError",
    "CoverError",
    "DamagedError",
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
    "Verdict",
    "VersionError",
    "WriteError",
    "__version__",
    "resolve",
    "runs",
]
