"""The unit of a search is a game in a role: any active player is the main character (§4.1)."""

from __future__ import annotations

import pytest
from support.hidden_programs import HIDDEN
from support.search import Listed, Search, of_limits

from archive.__main__ import main as archive_main
from meta_sampler.mutate.sampler import Mutate
from xgl.analysis.static_facts import learning_roles
from xgl.language.canonical import game
from xgl.language.parser import parse

PARENT = """assign(s=story())
reveal(alice, s)
elicit(alice, t, 8)
reveal(bob, t)
elicit(bob, x, 8)
reward(alice, xed(s | x))
reward(bob, xed(s | x))
"""
CHILDREN = [PARENT.replace("8)", f"{limit})") for limit in (7, 6)]


@pytest.mark.parametrize("schedule", ["open_ended", "paper"])
def test_seats_of_hidden_information_are_candidates_and_every_decision_is_repeated(
    search: Search, schedule: str
) -> None:
    path = search.folder / "seats.xent"
    path.write_text(PARENT)
    scope = f"growth.initial_scope=[{path}:bob]"
    overrides = (scope, f"growth.schedule={schedule}", "growth.list_size=5")
    assert search.run(of_limits(), *overrides, sampler=Listed(CHILDREN)) == 0
    [initial] = [row for row in search.rows("scopes") if row["scope"] == 0]
    assert initial["role"] == "bob"
    first = [row for row in search.rows("proposals") if row["round"] == 0]
    seats = [(row["operators"], row["role"], row["outcome"]) for row in first[:6]]
    assert seats == [
        (["change_role"], "alice", "candidate"),
        (["change_role"], "bob", "seen"),
        *((["edit"], role, "candidate") for _ in CHILDREN for role in ("alice", "bob")),
    ]
    assert {row["parent_role"] for row in first} == {"bob"}
    decisions = {(row["game_id"], row["role"]) for row in search.rows("decisions")}
    assert {(row["game_id"], row["role"]) for row in first[2:6]} <= decisions
    assert search.faults() == []


@pytest.mark.parametrize("name", HIDDEN)
def test_every_seat_of_a_hidden_information_game_has_children(name: str) -> None:
    parent = game(parse(HIDDEN[name], "xent"))
    for role in learning_roles(parent.program):
        proposals = Mutate().propose(parent, [parent], 6, 1, role)
        games = [proposal.game for proposal in proposals if proposal.game is not None]
        assert len(games) >= 5
        assert all(learning_roles(each.program) for each in games)
        assert any(role in learning_roles(each.program) for each in games)


@pytest.mark.parametrize("name", HIDDEN)
def test_a_scope_grows_from_hidden_information_and_is_exported(
    search: Search, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    role = learning_roles(parse(HIDDEN[name], "xent"))[-1]
    path = search.folder / f"{name}.xent"
    path.write_text(HIDDEN[name])
    scope = f"growth.initial_scope=[{path}:{role}]"
    assert search.run(of_limits(), scope, "growth.max_candidates=3") == 0
    decided = {(row["game_id"], row["role"]) for row in search.rows("decisions")}
    assert decided
    one_story = HIDDEN[name].count("story()") == 1  # this executor writes no second one
    for kind in ("xgl", *(("xent", "verifiers") if one_story else ())):
        words = ["export", str(search.folder / "run"), str(search.folder / kind), "--format", kind]
        words += ["--no-scores", "--without-judge"] if kind == "xent" else []
        capsys.readouterr()
        assert archive_main(words) == 0, (kind, capsys.readouterr().err)
    [initial] = [row for row in search.rows("scopes") if row["scope"] == 0]
    assert (search.folder / "xgl" / f"{initial['game_id'][:12]}-{role}.xent").is_file()
    assert search.faults() == []


FIGURES = [
    "message:bob",
    *(
        pytest.param(name, marks=pytest.mark.long)
        for name in (
            "blind_guess:alice",
            "hidden_target:alice",
            "secret_sharing:alice",
            "secret_sharing:carol",
            "coordination:bob",
            "censor:carol",
            "interception:white",
        )
    ),
]


@pytest.mark.parametrize("name", FIGURES)
def test_a_scope_grows_from_every_seat_of_the_papers_games(search: Search, name: str) -> None:
    overrides = ("game.dialect=paper", f"growth.initial_scope=[{name}]", "growth.max_accepted=1")
    assert search.run(of_limits(), *overrides) == 0
    [initial] = [row for row in search.rows("scopes") if row["scope"] == 0]
    assert initial["role"] == name.partition(":")[2]
    candidates = [row for row in search.rows("proposals") if row["outcome"] == "candidate"]
    assert candidates
    assert {(row["game_id"], row["role"]) for row in search.rows("decisions")} <= {
        (row["game_id"], row["role"]) for row in candidates
    }
    assert search.faults() == []
