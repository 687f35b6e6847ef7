"""The folder: round trips, one writer, and errors that name the file."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from support.rows import row as make_row

from archive import TABLES, Archive, DamagedError, LockedError, LookupFailedError, RowError
from archive.schema import Column
from archive.store.files import to_arrow

OFFSETS = st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours)))


def _scalars(column: Column, kind: pa.DataType) -> st.SearchStrategy[Any]:
    if column.values:
        return st.sampled_from(column.values)
    if pa.types.is_timestamp(kind):
        # fixed offsets: a local time that a zone skips equals no time of another zone
        return st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=OFFSETS)
    if pa.types.is_floating(kind):
        return st.floats(allow_nan=False, allow_infinity=not column.finite)
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_integer(kind):
        limit = 2 ** (kind.bit_width - 1)
        return st.integers(-limit, limit - 1)
    return st.text(max_size=8)


def _values(column: Column) -> st.SearchStrategy[Any]:
    if pa.types.is_list(column.type):
        return st.lists(_scalars(column, column.type.value_type), max_size=3)
    scalars = _scalars(column, column.type)
    return scalars if column.null is None else st.none() | scalars


def _batches(name: str) -> st.SearchStrategy[tuple[str, list[dict[str, Any]]]]:
    row = st.fixed_dictionaries({column.name: _values(column) for column in TABLES[name].columns})
    return st.tuples(st.just(name), st.lists(row, max_size=3))


commits = st.lists(st.one_of([_batches(name) for name in TABLES]), max_size=3)


@settings(max_examples=6)
@given(commits)
def test_what_was_committed_is_read_in_order(batches: list[tuple[str, list[Any]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with Archive.create(folder) as writer:
            for number, (name, rows) in enumerate(batches, start=1):
                assert writer.commit({name: rows}) == number
        for archive, (name, table) in product((writer, Archive.open(folder)), TABLES.items()):
            expected = [row for batch, rows in batches if batch == name for row in rows]
            assert archive.rows(name) == expected
            assert archive.count(name) == len(expected)
            assert archive.table(name).schema.equals(table.schema, check_metadata=True)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive.create(tmp_path / "a")


def test_columns_and_filters(archive: Archive) -> None:
    for numbers in (range(3), range(3, 6)):
        rows = [make_row("games", game_id=f"g{i}", steps=i) for i in numbers]
        archive.commit({"games": rows})
    table = archive.table("games", ["game_id"], [("steps", ">=", 2), ("steps", "<", 4)])
    assert table.to_pydict() == {"game_id": ["g2", "g3"]}
    assert archive.table("games", ["steps", "game_id"]).column_names == ["steps", "game_id"]
    assert archive.rows("games", ["steps"], [("game_id", "in", ["g5", "g9"])]) == [{"steps": 5}]


COLUMNS = st.lists(st.sampled_from(TABLES["games"].schema.names), min_size=1, unique=True)


@settings(max_examples=6)
@given(st.lists(_batches("games"), max_size=2), st.lists(COLUMNS, min_size=2, max_size=4))
def test_a_reader_gives_the_same_rows_whatever_columns_it_read_before(
    batches: list[tuple[str, list[Any]]], choices: list[list[str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with Archive.create(folder) as writer:
            for name, rows in batches:
                writer.commit({name: rows})
        reader = Archive.open(folder)
        for columns in choices:
            expected = Archive.open(folder).table("games", columns)
            assert reader.table("games", columns).equals(expected)


def test_a_second_writer_is_refused_until_the_first_closes(archive: Archive) -> None:
    with pytest.raises(LockedError, match=rf"found a writer \(process {os.getpid()} on"):
        Archive.open(archive.folder, "a")
    program = f"from archive import Archive; Archive.open({str(archive.folder)!r}, 'a')"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f"LockedError: {archive.folder} is locked: found a writer" in other.stderr
    archive.close()
    Archive.open(archive.folder, "a").close()


def test_a_writer_follows_no_link_out_of_the_archive(archive: Archive, tmp_path: Path) -> None:
    archive.close()
    mine = tmp_path / "mine"
    (archive.folder / "scores").rename(mine)
    (mine / "precious.parquet").write_bytes(b"data")
    (archive.folder / "scores").symlink_to(mine)
    with pytest.raises(DamagedError, match=r"scores is damaged: found a link"):
        Archive.open(archive.folder, "a")
    assert (mine / "precious.parquet").is_file()


def test_a_flipped_byte_is_found_or_harmless(archive: Archive) -> None:
    rows = [make_row("games", code="elicit(s, 10)" * 9, steps=3)]
    archive.commit({"games": rows})
    path = archive.folder / "games" / "000001.parquet"
    content, detections = path.read_bytes(), 0
    for place in range(0, len(content), 47):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            assert Archive.open(archive.folder).rows("games") == rows
        except DamagedError:
            detections += 1
    assert detections > 10


def test_appending_to_an_archive_with_a_missing_file_is_refused(archive: Archive) -> None:
    archive.commit({"games": [make_row("games")]})
    archive.close()
    (archive.folder / "games" / "000001.parquet").unlink()
    with pytest.raises(DamagedError, match=r"000001.parquet is missing"):
        Archive.open(archive.folder, "a")


def test_a_writer_removes_no_file_that_is_not_of_a_table(archive: Archive) -> None:
    folder = archive.folder
    archive.close()
    own = [folder / "export.parquet", folder / "commits" / "mine.parquet"]
    stray = folder / "games" / "half.parquet"
    for each in (*own, stray):
        each.write_bytes(b"")
    Archive.open(folder, "a").close()
    assert [each.exists() for each in (*own, stray)] == [True, True, False]


def test_a_file_of_another_table_is_damage(archive: Archive) -> None:
    games, scopes = (archive.folder / name / "000000.parquet" for name in ("games", "scopes"))
    record = archive.folder / "commits" / "000000.json"
    games.write_bytes(scopes.read_bytes())
    files = json.loads(record.read_text())
    for file in files["files"]:
        file["bytes"] = (archive.folder / file["file"]).stat().st_size
    record.write_text(json.dumps(files))
    with pytest.raises(DamagedError, match=r"another schema, expected 0 rows of table games"):
        Archive.open(archive.folder).table("games", ["game_id"])


def test_adapters_are_named_by_their_content(archive: Archive) -> None:
    digest = archive.put_adapter(b"weights")
    assert archive.put_adapter(b"weights") == digest
    assert archive.adapters() == [digest]
    assert Archive.open(archive.folder).get_adapter(digest) == b"weights"
    path = archive.folder / "adapters" / f"{digest}.safetensors"
    path.write_bytes(b"others")
    with pytest.raises(DamagedError, match=rf"found SHA-256 \w+, expected {digest}"):
        archive.get_adapter(digest)
    archive.drop_adapter(digest)
    archive.drop_adapter(digest)
    assert archive.adapters() == []
    with pytest.raises(LookupFailedError, match=r"found no such adapter, expected one of the 0"):
        archive.get_adapter(digest)
    with pytest.raises(LookupFailedError, match=r"expected 64 hexadecimal digits"):
        archive.get_adapter("../archive")


REFUSED = [
    ("scores", {"score": math.nan}, r"scores, column 'score': found .*, expected finite double"),
    ("scores", {"score": None}, r"column 'score': found .*, expected finite double"),
    ("games", {"steps": 2**31}, r"column 'steps': found .*, expected int32 \(steps\)"),
    ("games", {"code": "\ud800"}, r"column 'code': found"),
    ("scores", {"purpose": "test"}, r"expected one of calibration, training"),
]


@pytest.mark.parametrize(("table", "changes", "message"), REFUSED)
def test_a_value_that_does_not_fit_is_refused(
    table: str, changes: dict[str, Any], message: str
) -> None:
    good = make_row(table)
    assert to_arrow(table, [good]).num_rows == 1
    with pytest.raises(RowError, match=message):
        to_arrow(table, [good, make_row(table, **changes), good])


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(RowError, match=r"games row 1: found unknown .*column extra"):
        to_arrow("games", [make_row("games"), {**make_row("games"), "extra": 1}])
