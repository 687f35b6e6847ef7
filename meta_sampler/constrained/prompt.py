"""What a model reads before it writes a game: a line of task, a few games, the parent last."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from meta_sampler.screening.normal_form import normal_form
from xgl import Game, game, parse
from xgl.library import entries
from xgl.random_streams import stream

TASK = (
    "Small programs, each a text game. elicit asks a player for a text of so many tokens, "
    "reward pays it in bits: xed(s | t) is what t saves on s. "
    "Each game is a new one, related to the one before it.\n\n"
)
BETWEEN = "\n\n"
"""A blank line ends a program, in the prompt as in the grammar."""


def examples(parent: Game, scope: Sequence[Game], most: int, seed: int) -> list[Game]:
    """Games of the parent's dialect to show: the scope's first, then the library's, shuffled."""
    known = {normal_form(parent.program)}
    chosen: list[Game] = []
    for pool in (scope, _library(parent.dialect)):
        for place in stream("examples", parent.game_id, seed).permutation(len(pool)):
            each = pool[int(place)]
            if each.dialect == parent.dialect and normal_form(each.program) not in known:
                known.add(normal_form(each.program))
                chosen.append(each)
    return chosen[:most]


@cache
def _library(dialect: str) -> tuple[Game, ...]:
    whole = [e for e in entries() if e.dialect == dialect and not e.refused]
    return tuple(game(parse(entry.text, dialect)) for entry in whole)


def prompt_text(shown: Sequence[Game], parent: Game) -> str:
    """The prompt; a program is to follow it."""
    return TASK + "".join(each.code + BETWEEN for each in (*shown, parent))
