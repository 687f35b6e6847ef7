"""The players' colours (paper §2.5.1) and the strokes of string operations (§2.5.5)."""

from __future__ import annotations

from typing import NamedTuple


class Colours(NamedTuple):
    """A player's positive and negative colour, and the colour of text on the positive one."""

    positive: str
    negative: str
    text: str = "white"


PLAYERS: dict[str, Colours] = {
    "black": Colours("black", "white"),
    "white": Colours("white", "black", "black"),
    "alice": Colours("red", "cyan"),
    "bob": Colours("green", "magenta"),
    "carol": Colours("blue", "yellow"),
    "david": Colours("purple", "olive"),
    "env": Colours("gray", "lightgray"),  # the paper gives env no colour
}
INK = "#222"
FAINT = "#8a8f98"
SUBDUED = "#555b66"
PAPER = "white"
STROKES = ("", "7 3", "10 3 2 3", "3 3")
"""Dashes that distinguish the string operations of one line."""
CARRY = "1.5 4"
"""Dotted: carries a value from its node to where it is used."""


def outline(player: str) -> str:
    """The colour of a player's frames: its own, or grey where that is white."""
    return FAINT if player == "white" else PLAYERS[player].positive


def triangle(player: str, kind: str, sign: int) -> tuple[str, str]:
    """Fill and dot (empty: none) of a xent symbol awarded to ``player`` with ``sign`` (§2.5.2).

    >>> triangle("black", "xent", 1), triangle("black", "xed", 1), triangle("white", "nex", 1)
    (('black', ''), ('white', 'black'), ('black', ''))
    """
    colours = PLAYERS[player]
    grows = (kind in ("xent", "dex")) == (sign > 0)
    fill, other = colours.positive, colours.negative
    if not grows:
        fill, other = other, fill
    return fill, other if kind in ("xed", "dex") else ""
