"""The commit log: one small JSON file for each commit, naming the data files that count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from hashlib import sha256
from pathlib import Path

from archive.errors import DamagedError
from archive.schema import TABLES
from xgl.reading import read_bytes, read_json
from xgl.writing import write_whole

COMMITS, HEAD = "commits", "head.json"
_RECORD = re.compile(r"(\d{6,})\.json")


@dataclass(frozen=True)
class DataFile:
    """One committed Parquet file: its path inside the archive, rows, bytes and SHA-256."""

    table: str
    file: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Commit:
    """One commit: its number (from 0, without gaps), the files that it added, and the SHA-256 of
    the record before it, None for the first commit."""

    number: int
    files: tuple[DataFile, ...]
    previous: str | None


def record_path(folder: Path, number: int) -> Path:
    """Path of the record of commit `number`."""
    return folder / COMMITS / f"{number:06d}.json"


def encode(commit: Commit) -> bytes:
    """The record as it is stored."""
    return json.dumps(asdict(commit), indent=1).encode()


def record_hash(folder: Path, number: int) -> str | None:
    """SHA-256 of the record of a commit; None for the commit before the first.

    Raises OSError.
    """
    if number < 0:
        return None
    return sha256(read_bytes(record_path(folder, number), within=folder)).hexdigest()


Head = tuple[int, str | None]
"""Number and SHA-256 of the newest record; (-1, None) before there is one."""


def write_head(folder: Path, number: int) -> Head:
    """Notes in a file of its own which record is the newest, after this was written: a writer
    killed in between leaves a note that is one commit old. Raises OSError."""
    digest = record_hash(folder, number)
    write_whole(folder / HEAD, json.dumps({"number": number, "sha256": digest}).encode())
    return number, digest


def read_head(folder: Path) -> Head:
    """The newest record as it was noted. Raises DamagedError."""
    path = folder / HEAD
    try:
        head = read_json(read_bytes(path, within=folder))
        return int(head["number"]), str(head["sha256"])
    except FileNotFoundError:
        return -1, None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(path, "no readable note", "the newest commit") from error


def read_commits(folder: Path) -> tuple[Commit, ...]:
    """Every commit of the archive, in order.

    Raises DamagedError when a record is unreadable, or missing between others.
    """
    numbers = sorted(_numbers(folder / COMMITS))
    for expected, number in enumerate(numbers):
        if number != expected:
            path = record_path(folder, expected)
            last = f"every commit up to {numbers[-1]}"
            raise DamagedError(path, "later commits", last, "missing")
    return tuple(_read(folder, number) for number in numbers)


def _numbers(commits: Path) -> Iterator[int]:
    if commits.is_dir():
        for path in commits.iterdir():
            if match := _RECORD.fullmatch(path.name):
                yield int(match[1])


def _read(folder: Path, number: int) -> Commit:
    path = record_path(folder, number)
    try:
        record = read_json(read_bytes(path, within=folder))
        files = tuple(DataFile(**file) for file in record["files"])
        commit = Commit(record["number"], files, record["previous"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged_error(path, number) from error
    if commit.number != number or not _well_formed(commit.files):
        raise _damaged_error(path, number)
    return commit


def _well_formed(files: Sequence[DataFile]) -> bool:
    """Whether all files belong to known tables and lie in the folder of their table: an archive may
    come from somebody else."""
    return all(
        tuple(map(type, astuple(file))) == (str, str, int, int, str)
        and file.table in TABLES
        and re.fullmatch(rf"{file.table}/\d{{6,}}\.parquet", file.file)
        for file in files
    )


def _damaged_error(path: Path, number: int) -> DamagedError:
    return DamagedError(path, "no readable record", f"commit {number}")
