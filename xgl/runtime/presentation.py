"""The view of a player (docs/specification.md, "What a player sees"): a function of the strings it
may see, its own rewards and its own ensure outcomes only. The omniscient players see every string,
so they see every reward too.

A chat model reads it as a prompt, the same for a measured endpoint, an environment and a row of a
data set (docs/how-to/players.md); ``xgl.chat.answers`` reads the answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Self

from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.language.syntax import LIST_REGISTERS, OMNISCIENT, REGISTERS, viewers
from xgl.runtime import requests as req

STOP = "\n"
"""A move ends where a line ends."""
EARLIER, PRESENT = "earlier round", "this round"
"""Header lines of rounds in repeated play; unlike the lines of items they have no colon."""


def one_line(text: str) -> str:
    """A text as a player could say it.

    >>> one_line(" a cat\\nreward: 9")
    'a cat'
    """
    return text.strip().split(STOP)[0].strip()


class Sight:
    """The items that one player may see of a growing event log, in order.

    A value that the player already sees is not shown again, nor what a retry assigns and reveals as
    the attempt before did: repetitions would reveal another player's failed ensure. ``live``: the
    player also sees later values of a register that was revealed to it. ``token_bits``: a reward is
    shown with the bits of each token.
    """

    def __init__(self, player: str, live: bool = False, token_bits: bool = True) -> None:
        self.player, self.live, self.token_bits = player, live, token_bits
        self.items: list[req.Item] = []
        self._event_count = 0
        self._watched_names: set[str] = set()
        self.last_texts: dict[str, str] = {}
        """What the player has seen last under each label."""
        self._attempt: list[req.Item] = []
        """What was assigned and revealed to it since the elicit that ran last."""
        self._before = deque[req.Item]()
        """In a retry, what the attempt before showed and this one has not come to."""
        self._is_retry = False
        self._again: dict[str, req.Item] = {}
        """By label, what was not shown since the attempt before had shown it."""

    @classmethod
    def for_game(cls, game: Game, player: str) -> Self:
        """The sight of a player under the game's dialect and metadata."""
        return cls(player, DIALECTS[game.dialect].live_reveal, game.metadata.token_bits)

    def visible_items(self, events: Sequence[req.Event]) -> tuple[req.Item, ...]:
        """The visible items of the log; reads only the events since the last call."""
        for event in events[self._event_count :]:
            self._see(event)
        self._event_count = len(events)
        for item in self._again.values():  # a retry that asks on the way, where less has happened
            if self.last_texts[item.label] != item.text:
                self._show(item)
        self._again.clear()
        return tuple(self.items)

    def _see(self, event: req.Event) -> None:
        if isinstance(event, req.Ensured):
            self._is_retry = not event.passed
            if self._is_retry:
                self._before.extendleft(reversed(self._attempt))
                self._attempt = []
        elif isinstance(event, req.Moved) and not self._is_retry:
            self._attempt = []
            self._before.clear()
        for item in _items(event, self.player, self._watched_names, self.token_bits):
            if isinstance(event, req.Assigned | req.Revealed):
                self._attempt.append(item)
                self._again.pop(item.label, None)
                if self._before and self._before[0] == item:
                    self._again[item.label] = self._before.popleft()
                    continue
                self._before.clear()
                if self.last_texts.get(item.label) == item.text:
                    continue
            self._before.clear()
            self._show(item)
        if self.live and isinstance(event, req.Revealed) and event.player == self.player:
            self._watched_names.update(name for name, _ in event.values if name in _NAMES)

    def _show(self, item: req.Item) -> None:
        self.last_texts[item.label] = item.text
        self.items.append(item)


_NAMES = frozenset((*REGISTERS, *LIST_REGISTERS))


