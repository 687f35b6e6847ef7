"""The archive on disk: a folder with Parquet tables, a commit log and adapters.

    archive.json                format and schema version
    commits/NNNNNN.json         the data files that count, written last in each commit
    head.json                   number and SHA-256 of the newest record
    TABLE/NNNNNN.parquet        the rows that commit NNNNNN added to TABLE
    adapters/HASH.safetensors   adapters, named by their SHA-256
    lock                        held by the one writer

No commit names the unfinished files of a killed writer: readers do not see them and the next
writer removes them. Rows are never changed or deleted.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from hashlib import sha256
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal, Self

import pyarrow as pa
import pyarrow.parquet as pq
from cachetools import LRUCache, cachedmethod
from filelock import FileLock, Timeout

from archive.errors import (
    DamagedError,
    LockedError,
    LookupFailedError,
    NotAnArchiveError,
    VersionError,
    WriteError,
)
from archive.schema import SCHEMA_VERSION, TABLES
from archive.store import files as disk
from xgl.files import TEMPORARY, read_bytes, read_json, user_path, write_whole

MARKER, LOCK = "archive.json", "lock"
_FORMAT = "xent-evo archive"
SMALL_FILE = 1 << 18
"""Bytes of the largest data file whose rows are kept after reading."""
KEPT_ROWS = 1 << 28
"""Bytes of rows that are kept, in memory."""
MOST_BYTES = 4 << 30
"""Bytes of one adapter."""
_SUFFIX = ".safetensors"
_DIGEST = re.compile(r"[0-9a-f]{64}")

Mode = Literal["r", "a"]
Filter = tuple[str, str, object]


class Archive(AbstractContextManager["Archive"]):
    """A reader, or the one writer, of an archive folder.

    A reader sees the commits that were there when it opened; a writer also sees its own. Made by
    `create` and `open`; a context manager that closes itself.
    """

    def __init__(self, folder: Path, lock: FileLock | None) -> None:
        self.folder = folder
        self._lock = lock
        self._failed = False
        self.head = disk.read_head(folder)  # first: it may not be newer than what is read next
        self.commits = list(disk.read_commits(folder))  # in order
        # of small files, in batches, which hold their schema too
        self._kept_rows = LRUCache[disk.DataFile, list[pa.Table]](
            KEPT_ROWS, lambda parts: 4096 + sum(part.nbytes for part in parts)
        )

    @classmethod
    def create(cls, folder: str | Path) -> Self:
        """A new, empty archive, open for appending; missing parent folders are made. Raises
        WriteError when `folder` is not empty or cannot be written, and LockedError."""
        folder = user_path(folder)
        with disk.writing(folder):
            for part in reversed([folder, *folder.parents]):
                disk.make_folder(part)
            _require_empty(folder)
        return cls._writer(folder, is_new=True)

    @classmethod
    def open(cls, folder: str | Path, mode: Mode = "r") -> Self:
        """The archive in `folder`, or in the run folder `folder`, to read ("r") or to append
        to ("a").

        Raises NotAnArchiveError, VersionError, DamagedError and, for appending, LockedError and
        WriteError. Opening to read writes nothing.
        """
        folder = locate(folder)
        _check_version(folder)
        return cls(folder, None) if mode == "r" else cls._writer(folder)

    @classmethod
    def _writer(cls, folder: Path, is_new: bool = False) -> Self:
        lock = _acquire_lock(folder)
        try:
            if is_new:
                _require_empty(folder)  # another may have made one since
                marker = {"format": _FORMAT, "schema_version": SCHEMA_VERSION}
                with disk.writing(folder):
                    write_whole(folder / MARKER, json.dumps(marker).encode())
            archive = cls(folder, lock)
            archive._recover()
        except BaseException:
            lock.release()
            raise
        return archive

    def _recover(self) -> None:
        """Removes what a killed writer left; an archive without commits gets its first."""
        folder, newest = self.folder, len(self.commits) - 1
        for name in (*TABLES, disk.COMMITS, disk.ADAPTERS):
            # A writer deletes leftover files, but never in a folder behind a symbolic link.
            if (folder / name).is_symlink():
                raise DamagedError(folder / name, "a link", "a folder")
        for file in (file for commit in self.commits for file in commit.files):
            disk.check_size(folder, file)
        if self.head[0] > newest:
            raise DamagedError(
                disk.record_path(folder, self.head[0]),
                f"commits up to {newest}",
                f"the newest one, which {disk.HEAD} names; without {disk.HEAD} the archive goes on "
                "from here",
                "missing",
            )
        with disk.writing(folder):
            self._sweep()
            if self.head[0] < newest:
                self.head = disk.write_head(folder, newest)
        if not self.commits:
            # One empty file for each table, so that every glob of the documentation has a match.
            self._write({name: disk.to_arrow(name, []) for name in TABLES})

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the writer's lock; reading still works, writing does not."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def commit(self, rows: Mapping[str, Sequence[disk.Row]]) -> int:
        """Appends rows to tables, all of them or none, and returns the number of the commit.

        `rows` maps a table to its rows; each row gives every declared column, null where null has
        a meaning. Raises RowError before anything is written; WriteError when the disk refuses:
        this writer can then write no more, and the archive must be opened again.
        """
        self._require_writer()
        return self._write({name: disk.to_arrow(name, part) for name, part in rows.items() if part})

    def _write(self, tables: Mapping[str, pa.Table]) -> int:
        number = len(self.commits)
        # Until the record is on disk, the state that a later commit would build on is unknown.
        self._failed = True
        with disk.writing(self.folder):
            files = tuple(disk.write_table(self.folder, number, *item) for item in tables.items())
            commit = disk.Commit(number, files, disk.record_hash(self.folder, number - 1))
            disk.make_folder(self.folder / disk.COMMITS)
            record = json.dumps(asdict(commit), indent=1).encode()
            write_whole(disk.record_path(self.folder, number), record)
            self.head = disk.write_head(self.folder, number)
        self.commits.append(commit)
        self._failed = False
        return number

    def put_adapter(self, content: bytes) -> str:
        """Stores an adapter (the bytes of a safetensors file) and returns its SHA-256 in hex.
        Raises WriteError. Adapters are not part of commits: put first, then commit the hash."""
        self._require_writer()
        digest = sha256(content).hexdigest()
        path = self._adapter_path(digest)
        # Equal content is rewritten on purpose: this repairs a damaged file.
        with disk.writing(path):
            disk.make_folder(path.parent)
            write_whole(path, content)
        return digest

    def drop_adapter(self, digest: str) -> None:
        """Removes an adapter; one that is not there already is no error. Raises WriteError."""
        self._require_writer()
        path = self._adapter_path(digest)
        with disk.writing(path):
            path.unlink(missing_ok=True)

    def _require_writer(self) -> None:
        if self._lock is None:
            raise WriteError(f"{self.folder} is open to read: found a write, expected mode 'a'")
        if self._failed:
            raise WriteError(
                f"{self.folder}: found an earlier write that failed, expected the archive to be "
                "opened again"
            )

    def _sweep(self) -> None:
        """Removes data files that no commit names, and temporary files."""
        named = {file.file for commit in self.commits for file in commit.files}
        for folder in (*TABLES, disk.COMMITS, disk.ADAPTERS, "."):
            for path in (self.folder / folder).glob("*"):
                ours = path.suffix == ".parquet" and folder in TABLES
                stray = ours and f"{folder}/{path.name}" not in named
                if stray or path.suffix == TEMPORARY:
                    path.unlink()

    def count(self, name: str) -> int:
        """The number of rows of a table, without reading it."""
        return sum(file.rows for file in self.files(name))

    def table(
        self, name: str, columns: Sequence[str] | None = None, filters: Sequence[Filter] = ()
    ) -> pa.Table:
        """The rows of a table in the order of their commits, as one Arrow table, uncopied.

        `columns` selects columns, in order (default: all). `filters` are (column, operator,
        value) triples that must all hold; operators are = != < <= > >= in and not in. Raises
        LookupFailedError for an unknown table, DamagedError naming the file at fault.
        """
        files, schema = self.files(name), TABLES[name].schema
        selected = list(schema.names if columns is None else columns)
        needed = list(dict.fromkeys([*selected, *(column for column, *_ in filters)]))
        condition = pq.filters_to_expression(list(filters)) if filters else None
        # unlike ``schema.empty_table``, this does not import pandas where it is installed
        parts = [empty := pa.Table.from_batches([], schema).select(needed)]
        for is_small, group in groupby(files, key=lambda file: file.bytes <= SMALL_FILE):
            tables: Iterable[pa.Table] = chain.from_iterable(
                self._parts(file, needed, is_small) for file in group
            )
            if is_small:  # hundreds: one filter for all of them
                tables = [pa.concat_tables([empty, *tables])]
            parts += tables if condition is None else [each.filter(condition) for each in tables]
        return pa.concat_tables(parts).select(selected)

    def _parts(self, file: disk.DataFile, columns: list[str], small: bool) -> Iterable[pa.Table]:
        """The rows of a file. A run makes hundreds of small commits and reads their tables after
        each: their rows are kept."""
        if not small:
            return disk.read_batches(self.folder, file, columns)
        disk.check_size(self.folder, file)
        return [part.select(columns) for part in self._small_file(file)]

    @cachedmethod(lambda self: self._kept_rows)
    def _small_file(self, file: disk.DataFile) -> list[pa.Table]:
        """A committed file never changes: what was read need not be read again."""
        return [*disk.read_batches(self.folder, file, TABLES[file.table].schema.names)]

    def rows(
        self, name: str, columns: Sequence[str] | None = None, filters: Sequence[Filter] = ()
    ) -> list[dict[str, Any]]:
        """Like `table`, as one dict for each row."""
        return list(self.table(name, columns, filters).to_pylist())

    def get_adapter(self, digest: str) -> bytes:
        """The bytes of an adapter. Raises LookupFailedError if there is none of that name,
        DamagedError if the hash of the bytes differs from the name."""
        path = self._adapter_path(digest)
        try:
            content = read_bytes(path, MOST_BYTES, within=path.parent)
        except FileNotFoundError:
            raise LookupFailedError(
                f"{path}: found no such adapter, expected one of the {len(self.adapters())} stored"
            ) from None
        except OSError as error:
            raise DamagedError(path, f"'{error.strerror}'", "a file to read") from error
        if (actual := sha256(content).hexdigest()) != digest:
            raise DamagedError(path, f"SHA-256 {actual}", digest)
        return content

    def adapters(self) -> list[str]:
        """The hashes of all stored adapters, sorted."""
        stems = (path.stem for path in (self.folder / disk.ADAPTERS).glob(f"*{_SUFFIX}"))
        return sorted(name for name in stems if _DIGEST.fullmatch(name))

    def _adapter_path(self, digest: str) -> Path:
        # The name reaches the file system: nothing but a digest may become a path.
        if not _DIGEST.fullmatch(digest):
            raise LookupFailedError(
                f"{self.folder}: found adapter name {digest!r}, expected 64 hexadecimal digits"
            )
        return self.folder / disk.ADAPTERS / f"{digest}{_SUFFIX}"

    def files(self, name: str) -> list[disk.DataFile]:
        """The files that hold the rows of a table, in the order of their commits."""
        if name not in TABLES:
            raise LookupFailedError(f"found table {name!r}, expected one of {', '.join(TABLES)}")
        return [file for commit in self.commits for file in commit.files if file.table == name]


def locate(path: str | Path) -> Path:
    """The archive folder meant by `path`: the folder itself, or a run folder that contains it."""
    path = user_path(path)
    inner = path / "archive"
    return inner if not (path / MARKER).is_file() and inner.is_dir() else path


def _acquire_lock(folder: Path) -> FileLock:
    """The writer's lock, which the kernel drops when its process dies; the file names the holder.

    Raises LockedError naming the holder's process, and WriteError if the folder cannot be written.
    """
    path = folder / LOCK
    lock = FileLock(path, thread_local=False)
    with disk.writing(path):
        try:
            lock.acquire(blocking=False)
        except Timeout:
            holder = read_bytes(path, 1000).decode(errors="replace").strip() or "unknown"
            raise LockedError(
                f"{folder} is locked: found a writer (process {holder}), expected none"
            ) from None
        path.write_text(f"{os.getpid()} on {socket.gethostname()}\n", encoding="utf-8")
    return lock


def strays(folder: Path) -> set[str]:
    """Names in a folder, without those that a killed :meth:`Archive.create` leaves: the lock and
    an unfinished marker. Raises OSError."""
    return {path.name for path in folder.iterdir()} - {LOCK, MARKER + TEMPORARY}


def _require_empty(folder: Path) -> None:
    if names := strays(folder):
        raise WriteError(f"{folder} is in use: found {min(names)}, expected an empty folder")


def _check_version(folder: Path) -> None:
    """Raises NotAnArchiveError, DamagedError and VersionError."""
    path = folder / MARKER
    if not path.is_file():
        found = f"no {MARKER}" if folder.exists() else "no such folder"
        expected = "expected a run folder or its archive"
        raise NotAnArchiveError(f"{folder} is not an archive: found {found}, {expected}")
    try:
        version = read_json(read_bytes(path, within=folder))["schema_version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(path, "no readable JSON", "format and schema_version") from error
    if version != SCHEMA_VERSION:
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        release = f"{'a newer' if newer else 'an older'} release of this project reads it"
        raise VersionError(
            f"{folder} has another schema: found version {version!r}, expected {SCHEMA_VERSION}; "
            f"{release}"
        )
