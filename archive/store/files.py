"""The commit log, one small JSON file for each commit, naming the data files that count; and these:
Parquet written whole with its SHA-256, and read in batches of bounded size.

Rows become Arrow by their declared schema: a value that does not fit raises. Conversions that keep
the value are allowed: an int in a float column, a NumPy scalar, a member of a StrEnum.

Files and folders are atomic: written under a temporary name, then renamed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from hashlib import file_digest, sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from archive.errors import DamagedError, RowError, WriteError
from archive.schema import FLOAT64, STRING, TABLES, Column, Table
from xgl.files import flush_folder, is_inside, read_bytes, read_json, write_whole

Row = Mapping[str, object]


def to_arrow(name: str, rows: Sequence[Row]) -> pa.Table:
    """The rows as an Arrow table of exactly the declared schema.

    Raises RowError, naming table and column, for a missing or unknown column, a null where null
    has no meaning, a value that Arrow cannot hold in the column's type, a NaN, an infinity in a
    finite column, or a word that is not of the enum.
    """
    table = TABLES[name]
    names = table.schema.names
    for number, row in enumerate(rows):
        if odd := row.keys() ^ set(names):
            raise RowError(
                f"{name} row {number}: found unknown or missing column {', '.join(map(str, odd))}, "
                f"expected {', '.join(names)}"
            )
    arrays = [_array(table, column, [row[column.name] for row in rows]) for column in table.columns]
    return pa.table(arrays, schema=table.schema)


def _array(table: Table, column: Column, values: list[object]) -> pa.Array:
    with suppress(pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError):
        array = pa.array(values, type=column.type)
        if _is_sound(column, array):
            return array
    found = ascii(values)[:60]
    kind = f"{'finite ' if column.finite else ''}{column.type} ({column.unit})"
    expected = f"one of {', '.join(column.values)}" if column.values else kind
    raise RowError(f"{table.name}, column {column.name!r}: found {found}, expected {expected}")


def _is_sound(column: Column, array: pa.Array | pa.ChunkedArray) -> bool:
    """Whether the column accepts every value of an array of its type."""
    if array.null_count and column.null is None:
        return False
    scalars = pc.list_flatten(array) if pa.types.is_list(array.type) else array
    if scalars is not array and scalars.null_count:
        return False
    if scalars.type == FLOAT64:
        sound = pc.is_finite(scalars) if column.finite else pc.invert(pc.is_nan(scalars))
        return bool(pc.all(sound, min_count=0).as_py())
    allowed = pa.array([*column.values, None], STRING) if column.values else None
    return allowed is None or bool(pc.all(pc.is_in(scalars, allowed), min_count=0).as_py())


COMMITS, HEAD, ADAPTERS = "commits", "head.json", "adapters"
_RECORD = re.compile(r"\d{6,}\.json")


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
    return folder / COMMITS / f"{number:06d}.json"


def record_hash(folder: Path, number: int) -> str | None:
    """SHA-256 of the record of a commit; None for the commit before the first. Raises OSError."""
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
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise DamagedError(path, "no readable note", "the newest commit") from error


def read_commits(folder: Path) -> tuple[Commit, ...]:
    """Every commit of the archive, in order. Raises DamagedError when a record is unreadable, or
    missing between others."""
    records = [path for path in (folder / COMMITS).glob("*") if _RECORD.fullmatch(path.name)]
    return tuple(_read(folder, number) for number in range(len(records)))


def _read(folder: Path, number: int) -> Commit:
    path = record_path(folder, number)
    try:
        record = read_json(read_bytes(path, within=folder))
        files = tuple(DataFile(**file) for file in record["files"])
        commit = Commit(record["number"], files, record["previous"])
        if commit.number != number or not _well_formed(files):
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(path, "no readable record", f"commit {number}") from error
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


# -- tables ----------------------------------------------------------------------------------------

BATCH = 65_536
"""Rows in memory at once, and in a row group."""


def write_table(folder: Path, number: int, name: str, rows: pa.Table) -> DataFile:
    """Writes the file of commit ``number`` of a table, whole; raises OSError. What its columns mean
    stands in the first one alone: in every file of a few rows it would be half of it."""
    file = f"{name}/{number:06d}.parquet"
    path = folder / file
    make_folder(path.parent)
    if number:
        rows = rows.cast(pa.schema([field.remove_metadata() for field in rows.schema]))
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, row_group_size=BATCH, compression="zstd", write_page_checksum=True)
    content = sink.getvalue().to_pybytes()
    write_whole(path, content)
    return DataFile(name, file, rows.num_rows, len(content), sha256(content).hexdigest())


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


MOST_GROWTH, MOST_VALUE = 1000, 100
"""Bytes of memory for each byte of a file (ours: up to 110), and for each value beside its text."""


def _opened(path: Path) -> pa.OSFile:
    """A file under the name that the disk has: Arrow takes names for UTF-8, whatever the locale."""
    return pa.OSFile(os.fsencode(path))


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
        with pq.ParquetFile(_opened(path), read_dictionary=sorted(repeated)) as encoded:
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
    path, table, rows = folder / file.file, TABLES[file.table], 0
    expected = f"{file.rows} rows of table {file.table}"
    try:
        with pq.ParquetFile(_opened(path), page_checksum_verification=True) as parquet:
            is_of_table = parquet.schema_arrow.equals(table.schema)
            if not is_of_table or parquet.metadata.num_rows != file.rows:
                raise DamagedError(path, f"{rows} rows or another schema", expected)
            _require_bounded(path, parquet)
            words = [c for c in table.columns if c.values and c.name in columns]
            for batch in parquet.iter_batches(BATCH, columns=list(columns)):
                batch.validate(full=True)  # texts are UTF-8
                rows += batch.num_rows
                if wrong := [c.name for c in words if not _is_sound(c, batch.column(c.name))]:
                    raise ValueError(f"a word in column {wrong[0]} that it cannot hold")
                yield pa.Table.from_batches([batch]).select(list(columns))
    except (pa.ArrowException, OSError, ValueError) as error:
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise DamagedError(path, repr(problem), "readable Parquet") from error
    if rows != file.rows:
        raise DamagedError(path, f"{rows} rows or another schema", expected)


# -- atomic files and folders ----------------------------------------------------------------------


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns an OSError inside the block into a WriteError that names `path`."""
    try:
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise WriteError(f"{path} could not be written: found '{problem}'") from error


