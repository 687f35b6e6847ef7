"""What a chat model is told and how its answer is read, for all who play: a measured endpoint, an
environment, a row of a data set (docs/players.md)."""

from __future__ import annotations

import re

from xgl.runtime.presentation import item_lines
from xgl.runtime.requests import MoveRequest, View

Message = dict[str, str]
"""``role`` (system, user, assistant) and ``content``."""

RULES = """\
You play a game that is written as a short program in XGL, a language of text games. Its lines
run from top to bottom. assign stores texts in registers. elicit asks a player for a text.
ensure must hold, else the player is asked again; too many failures lose the game. reveal shows
texts to a player. replay goes back to a beacon. reward pays a player a sum of cross-entropies, in
bits, under a language model, the judge: xent(s | t) is how much s surprises the judge after t,
xed(s | t) = xent(s) - xent(s | t) is how much t helps to predict s, nex = -xent, dex = -xed. In
texts, + joins, s // t is what stands before the first t in s, s % t what stands after it. black,
white and env see all registers; the other players see the registers a, b and p, what they wrote
themselves and what is revealed to them. Where no player is named, black is meant. What one of
black and white gains the other loses.

You are shown the program and, in order, all that you may see: texts of registers, your rewards
in bits with the share of each token in brackets, and how often you have failed an ensure. Make
your own total reward as large as you can.

Think first if you like, then write your move between <move> and </move>. A move is one line of
at most {limit} tokens; what goes beyond is cut. If there are several, the last one counts.
Example of the form: <move>a few words</move>"""

AGAIN = (
    "You have played this game before. Learn from the rewards of earlier rounds: your best "
    "round counts."
)
_PAIR = re.compile(r"<move>((?:(?!</?move>).)*)</move>", re.DOTALL | re.IGNORECASE)
OPENED = re.compile(r"<move>", re.IGNORECASE)


def first_messages(request: MoveRequest) -> list[Message]:
    """The rules and the player's view, and nothing else of the game."""
    return [
        {"role": "system", "content": RULES.format(limit=request.max_len)},
        {"role": "user", "content": view_text(request.view, request.max_len)},
    ]


def view_text(view: View, limit: int) -> str:
    """A view as text: the program, one line for each visible item, and the request; items of
    earlier rounds, the oldest first, come before those of this one."""
    items = item_lines(view.items)
    earlier = [
        line
        for ago, seen in zip(range(len(view.earlier), 0, -1), view.earlier, strict=True)
        for line in (f"What you saw {_ago(ago)}:", *item_lines(seen), "")
    ]
    return "\n".join(
        [
            "The program:",
            view.code,
            "",
            *([AGAIN, "", *earlier] if earlier else []),
            ("What you have seen in this round:" if earlier else "What you have seen:")
            if items
            else "You have seen nothing yet.",
            *items,
            "",
            f"You are {view.player}. Write {view.register}, at most {limit} tokens, as "
            "<move>...</move>.",
        ]
    )


def _ago(rounds: int) -> str:
    return "in the round before" if rounds == 1 else f"{rounds} rounds before"


def parse_move(text: str) -> str | None:
    """The text of the last pair of tags that holds no other tag; None where there is no pair.

    Tags are found in any case. A move is one line: a local policy's ends at the first line break,
    a chat model's line breaks become spaces, since it may well write the tags on lines of their
    own.

    >>> parse_move("hm, <move>cats</move> or rather <MOVE>\\n two dogs\\n</MOVE>.")
    'two dogs'
    """
    pairs = _PAIR.findall(text)
    if not pairs:
        return None
    return " ".join(line.strip() for line in pairs[-1].strip().splitlines())
