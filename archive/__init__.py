"""The archive: runs, games, fine-tunings, scores and decisions, stored permanently.

`Archive` writes and reads; `schema` declares the tables; `query` finds rows; `archive.export` makes
folders of files. The folder itself is plain Parquet, described in docs/archive.md.
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
from archive.query import (
    RunHistory,
    ScopeRow,
    VerdictCount,
    find_run,
    games,
    locate,
    newest_scope,
    recent_decisions,
    resolve,
    runs,
    scopes,
    verdict_counts,
)
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
    TaskId,
    Verdict,
)
from archive.store.archive import Archive
from archive.store.commits import Commit, DataFile
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
    "RunEvent",
    "RunHistory",
    "ScopeRow",
    "TaskId",
    "Verdict",
    "VerdictCount",
    "VersionError",
    "WriteError",
    "__version__",
    "find_run",
    "games",
    "locate",
    "newest_scope",
    "recent_decisions",
    "resolve",
    "runs",
    "scopes",
    "verdict_counts",
]
