"""The history that compaction keeps: which commit a row came with."""

from __future__ import annotations

from archive.errors import LookupFailedError
from archive.store.archive import Archive


def commit_of(archive: Archive, table: str, place: int) -> int:
    """The number of the commit that added row ``place`` (from 0) of a table.

    Rows stand in the order of their commits, and records stay when files are compacted: so the
    counts of the records tell. Raises LookupFailedError for a row that is not there.
    """
    start = 0
    for commit in archive.commits:
        rows = sum(file.rows for file in commit.files if file.table == table)
        if not commit.compacts and place < (start := start + rows):
            return commit.number
    raise LookupFailedError(f"{table}: found no row {place}, expected one of {start}")
