"""Checks an archive for consistency: hashes, references, and recomputed scopes and decisions."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from archive.errors import LookupFailedError
from archive.run import Run, runs
from archive.schema import TABLES
from archive.store.archive import Archive
from archive.verification import derivations, files
from archive.verification.files import Mismatch, Verification

__all__ = ["Mismatch", "Verification", "verify"]

LIMIT = 200
"""Faults after which a check stops: one broken column breaks every row."""
_FILES = (files.chain, files.newest, files.contents, files.adapters)
_ROWS = (
    *(files.game_ids, files.keys, files.names, files.policies, files.outcomes),
    *(files.program_texts, files.program_references, files.program_pairs),
)


def verify(archive: Archive) -> Verification:
    """Recomputes every hash, follows every reference, and recomputes every decision and scope.

    Rows are checked only if all files are intact. Raises LookupFailedError for an archive without
    runs, and DamagedError if a commit record cannot be read.
    """
    faults = [each for check in _FILES for each in islice(check(archive), LIMIT)]
    notes = list(files.strays(archive))
    unchecked_counts: Counter[str] = Counter()
    stored_adapters = frozenset(archive.adapters())
    counts = {"commits": len(archive.commits), "adapters": len(stored_adapters)}
    if not faults:
        if not runs(archive):
            raise LookupFailedError(
                f"{archive.folder} is empty: found no run, expected at least one"
            )
        counts |= {name: archive.count(name) for name in TABLES}
        faults = [each for check in _ROWS for each in islice(check(archive), LIMIT)]
        for run in Run.all(archive):
            faults += islice(derivations.scopes(run), LIMIT)
            faults += islice(derivations.decisions(run, unchecked_counts), LIMIT)
            faults += derivations.adapters(run, stored_adapters)
    return Verification(str(archive.folder), faults, notes, counts, dict(unchecked_counts))
