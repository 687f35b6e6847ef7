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

SHARED = {"games": ("game_id",), "maps": TABLES["maps"].names}
"""Tables without a run, and what tells their rows apart. One text has as many tokens as a judge
makes of it, so maps are told apart by all that is known of them."""


class MergeError(ArchiveError):
    """Archives that say different things of the same run, game or map."""


@dataclass(frozen=True)
class Merged:
    """What a merge wrote: the runs, in order, and the rows of each table."""

    folder: str
    runs: Sequence[str]
    rows: dict[str, int]
    adapters: int


def merge(sources: Sequence[Path], folder: str | Path) -> Merged:
    """A new archive in ``folder`` with all runs of ``sources``, in their order.

    A run that several sources hold, row for row, is taken once. The folder appears complete or
    not at all; sources are only read. Memory is that of one batch of rows, and the ids of games
    and maps.

    Raises WriteError where ``folder`` is in use or cannot be written; MergeError where a run,
    game or map is not the same in two sources; what opening and reading an archive raises.
    """
    folder = Path(folder)
    require_free(folder)
    archives = [Archive.open(source) for source in sources]
    taken = _runs(archives)
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with Archive.create(aside) as target:
            _fill(target, archives, taken)
            merged = Merged(
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
    return merged


def _runs(archives: Sequence[Archive]) -> list[list[str]]:
    """For each archive the runs to take from it: those that none before it holds."""
    holders: dict[str, Archive] = {}
    taken: list[list[str]] = []
    for archive in archives:
        known = [run.run_id for run in runs(archive)]
        if not known:
            raise LookupFailedError(
                f"{archive.folder} is empty: found no run, expected at least one"
            )
        for run_id in known:
            if run_id in holders:
                _require_same(run_id, holders[run_id], archive)
        taken.append([run_id for run_id in known if run_id not in holders])
        holders |= dict.fromkeys(taken[-1], archive)
    return taken


def _require_same(run_id: str, one: Archive, other: Archive) -> None:
    for name in TABLES:
        if name in SHARED:
            continue
        mine = [("run_id", "=", run_id)]
        if not one.table(name, filters=mine).equals(other.table(name, filters=mine)):
            raise MergeError(
                f"run {run_id}: found different rows of {name} in {one.folder} and "
                f"{other.folder}, expected runs with ids of their own"
            )


def _fill(target: Archive, archives: Sequence[Archive], taken: Sequence[Sequence[str]]) -> None:
    known: dict[str, dict[tuple[Any, ...], int]] = {name: {} for name in SHARED}
    for archive, run_ids in zip(archives, taken, strict=True):
        for digest in archive.adapters():
            target.put_adapter(archive.get_adapter(digest))
        for name in TABLES:
            for part in _parts(archive, name, run_ids, known):
                target.commit({name: part})


def _parts(
    archive: Archive,
    name: str,
    run_ids: Sequence[str],
    known: dict[str, dict[tuple[Any, ...], int]],
) -> Iterator[pa.Table]:
    """The new rows of one table, gathered to batches worth a file."""
    if name in SHARED:
        yield from gathered(_unknown(archive, name, known[name]))
    elif run_ids:
        yield from gathered(archive.batches(name, filters=[("run_id", "in", list(run_ids))]))


def gathered(parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= 100_000:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _unknown(archive: Archive, name: str, known: dict[tuple[Any, ...], int]) -> Iterator[pa.Table]:
    """Rows that no archive before had; raises MergeError for one that was there but differs."""
    for part in archive.batches(name):
        new = []
        for row in part.to_pylist():
            key = tuple(row[column] for column in SHARED[name])
            content = hash(tuple(row.values()))
            new.append(key not in known)
            if known.setdefault(key, content) != content:
                place = ", ".join(f"{c} {v}" for c, v in zip(SHARED[name], key, strict=True))
                raise MergeError(
                    f"{archive.folder}: found a row of {name} ({place}) that differs from the one "
                    "of an archive before it, expected the same"
                )
        yield part.filter(pa.array(new, pa.bool_()))
