"""What this user wrote is known by its content, wherever it lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from xgl.files import may_use, remember, wrote


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_only_what_was_written_is_known(tmp_path: Path) -> None:
    assert not wrote("mine")
    remember("mine")
    assert wrote("mine")
    assert wrote(b"mine")
    assert not wrote("mine ")
    [folder] = (tmp_path / "state" / "xgl").iterdir()
    assert folder.stat().st_mode & 0o077 == 0


def test_a_strangers_model_is_used_if_it_is_named_or_shipped() -> None:
    assert may_use("embedded", "a stranger's")
    assert not may_use("org/model", "a stranger's")
    assert not may_use("org/model", "a stranger's", "org/other")
    assert may_use("org/model", "a stranger's", "org/model")
    remember("mine")
    assert may_use("org/model", "mine")


@pytest.mark.parametrize("state", ["/proc/nowhere", "file"])
def test_without_a_place_nothing_is_known(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", state)
    remember("mine")
    assert not wrote("mine")
