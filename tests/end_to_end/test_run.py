"""A whole run in a process of its own, and what can be done with it afterwards."""

from __future__ import annotations

import json
from typing import Any

from archive import Archive
from xgl import parse


def test_a_run_and_what_comes_after_it(commands: Any) -> None:
    ended = commands("evo.run", *commands.tiny("first", "cluster.workers=1"))
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr + ended.stdout
    for part in ("Kept: ", "Verdicts", "Cost by stage", "fine-tuning"):
        assert part in ended.stdout
    for command in ("python -m archive inspect runs/first", "python -m archive export runs/first"):
        assert command in ended.stdout
    _check_archive(commands)

    inspected = commands("archive", "inspect", "runs/first", "--json")
    assert inspected.returncode == 0, inspected.stderr
    assert json.loads(inspected.stdout)["rows"]["decisions"] == 2

    exported = commands("archive", "export", "runs/first", "games")
    assert exported.returncode == 0, exported.stderr
    files = sorted((commands.folder / "games").glob("*.xent"))
    assert files
    for file in files:
        parse(file.read_text(), "xent")


def _check_archive(commands: Any) -> None:
    with Archive.open(commands.folder / "runs" / "first" / "archive") as archive:
        counts = {table: archive.count(table) for table in ("games", "maps", "scores")}
        events = [row["event"] for row in archive.rows("runs")]
        finetunes, proposals = archive.rows("finetunes"), archive.rows("proposals")
        decisions, scopes = archive.rows("decisions"), archive.rows("scopes")
        kept = archive.adapters()
    assert events == ["created", "finished"]
    assert min(counts.values()) > 0
    assert len(decisions) == 2
    assert len(proposals) >= 2
    assert all(row["tokens"] >= 10_000 for row in finetunes)
    scope = {row["game_id"] for row in scopes}
    attempts = {row["adapter_hash"] for row in finetunes if row["game_id"] in scope}
    newest = {row["game_id"]: row["adapter_hash"] for row in finetunes}
    assert {newest[game] for game in scope} <= set(kept) <= attempts
    accepted = sum(row["verdict"] == "accepted" for row in decisions)
    assert len({row["game_id"] for row in scopes}) == 1 + accepted
    assert min(row["generation"] for row in scopes) == 0
