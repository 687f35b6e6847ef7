"""Descent goes by games in roles: a game in two seats has two places (§4.1)."""

from __future__ import annotations

from pathlib import Path

from archive import Run
from archive.run import parents
from archive.schema import ScopeRow
from archive.store.archive import Archive


def test_a_member_of_a_scope_descends_from_the_seat_that_its_decision_names() -> None:
    bob, alice = (ScopeRow("a", role, None, None, 0) for role in ("bob", "alice"))
    child = ScopeRow("b", "bob", "a", 0.1, 1, "alice")
    assert parents([bob, alice, child]) == [None, None, 1]
    assert parents([bob, alice, ScopeRow("b", "bob", "a", 0.1, 1)]) == [None, None, 0]


def test_scopes_of_a_run_know_their_parents_roles(run_folder: Path) -> None:
    with Archive.open(run_folder) as archive:
        _, (initial, child) = Run(archive).newest_scope
    assert (initial.parent_role, child.parent_role) == (None, "black")
