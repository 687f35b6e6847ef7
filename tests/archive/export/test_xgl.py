"""Exported folders: complete, named by game, or not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from archive import Archive, LookupFailedError, Run, WriteError
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


def test_a_folder_in_use_is_left_alone(archive: Archive, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    assert len(export_games(archive, out)) == 2
    with pytest.raises(WriteError, match=r"out is in use: found \S+, expected an empty folder"):
        export_games(archive, out)
    with pytest.raises(WriteError, match=r"found a file, expected an absent or empty folder"):
        export_games(archive, next(out.iterdir()))


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"game_id": "../up"}, r"found the name '../up' in the archive, expected letters"),
        ({"role": "a/b"}, r"found the name 'a/b'"),
        ({"dialect": "toy"}, r"game ok: found dialect 'toy', expected one of xent, paper"),
    ],
)
def test_attack_strings_and_foreign_dialects_are_refused(
    tmp_path: Path, make_row: Any, changes: dict[str, str], message: str
) -> None:
    facts = {"game_id": "ok", "role": "black", "dialect": "xent", **changes}
    game = make_row("games", game_id=facts["game_id"], dialect=facts["dialect"])
    member = make_row("scopes", game_id=facts["game_id"], role=facts["role"])
    with Archive.create(tmp_path / "a") as archive:
        archive.commit({"runs": [make_row("runs")], "games": [game], "scopes": [member]})
        with pytest.raises(LookupFailedError, match=message):
            export_games(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_line_break_in_the_metadata_stays_in_the_comment(tmp_path: Path, make_row: Any) -> None:
    game = make_row("games", game_id="g", dialect="xent", metadata_json="{\r\n}\u2028evil()")
    member = make_row("scopes", game_id="g", role="black")
    with Archive.create(tmp_path / "a") as archive:
        archive.commit({"runs": [make_row("runs")], "games": [game], "scopes": [member]})
        [path] = export_games(archive, tmp_path / "out")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[6] == r"# metadata: {\r\n}\u2028evil()"
    assert all(line.startswith("#") for line in lines[:7])


def test_games_that_share_a_short_id_keep_their_long_one(tmp_path: Path, make_row: Any) -> None:
    ids = ["a" * 12 + "1", "a" * 12 + "2"]
    with Archive.create(tmp_path / "a") as archive:
        archive.commit(
            {
                "runs": [make_row("runs")],
                "games": [make_row("games", game_id=i, dialect="xent") for i in ids],
                "scopes": [make_row("scopes", game_id=i, role="black") for i in ids],
            }
        )
        paths = export_games(archive, tmp_path / "out")
    assert [path.name for path in paths] == [f"{i}-black.xent" for i in ids]


def test_a_game_with_metadata_of_its_own_is_read_back_with_them(
    tmp_path: Path, make_row: Any
) -> None:
    own = Metadata(prompts={"a": "a city\n# no"}, constants={"b": "it's"}, judge="weak", npc="weak")
    whole = game(parse("elicit(t, 8)\nreward(xent(t | a + b))", "xent"), own)
    facts = {"code": whole.code, "dialect": "xent", "metadata_json": metadata_json(whole.metadata)}
    row = make_row("games", game_id=whole.game_id, **facts)
    member = make_row("scopes", game_id=whole.game_id, role="black")
    with Archive.create(tmp_path / "a") as archive:
        archive.commit({"runs": [make_row("runs")], "games": [row], "scopes": [member]})
        [path] = export_games(archive, tmp_path / "games")
    assert read_game(path) == whole
