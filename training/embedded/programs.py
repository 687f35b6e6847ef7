"""Random headers of the small game language, as a player is shown them, for training documents.

The family covers what a default run shows: stories into registers, optional rules, elicits, sums of
scores. Names are canonical: s t x y s1 t1 x1 y1 in order of first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

POOL = ("s", "t", "x", "y", "s1", "t1", "x1", "y1")
Move = Literal["words", "new", "quote"]
"""What answers an elicit: words about a story, words that no story has, a part of a story."""
MEASURES = ("xed", "xed", "xed", "nex", "dex", "xent")
NEW_SHARE, CUT_SHARE = 0.35, 0.08
"""Shares of programs that forbid the stories' words, and that cut a story."""


@dataclass(frozen=True)
class Header:
    """A program's text, the registers that hold stories, and those to be played, in order, each
    with the kind of its move."""

    text: str
    stories: tuple[str, ...]
    moves: tuple[tuple[str, Move], ...]


def _term(rng: Random, targets: list[str], conditions: list[str]) -> str:
    measure = rng.choice(MEASURES)
    if measure in ("nex", "xent") and rng.random() < 0.4:
        return f"{measure}({rng.choice(targets + conditions)})"
    first, second = rng.choice(targets), rng.choice(conditions)
    if rng.random() < 0.15:
        first, second = second, first
    return f"{measure}({first} | {second})"


def reward(rng: Random, stories: list[str], moves: list[str]) -> str:
    """A sum or difference of one to three terms over stories given moves."""
    count = rng.choice((1, 1, 2, 2, 2, 3))
    terms = [_term(rng, stories, moves) for _ in range(count)]
    text = terms[0] if rng.random() < 0.9 else f"-{terms[0]}"
    for term in terms[1:]:
        text += f" {rng.choice('+-')} {term}"
    return f"reward({text})"


def comparison(rng: Random, stories: Sequence[str], moves: Sequence[str]) -> str:
    """A condition on the bits that what is played saves."""
    story, move = rng.choice(stories), rng.choice(moves)
    return f"ensure(xed({story} | {move}) >= xed({rng.choice(stories)} | {move}))"


def no_common_words(rng: Random, stories: Sequence[str], move: str) -> str:
    """The papers' rule, over all stories and `move`, in the orders and spacings they print."""
    texts = " + ".join(stories)
    sides = rng.choice(((texts, move), (move, texts)))
    return rng.choice(
        (
            f'ensure("no common words between" + {sides[0]} + "&" + {sides[1]})',
            f'ensure("no common words between" + {sides[0]} + "&" + {sides[1]})',
            f'ensure("no common words between " + {sides[0]} + " and " + {sides[1]})',
        )
    )


def header(rng: Random, stories: int) -> Header:
    """A random program with `stories` story registers and one or two elicits."""
    story_names = list(POOL[:stories])
    if rng.random() < CUT_SHARE:
        return _split_header(rng, story_names)
    moves = list(POOL[stories : stories + rng.choice((1, 1, 1, 1, 2))])
    lines = [_assignment(rng, story_names)]
    kind: Move = "new" if rng.random() < NEW_SHARE else "words"
    for position, name in enumerate(moves):
        lines.append(f"elicit({name}, {rng.randint(4, 12)})")
        if kind == "new":
            lines.append(no_common_words(rng, story_names, name))
        elif rng.random() < 0.04:
            lines.append(comparison(rng, story_names, moves[: position + 1]))
    for _ in range(rng.choice((1, 1, 1, 1, 2))):
        lines.append(reward(rng, story_names, moves))
    return Header(
        "\n".join(lines) + "\n", tuple(story_names), tuple((name, kind) for name in moves)
    )


def _assignment(rng: Random, names: Sequence[str]) -> str:
    if len(names) > 1 and rng.random() < 0.15:
        return "\n".join(f"assign({name}=story())" for name in names)
    return f"assign({', '.join(f'{name}=story()' for name in names)})"


def _split_header(rng: Random, names: list[str]) -> Header:
    """A story is cut where the move stands in it, and the parts are scored."""
    move, before, after = POOL[len(names) : len(names) + 3]
    story = rng.choice(names)
    lines = [
        _assignment(rng, names),
        f"elicit({move}, {rng.randint(4, 12)})",
        f"assign({before}={story} // {move}, {after}={story} % {move})",
        reward(rng, [before, after], [after, before, move]),
    ]
    return Header("\n".join(lines) + "\n", tuple(names), ((move, "quote"),))
