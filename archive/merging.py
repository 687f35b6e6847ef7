"""Several archives into one: the runs of all, each game, map and adapter once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from archive.errors import ArchiveError, LookupFailedError
from archive.query import runs
from archive.schema import TABLES
from archive.store.archive import Archive
from archive.store.disk import require_free, writing
from archive.store.files import regroup

SHARED = {"games": ("game_id",), "maps": TABLES["maps"].names}
"""Tables whose rows belong to no run, with the columns that identify a row. The number of tokens
of a text depends on the judge, so a map is identified by all its columns."""
FILE_ROWS = 100_000
"""Least rows of each file of the merged archive, but the last."""


class MergeError(ArchiveError):
    """Two archives hold different rows for the same run, game or map."""


@dataclass(frozen=True)
class MergeResult:
    """Contents of the merged archive: run ids in order, number of rows by table, and adapters."""

    folder: str
    runs: Sequence[str]
    rows: dict[str, int]
    adapters: int


def merge(sources: Sequence[Path], folder: str | Path) -> MergeResult:
    """A new archive in ``folder`` with all runs of ``sources``, in their order.

    A run that several sources hold, row for row, is taken once. The folder appears complete or
    not at all; sources are only read. Memory is that of one batch of rows, and the ids of games
    and maps.

    Raises WriteError if ``folder`` is in use or cannot be written; MergeError if a run,
    game or map is not the same in two sources; what opening and reading an archive raises.
    """
    folder = Path(folder)
    require_free(folder)
    archives = [Archive.open(source) for source in sources]
    new_run_ids = _new_run_ids(archives)
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with Archive.create(aside) as target:
            _fill(target, archives, new_run_ids)
            result = MergeResult(
                str(folder),
                [run.run_id for run in runs(target)],
                {name: target.count(name) for name in TABLES},
                len(target.adapters()),
            )
        with writing(folder):
            (aside / "lock").unlink()
            # Renaming a folder replaces an empty one and refuses one that filled up meanwhile.
            os.rename(aside, folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return result


def _new_run_ids(archives: Sequence[Archive]) -> list[list[str]]:
    """For each archive the ids of its runs that no earlier archive holds."""
    holders: dict[str, Archive] = {}
    new_run_ids: list[list[str]] = []
    for archive in archives:
        run_ids = [run.run_id for run in runs(archive)]
        if not run_ids:
            raise LookupFailedError(
                f"{archive.folder} is empty: found no run, expected at least one"
            )
        for run_id in run_ids:
            if run_id in holders:
                _require_same(run_id, holders[run_id], archive)
        new_run_ids.append([run_id for run_id in run_ids if run_id not in holders])
        holders |= dict.fromkeys(new_run_ids[-1], archive)
    return new_run_ids


def _require_same(run_id: str, one: Archive, other: Archive) -> None:
    for name in TABLES:
        if name in SHARED:
            continue
        run_filter = [("run_id", "=", run_id)]
        if not one.table(name, filters=run_filter).equals(other.table(name, filters=run_filter)):
            raise MergeError(
                f"run {run_id}: found different rows of {name} in {one.folder} and "
                f"{other.folder}, expected runs with ids of their own"
            )


def _fill(
    target: Archive, archives: Sequence[Archive], new_run_ids: Sequence[Sequence[str]]
) -> None:
    hashes: dict[str, dict[tuple[Any, ...], int]] = {name: {} for name in SHARED}
    for archive, run_ids in zip(archives, new_run_ids, strict=True):
        for digest in archive.adapters():
            target.put_adapter(archive.get_adapter(digest))
        for name in TABLES:
            for part in _parts(archive, name, run_ids, hashes):
                target.commit({name: part})


def _parts(
    archive: Archive,
    name: str,
    run_ids: Sequence[str],
    hashes: dict[str, dict[tuple[Any, ...], int]],
) -> Iterator[pa.Table]:
    """The new rows of one table, in batches that fill one file each."""
    if name in SHARED:
        yield from regroup(_new_rows(archive, name, hashes[name]), FILE_ROWS)
    elif run_ids:
        rows = archive.batches(name, filters=[("run_id", "in", list(run_ids))])
        yield from regroup(rows, FILE_ROWS)


def _new_rows(
    archive: Archive, name: str, hashes: dict[tuple[Any, ...], int]
) -> Iterator[pa.Table]:
    """Rows that no earlier archive had; raises MergeError for one that an earlier archive holds
    with other content."""
    for part in archive.batches(name):
        is_new = []
        for row in part.to_pylist():
            key = tuple(row[column] for column in SHARED[name])
            content = hash(tuple(row.values()))
            is_new.append(key not in hashes)
            if hashes.setdefault(key, content) != content:
                facts = ", ".join(f"{c} {v}" for c, v in zip(SHARED[name], key, strict=True))
                raise MergeError(
                    f"{archive.folder}: found a row of {name} ({facts}) that differs from the one "
                    "of an archive before it, expected the same"
                )
        yield part.filter(pa.array(is_new, pa.bool_()))
