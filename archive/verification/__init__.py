"""Checks an archive for consistency: hashes, references, and recomputed scopes and decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

from archive.errors import LookupFailedError
from archive.run import Run, runs
from archive.schema import TABLES
from archive.store.archive import Archive
from archive.verification import derivations, files
from archive.verification.files import Mismatch, Verification

__all__ = ["Mismatch", "Verification", "verify"]

LIMIT = 200
"""Number of faults after which a check stops: one broken column breaks every row."""

_FILES: tuple[Callable[[Archive], Iterator[Mismatch]], ...] = (
    files.chain,
    files.newest,
    files.contents,
    files.adapters,
)
_ROWS: tuple[Callable[[Archive], Iterator[Mismatch]], ...] = (
    files.game_ids,
    files.keys,
    files.names,
    files.policies,
    files.proposals,
    files.outcomes,
    files.program_texts,
    files.program_references,
    files.program_pairs,
)


def verify(archive: Archive) -> Verification:
    """Recomputes every hash, follows every reference, and recomputes every decision and scope.

    Rows are checked only if all files are intact. Raises LookupFailedError for an archive without
    runs, and DamagedError if a commit record cannot be read.
    """
    faults = _run_checks(_FILES, archive)
    notes = list(files.strays(archive))
    unchecked_counts: Counter[str] = Counter()
    counts = {"commits": len(archive.commits), "adapters": len(archive.adapters())}
    if not faults:
        if not runs(archive):
            raise LookupFailedError(
                f"{archive.folder} is empty: found no run, expected at least one"
            )
        counts |= {name: archive.count(name) for name in TABLES}
        faults = _run_checks(_ROWS, archive)
        faults += _check_derivations(archive, unchecked_counts)
        faults += islice(derivations.ratings(archive), LIMIT)
        rows = archive.rows("finetunes", ["adapter_hash", "state_hash"])
        hashes = [digest for row in rows for digest in row.values()]
        hashes += archive.table("curricula", ["adapter_hash"])["adapter_hash"].to_pylist()
        hashes += archive.table("gg_agents", ["weights_sha256"])["weights_sha256"].to_pylist()
        notes += files.unnamed_adapters(archive, hashes)
    return Verification(str(archive.folder), faults, notes, counts, dict(unchecked_counts))


def _run_checks(
    checks: tuple[Callable[[Archive], Iterator[Mismatch]], ...], archive: Archive
) -> list[Mismatch]:
    return [each for check in checks for each in islice(check(archive), LIMIT)]


def _check_derivations(archive: Archive, unchecked_counts: Counter[str]) -> list[Mismatch]:
    stored_adapters = frozenset(archive.adapters())
    faults: list[Mismatch] = []
    for run in Run.all(archive):
        faults += islice(derivations.scopes(run), LIMIT)
        faults += islice(derivations.check_initial_scope(run), LIMIT)
        faults += islice(derivations.decisions(run, unchecked_counts), LIMIT)
        faults += islice(derivations.adapters(run, stored_adapters), LIMIT)
    return faults
