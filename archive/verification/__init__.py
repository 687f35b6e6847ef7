"""Does an archive fit together? Hashes, references, and scopes and decisions taken again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

from archive.errors import LookupFailedError
from archive.query import runs
from archive.schema import TABLES
from archive.statistics.decision_cases import read_record
from archive.store.archive import Archive
from archive.verification import (
    derivations,
    files,
    programs,
    ratings,
    references,
    simulations,
)
from archive.verification.findings import Finding, Verification

__all__ = ["Finding", "Verification", "verify"]

LIMIT = 200
"""Faults after which a check stops: one broken column breaks every row."""

_FILES: tuple[Callable[[Archive], Iterator[Finding]], ...] = (
    files.chain,
    files.compactions,
    files.contents,
    files.adapters,
)
_ROWS: tuple[Callable[[Archive], Iterator[Finding]], ...] = (
    references.game_ids,
    references.keys,
    references.runs,
    references.games,
    references.policies,
    references.proposals,
    references.outcomes,
    references.curves,
    programs.texts,
    programs.references,
    programs.pairs,
    programs.scores,
    simulations.entropies,
    simulations.placements,
)


def verify(archive: Archive) -> Verification:
    """Recomputes every hash, follows every reference, and takes every decision and scope again.

    Rows are looked at only where all files are whole. Raises LookupFailedError for an archive
    that holds no run, and DamagedError where a commit record cannot be read.
    """
    faults = _run(_FILES, archive)
    notes = list(files.strays(archive))
    unchecked: Counter[str] = Counter()
    checked = {"commits": len(archive.commits), "adapters": len(archive.adapters())}
    if not faults:
        if not runs(archive):
            raise LookupFailedError(
                f"{archive.folder} is empty: found no run, expected at least one"
            )
        checked |= {name: archive.count(name) for name in TABLES}
        faults = _run(_ROWS, archive)
        faults += _derived(archive, unchecked)
        faults += islice(ratings.ratings(archive), LIMIT)
        named = archive.table("finetunes", ["adapter_hash"])["adapter_hash"].to_pylist()
        named += archive.table("curricula", ["adapter_hash"])["adapter_hash"].to_pylist()
        named += archive.table("gg_agents", ["weights_sha256"])["weights_sha256"].to_pylist()
        notes += files.unnamed_adapters(archive, named)
    return Verification(str(archive.folder), faults, notes, checked, dict(unchecked))


def _run(
    checks: tuple[Callable[[Archive], Iterator[Finding]], ...], archive: Archive
) -> list[Finding]:
    return [finding for check in checks for finding in islice(check(archive), LIMIT)]


def _derived(archive: Archive, unchecked: Counter[str]) -> list[Finding]:
    stored = frozenset(archive.adapters())
    faults: list[Finding] = []
    for run in runs(archive):
        record = read_record(archive, run.run_id)
        faults += islice(derivations.scopes(record), LIMIT)
        faults += islice(derivations.check_initial_scope(record), LIMIT)
        faults += islice(derivations.decisions(record, unchecked), LIMIT)
        faults += islice(derivations.adapters(record, stored), LIMIT)
    return faults
