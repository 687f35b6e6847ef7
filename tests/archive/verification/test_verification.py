"""A searched archive, whole and then tampered with: what does not fit is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.search import Listed, Nature, Search, code, of_limits

from archive import TABLES, Archive, DamagedError
from archive.__main__ import main
from archive.schema import RunEvent
from archive.verification import verify

WORLD = of_limits(
    l21=Nature(covered=0.95),
    l22=Nature(teaches=0.0),
    l23=Nature(own=0.0),
    l24=Nature(constant=True),
    l25=Nature(forfeits=0.1),
    l26=Nature(teaches=0.5, covered=0.3),
)


Row = dict[str, Any]


def write_anew(source: Path, copy: Path, changed: Callable[[str, list[Row]], list[Row]]) -> None:
    """A copy of an archive in one commit, with its rows by table changed."""
    with Archive.open(source) as before, Archive.create(copy) as archive:
        for digest in before.adapters():
            archive.put_adapter(before.get_adapter(digest))
        archive.commit({name: changed(name, before.rows(name)) for name in TABLES})


@pytest.fixture(scope="session")
def search_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of a search in which every kind of verdict fell; tests copy it."""
    folder = tmp_path_factory.mktemp("searched")
    sampler = Listed([code(limit) for limit in range(20, 27)])
    assert Search(folder).run(WORLD, "growth.list_size=7", sampler=sampler) == 0
    return folder / "run" / "archive"