def _items(event: req.Event, player: str, watched: set[str], token_bits: bool) -> list[req.Item]:
    def is_seen(name: str) -> bool:
        return name in watched or player in viewers(name)

    match event:
        case req.Assigned(values):
            return [req.Item(name, text) for name, text in values if is_seen(name)]
        case req.Moved(mover, register, move) if mover == player or is_seen(register):
            return [req.Item(register, move.text, mover == player)]
        case req.Revealed(to, values) if to == player:
            return [req.Item(label, text) for label, text in values]
        case req.Ensured(by, passed, failures) if by == player and not passed:
            return [req.Item("ensure", f"failed {failures}")]
        case req.Rewarded(to) if to == player or player in OMNISCIENT:
            label = "reward" if to == player else f"reward {to}"
            return [req.Item(label, _reward_text(event, token_bits))]
    return []


def _reward_text(event: req.Rewarded, token_bits: bool) -> str:
    terms = event.terms if token_bits else ()
    per_token = "; ".join(
        " ".join(f"{sign * bit:.1f}" for bit in scores.bits) for sign, _, scores in terms
    )
    return f"{event.bits:.1f} ({per_token})" if per_token else f"{event.bits:.1f}"


def render(view: req.View) -> str:
    """The prompt of a local policy: code, one line for each visible item, the requested register.

    Items of earlier rounds come before those of this round, each round under a header line.

    >>> render(View("black", "assign(s=story())", (Item("s", "A cat."),), "t"))
    'assign(s=story())\\ns: A cat.\\nt:'
    """
    lines = [view.code]
    for items in view.earlier:
        lines += [EARLIER, *item_lines(items)]
    if view.earlier:
        lines.append(PRESENT)
    return "\n".join([*lines, *item_lines(view.items), f"{view.register}:"])


def item_lines(items: Sequence[req.Item]) -> list[str]:
    """One line for each item, whatever its text, so that none can be mistaken for another."""
    return [f"{item.label}: {' '.join(item.text.split())}" for item in items]


def token_spans(judge: req.Judge, text: str, score_count: int) -> list[str]:
    """The parts of a text that its judge tokens cover; the last ``score_count`` have scores. Where
    the tokens do not cover the text, it is cut into ``score_count`` parts of equal length."""
    ends = [len(judge.first_tokens(text, count)) for count in range(judge.count(text) + 1)]
    spans = [text[start:end] for start, end in pairwise(ends)]
    if len(spans) >= score_count and all(spans) and "".join(spans) == text:
        return spans
    marks = [round(k * len(text) / max(score_count, 1)) for k in range(score_count + 1)]
    return [text[start:end] for start, end in pairwise(marks)]


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


def first_messages(request: req.MoveRequest, later: Sequence[Ask] = ()) -> list[Message]:
    """The rules and the player's view, and nothing else of the game. ``later``: the moves that
    the same answer must hold after the one requested."""
    return [
        {"role": "system", "content": RULES},
        {"role": "user", "content": view_text(request.view, request.max_len, later)},
    ]


def view_text(view: req.View, limit: int, later: Sequence[Ask] = ()) -> str:
    """A view as text: the program, one line for each visible item, and the request; items of
    earlier rounds, the oldest first, come before those of this one."""
    lines = ["The program:", view.code, ""]
    if view.earlier:
        lines += [AGAIN, ""]
    for ago, items in zip(range(len(view.earlier), 0, -1), view.earlier, strict=True):
        when = "in the round" if ago == 1 else f"{ago} rounds"
        lines += [f"What you saw {when} before:", *item_lines(items), ""]
    seen = "What you have seen in this round:" if view.earlier else "What you have seen:"
    lines += [seen, *item_lines(view.items)] if view.items else ["You have seen nothing yet."]
    return "\n".join([*lines, "", _request(view, [(view.register, limit), *later])])


def news_text(view: req.View, item_count: int, limit: int) -> str:
    """The next message of a conversation that has shown ``item_count`` items of the view."""
    news = item_lines(view.items[item_count:])
    lines = ["What you have seen since:", *news] if news else ["You have seen nothing new."]
    return "\n".join([*lines, "", _request(view, [(view.register, limit)])])


def _request(view: req.View, asks: Sequence[Ask]) -> str:
    moves = ", then ".join(f"{register}, at most {limit} tokens" for register, limit in asks)
    form = ", as" if len(asks) == 1 else f": {len(asks)} moves in this order, each as"
    return f"You are {view.player}. Write {moves}{form} <move>...</move>."
