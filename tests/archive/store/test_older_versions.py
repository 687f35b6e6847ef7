"""Archives of older schema versions, read as those of today: decisions of version 3 have no detail,
those of version 4 no columns of the rule that decides now."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from archive import SCHEMA_VERSION, TABLES, Archive, DamagedError, Reason
from archive.store.older_versions import ADDED, parse_reason
from archive.verification import verify

MakeRow = Callable[..., dict[str, Any]]


def age(
    folder: Path,
    reasons: dict[str, str] | None = None,
    version: int = 3,
    table: str = "decisions",
) -> None:
    """Rewrites an archive as an older schema version had it, with other texts for some reasons."""
    absent_fields = ADDED[table] - ({"detail"} if version > 3 else set())
    schema = pa.schema([f for f in TABLES[table].schema if f.name not in absent_fields])
    for path in sorted((folder / "commits").iterdir()):
        record = json.loads(path.read_text())
        for file in record["files"]:
            if file["table"] == table:
                data = folder / file["file"]
                rows = pq.read_table(data).to_pylist()
                for row in rows if table == "decisions" else ():
                    row["reason"] = (reasons or {}).get(row["reason"], row["reason"])
                pq.write_table(pa.Table.from_pylist(rows, schema), data)
                content = data.read_bytes()
                file |= {"bytes": len(content), "sha256": sha256(content).hexdigest()}
        before = path.with_name(f"{record['number'] - 1:06d}.json")
        if before.is_file():
            record["previous"] = sha256(before.read_bytes()).hexdigest()
        path.write_text(json.dumps(record))
    marker = folder / "archive.json"
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"schema_version": version}))


@pytest.fixture
def older(tmp_path: Path, make_row: MakeRow) -> Path:
    """Two refusals, the second with a number in its reason."""
    folder = tmp_path / "older"
    with Archive.create(folder) as archive:
        archive.commit(
            {
                "decisions": [
                    make_row("decisions", game_id="a", reason=Reason.COVERED),
                    make_row("decisions", game_id="b", reason=Reason.FORFEIT_RATE),
                ]
            }
        )
    age(folder, {"forfeit rate": "forfeit rate 0.60 above 0.25"})
    return folder


@pytest.mark.parametrize("reason", Reason)
def test_reasons_are_read_with_and_without_details(reason: Reason) -> None:
    assert parse_reason(reason) == (reason, None)
    assert parse_reason(f"{reason}: 3 of 4 maps") == (reason, "3 of 4 maps")
    assert parse_reason(f"{reason} 0.60 above 0.25") == (reason, "0.60 above 0.25")


@pytest.mark.parametrize("text", ["", "covered", "covered by the scopes", "was not liked"])
def test_an_unknown_reason_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=rf"reason '{text}'"):
        parse_reason(text)


def test_decisions_have_reason_and_detail(older: Path) -> None:
    archive = Archive.open(older)
    rows = archive.rows("decisions")
    assert [(row["reason"], row["detail"]) for row in rows] == [
        ("covered by the scope", None),
        ("forfeit rate", "0.60 above 0.25"),
    ]
    assert archive.table("decisions").schema.equals(TABLES["decisions"].schema)
    assert archive.rows("decisions", ["detail", "game_id"])[1] == {
        "detail": "0.60 above 0.25",
        "game_id": "b",
    }
    [row] = archive.rows("decisions", ["game_id"], [("reason", "=", "forfeit rate")])
    assert row == {"game_id": "b"}
    assert archive.count("decisions") == 2


def test_rows_of_today_may_follow(older: Path, make_row: MakeRow) -> None:
    with Archive.open(older, "a") as archive:
        row = make_row("decisions", game_id="c", reason=Reason.TOO_LONG, detail="3 steps")
        archive.commit({"decisions": [row]})
        before = archive.rows("decisions")
        archive.compact()
        assert archive.rows("decisions") == before
    assert [row["detail"] for row in before] == [None, "0.60 above 0.25", "3 steps"]
    marker = json.loads((older / "archive.json").read_text())
    assert marker["schema_version"] == SCHEMA_VERSION


def test_an_unknown_reason_of_an_older_file_is_damage(older: Path) -> None:
    age(older, {"covered by the scope": "was not liked"})
    pattern = r"000001.parquet is damaged: found reason .was not liked., expected one of helps and"
    with pytest.raises(DamagedError, match=pattern):
        Archive.open(older).rows("decisions")
    assert any("was not liked" in str(fault) for fault in verify(Archive.open(older)).faults)


def test_an_archive_of_version_4_has_its_details(tmp_path: Path, make_row: MakeRow) -> None:
    with Archive.create(tmp_path / "a") as archive:
        row = make_row("decisions", reason=Reason.TOO_LONG, detail="3 steps", rule="cross_ratio")
        archive.commit({"decisions": [row]})
    age(tmp_path / "a", version=4)
    archive = Archive.open(tmp_path / "a")
    [stored_row] = archive.rows("decisions", ["rule", "detail", "reason"])
    assert stored_row == {"rule": None, "detail": "3 steps", "reason": "too long to learn"}
    assert archive.rows("decisions", ["rule"]) == [{"rule": None}]
    assert archive.table("decisions").schema.equals(TABLES["decisions"].schema)


@pytest.mark.parametrize("table", ["rounds", "measures"])
def test_plays_of_version_7_are_not_counted(table: str, tmp_path: Path, make_row: MakeRow) -> None:
    with Archive.create(tmp_path / "older") as archive:
        archive.commit({table: [make_row(table, policy_id="m", cut_moves=3)]})
    age(tmp_path / "older", version=7, table=table)
    [row] = Archive.open(tmp_path / "older").rows(table)
    assert row["policy_id"] == "m"
    assert {name for name in ADDED[table] if row[name] is None} == ADDED[table]
