"""Paths as people type them."""

from __future__ import annotations

from pathlib import Path

import pytest

from xgl.errors import ConfigError
from xgl.files import user_path


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PLACE", "here")
    monkeypatch.delenv("NOWHERE", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("~", "{home}"),
        ("~/runs", "{home}/runs"),
        ("$HOME/runs", "{home}/runs"),
        ("${HOME}/runs", "{home}/runs"),
        ("$PLACE/a b", "here/a b"),
        ("a/$PLACE", "a/here"),
        ("runs", "runs"),
        ("", "."),
        ("game.xent~", "game.xent~"),
        ("cost: 5$", "cost: 5$"),
        ("a$ b", "a$ b"),
        ("日本語", "日本語"),
    ],
)
def test_home_and_variables_are_replaced(tmp_path: Path, typed: str, meant: str) -> None:
    for path in (typed, Path(typed)):
        assert user_path(path) == Path(meant.replace("{home}", str(tmp_path)))


@pytest.mark.parametrize(
    "typed", ["~nobody-here/runs", "$NOWHERE/runs", "${NOWHERE}", "a/$NOWHERE"]
)
def test_what_is_not_known_is_no_folders_name(tmp_path: Path, typed: str) -> None:
    with pytest.raises(ConfigError, match="is not known here, expected a path") as error:
        user_path(typed)
    assert typed in str(error.value)
