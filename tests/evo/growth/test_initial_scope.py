"""The initial scope: files and names to tasks, and what a bad one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.growth.initial_scope import initial_tasks
from evo.jobs.evaluation import Task
from xgl import analyse
from xgl.errors import ConfigError
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


def test_files_and_library_names_become_tasks_in_order(tmp_path: Path) -> None:
    text = "# a comment\nassign(s1=story())\nelicit(y, 5)\nreward(xed(y | s1))\n"
    scope_tasks = tasks("contrast", write(tmp_path, "mine.xent", text))
    assert [task.role for task in scope_tasks] == ["black", "black"]
    assert scope_tasks[0].game.metadata == scope_tasks[1].game.metadata
    assert scope_tasks[0].game.metadata.story_tokens == 24
    assert "elicit(t, 5)" in scope_tasks[1].game.code
    assert all("#" not in task.game.code for task in scope_tasks)


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


def test_a_role_that_does_not_move_or_learn_is_told_which_do() -> None:
    with pytest.raises(ConfigError, match=r"bob makes no move, expected :alice after the game"):
        tasks("blind_guess:bob", dialect="paper")
    with pytest.raises(ConfigError, match=r"message\.xgl: no reward of the main.*, or :bob$"):
        tasks("message:alice", dialect="paper")


BAD = [
    ("broken.xent", "assign(s=story())\nelict(t, 8)\n", r"broken\.xent: .*line 2, column 1"),
    ("empty.xent", "", r"empty\.xent"),
    ("still.xent", "assign(s=story())\nelicit(t, 8)\nreward(xent(s))\n", r"still\.xent.*expected"),
    ("wrong.xgl", GOOD, r"wrong\.xgl: \.xgl is dialect paper, expected \.xent"),
    ("eval.xent", '__import__("os").system("true")\n', r"eval\.xent: .*line 1"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD, ids=[bad[0] for bad in BAD])
def test_a_bad_file_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(ConfigError, match=rf"(?s)^growth\.initial_scope: .*{message}"):
        tasks(path)


def test_a_library_game_of_the_other_dialect_is_told_with_the_way_on() -> None:
    with pytest.raises(ConfigError, match=r"is a game of dialect paper.*or game\.dialect=paper$"):
        tasks(Path("fig_4_02_single_text"))
