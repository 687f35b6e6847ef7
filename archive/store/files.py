"""Data files: Parquet written whole with its SHA-256, and read in batches of bounded size."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from archive.errors import DamagedError
from archive.schema import TABLES
from archive.store.commits import DataFile
from archive.store.disk import TEMPORARY, file_hash, flush_folder, make_folder
from archive.store.rows import to_arrow

BATCH = 65_536
"""Rows in memory at once, and in a row group."""


def write_table(folder: Path, number: int, name: str, rows: pa.Table) -> DataFile:
    """Writes the file of commit ``number`` of a table, first under a temporary name; raises
    OSError."""
    file = f"{name}/{number:06d}.parquet"
    path = folder / file
    make_folder(path.parent)
    aside = path.with_name(path.name + TEMPORARY)
    if rows:
        with _writer(aside, name) as writer:
            writer.write_table(rows, row_group_size=BATCH)
    else:
        aside.write_bytes(_empty_file(name))
    digest = file_hash(aside)
    with aside.open("rb") as stream:
        os.fsync(stream.fileno())
    os.replace(aside, path)
    flush_folder(path.parent)
    return DataFile(name, file, rows.num_rows, path.stat().st_size, digest)


def _writer(sink: Path | pa.NativeFile, name: str) -> pq.ParquetWriter:
    schema = TABLES[name].schema
    return pq.ParquetWriter(sink, schema, compression="zstd", write_page_checksum=True)


@cache
def _empty_file(name: str) -> bytes:
    """The file of a table without rows: every archive begins with one of each."""
    sink = pa.BufferOutputStream()
    with _writer(sink, name) as writer:
        writer.write_table(to_arrow(name, []))
    return sink.getvalue().to_pybytes()


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
    """Raises DamagedError unless the file exists and has the size that its commit says."""
    path = folder / file.file
    if not path.is_file():
        raise DamagedError(path, "no file", f"{file.bytes} bytes", "missing")
    if (size := path.stat().st_size) != file.bytes:
        raise DamagedError(path, f"{size} bytes", str(file.bytes))


def read_batches(folder: Path, file: DataFile, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The rows of a committed file, a batch at a time. Raises DamagedError naming the file."""
    check_size(folder, file)
    path = folder / file.file
    rows = 0
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as parquet:
            fits = parquet.schema_arrow.equals(TABLES[file.table].schema)
            for batch in parquet.iter_batches(BATCH, columns=list(columns)) if fits else ():
                rows += batch.num_rows
                yield pa.Table.from_batches([batch]).select(list(columns))
            rows = rows if columns else parquet.metadata.num_rows
    except (pa.ArrowException, OSError, UnicodeError) as error:
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise DamagedError(path, repr(problem), "readable Parquet") from error
    if not fits or rows != file.rows:
        expected = f"{file.rows} rows of table {file.table}"
        raise DamagedError(path, f"{rows} rows or another schema", expected)
