"""The commit log, one small JSON file for each commit, naming the data files that count; and these:
Parquet written whole with its SHA-256, and read in batches of bounded size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from archive.errors import DamagedError, LookupFailedError
from archive.schema import TABLES
from archive.store.disk import make_folder, writing
from archive.store.rows import to_arrow
from xgl.files import is_inside, read_bytes, read_json, write_whole

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


# -- adapters: content-addressed files, named by their SHA-256 -------------------------------------

ADAPTERS = "adapters"
_SUFFIX = ".safetensors"
MOST_BYTES = 4 << 30
"""Bytes of one adapter."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Adapters:
    """The adapters of one archive; `Archive` delegates to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, content: bytes) -> str:
        """Stores `content` whole and returns its SHA-256 in hex. Raises WriteError."""
        digest = sha256(content).hexdigest()
        path = self._path(digest)
        # Equal content is rewritten on purpose: this repairs a damaged file.
        with writing(path):
            make_folder(self.folder)
            write_whole(path, content)
        return digest

    def get(self, digest: str) -> bytes:
        """The content named `digest`. Raises LookupFailedError or DamagedError."""
        path = self._path(digest)
        try:
            content = read_bytes(path, MOST_BYTES, within=self.folder)
        except FileNotFoundError:
            raise LookupFailedError(
                f"{path}: found no such adapter, expected one of the {len(self.digests())} stored"
            ) from None
        except OSError as error:
            raise DamagedError(
                path, f"'{error.strerror}'", "a file that can be read", "unreadable"
            ) from error
        if (actual := sha256(content).hexdigest()) != digest:
            raise DamagedError(path, f"SHA-256 {actual}", digest)
        return content

    def drop(self, digest: str) -> None:
        """Removes the content named `digest`, if it is there. Raises WriteError."""
        path = self._path(digest)
        with writing(path):
            path.unlink(missing_ok=True)

    def digests(self) -> list[str]:
        """The digests stored, sorted."""
        stems = (path.stem for path in self.folder.glob(f"*{_SUFFIX}"))
        return sorted(name for name in stems if _DIGEST.fullmatch(name))

    def _path(self, digest: str) -> Path:
        # The name reaches the file system: nothing but a digest may become a path.
        if not _DIGEST.fullmatch(digest):
            raise LookupFailedError(
                f"{self.folder}: found adapter name {digest!r}, expected 64 hexadecimal digits"
            )
        return self.folder / f"{digest}{_SUFFIX}"


# -- tables ----------------------------------------------------------------------------------------

BATCH = 65_536
"""Rows in memory at once, and in a row group."""
MOST_GROWTH, MOST_VALUE = 1000, 100
"""Bytes of memory for each byte of a file (ours: up to 110), and for each value as a Python object
besides its text."""


def write_table(folder: Path, number: int, name: str, rows: pa.Table) -> DataFile:
    """Writes the file of commit ``number`` of a table, whole; raises OSError."""
    file = f"{name}/{number:06d}.parquet"
    path = folder / file
    make_folder(path.parent)
    content = _parquet(name, rows) if rows else _empty_file(name)
    write_whole(path, content)
    return DataFile(name, file, rows.num_rows, len(content), sha256(content).hexdigest())


def _parquet(name: str, rows: pa.Table) -> bytes:
    sink, schema = pa.BufferOutputStream(), TABLES[name].schema
    with pq.ParquetWriter(sink, schema, compression="zstd", write_page_checksum=True) as writer:
        writer.write_table(rows, row_group_size=BATCH)
    return sink.getvalue().to_pybytes()


@cache
def _empty_file(name: str) -> bytes:
    """The file of a table without rows: every archive begins with one of each."""
    return _parquet(name, to_arrow(name, []))


def regroup(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of at least ``BATCH`` rows (the last may have fewer): every filtered
    table costs a call."""
    waiting: list[pa.Table] = []
    rows = 0
    for part in parts:
        waiting.append(part)
        rows += part.num_rows
        if rows >= BATCH:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def check_size(folder: Path, file: DataFile) -> None:
    """Raises DamagedError unless the file exists in the folder, is no pipe or device, and has the
    size that its commit says."""
    path = folder / file.file
    if not path.is_file():
        raise DamagedError(path, "no file", f"{file.bytes} bytes", "missing")
    if not is_inside(path, folder):
        raise DamagedError(path, "a link out of the archive", "a file")
    if (size := path.stat().st_size) != file.bytes:
        raise DamagedError(path, f"{size} bytes", str(file.bytes))


def _require_bounded(path: Path, parquet: pq.ParquetFile) -> None:
    """Raises ValueError if the rows need more memory than a file of its size has use for."""
    most = MOST_GROWTH * path.stat().st_size
    groups = map(parquet.metadata.row_group, range(parquet.num_row_groups))
    chunks = [group.column(index) for group in groups for index in range(group.num_columns)]
    sizes = (abs(each.total_uncompressed_size) for each in chunks)
    needed = sum(sizes) + MOST_VALUE * sum(abs(each.num_values) for each in chunks)
    # A text is stored once for all of its rows, so that the stored sizes of texts say little.
    repeated = {
        each.path_in_schema
        for each in chunks
        if each.physical_type == "BYTE_ARRAY"
        and each.total_uncompressed_size * each.num_values > most
    }
    if needed <= most and repeated:
        with pq.ParquetFile(path, read_dictionary=sorted(repeated)) as encoded:
            columns = sorted({name.split(".")[0] for name in repeated})
            for batch in encoded.iter_batches(BATCH, columns=columns):
                needed += sum(map(_text_bytes, batch.columns))
                if needed > most:
                    break
    if needed > most:
        raise ValueError(f"rows that need more than {most:,} bytes of memory")


def _text_bytes(column: pa.Array) -> int:
    """Bytes of all texts of a column that is read as numbers of texts."""
    texts = column.flatten() if pa.types.is_list(column.type) else column
    lengths = pc.binary_length(texts.dictionary).take(texts.indices)
    return pc.sum(lengths).as_py() or 0


def read_batches(folder: Path, file: DataFile, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The rows of a committed file, a batch at a time. Raises DamagedError naming the file."""
    check_size(folder, file)
    path = folder / file.file
    rows = 0
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as parquet:
            fits = parquet.schema_arrow.equals(TABLES[file.table].schema)
            if fits := fits and parquet.metadata.num_rows == file.rows:
                _require_bounded(path, parquet)
            for batch in parquet.iter_batches(BATCH, columns=list(columns)) if fits else ():
                rows += batch.num_rows
                yield pa.Table.from_batches([batch]).select(list(columns))
            rows = rows if columns else parquet.metadata.num_rows
    except (pa.ArrowException, OSError, UnicodeError) as error:
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise DamagedError(path, repr(problem), "readable Parquet") from error
    except ValueError as error:
        raise DamagedError(path, str(error), "rows as an archive has them") from error
    if not fits or rows != file.rows:
        expected = f"{file.rows} rows of table {file.table}"
        raise DamagedError(path, f"{rows} rows or another schema", expected)
