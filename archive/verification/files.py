"""Checks files against the records that name them; a mismatch names a file or row, what was found
and what is expected there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from archive.errors import DamagedError, LookupFailedError
from archive.schema import TABLES
from archive.store.archive import Archive
from archive.store.disk import file_hash
from archive.store.files import (
    ADAPTERS,
    COMMITS,
    HEAD,
    DataFile,
    check_size,
    read_batches,
    record_hash,
    record_path,
)


@dataclass(frozen=True)
class Mismatch:
    """One inconsistency; ``where`` names the file or the row."""

    where: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.where}: found {self.found}, expected {self.expected}"


@dataclass(frozen=True)
class Verification:
    """``faults`` are inconsistencies; ``notes`` are allowed, such as files that a killed writer
    left. ``checked``: number of checked rows and files, by table or kind; ``unchecked``: number of
    decisions that were not recomputed, by their reason.
    """

    folder: str
    faults: Sequence[Mismatch]
    notes: Sequence[Mismatch]
    checked: Mapping[str, int]
    unchecked: Mapping[str, int]


def same(actual: object, expected: object, absolute: float = 1e-9) -> bool:
    """Equality; of floats up to a millionth of them, or ``absolute``: they are computed again."""
    if isinstance(actual, float) and isinstance(expected, float):
        return math.isclose(actual, expected, rel_tol=1e-6, abs_tol=absolute)
    return bool(actual == expected)


def chain(archive: Archive) -> Iterator[Mismatch]:
    """Checks that each record holds the hash of the one before it."""
    for commit in archive.commits:
        if commit.previous != record_hash(archive.folder, commit.number - 1):
            before = record_path(archive.folder, commit.number - 1)
            yield Mismatch(
                str(before),
                "a record that was changed after it was written",
                f"SHA-256 {commit.previous}, which record {commit.number:06d} says it had",
            )


def newest(archive: Archive) -> Iterator[Mismatch]:
    """Checks that the newest record is the one that was noted when it was written; a killed writer
    may have left the note before."""
    (number, digest), last = archive.head, len(archive.commits) - 1
    if number > last:
        path = record_path(archive.folder, number)
        yield Mismatch(str(path), f"no record after {last:06d}", f"the newest, which {HEAD} names")
    elif number < last - 1:
        yield Mismatch(str(archive.folder / HEAD), f"commit {number}", f"the newest, {last}")
    elif record_hash(archive.folder, number) != digest:
        path = record_path(archive.folder, number)
        yield Mismatch(
            str(path),
            "a record that was changed after it was written",
            f"SHA-256 {digest}, which {HEAD} says it had",
        )


def contents(archive: Archive) -> Iterator[Mismatch]:
    """Checks that every data file that counts exists, has its hash and can be read."""
    for commit in archive.commits:
        for file in commit.files:
            yield from _content(archive.folder, file)


def _content(folder: Path, file: DataFile) -> Iterator[Mismatch]:
    path = folder / file.file
    try:
        check_size(folder, file)
        digest = file_hash(path)
        if digest != file.sha256:
            yield Mismatch(str(path), f"SHA-256 {digest}", f"{file.sha256}, as its record says")
        for _ in read_batches(folder, file, TABLES[file.table].names):
            pass
    except DamagedError as error:
        yield Mismatch(str(path), error.found, "the file that its record names")
    except OSError as error:
        yield Mismatch(str(path), str(error), "the file that its record names")


def strays(archive: Archive) -> Iterator[Mismatch]:
    """Data files that no record names, although ``*.parquet`` matches them."""
    named = {file.file for commit in archive.commits for file in commit.files}
    for folder in (*TABLES, COMMITS, ADAPTERS):
        for path in sorted((archive.folder / folder).glob("*")):
            data = path.suffix == ".parquet" and f"{folder}/{path.name}" not in named
            if data or path.suffix == ".tmp":
                yield Mismatch(
                    str(path),
                    "a file that no record names",
                    "none: a killed writer left it, and the next one removes it",
                )


def adapters(archive: Archive) -> Iterator[Mismatch]:
    """Checks that every stored adapter has the hash that it is named by."""
    for digest in archive.adapters():
        try:
            archive.get_adapter(digest)
        except (DamagedError, LookupFailedError) as error:
            problem = error.found if isinstance(error, DamagedError) else "no such adapter"
            path = archive.folder / ADAPTERS / f"{digest}.safetensors"
            yield Mismatch(str(path), problem, f"SHA-256 {digest}")


def unnamed_adapters(archive: Archive, named: Sequence[str | None]) -> Iterator[Mismatch]:
    """Adapters that no fine-tuning and no checkpoint names."""
    for digest in sorted(set(archive.adapters()) - set(named)):
        path = archive.folder / ADAPTERS / f"{digest}.safetensors"
        yield Mismatch(str(path), "an adapter that no row names", "none")
