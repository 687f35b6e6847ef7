"""The commit log, one small JSON file for each commit, naming the data files that count; and these:
Parquet written whole with its SHA-256, and read in batches of bounded size.

Rows become Arrow strictly: a value that does not fit the schema raises and is never repaired.
Conversions that keep the value are allowed: an int in a float column, a NumPy scalar, a member
of a StrEnum. A column whose values are of the plain Python type is checked by its set of types
and by Arrow; only a doubtful one is checked value by value, to name the first row at fault.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from archive.errors import DamagedError, LookupFailedError, RowError
from archive.schema import BOOL, FLOAT64, INSTANT, INT32, INT64, STRING, TABLES, Column, Table
from archive.store.disk import make_folder, writing
from xgl.files import is_inside, read_bytes, read_json, write_whole

Row = Mapping[str, object]

_PLAIN: Mapping[pa.DataType, type] = {
    STRING: str,
    BOOL: bool,
    INT32: int,
    INT64: int,
    FLOAT64: float,
    INSTANT: datetime,
}
_ACCEPTED: Mapping[pa.DataType, tuple[type, ...]] = {
    STRING: (str,),
    BOOL: (bool, np.bool_),
    INT32: (int, np.integer),
    INT64: (int, np.integer),
    FLOAT64: (float, int, np.floating, np.integer),
    INSTANT: (datetime,),
}
_LIMITS: Mapping[pa.DataType, int] = {INT32: 2**31, INT64: 2**63}
_ARROW_REFUSALS = (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError)


def table_of(name: str) -> Table:
    """The declared table `name`. Raises RowError for a name that is not declared."""
    if name not in TABLES:
        raise RowError(f"found table {name!r}, expected one of {', '.join(TABLES)}")
    return TABLES[name]


def to_arrow(name: str, rows: Sequence[Row]) -> pa.Table:
    """The rows as an Arrow table of exactly the declared schema.

    Raises RowError, naming table, row and column, for an unknown table, a missing or unknown
    column, a null where null has no meaning, a value of another type or out of range, a naive
    datetime, a NaN, an infinity in a finite column, or a word that is not of the enum.
    """
    table = table_of(name)
    expected = set(table.names)
    for number, row in enumerate(rows):
        if row.keys() != expected:
            raise RowError(f"{name} row {number}: {_wrong_keys(row, expected)}")
    arrays = [_array(table, column, [row[column.name] for row in rows]) for column in table.columns]
    return pa.table(arrays, schema=table.schema)


def _sound_array(column: Column, array: pa.Array | pa.ChunkedArray) -> bool:
    """Whether the column accepts every value of the array, checked only by Arrow."""
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


def _wrong_keys(row: Row, expected: set[str]) -> str:
    if missing := sorted(expected - row.keys()):
        return f"found no column {', '.join(missing)}, expected every declared column"
    unknown = ", ".join(sorted(map(str, row.keys() - expected)))
    return f"found unknown column {unknown}, expected {', '.join(sorted(expected))}"


def _array(table: Table, column: Column, values: list[object]) -> pa.Array:
    try:
        array = pa.array(values, type=column.type)
    except _ARROW_REFUSALS as refusal:
        _raise_first_fault(table, column, values)
        raise RowError(f"{table.name}, column {column.name!r}: {refusal}") from refusal
    if not (_is_plain(column, values) and _sound_array(column, array)):
        _raise_first_fault(table, column, values)
    return array


def _is_plain(column: Column, values: list[object]) -> bool:
    """Whether all values are null or of the one Python type that Arrow converts as it stands; times
    may lack their zone."""
    types, kind = set(map(type, values)) - {type(None)}, column.type
    if pa.types.is_list(kind) and types <= {list}:
        kind, lists = kind.value_type, (value for value in values if isinstance(value, list))
        types = set(map(type, chain.from_iterable(lists)))
    return kind != INSTANT and types <= {_PLAIN.get(kind)}


def _raise_first_fault(table: Table, column: Column, values: Sequence[object]) -> None:
    for number, value in enumerate(values):
        if fault := _fault(column, value):
            raise RowError(f"{table.name} row {number}, column {column.name!r}: {fault}")


def _fault(column: Column, value: object) -> str | None:
    """The fault of a value, as 'found …, expected …', or None."""
    if value is None:
        return None if column.null is not None else f"found null, expected {_expected_type(column)}"
    if not pa.types.is_list(column.type):
        return _scalar_fault(column, column.type, value)
    if not isinstance(value, list | tuple):
        return f"found {_value_text(value)}, expected {_expected_type(column)}"
    faults = (_scalar_fault(column, column.type.value_type, item) for item in value)
    return next((fault for fault in faults if fault), None)


def _scalar_fault(column: Column, kind: pa.DataType, value: object) -> str | None:
    fault = f"found {_value_text(value)}, expected {_expected_type(column)}"
    if not isinstance(value, _ACCEPTED[kind]) or (isinstance(value, bool) and kind != BOOL):
        return fault
    if isinstance(value, datetime):
        return f"{fault} with a time zone" if value.tzinfo is None else None
    if isinstance(value, str):
        if column.values and value not in column.values:
            return f"found {_value_text(value)}, expected one of {', '.join(column.values)}"
        return None if _encodes(value) else fault
    if kind in _LIMITS and not -_LIMITS[kind] <= int(value) < _LIMITS[kind]:  # type: ignore[call-overload]
        return fault
    return fault if kind == FLOAT64 and not _sound(column, value) else None


def _sound(column: Column, value: object) -> bool:
    """Whether the number is representable, no NaN, and finite where it must be."""
    if isinstance(value, int | np.integer):
        return abs(int(value)) <= 2**53
    number = float(value)  # type: ignore[arg-type]
    return math.isfinite(number) if column.finite else not math.isnan(number)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _expected_type(column: Column) -> str:
    finite = "finite " if column.finite else ""
    return f"{finite}{column.type} ({column.unit})"


def _value_text(value: object) -> str:
    text = ascii(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} of type {type(value).__name__}"


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
