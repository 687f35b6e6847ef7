"""What errors advise can be done: every setting that a sentence of the packages names is in a table
here, and a resumed run may change those that its own errors name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evo.config.compose import setting_roles
from evo.config.registry import ALL_SETTINGS, find
from xgl.settings import Role

ROOT = Path(__file__).parents[3]
ROLES = {place: setting_roles(find(place)) for place in ALL_SETTINGS}
SETTINGS = {key for roles in ROLES.values() for key in roles if "." in key}
NAMED = re.compile(
    "|".join(rf"(?<![\w.]){re.escape(key)}(?![\w.]|\.\w)" for key in sorted(SETTINGS))
)
WHEN_RESUMED = {
    "budget.dollars",
    "budget.seconds",
    "budget.tokens",
    "cluster.address",
    "cluster.gpus_per_trainer",
    "cluster.gpus_per_worker",
    "cluster.trainers",
    "cluster.workers",
    "curriculum.run",
    "ggbench.chat.prices",
    "ggbench.players",
    "growth.generations",
    "growth.max_accepted",
    "judge.device",
    "measure.ceiling.calls",
    "measure.chat.prices",
    "measure.device",
    "measure.folder",
    "measure.judge",
    "player.device",
}
"""Errors of resumed runs name these, so that a resumed run may change them."""
WHEN_NEW = {
    "archive.root": "a resumed run lies where it lies",
    "game.dialect": "game files keep their dialect",
    "judge.model": "a run keeps its judge; a server's address is a part of its name",
    "judge.others": "a run keeps its judge and the models under it",
    "measure.others": "a run keeps its judge and the models under it",
    "judge.stories": "a resumed run keeps its texts; the file must be as it was",
    "player.model": "named where a new run's group of models is unknown",
    "growth.initial_scope": "a resumed run keeps its games; the files must be as they were",
    "measure.games": "a resumed run keeps its games; the files must be as they were",
    "curriculum.held_out": "a resumed run keeps its programs",
    "meta_sampler.name": "of the tables of all settings",
    "growth.least_yield": "why a run ended",
    "growth.max_candidates": "why a run ended",
    "finetune.tokens": "why a game is refused",
    "finetune.averaged_share": "a new run's rungs, which a resumed run keeps",
    "growth.first_rung": "a new run's rungs, which a resumed run keeps",
    "transfer.min_steps": "why a game is refused",
    "transfer.headroom": "why a game is refused",
    "ggbench.author_tokens": "what cut a text of the author",
}


def sentences() -> Iterator[tuple[str, str]]:
    """Text and place of each text of at least two words that is no comment."""
    for package in ("evo", "xgl", "meta_sampler", "archive"):
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            nodes = list(ast.walk(tree))
            skipped = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
            joined = [each for each in nodes if isinstance(each, ast.JoinedStr)]
            skipped |= {id(part) for each in joined for part in each.values}
            for node in nodes:
                if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in skipped:
                    text = "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "…"
                        for part in (node.values if isinstance(node, ast.JoinedStr) else [node])
                    )
                    if " " in text:
                        yield text, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_every_setting_that_a_sentence_names_was_looked_at() -> None:
    named = {(key, place) for text, place in sentences() for key in NAMED.findall(text)}
    assert {key for key, _ in named} >= {"measure.judge", "curriculum.run", "cluster.address"}
    unknown = {each for each in named if each[0] not in WHEN_RESUMED | WHEN_NEW.keys()}
    assert unknown == set()


@pytest.mark.parametrize("key", sorted(WHEN_RESUMED))
def test_a_resumed_run_may_change_what_its_errors_name(key: str) -> None:
    assert {roles[key] for roles in ROLES.values() if key in roles} == {Role.RESUMABLE}
