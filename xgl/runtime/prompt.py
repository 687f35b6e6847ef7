"""The prompt of a chat model, the same for a measured endpoint, an environment and a row of a data
set (docs/how-to/players.md); its answer is read by ``xgl.chat.answers``."""

from __future__ import annotations

from collections.abc import Sequence

from xgl.runtime.presentation import item_lines
from xgl.runtime.requests import MoveRequest, View

Message = dict[str, str]
"""``role`` (system, user, assistant) and ``content``."""
Ask = tuple[str, int]
"""A register to write, and the limit of the move in judge tokens."""

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

Think first if you like, then write your move between <move> and </move>. A move is one line; what
goes beyond its limit of tokens is cut. If you write more moves than you are asked for, the last
ones count. Example of the form: <move>a few words</move>"""

AGAIN = (
    "You have played this game before. Learn from the rewards of earlier rounds: your best "
    "round counts."
)


def first_messages(request: MoveRequest, later: Sequence[Ask] = ()) -> list[Message]:
    """The rules and the player's view, and nothing else of the game. ``later``: the moves that
    the same answer must hold after the one requested."""
    return [
        {"role": "system", "content": RULES},
        {"role": "user", "content": view_text(request.view, request.max_len, later)},
    ]


def view_text(view: View, limit: int, later: Sequence[Ask] = ()) -> str:
    """A view as text: the program, one line for each visible item, and the request; items of
    earlier rounds, the oldest first, come before those of this one."""
    items = item_lines(view.items)
    earlier = [
        line
        for ago, round_items in zip(range(len(view.earlier), 0, -1), view.earlier, strict=True)
        for line in (f"What you saw {_ago(ago)}:", *item_lines(round_items), "")
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
            f"You are {view.player}. {_request([(view.register, limit), *later])}",
        ]
    )


def news_text(view: View, item_count: int, limit: int) -> str:
    """The next message of a conversation that has shown ``item_count`` items of the view."""
    news = item_lines(view.items[item_count:])
    lines = ["What you have seen since:", *news] if news else ["You have seen nothing new."]
    return "\n".join([*lines, "", f"You are {view.player}. {_request([(view.register, limit)])}"])


def _request(asks: Sequence[Ask]) -> str:
    moves = ", then ".join(f"{register}, at most {limit} tokens" for register, limit in asks)
    if len(asks) == 1:
        return f"Write {moves}, as <move>...</move>."
    return f"Write {moves}: {len(asks)} moves in this order, each as <move>...</move>."


def _ago(rounds: int) -> str:
    return "in the round before" if rounds == 1 else f"{rounds} rounds before"
