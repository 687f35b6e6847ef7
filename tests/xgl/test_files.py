"""Files: paths as people type them, bounded readers, and what this user wrote."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from xgl.errors import ConfigError
from xgl.files import (
    MOST_DEPTH,
    may_use,
    read_bytes,
    read_json,
    remember,
    user_path,
    write_text,
    wrote,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PLACE", "here")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("NOWHERE", raising=False)
    monkeypatch.chdir(tmp_path)


def test_home_and_variables_are_replaced(tmp_path: Path) -> None:
    home = str(tmp_path)
    typed = {"~": home, "~/runs": f"{home}/runs", "$HOME/runs": f"{home}/runs", "": "."}
    typed |= {"${HOME}/runs": f"{home}/runs", "$PLACE/a b": "here/a b", "a/$PLACE": "a/here"}
    plain = ("runs", "game.xent~", "cost: 5$", "a$ b", "日本語")
    for text, meant in (typed | dict(zip(plain, plain, strict=True))).items():
        assert user_path(text) == user_path(Path(text)) == Path(meant)
    for text in ("~nobody-here/runs", "$NOWHERE/runs", "${NOWHERE}", "a/$NOWHERE"):
        with pytest.raises(ConfigError, match="is not known here, expected a path") as error:
            user_path(text)
        assert text in str(error.value)


@settings(max_examples=40)
@given(JSON)
def test_json_is_read_as_it_is(value: Any) -> None:
    assert read_json(json.dumps(value)) == value
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":['])
def test_deep_json_is_an_ordinary_error(opening: str) -> None:
    closing = "".join({"[": "]", "{": "}"}.get(c, "") for c in reversed(opening))
    for depth in (MOST_DEPTH + 1, 900, 5000, 200_000):
        count = -(-depth // len(closing))
        with pytest.raises(ValueError, match="nested more"):
            read_json(opening * count + "0" + closing * count)
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
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
    assert read_bytes(folder / "file") == read_bytes(folder / "inner", within=folder) == b"text"
    assert read_bytes(folder / "outer") == b"secret"
    for name in ("zero", "pipe", "socket", ".", "absent", "loop"):
        with pytest.raises(OSError, match=r"regular|such|absent|loop|symbolic"):
            read_bytes(folder / name)
    for path in (folder / "outer", folder / ".." / "outside"):
        with pytest.raises(OSError, match="leads out of"):
            read_bytes(path, within=folder)
    with pytest.raises(OSError, match="has 4 bytes, at most 3 are read"):
        read_bytes(folder / "file", 3)
    write_text(folder / "loop", "new")
    assert read_bytes(folder / "loop") == b"new"


def test_only_what_was_written_is_known(tmp_path: Path) -> None:
    assert not wrote("mine")
    assert not may_use("org/model", "mine")
    remember("mine")
    assert wrote("mine")
    assert wrote(b"mine")
    assert not wrote("mine ")
    assert may_use("org/model", "mine")
    [folder] = (tmp_path / "state" / "xgl").iterdir()
    assert folder.stat().st_mode & 0o077 == 0


def test_a_strangers_model_is_used_if_it_is_named_or_shipped() -> None:
    assert may_use("embedded", "a stranger's")
    assert not may_use("org/model", "a stranger's", "org/other")
    assert may_use("org/model", "a stranger's", "org/model")
