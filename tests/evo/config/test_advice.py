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


WHEN_RESUMED = """
budget.dollars budget.seconds budget.tokens cluster.address cluster.gpus_per_worker
cluster.workers curriculum.run ggbench.chat.prices
ggbench.players growth.generations growth.max_accepted judge.device measure.ceiling.calls
measure.chat.prices measure.device measure.folder measure.judge player.device
"""
"""Errors of resumed runs name these, so that a resumed run may change them."""
WHEN_NEW = """
archive.root curriculum.held_out finetune.averaged_share finetune.tokens game.dialect
ggbench.author_tokens growth.first_rung growth.initial_scope growth.least_yield
growth.max_candidates judge.model judge.others judge.stories measure.games measure.others
meta_sampler.name player.model transfer.headroom transfer.min_steps
"""
"""A resumed run keeps these: its models, games, texts and rungs; or they say why a run ended, why
a game is refused or what cut a text."""


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
    unknown = {each for each in named if each[0] not in (WHEN_RESUMED + WHEN_NEW).split()}
    assert unknown == set()


@pytest.mark.parametrize("key", WHEN_RESUMED.split())
def test_a_resumed_run_may_change_what_its_errors_name(key: str) -> None:
    assert {roles[key] for roles in ROLES.values() if key in roles} == {Role.RESUMABLE}
