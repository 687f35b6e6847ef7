"""Descent goes by games in roles: a game in two seats has two places (§4.1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.search import Listed, Search, of_limits

from archive import Run
from archive.__main__ import main
from archive.errors import LookupFailedError
from archive.names import parents
from archive.schema import ScopeRow
from archive.store.archive import Archive
from archive.views.game import gather_lineage

PARENT = """assign(s=story())
reveal(alice, s)
elicit(alice, t, 8)
reveal(bob, t)
elicit(bob, x, 8)
reward(alice, xed(s | x))
reward(bob, xed(s | x))
"""
CHILDREN = [PARENT.replace("8)", f"{limit})") for limit in (7, 6)]


@pytest.fixture
def seats(tmp_path: Path) -> Search:
    """A growth from Bob's seat, in which Alice's seat of the same game is a candidate."""
    search = Search(tmp_path)
    path = tmp_path / "seats.xent"
    path.write_text(PARENT)
    scope = f"growth.initial_scope=[{path}:bob]"
    assert search.run(of_limits(), scope, "growth.list_size=5", sampler=Listed(CHILDREN)) == 0
    return search


def test_each_seat_of_a_game_is_a_game_of_its_own(
    seats: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(seats.folder / "run")
    [initial] = [row for row in seats.rows("scopes") if row["scope"] == 0]
    decided = {(row["game_id"], row["role"]) for row in seats.rows("decisions")}
    assert (initial["game_id"], "alice") in decided, "both seats of one game are in the run"
    with Archive.open(folder) as archive:
        lineage = gather_lineage(Run(archive), f"{initial['game_id']}:bob")
        other = gather_lineage(Run(archive), f"{initial['game_id']}:alice")
        with pytest.raises(LookupFailedError, match=r"found no carol of .*, expected one of"):
            gather_lineage(Run(archive), f"{initial['game_id']}:carol")
    tasks = [(each["game_id"], each["role"]) for each in lineage["descendants"]]
    assert set(tasks) == decided
    assert len(tasks) == len(decided), "each seat once"
    assert [each["role"] for each in other["ancestors"]] == ["bob", "alice"]
    capsys.readouterr()
    assert main(["lineage", folder, initial["game_id"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["role"] == "bob", "the first seat without a role"
    assert main(["lineage", folder, initial["game_id"]]) == 0
    assert "(alice)" in capsys.readouterr().out


def test_a_member_of_a_scope_descends_from_the_seat_that_its_decision_names() -> None:
    bob, alice = (ScopeRow("a", role, None, None, 0) for role in ("bob", "alice"))
    child = ScopeRow("b", "bob", "a", 0.1, 1, "alice")
    assert parents([bob, alice, child]) == [None, None, 1]
    assert parents([bob, alice, ScopeRow("b", "bob", "a", 0.1, 1)]) == [None, None, 0]


def test_scopes_of_a_run_know_their_parents_roles(run_folder: Path) -> None:
    with Archive.open(run_folder) as archive:
        _, (initial, child) = Run(archive).newest_scope
    assert (initial.parent_role, child.parent_role) == (None, "black")