@pytest.fixture(scope="session")
def compact_folder(search_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in few files, which are faster to check."""
    copy = tmp_path_factory.mktemp("compacted") / "archive"
    write_anew(search_folder, copy, lambda _, rows: rows)
    return copy


@pytest.fixture
def folder(compact_folder: Path, tmp_path: Path) -> Path:
    """A compacted copy to tamper with."""
    return Path(shutil.copytree(compact_folder, tmp_path / "archive"))


@pytest.fixture
def archive_copy(search_folder: Path, tmp_path: Path) -> Path:
    """A copy in which every commit still has its files."""
    return Path(shutil.copytree(search_folder, tmp_path / "archive"))


def fault_text(folder: Path) -> str:
    """All faults, which there must be."""
    report = verify(Archive.open(folder))
    assert report.faults
    return "\n".join(map(str, report.faults))


def forge(
    folder: Path, table: str, where: Callable[[Row], bool], change: Callable[[Row], Row]
) -> int:
    """Changes the rows of a table ``where`` it holds, and writes all anew, as somebody who knows
    the format would; returns how many rows changed."""
    source = folder.rename(folder.with_name("before"))
    chosen: list[Row] = []

    def changed(name: str, rows: list[Row]) -> list[Row]:
        chosen.extend(row for row in rows if name == table and where(row))
        return [row | change(row) if row in chosen else row for row in rows]

    write_anew(source, folder, changed)
    return len(chosen)


def rows(folder: Path, table: str) -> list[Row]:
    return Archive.open(folder).rows(table)


def test_a_changed_score_is_named_with_its_row(folder: Path) -> None:
    def fresh(row: Row) -> bool:
        return row["policy_id"] != "base" and row["purpose"] == "acceptance"

    assert forge(folder, "scores", fresh, lambda row: {"score": row["score"] + 5.0}) > 0
    row = next(filter(fresh, rows(folder, "scores")))
    text = fault_text(folder)
    assert f"scores, run_id {row['run_id']}, policy_id {row['policy_id']}" in text
    assert f"map_seed {row['map_seed']}" in text


def accepted(row: Row) -> bool:
    return bool(row["verdict"] == "accepted")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("captured_high", 9.0), ("gamma", 0.0), ("gamma_game_id", "0" * 16), ("alpha1", 0.01)),
        *(("rule", "values"), ("scope_size", 0), ("looks at [2],", "confidence 0.6")),
        ("beyond_scripts_low", 9.0),
    ],
)
def test_a_changed_number_of_a_decision_is_named(folder: Path, column: str, value: object) -> None:
    change = {"looks": [2], "confidence": 0.6} if "looks" in column else {column: value}
    assert forge(folder, "decisions", accepted, lambda _: change) == 1
    assert f"found {column} {value}, expected" in fault_text(folder)


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("decisions", {"looks": [3, 2]}),
        ("decisions", {"confidence": 1.5}),
        ("runs", {"config_json": '{"transfer": {"acceptance_plays": 3, "confidence": "x"}}'}),
        ("scores", {"map_seed": 1}),
    ],
)
def test_rows_that_no_run_writes_are_told_in_sentences(
    folder: Path, table: str, change: Row, capsys: pytest.CaptureFixture[str]
) -> None:
    which = {
        "decisions": accepted,
        "runs": lambda _: True,
        "scores": lambda row: row["policy_id"] == "script:nothing",
    }
    assert forge(folder, table, which[table], lambda _: change) > 0
    assert main(["verify", str(folder)]) == (0 if table == "runs" else 2)
    assert "Traceback" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("reason", ["does not help its parent", "constant score"])
def test_a_changed_verdict_is_named(folder: Path, reason: str) -> None:
    change = {"verdict": "accepted", "reason": "helps and is new", "decided": True}
    assert forge(folder, "decisions", lambda r: r["reason"] == reason, lambda _: change) == 1
    game = next(filter(accepted, rows(folder, "decisions")))["game_id"]
    text = fault_text(folder)
    assert f"game {game}: found accepted" in text
    assert "scopes, run" in text, "what is accepted must be in the scope"


def test_a_game_added_to_the_scope_by_hand_is_named(folder: Path) -> None:
    refusal = next(r for r in rows(folder, "decisions") if r["reason"].startswith("does not"))

    swap = {"game_id": refusal["game_id"]}
    assert forge(folder, "scopes", lambda r: r["generation"] > 0, lambda _: swap) == 1
    text = fault_text(folder)
    assert f"game {refusal['game_id']}: found a member, expected no decision accepted it" in text
    assert "found no row, expected a member, since it was accepted" in text


@pytest.mark.parametrize("missing", [0, 1])
def test_a_scope_that_is_missing_is_named(folder: Path, missing: int) -> None:
    assert {row["scope"] for row in rows(folder, "scopes")} == {0, 1}
    source = folder.rename(folder.with_name("before"))

    def without(name: str, rows: list[Row]) -> list[Row]:
        return [row for row in rows if name != "scopes" or row["scope"] != missing]

    write_anew(source, folder, without)
    with Archive.open(folder, "a") as archive:
        archive.commit({"runs": [{**archive.rows("runs")[0], "event": RunEvent.FINISHED}]})
    assert f"scope {missing}: found nothing of that name, expected its" in fault_text(folder)


def test_a_verdict_that_its_reason_does_not_stand_for_is_named(folder: Path) -> None:
    change = {"verdict": "undecided"}
    assert forge(folder, "decisions", lambda r: r["reason"] == "constant score", lambda _: change)
    assert "found undecided, 'constant score', expected refused" in fault_text(folder)


def test_a_changed_record_is_named_by_the_next_one(archive_copy: Path) -> None:
    path = archive_copy / "commits" / "000003.json"
    record = json.loads(path.read_text())
    record["files"] = record["files"][:-1]
    path.write_text(json.dumps(record))
    faults = fault_text(archive_copy)
    assert f"{path}: found a record that was changed after it was written" in faults


@pytest.mark.parametrize("kept", [1, -2])
def test_newest_commits_that_were_removed_are_named(archive_copy: Path, kept: int) -> None:
    records = sorted((archive_copy / "commits").iterdir())
    for path in records[kept:]:
        path.unlink()
    faults = fault_text(archive_copy)
    assert f"{records[-1]}: found no record after" in faults
    with pytest.raises(DamagedError, match=f"{records[-1].name} is missing"):
        Archive.open(archive_copy, "a")
    (archive_copy / "head.json").unlink()
    Archive.open(archive_copy, "a").close()


def test_adapters_are_checked(folder: Path) -> None:
    member = next(r for r in rows(folder, "scopes") if r["generation"] == 1)
    finetune = next(r for r in rows(folder, "finetunes") if r["game_id"] == member["game_id"])
    path = folder / "adapters" / f"{finetune['adapter_hash']}.safetensors"
    content = path.read_bytes()
    path.write_bytes(content + b"!")
    assert f"{path}: found SHA-256" in fault_text(folder)
    path.unlink()
    text = fault_text(folder)
    assert f"finetune_id {finetune['finetune_id']}: found a missing adapter" in text


def test_rows_twice_and_references_to_nothing_are_named(folder: Path) -> None:
    scores = rows(folder, "scores")
    with Archive.open(folder, "a") as archive:
        archive.commit({"scores": [scores[0], {**scores[1], "policy_id": "nobody"}]})
        archive.commit({"scopes": [{**rows(folder, "scopes")[0], "run_id": "elsewhere"}]})
    text = fault_text(folder)
    assert "found 2 rows, expected one" in text
    assert "scores, policy_id nobody: found nothing of that name" in text
    assert "scopes, run_id elsewhere: found nothing of that name" in text


def test_the_command_says_it_with_exit_code_2(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(folder)]) == 0
    assert "Everything fits." in capsys.readouterr().out
    path = sorted((folder / "scores").iterdir())[-1]
    path.write_bytes(path.read_bytes()[:-7])
    assert main(["verify", str(folder), "--json"]) == 2
    [fault] = json.loads(capsys.readouterr().out)["faults"]
    assert fault["where"] == str(path)
