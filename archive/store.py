"""The archive on disk: a folder of Parquet tables behind a commit log, and adapters beside them.

    archive.json                format and schema version
    commits/NNNNNN.json         the data files that count, written last in each commit
    TABLE/NNNNNN.parquet        the rows that commit NNNNNN added to TABLE
    adapters/HASH.safetensors   adapters, named by their SHA-256
    lock                        held by the one writer

Whatever a killed writer leaves behind is named by no commit: readers do not see it and the next
writer removes it. Rows are never changed or deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal, Self

import pyarrow as pa
import pyarrow.parquet as pq

from archive.adapters import ADAPTERS, Adapters
from archive.commits import COMMITS, Commit, DataFile, encode, read_commits, record_path
from archive.disk import TEMPORARY, make_folder, write_whole, writing
from archive.errors import (
    ArchiveError,
    DamagedError,
    LookupFailedError,
    NotAnArchiveError,
    VersionError,
    WriteError,
)
from archive.lock import LOCK, acquire
from archive.rows import Row, table_of, to_arrow
from archive.schema import SCHEMA_VERSION, TABLES

MARKER = "archive.json"
_FORMAT = "xent-evo archive"

Mode = Literal["r", "a"]
Filter = tuple[str, str, object]


class Archive:
    """A reader, or the one writer, of an archive folder.

    A reader sees the commits that were there when it opened; a writer also sees its own. Made by
    `create` and `open`; a context manager that closes itself.
    """

    def __init__(self, folder: Path, lock: TextIOWrapper | None) -> None:
        self.folder = folder
        self._lock = lock
        self._adapters = Adapters(folder / ADAPTERS)
        self._failed = False
        self._commits = list(read_commits(folder))

    @classmethod
    def create(cls, folder: str | Path) -> Self:
        """A new, empty archive, open for appending; missing parent folders are made.

        Raises WriteError when `folder` holds anything or cannot be written, and LockedError.
        """
        folder = Path(folder)
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            found = strays(folder)
        if found:
            raise WriteError(f"{folder} is in use: found {min(found)}, expected an empty folder")
        lock = acquire(folder)
        marker = {"format": _FORMAT, "schema_version": SCHEMA_VERSION}
        try:
            with writing(folder):
                write_whole(folder / MARKER, json.dumps(marker).encode())
            return cls._writer(folder, lock)
        except BaseException:
            lock.close()
            raise

    @classmethod
    def open(cls, folder: str | Path, mode: Mode = "r") -> Self:
        """The archive in `folder`, to read ("r") or to append to ("a").

        Raises NotAnArchiveError, VersionError, DamagedError and, for appending, LockedError and
        WriteError. Opening to read writes nothing.
        """
        folder = Path(folder)
        if mode not in ("r", "a"):
            raise ArchiveError(f"{folder}: found mode {mode!r}, expected 'r' or 'a'")
        _check_marker(folder)
        if mode == "r":
            return cls(folder, None)
        lock = acquire(folder)
        try:
            return cls._writer(folder, lock)
        except BaseException:
            lock.close()
            raise

    @classmethod
    def _writer(cls, folder: Path, lock: TextIOWrapper) -> Self:
        archive = cls(folder, lock)
        for commit in archive._commits:
            for file in commit.files:
                _check_size(folder, file)
        with writing(folder):
            archive._sweep()
        if not archive._commits:
            # One empty file for each table: so every glob of the documentation finds a file.
            archive._write({name: to_arrow(name, []) for name in TABLES})
        return archive

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the writer's lock; reading goes on working, writing does not."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # Writing

    def commit(self, rows: Mapping[str, Sequence[Row]]) -> int:
        """Appends rows to tables, all of them or none, and returns the number of the commit.

        `rows` maps a table to its rows; each row gives every declared column, null where null
        has a meaning. Raises RowError before anything is written; WriteError when the disk
        refuses, after which this writer is spent and the archive is to be opened again.
        """
        self._require_writer()
        return self._write({name: to_arrow(name, batch) for name, batch in rows.items() if batch})

    def _write(self, tables: Mapping[str, pa.Table]) -> int:
        number = len(self._commits)
        # Until the record is known to be on disk, what a later commit would build on is not known.
        self._failed = True
        with writing(self.folder):
            files = tuple(self._write_table(number, *item) for item in tables.items())
            commit = Commit(number, files)
            make_folder(self.folder / COMMITS)
            write_whole(record_path(self.folder, number), encode(commit))
        self._commits.append(commit)
        self._failed = False
        return number

    def _write_table(self, number: int, name: str, table: pa.Table) -> DataFile:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
        content = memoryview(sink.getvalue())
        file = f"{name}/{number:06d}.parquet"
        make_folder(self.folder / name)
        write_whole(self.folder / file, content)
        digest = sha256(content).hexdigest()
        return DataFile(name, file, table.num_rows, len(content), digest)

    def put_adapter(self, content: bytes) -> str:
        """Stores an adapter (the bytes of a safetensors file) and returns its SHA-256 in hex.

        Raises WriteError. Adapters are not part of commits: put first, then commit the hash.
        """
        self._require_writer()
        return self._adapters.put(content)

    def drop_adapter(self, digest: str) -> None:
        """Removes an adapter; one that is not there already is no error. Raises WriteError."""
        self._require_writer()
        self._adapters.drop(digest)

    def _require_writer(self) -> None:
        if self._lock is None:
            raise WriteError(f"{self.folder} is open to read: found a write, expected mode 'a'")
        if self._failed:
            raise WriteError(
                f"{self.folder}: found an earlier write that failed, expected the archive to be "
                "opened again"
            )

    def _sweep(self) -> None:
        """Removes data files that no commit names, and what was left unrenamed."""
        named = {file.file for commit in self._commits for file in commit.files}
        for folder in (*TABLES, COMMITS, ADAPTERS, "."):
            for path in (self.folder / folder).glob("*"):
                unnamed = path.suffix == ".parquet" and f"{folder}/{path.name}" not in named
                if unnamed or path.suffix == TEMPORARY:
                    path.unlink()

    # Reading

    @property
    def commits(self) -> tuple[Commit, ...]:
        """The commits that this object sees, in order."""
        return tuple(self._commits)

    def count(self, name: str) -> int:
        """The number of rows of a table, without reading it."""
        return sum(file.rows for file in self._files(name))

    def table(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        filters: Sequence[Filter] | None = None,
    ) -> pa.Table:
        """The rows of a table in the order of their commits, as one Arrow table, uncopied.

        `columns` names those wanted, in order (default: all). `filters` are (column, operator,
        value) triples that must all hold; operators are = != < <= > >= in and not in. Raises
        LookupFailedError for an unknown table or column, DamagedError naming the file at fault.
        """
        wanted = _known_columns(name, columns)
        tested = _known_columns(name, [column for column, *_ in filters or ()])
        read = list(dict.fromkeys((*wanted, *tested)))
        condition = pq.filters_to_expression(list(filters)) if filters else None
        parts = [table_of(name).schema.empty_table().select(wanted)]
        for file in self._files(name):
            part = _read_file(self.folder, file, read)
            part = part if condition is None else part.filter(condition)
            parts.append(part.select(wanted))
        return pa.concat_tables(parts)

    def rows(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        filters: Sequence[Filter] | None = None,
    ) -> list[dict[str, Any]]:
        """Like `table`, as one dict for each row."""
        found: list[dict[str, Any]] = self.table(name, columns, filters).to_pylist()
        return found

    def get_adapter(self, digest: str) -> bytes:
        """The bytes of an adapter.

        Raises LookupFailedError when there is none of that name, DamagedError when the bytes do
        not have the hash that they are named by.
        """
        return self._adapters.get(digest)

    def adapters(self) -> list[str]:
        """The hashes of all stored adapters, sorted."""
        return self._adapters.digests()

    def _files(self, name: str) -> list[DataFile]:
        if name not in TABLES:
            raise LookupFailedError(f"found table {name!r}, expected one of {', '.join(TABLES)}")
        return [file for commit in self._commits for file in commit.files if file.table == name]


def strays(folder: Path) -> set[str]:
    """Names in a folder beside those that a create leaves when it is killed: the lock and an
    unfinished marker. Raises OSError."""
    return {path.name for path in folder.iterdir()} - {LOCK, MARKER + TEMPORARY}


def _check_marker(folder: Path) -> None:
    path = folder / MARKER
    if not path.is_file():
        found = f"no {MARKER}" if folder.is_dir() else "no such folder"
        raise NotAnArchiveError(
            f"{folder} is not an archive: found {found}, expected a run folder or its archive"
        )
    try:
        marker = json.loads(path.read_bytes())
        form, version = marker["format"], marker["schema_version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(
            f"{path} is damaged: found no readable JSON, expected format and schema_version"
        ) from error
    if form != _FORMAT:
        raise NotAnArchiveError(
            f"{folder} is not an archive: found format {form!r}, expected {_FORMAT!r}"
        )
    if version != SCHEMA_VERSION:
        raise VersionError(
            f"{folder} has another schema: found version {version!r}, expected {SCHEMA_VERSION}"
        )


def _known_columns(name: str, columns: Sequence[str] | None) -> list[str]:
    if name not in TABLES:
        raise LookupFailedError(f"found table {name!r}, expected one of {', '.join(TABLES)}")
    known = TABLES[name].names
    for column in columns or ():
        if column not in known:
            raise LookupFailedError(
                f"{name}: found column {column!r}, expected one of {', '.join(known)}"
            )
    return list(known if columns is None else columns)


def _check_size(folder: Path, file: DataFile) -> None:
    path = folder / file.file
    if not path.is_file():
        raise DamagedError(f"{path} is missing: found no file, expected {file.bytes} bytes")
    if (size := path.stat().st_size) != file.bytes:
        raise DamagedError(f"{path} is damaged: found {size} bytes, expected {file.bytes}")


def _read_file(folder: Path, file: DataFile, columns: list[str]) -> pa.Table:
    _check_size(folder, file)
    path = folder / file.file
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as parquet:
            declared = parquet.schema_arrow.equals(TABLES[file.table].schema)
            part = parquet.read(columns=columns)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise DamagedError(
            f"{path} is damaged: found {str(error).splitlines()[0]!r}, expected readable Parquet"
        ) from error
    if not declared or part.num_rows != file.rows:
        raise DamagedError(
            f"{path} is damaged: found {part.num_rows} rows or another schema, expected "
            f"{file.rows} rows of table {file.table}"
        )
    return part
