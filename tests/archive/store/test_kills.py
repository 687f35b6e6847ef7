"""Whatever moment a writer dies at, a commit is there as a whole or not at all."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.rows import row as make_row

from archive import TABLES, Archive, WriteError
from archive.verification import chain, newest


class KilledError(BaseException):
    """Stands for the end of the process: no handler of the archive may survive it."""


@contextmanager
def _failing(moment: int, after: bool, error: BaseException) -> Iterator[list[str]]:
    """Lets the `moment`-th system call that matters raise, before or after its work is done."""
    calls: list[str] = []

    def watcher(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            calls.append(name)
            now = len(calls) - 1 == moment
            if now and not after:
                raise error
            result = real(*arguments)
            if now:
                raise error
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "replace"):
            patch.setattr(os, name, watcher(name, getattr(os, name)))
        yield calls


def _nameless_files(archive: Archive) -> set[str]:
    recorded_files = {file.file for commit in archive.commits for file in commit.files}
    stored_files = {
        f"{name}/{path.name}" for name in TABLES for path in (archive.folder / name).iterdir()
    }
    return (stored_files - recorded_files) | {path.name for path in archive.folder.rglob("*.tmp")}


def _survives(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> bool:
    """Checks all or nothing, the next writer and its next commit; True if the rows survived."""
    reader = Archive.open(folder)
    assert list(newest(reader)) == []
    counts = {name: reader.count(name) for name in rows}
    has_rows = any(counts.values())
    assert counts == {name: len(batch) if has_rows else 0 for name, batch in rows.items()}
    with Archive.open(folder, "a") as writer:
        assert _nameless_files(writer) == set()
        for name, batch in rows.items():
            assert writer.rows(name) == (batch if has_rows else [])
        writer.commit(rows)
        assert writer.count("games") == len(rows["games"]) * (2 if has_rows else 1)
    with Archive.open(folder) as reader:
        assert list(newest(reader)) == list(chain(reader)) == []
    return has_rows


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KilledError()])
def test_a_commit_that_dies_anywhere_is_whole_or_absent(
    tmp_path: Path, after: bool, error: BaseException
) -> None:
    rows = {"games": [make_row("games")], "scores": [make_row("scores")] * 2}
    Archive.create(tmp_path / "fresh").close()
    outcomes = []
    # two data files, the record, the head: flush, rename, flush the folder
    for moment in range(12):
        folder = tmp_path / str(moment)
        shutil.copytree(tmp_path / "fresh", folder)
        writer = Archive.open(folder, "a")
        refused = pytest.raises((WriteError, KilledError), match=r"No space left|^$")
        with _failing(moment, after, error) as calls, refused:
            writer.commit(rows)
        assert len(calls) == moment + 1
        with pytest.raises(WriteError, match=r"found an earlier write that failed"):
            writer.commit(rows)
        writer.close()
        outcomes.append(_survives(folder, rows))
    rename_call = 7  # the record's own rename makes the commit count
    assert outcomes == [m > rename_call or (m == rename_call and after) for m in range(12)]


@pytest.mark.parametrize("after", [False, True])
def test_a_killed_create_can_be_resumed(tmp_path: Path, after: bool) -> None:
    with _failing(-1, False, KilledError()) as calls:
        Archive.create(tmp_path / "whole").close()
    for moment in [*range(8), *range(len(calls) - 6, len(calls))]:
        folder = tmp_path / str(moment)
        with _failing(moment, after, KilledError()), pytest.raises(KilledError):
            Archive.create(folder)
        is_created = (folder / "archive.json").exists()
        with Archive.open(folder, "a") if is_created else Archive.create(folder) as archive:
            assert _nameless_files(archive) == set()
            assert all(archive.count(name) == 0 for name in TABLES)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("moment", range(3))
def test_an_adapter_is_whole_or_absent(tmp_path: Path, moment: int, after: bool) -> None:
    folder = tmp_path / "a"
    writer = Archive.create(folder)
    kept_digest = writer.put_adapter(b"kept")
    with _failing(moment, after, KilledError()), pytest.raises(KilledError):
        writer.put_adapter(b"lost")
    writer.close()
    with Archive.open(folder, "a") as archive:
        assert kept_digest in archive.adapters()
        assert {archive.get_adapter(digest) for digest in archive.adapters()} <= {b"kept", b"lost"}
        assert _nameless_files(archive) == set()


WRITER = """
import sys
from archive import Archive, TABLES
archive = Archive.open(sys.argv[1], "a")
number = len(archive.commits)
while True:
    game = {"game_id": f"g{number}", "dialect": "xent", "code": "", "metadata_json": "{}"}
    drawn = {"map_seed": number, "site": 0, "purpose": "training", "source": "", "text": ""}
    archive.commit({
        "games": [{**game, "steps": number}] * 3, "maps": [{**drawn, "n_tokens": 0}] * 2,
    })
    print(number, flush=True)
    number += 1
"""


@pytest.mark.long
def test_kill_9_loses_at_most_the_commit_in_flight(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    Archive.create(folder).close()
    for attempt in range(6):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        first = int(writer.stdout.readline())
        time.sleep(0.012 * attempt)
        writer.send_signal(signal.SIGKILL)
        commit_numbers = [first, *map(int, writer.stdout.read().split())]
        writer.wait()
        reader = Archive.open(folder)
        last = len(reader.commits) - 1
        assert commit_numbers[-1] <= last <= commit_numbers[-1] + 1
        assert reader.table("games")["steps"].to_pylist() == [
            number for number in range(1, last + 1) for _ in range(3)
        ]
        assert reader.count("maps") == 2 * last
        with Archive.open(folder, "a") as next_writer:
            assert _nameless_files(next_writer) == set()
