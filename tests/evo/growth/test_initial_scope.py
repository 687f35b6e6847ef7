"""The initial scope: files and names to tasks, and what a bad one is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.search import Listed, Search, of_limits

from archive.__main__ import main as archive_main
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.growth.initial_scope import initial_tasks, whole_path
from evo.jobs.evaluation import Task
from evo.runner import pinned_settings
from xgl import analyse
from xgl.analysis.static_facts import learning_roles
from xgl.errors import ConfigError
from xgl.language.parser import parse
from xgl.library import FOLDER

GOOD = "assign(s=story())\nelicit(t, 8)\nreward(xed(t | s))\n"


def tasks(*entries: object, dialect: str = "xent") -> list[Task]:
    scope = f"growth.initial_scope=[{','.join(map(str, entries))}]"
    return initial_tasks(
        load(RunConfig, ["+experiment=scope_growth", f"game.dialect={dialect}", scope])
    )


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


UNFIT = {
    "fig_3_09_naive_sprig": "is never used",
    "fig_3_10_secret_sharing": "several players move, expected :alice or :david or :bob or :carol",
    "fig_3_12_coordination": "several players move, expected :alice or :bob or :carol after",
    "fig_3_13_censor": "several players move, expected :alice or :carol or :bob",
    "fig_3_13_message": "several players move, expected :alice or :bob after the game's name",
    "retell": "several players move, expected :alice or :bob after the game's name",
}
"""Games of the library that cannot be named without a role, and what a user is told."""


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.x*")), ids=lambda path: path.name)
def test_a_game_of_the_library_is_found_by_its_name_or_refused_with_a_reason(path: Path) -> None:
    dialect = {".xent": "xent", ".xgl": "paper"}[path.suffix]
    if reason := UNFIT.get(path.stem):
        with pytest.raises(ConfigError, match=rf"(?s){path.name}: .*{reason}"):
            tasks(path.stem, dialect=dialect)
    else:
        [task] = tasks(path.stem, dialect=dialect)
        assert task.game.code
        assert task.role in analyse(task.game.program).players


ROLES = {
    "derailment": ("black", "white"),
    "interception": ("black", "white"),
    "secret_sharing": ("alice", "bob", "carol", "david"),
    "coordination": ("alice", "bob", "carol"),
    "blind_guess": ("alice",),
    "hidden_target": ("alice",),
    "censor": ("alice", "bob", "carol"),
    "message": ("bob",),
}


def test_every_player_that_moves_and_may_learn_can_be_the_main_one() -> None:
    for name, roles in ROLES.items():
        scope = tasks(*(f"{name}:{role}" for role in roles), dialect="paper")
        assert tuple(task.role for task in scope) == roles
        assert len({task.game_id for task in scope}) == 1
    assert [task.role for task in tasks("blind_guess", dialect="paper")] == ["alice"]


BAD = [
    ("broken.xent", "assign(s=story())\nelict(t, 8)\n", r"broken\.xent: .*line 2, column 1"),
    ("still.xent", "assign(s=story())\nelicit(t, 8)\nreward(xent(s))\n", r"still\.xent.*expected"),
    ("wrong.xgl", GOOD, r"wrong\.xgl: a game of dialect paper, expected one of d"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD, ids=[bad[0] for bad in BAD])
def test_a_bad_file_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(ConfigError, match=rf"(?s)^growth\.initial_scope: .*{message}"):
        tasks(path)


@pytest.mark.parametrize(
    ("name", "dialect", "message"),
    [
        ("blind_guess:bob", "paper", r"bob makes no move, expected :alice after the game"),
        ("message:alice", "paper", r"message\.xgl: no reward of the main.*, or :bob$"),
        ("fig_4_02_single_text", "xent", r": a game of dialect paper.*or game\.dialect=paper$"),
    ],
)
def test_a_role_or_a_dialect_that_is_not_there_is_told_with_the_way_on(
    name: str, dialect: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        tasks(name, dialect=dialect)


# -- The unit of a search is a game in a role: any active player is the main character (§4.1) ------


PARENT = "assign(s=story())\nreveal(alice, s)\nelicit(alice, t, 8)\nreveal(bob, t)\n"
PARENT += "elicit(bob, x, 8)\nreward(alice, xed(s | x))\nreward(bob, xed(s | x))\n"
HIDDEN = {
    "note": "assign(s=story())\nreveal(alice, s)\nelicit(alice, t, 6)\nreveal(bob, t)\n"
    "elicit(bob, x, 6)\nreward(bob, xed(s | x))\nreward(alice, xed(s | x))",
    "whisper": "assign(s=story())\nreveal(alice, s)\nelicit(alice, t, 5)\nreveal(bob, t)\n"
    "elicit(bob, x, 5)\nreveal(carol, x)\nelicit(carol, y, 5)\nreward(alice, xed(s | y))\n"
    "reward(bob, xed(t | x))\nreward(carol, xed(s | y))",
    "two_views": "assign(s=story(), t=story())\nreveal(alice, s)\nreveal(bob, t)\n"
    "elicit(alice, x, 6)\nelicit(bob, y, 6)\nreward(alice, xed(t | x) + xed(x | y))\n"
    "reward(bob, xed(s | y) + xed(y | x))",
    "public": "assign(s=story())\nelicit(p, 6)\nelicit(alice, x, 6)\nreward(alice, xed(s | x))\n"
    "reward(xed(s | p) - xed(s | x))",
    "relay_with_a_rule": "assign(s=story())\nreveal(alice, s)\nelicit(alice, t, 6)\n"
    'ensure("no common words between" + s + "&" + t)\nreveal(bob, t)\nelicit(bob, x, 6)\n'
    "reward(alice, xed(s | x))\nreward(bob, xed(s | x))",
    "rounds_of_hints": "assign(s=story())\nreveal(alice, s)\nbeacon(flag_1)\nelicit(alice, t, 3)\n"
    "reveal(bob, t)\nelicit(bob, x, 3)\nreward(alice, xed(s | x))\nreward(bob, xed(s | x))\n"
    "replay(flag_1, 1)",
}
"""Programs of hidden information: somebody acts without seeing what another one sees."""
CHILDREN = [PARENT.replace("8)", f"{limit})") for limit in (7, 6)]


@pytest.mark.parametrize("schedule", ["open_ended", "paper"])
def test_seats_of_hidden_information_are_candidates_and_every_decision_is_repeated(
    search: Search, schedule: str
) -> None:
    path = search.folder / "seats.xent"
    path.write_text(PARENT)
    scope = f"growth.initial_scope=[{path}:bob]"
    overrides = (scope, f"growth.schedule={schedule}", "growth.list_size=5")
    decisions = search.decisions(of_limits(), *overrides, sampler=Listed(CHILDREN))
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
    decided = {(row["game_id"], row["role"]) for row in decisions}
    assert {(row["game_id"], row["role"]) for row in first[2:6]} <= decided


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
        words += ["--no-scores"] if kind == "xent" else []
        capsys.readouterr()
        assert archive_main(words) == 0, (kind, capsys.readouterr().err)
    [initial] = [row for row in search.rows("scopes") if row["scope"] == 0]
    assert (search.folder / "xgl" / f"{initial['game_id'][:12]}-{role}.xent").is_file()
    assert search.faults() == []


def test_files_are_named_by_their_whole_paths_and_other_entries_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.xent").touch()
    whole = str(tmp_path / "mine.xent")
    entries = ["mine.xent", "mine.xent:alice", "rival", "outdo:black", "other.xent", "corpus"]
    expected = [whole, f"{whole}:alice", *entries[2:]]
    assert [whole_path(each) for each in entries] == expected
    for name in ("model", "embedded", "corpus", "base"):
        (tmp_path / name).mkdir()
    model = {"model": "./model", "stories": "corpus", "npc": "base", "others": {"a": "embedded"}}
    pinned = {"judge": model | {"model": str(tmp_path / "model")}, "game": model}
    assert pinned_settings({"judge": model, "game": model}) == pinned
    assert pinned_settings({"player": model})["player"]["npc"] == "base"
    own, cache = str(tmp_path / "model"), str(tmp_path / "new")
    sampler = {"meta_sampler": {"settings": {"model": "model", "cache": "new"}}}
    assert pinned_settings(sampler)["meta_sampler"]["settings"] == {"model": own, "cache": cache}
    sampler["meta_sampler"]["settings"]["base_url"] = "http://h/v1"
    assert pinned_settings(sampler)["meta_sampler"]["settings"]["model"] == "model"
    measure = pinned_settings({"measure": {"games": entries, "others": {"a": "model"}}})
    assert measure == {"measure": {"games": tuple(expected), "others": {"a": own}}}
    second = {"judge": {"second": "model", "tokenizer": "model"}}
    assert set(pinned_settings(second)["judge"].values()) == {own}
