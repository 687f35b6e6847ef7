"""Tables of other programs: CSV, JSONL, JSON and Parquet files as columns of cells."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from archive.errors import RatingError

DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Columns:
    """``cells`` of each column by its name, in the file's order. ``first_row``: the number of the
    first row, 2 below a header. ``decimal_comma``: whether numbers may have one."""

    where: str
    cells: dict[str, list[Any]]
    first_row: int
    decimal_comma: bool = False

    def __len__(self) -> int:
        return len(next(iter(self.cells.values()), ()))


def read_columns(path: Path) -> Columns:
    """The columns of a file, by its ending. Raises :class:`RatingError`."""
    readers = {".csv": _csv, ".tsv": _csv, ".jsonl": _json, ".json": _json, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise RatingError(
            f"--table: found {path}, expected a name that ends in {', '.join(readers)}"
        )
    try:
        columns = readers[path.suffix.lower()](path)
    except FileNotFoundError:
        raise RatingError(f"--table: found no file {path}, expected a table") from None
    except UnicodeDecodeError as error:
        raise RatingError(f"{path}: found a byte that is no UTF-8 at {error.start}") from None
    except OSError as error:
        raise RatingError(f"{path} cannot be read: found {error.strerror}") from None
    except (csv.Error, json.JSONDecodeError, RecursionError, pa.ArrowException) as error:
        kind, (problem, *_) = path.suffix[1:].upper(), str(error).splitlines()
        raise RatingError(f"{path}: found a table that is no {kind} ({problem})") from None
    if not columns.cells:
        raise RatingError(f"{path} is empty: found no row, expected rows with named columns")
    return columns


def _csv(path: Path) -> Columns:
    """The delimiter is the one that divides the first line into the most cells."""
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline()
        file.seek(0)
        counts = {d: len(next(csv.reader([line], delimiter=d), ())) for d in DELIMITERS}
        delimiter = max(DELIMITERS, key=lambda d: counts[d])
        rows = list(csv.reader(file, delimiter=delimiter, strict=True))
    while rows and not any(rows[-1]):
        rows.pop()
    header = rows[0] if rows else []
    while header and not header[-1].strip() and not any(row[len(header) - 1 :] for row in rows[1:]):
        header = header[:-1]
    names = _names(path, header)
    for number, row in enumerate(rows[1:], start=2):
        if len(row) < len(names) or any(row[len(names) :]):
            raise RatingError(
                f"{path}, row {number}: found {len(row):,} cells, expected {len(names):,}"
            )
    cells = {name: [row[index] for row in rows[1:]] for index, name in enumerate(names)}
    return Columns(str(path), cells, 2, delimiter == ";")


def _names(path: Path, header: Iterable[str]) -> list[str]:
    """Names of columns, each once; of two columns named model the second is model_2."""
    names: dict[str, None] = {}
    for name in (each.strip() for each in header):
        if name in names:
            again = f"{name}_2"
            if name.lower() != "model" or again in names:
                raise RatingError(f"{path}, row 1: found column {name} twice, expected it once")
            name = again
        names[name] = None
    return list(names)


def _json(path: Path) -> Columns:
    """A list of objects, or an object a line."""
    text = path.read_text(encoding="utf-8-sig")
    if text.lstrip().startswith("["):
        rows = json.loads(text)
    else:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise RatingError(
                f"{path}, row {number}: found {type(row).__name__}, expected an object"
            )
    names = dict.fromkeys(name for row in rows for name in row)
    cells = {name: [row.get(name) for row in rows] for name in names}
    nested = {name for name in names if any(isinstance(c, list | dict) for c in cells[name])}
    return Columns(str(path), {n: c for n, c in cells.items() if n not in nested}, 1)


def _parquet(path: Path) -> Columns:
    table = pq.read_table(path)
    columns = zip(_names(path, table.column_names), table.columns, strict=True)
    cells = {n: c.to_pylist() for n, c in columns if not pa.types.is_nested(c.type)}
    return Columns(str(path), cells, 1)