def save_text(path: Path, text: str) -> None:
    """Writes `path` whole, whatever link is there, or leaves it as it was. Raises WriteError."""
    with writing(path):
        write_whole(path, text.encode())


def make_folder(folder: Path) -> None:
    """Makes `folder`, durably, in an existing parent, unless it is there. Raises OSError."""
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        flush_folder(folder.parent)


def require_free(folder: Path) -> None:
    """Raises WriteError unless `folder` is absent or empty, and can be made."""
    if not folder.name:
        raise WriteError(f"found {folder}, expected a folder by its name")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise WriteError(f"{folder} is in use: found a file, expected an absent or empty folder")
    if folder.is_dir() and (entry := next(folder.iterdir(), None)):
        raise WriteError(f"{folder} is in use: found {entry.name}, expected an empty folder")
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise WriteError(
            f"{folder} could not be written: found {above}, expected a folder to write in"
        )


def write_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Lets `fill` write into a temporary folder, then renames it to `folder`. Raises WriteError."""
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside.mkdir()
        try:
            fill(aside)
            # Renaming a folder replaces an empty one and refuses one that filled up meanwhile.
            os.rename(aside, folder)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise


def file_hash(path: Path) -> str:
    """SHA-256 of a file in hex; the file is read in pieces. Raises OSError."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
