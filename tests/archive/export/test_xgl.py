"""Exported folders: complete, named by game, or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.rows import row as make_row

from archive import Archive, Run, WriteError
from archive.export.folder import Options, export
from xgl import Metadata, game, parse, read_game
from xgl.language.canonical import metadata_json


def export_games(archive: Archive, out: Path) -> list[Path]:
    export(Run(archive), out, Options())
    return sorted(out.iterdir())


@pytest.fixture
def archive(run_folder: Path) -> Archive:
    return Archive.open(run_folder / "archive")


def test_one_file_for_each_game_of_the_newest_scope(archive: Archive, tmp_path: Path) -> None:
    paths = export_games(archive, tmp_path / "new" / "out")
    assert [path.name for path in paths] == ["aaaa11110000-black.xent", "bbbb22220000-black.xgl"]
    assert paths[1].read_text().splitlines() == [
        "# game_id: bbbb22220000ffff",
        "# role: black",
        "# scope: 1",
        "# generation: 1",
        "# gamma: 0.125",
        "# parent: aaaa11110000ffff",
        "# metadata: ",
        "reward(xed(s | t))",
    ]
    assert "# gamma: none (initial scope)" in paths[0].read_text()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]


def test_a_failed_export_leaves_nothing(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", refuse)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(WriteError, match=r"out could not be written: found 'No space left"):
        export_games(archive, tmp_path / "out")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_game_with_metadata_of_its_own_is_read_back_with_them(tmp_path: Path) -> None:
    own = Metadata(prompts={"a": "a city\n# no"}, constants={"b": "it's"}, judge="weak", npc="weak")
    whole = game(parse("elicit(t, 8)\nreward(xent(t | a + b))", "xent"), own)
    facts = {"code": whole.code, "dialect": "xent", "metadata_json": metadata_json(whole.metadata)}
    row = make_row("games", game_id=whole.game_id, **facts)
    member = make_row("scopes", game_id=whole.game_id, role="black")
    with Archive.create(tmp_path / "a") as archive:
        archive.commit({"runs": [make_row("runs")], "games": [row], "scopes": [member]})
        [path] = export_games(archive, tmp_path / "games")
    assert read_game(path) == whole
