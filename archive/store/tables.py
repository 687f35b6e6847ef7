"""Tables of other programs: CSV, JSONL, JSON and Parquet files as columns of cells."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from archive.errors import RatingError

DELIMITERS = ",;\t|"
Columns = dict[str, list[Any]]
"""The cells of each column by its name, in the file's order."""


def read_columns(path: Path) -> Columns:
    """The columns of a file, by its ending. Raises :class:`RatingError`."""
    readers = {".csv": _csv, ".tsv": _csv, ".jsonl": _json, ".json": _json, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise RatingError(
            f"--table: found {path}, expected a name that ends in {', '.join(readers)}"
        )
    try:
        names, rows = readers[path.suffix.lower()](path)
    except FileNotFoundError:
        raise RatingError(f"--table: found no file {path}, expected a table") from None
    except UnicodeDecodeError as error:
        raise RatingError(f"{path}: found a byte that is no UTF-8 at {error.start}") from None
    except (csv.Error, json.JSONDecodeError, RecursionError, pa.ArrowException) as error:
        problem = str(error).splitlines()[0]
        raise RatingError(f"{path}: found no {path.suffix[1:].upper()} ({problem})") from None
    except OSError as error:
        raise RatingError(f"{path} cannot be read: found {error.strerror}") from None
    if not names:
        raise RatingError(f"{path} is empty: found no row, expected named columns and rows")
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise RatingError(f"{path}, row 1: found column {twice} twice, expected it once")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise RatingError(
                f"{path}, row {number}: found {len(row):,} cells, expected {len(names):,}"
            )
    cells = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    nested = {name for name, its in cells.items() if any(isinstance(c, list | dict) for c in its)}
    return {name: its for name, its in cells.items() if name not in nested}


def _csv(path: Path) -> tuple[list[str], list[list[Any]]]:
    """The delimiter is the one that is most often in the first line."""
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline()
        file.seek(0)
        delimiter = max(DELIMITERS, key=line.count)
        header, *rows = [*csv.reader(file, delimiter=delimiter, strict=True)] or [[]]
    return [name.strip() for name in header], [row for row in rows if any(row)]


def _json(path: Path) -> tuple[list[str], list[list[Any]]]:
    """A list of objects, or an object a line."""
    text = path.read_text(encoding="utf-8-sig")
    lines = [line for line in text.splitlines() if line.strip()]
    rows = json.loads(text) if text.lstrip().startswith("[") else [*map(json.loads, lines)]
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            found = type(row).__name__
            raise RatingError(f"{path}, row {number}: found {found}, expected an object")
    names = [*dict.fromkeys(name for row in rows for name in row)]
    return names, [[row.get(name) for name in names] for row in rows]


def _parquet(path: Path) -> tuple[list[str], list[list[Any]]]:
    table = pq.read_table(path)
    columns = (column.to_pylist() for column in table.columns)
    return table.column_names, [list(row) for row in zip(*columns, strict=True)]
