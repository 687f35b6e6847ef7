"""An archive whose files are a stranger's: bounded memory, no waiting, no way out of the folder."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from support.rows import row, write

from archive import TABLES, Archive, DamagedError, WriteError
from archive.__main__ import main
from archive.store.files import read_commits, record_path, save_text, to_arrow
from evo.record.run_folder import CONFIG, log_to_folder
from xgl.files import write_whole

TEXT = "x" * (1 << 20)


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    """A read that waits for ever fails here."""
    signal.alarm(120)
    yield
    signal.alarm(0)


def repeated(text: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), [text])


def lists(items: pa.Array, count: int) -> pa.ListArray:
    offsets = np.linspace(0, len(items), count + 1).astype(np.int32)
    kind = pa.list_(pa.field("element", items.type, nullable=False))
    return pa.ListArray.from_arrays(offsets, items, type=kind)


def column(name: str, kind: pa.DataType, rows: int) -> pa.Array:
    """An ordinary column of equal values."""
    plain = {pa.string(): "", pa.bool_(): False, pa.timestamp("us", "UTC"): 0}
    if pa.types.is_list(kind):
        return lists(pa.array([], kind.value_type), rows)
    return pa.array([plain.get(kind, 0)], kind).take(pa.array(np.zeros(rows, np.int32)))


BOMBS: dict[str, tuple[int, dict[str, Callable[[int], pa.Array]], dict[str, Any]]] = {
    "a text for many rows": (65_536, {"code": lambda n: repeated(TEXT, n)}, {}),
    "a short text in each of many columns": (
        65_536,
        dict.fromkeys(("code", "dialect", "metadata_json"), lambda n: repeated("x" * 16_384, n)),
        {},
    ),
    "a text that is small when compressed": (
        1,
        {"code": lambda _: pa.array(["x" * (64 << 20)])},
        {"use_dictionary": False},
    ),
    "many rows of nothing": (4_000_000, {}, {}),
    "a text in lists": (100, {"operators": lambda n: lists(repeated(TEXT, 1000 * n), n)}, {}),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_takes_little_memory(bomb: str, tmp_path: Path) -> None:
    rows, columns, options = BOMBS[bomb]
    table = "proposals" if "operators" in columns else "games"
    Archive.create(tmp_path / "archive").close()
    schema = TABLES[table].schema
    arrays = [
        columns[field.name](rows) if field.name in columns else column(field.name, field.type, rows)
        for field in schema
    ]
    path = tmp_path / "archive" / table / "000001.parquet"
    _write(path, schema, arrays, **options)
    _name_it(tmp_path / "archive", table, rows)
    before = pa.default_memory_pool().bytes_allocated()
    with Archive.open(tmp_path / "archive") as archive, pytest.raises(DamagedError, match="memory"):
        archive.rows(table, [*columns] or None)
    del arrays
    assert path.stat().st_size < 200_000
    assert pa.default_memory_pool().bytes_allocated() <= before


def _write(path: Path, schema: pa.Schema, arrays: list[pa.Array], **options: Any) -> None:
    """The arrays as a file of the declared schema, whatever Arrow stores texts as."""
    pairs = zip(schema, arrays, strict=True)
    fields = [pa.field(field.name, array.type, field.nullable) for field, array in pairs]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    pq.write_table(table, path, compression="zstd", store_schema=False, **options)


def _name_it(folder: Path, table: str, rows: int) -> None:
    """A second commit that names the file."""
    content = (folder / table / "000001.parquet").read_bytes()
    file = {"table": table, "file": f"{table}/000001.parquet", "rows": rows}
    file |= {"bytes": len(content), "sha256": sha256(content).hexdigest()}
    previous = sha256(record_path(folder, 0).read_bytes()).hexdigest()
    record = {"number": 1, "files": [file], "previous": previous}
    record_path(folder, 1).write_text(json.dumps(record))


NO_TEXT = pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")
"""The offsets and bytes of one text that is no UTF-8."""


@pytest.mark.parametrize(
    ("name", "found"),
    [("definition", pa.array(["x"])), ("reason", pa.StringArray.from_buffers(1, *NO_TEXT))],
)
def test_a_text_that_its_column_cannot_hold_is_damage(
    tmp_path: Path, name: str, found: pa.Array
) -> None:
    Archive.create(tmp_path / "archive").close()
    schema = TABLES["decisions"].schema
    place = schema.get_field_index(name)
    table = to_arrow("decisions", [row("decisions")])
    table = table.set_column(place, schema.field(place), found)
    _write(tmp_path / "archive" / "decisions" / "000001.parquet", schema, table.columns)
    _name_it(tmp_path / "archive", "decisions", 1)
    with pytest.raises(DamagedError, match=r"definition|UTF8"):
        Archive.open(tmp_path / "archive").rows("decisions", [name])


FILES = ("archive.json", "scores/000002.parquet", "head.json", "commits/000001.json")
REPLACEMENTS: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a link out of the folder": lambda path: path.symlink_to(
        path.rename(path.parents[2] / f"moved-{path.name}") if path.exists() else "/etc/passwd"
    ),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a folder": Path.mkdir,
    "deep JSON": lambda path: path.write_text("[" * 100_000),
    "an endless number": lambda path: path.write_text('{"number": 1e999, "sha256": ""}'),
}


@pytest.mark.parametrize(("file", "replacement"), [*zip(cycle(FILES), REPLACEMENTS)])
def test_a_file_that_is_none_is_one_sentence(
    run_folder: Path, file: str, replacement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_folder / "archive" / file
    if replacement != "a link out of the folder":
        path.unlink()
    REPLACEMENTS[replacement](path)
    code = main(["inspect", str(run_folder)])
    assert code in (0, 2)  # it does not read every file
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == (code == 2)
    assert all(line.startswith("error: ") for line in errors)
    assert main(["verify", str(run_folder)]) == 2


@given(st.data())
def test_a_record_of_odd_types_is_damage(tmp_path_factory: Any, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("odd")
    (folder / "commits").mkdir()
    odd = st.sampled_from([None, True, -1, 1.5, "", "games", [], ["games"], {}, {"a": 1}, 10**30])
    file = {"table": "games", "file": "games/000000.parquet", "rows": 1, "bytes": 1, "sha256": "0"}
    record: dict[str, Any] = {"number": 0, "files": [file], "previous": None}
    part = data.draw(st.sampled_from([record, file]))
    key = data.draw(st.sampled_from([*part, "unknown"]))
    part[key] = data.draw(odd)
    record_path(folder, 0).write_text(json.dumps(record))
    try:
        [commit] = read_commits(folder)
    except DamagedError:
        return
    assert all(type(file.rows) is int and file.table in TABLES for file in commit.files)


@pytest.mark.parametrize("name", ["commits/000002.json", "games/000002.parquet", "archive.json"])
def test_no_writer_follows_a_planted_link(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    for link in (path, path.with_name(f"{path.name}.tmp")):
        link.symlink_to(victim)
    write_whole(path, b"content")
    assert (path.read_bytes(), path.is_symlink()) == (b"content", False)
    assert victim.read_text() == "precious"


def test_no_run_follows_a_planted_link(run_folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = run_folder / "archive"
    for name in ("archive.json.tmp", "runs/000003.parquet.tmp", "commits/000003.json.tmp", "lock"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(victim)
    for name in ("run.log", "config.yaml", "config.yaml.tmp"):
        (run_folder / name).symlink_to(victim)
    with log_to_folder(run_folder):
        logging.getLogger("evo").info("a line")
    save_text(run_folder / CONFIG, "name: small")
    with pytest.raises(WriteError, match="lock could not be written"):
        Archive.open(folder, "a")
    (folder / "lock").unlink()
    write(folder, runs=[row("runs")])
    assert not (folder / "commits" / "000003.json").is_symlink()
    assert victim.read_text() == "precious"
