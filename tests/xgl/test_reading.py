"""Readers of what others wrote are bounded: files, JSON, metadata of games."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xgl import Metadata
from xgl.cli import main
from xgl.cli.files import MAX_INPUT
from xgl.errors import MetadataError
from xgl.files import MOST_DEPTH, open_regular, read_bytes, read_json
from xgl.language.canonical import MOST, metadata_json, read_metadata

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_json_is_read_as_it_is(value: Any) -> None:
    assert read_json(json.dumps(value)) == value
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":['])
@pytest.mark.parametrize("depth", [MOST_DEPTH + 1, 900, 5000, 200_000])
def test_deep_json_is_an_ordinary_error(opening: str, depth: int) -> None:
    closing = "".join({"[": "]", "{": "}"}.get(c, "") for c in reversed(opening))
    count = -(-depth // len(closing))
    opening, closing = opening * count + "0", closing * count
    with pytest.raises(ValueError, match="nested more"):
        read_json(opening + closing)


def test_json_of_the_greatest_depth_is_read() -> None:
    text = "[" * MOST_DEPTH + "]" * MOST_DEPTH
    assert json.dumps(read_json(text)) == text


def test_only_regular_files_within_bounds_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "outside").write_text("secret")
    (folder / "file").write_text("text")
    (folder / "inner").symlink_to("file")
    (folder / "outer").symlink_to("../outside")
    (folder / "zero").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
    assert read_bytes(folder / "file") == read_bytes(folder / "inner", within=folder) == b"text"
    assert read_bytes(folder / "outer") == b"secret"
    for name in ("zero", "pipe", "socket", ".", "absent", "loop"):
        (folder / "loop").unlink(missing_ok=True)
        (folder / "loop").symlink_to("loop")
        with pytest.raises(OSError, match=r"regular|such|absent|loop|symbolic"):
            read_bytes(folder / name)
    for path in (folder / "outer", folder / ".." / "outside"):
        with pytest.raises(OSError, match="leads out of"):
            read_bytes(path, within=folder)
    with pytest.raises(OSError, match="has 4 bytes, at most 3 are read"):
        open_regular(folder / "file", 3)


@given(JSON)
def test_metadata_are_read_or_refused(facts: Any) -> None:
    for form in (facts, json.dumps(facts)):
        with suppress(MetadataError):
            assert isinstance(read_metadata(form), Metadata)


@pytest.mark.parametrize("name", MOST)
@pytest.mark.parametrize("value", [10**15, MOST["max_failures"] ** 9, -1, 1.5, "9", True, None, []])
def test_no_number_of_the_metadata_is_unbounded(name: str, value: object) -> None:
    with pytest.raises(MetadataError, match=f"{name} is"):
        read_metadata(json.dumps({name: value}))


def test_metadata_of_archives_are_read_back() -> None:
    for metadata in (Metadata(), Metadata(token_bits=False, constants={"a": "é\n"})):
        assert read_metadata(metadata_json(metadata)) == metadata


@pytest.mark.parametrize("arguments", [["check", "/dev/zero"], ["play", "dex_texts", "--moves"]])
def test_commands_read_no_endless_file(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments[-1] == "--moves":
        arguments = [*arguments, "/dev/zero"]
    assert main(arguments) == 2
    assert f"more than {MAX_INPUT:,} bytes" in capsys.readouterr().err
