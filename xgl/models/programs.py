"""Random headers of the small game language, as a player is shown them, for training documents.

The family covers what a default run shows: stories into registers, optional rules, elicits, sums of
scores. Names are canonical: s t x y s1 t1 x1 y1 in order of first use.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

POOL = ("s", "t", "x", "y", "s1", "t1", "x1", "y1")
MEASURES = ("xed", "xed", "xed", "nex", "dex", "xent")


@dataclass(frozen=True)
class Header:
    """A program's text, the registers that hold stories, and those to be played, in order."""

    text: str
    stories: tuple[str, ...]
    moves: tuple[str, ...]


def _term(rng: Random, scored: list[str], given: list[str]) -> str:
    measure = rng.choice(MEASURES)
    if measure in ("nex", "xent") and rng.random() < 0.4:
        return f"{measure}({rng.choice(scored + given)})"
    left, right = rng.choice(scored), rng.choice(given)
    if rng.random() < 0.15:
        left, right = right, left
    return f"{measure}({left} | {right})"


def reward(rng: Random, stories: list[str], moves: list[str]) -> str:
    """A sum or difference of one to three terms over stories given moves."""
    count = rng.choice((1, 1, 2, 2, 2, 3))
    terms = [_term(rng, stories, moves) for _ in range(count)]
    text = terms[0] if rng.random() < 0.9 else f"-{terms[0]}"
    for term in terms[1:]:
        text += f" {rng.choice('+-')} {term}"
    return f"reward({text})"


def rule(rng: Random, stories: list[str], moves: list[str]) -> str:
    """A condition on what is played, as a statement or as an inequality."""
    story, move = rng.choice(stories), rng.choice(moves)
    return rng.choice(
        (
            f'ensure("no common words between" + {story} + "&" + {move})',
            f'ensure("no common words between" + {move} + "&" + {story})',
            f'ensure("no common words between " + {move} + " and " + {story})',
            f"ensure(xed({story} | {move}) >= xed({rng.choice(stories)} | {move}))",
        )
    )


def header(rng: Random, stories: int) -> Header:
    """A random program with `stories` story registers and one or two elicits."""
    held = list(POOL[:stories])
    played = list(POOL[stories : stories + rng.choice((1, 1, 1, 1, 2))])
    assigns = ", ".join(f"{name}=story()" for name in held)
    lines = [f"assign({assigns})"]
    if stories > 1 and rng.random() < 0.15:
        lines = [f"assign({name}=story())" for name in held]
    for position, name in enumerate(played):
        lines.append(f"elicit({name}, {rng.randint(4, 12)})")
        if rng.random() < 0.12:
            lines.append(rule(rng, held, played[: position + 1]))
    for _ in range(rng.choice((1, 1, 1, 1, 2))):
        lines.append(reward(rng, held, played))
    return Header("\n".join(lines) + "\n", tuple(held), tuple(played))
