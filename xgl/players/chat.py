"""A chat model behind an OpenAI-compatible endpoint as player (docs/players.md): its prompt, and
the move taken from its answer."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from xgl.chat.accounting import Usage
from xgl.chat.calls import RequestBatch, UsageCounter, run
from xgl.chat.client import Endpoint, Fault, Message, Reply, follow_up
from xgl.chat.settings import ChatSettings
from xgl.errors import OversizeError
from xgl.runtime.presentation import item_lines
from xgl.runtime.requests import Move, MoveRequest, Turn, View

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
_OPENED = re.compile(r"<move>", re.IGNORECASE)


class ChatPlayer:
    """Asks ``settings.model`` for moves, several turns at once; ``usage`` adds up the requests.

    The key is read from the environment at each call and kept nowhere.
    """

    def __init__(self, settings: ChatSettings) -> None:
        self.settings = settings
        self.meter = UsageCounter()

    @property
    def usage(self) -> Usage:
        """Requests, tokens and dollars so far."""
        return self.meter.usage

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """One move a turn, in the order asked; an error value where a view is too long.

        A model that gives no move even when asked again has made a failed attempt: its move is
        empty, and the game goes on from there (an ensure may send it back as any other move).

        Raises :class:`~xgl.errors.PlayerError` where the endpoint refuses or stays silent after all
        retries, and :class:`~xgl.errors.BudgetError` where the budget is spent: a fault of the
        network is never a lost game. The first of these ends the batch.
        """
        return run(self._batch(turns)) if turns else []

    async def _batch(self, turns: list[Turn]) -> list[Move | OversizeError]:
        async with Endpoint(self.settings) as endpoint:
            batch = RequestBatch(self.settings, endpoint, self.meter)
            return await batch.gather(partial(self._move, batch, turn) for turn in turns)

    async def _move(self, batch: RequestBatch, turn: Turn) -> Move | OversizeError:
        """A view too long for the endpoint loses its oldest rounds, a quarter at a time."""
        rounds = len(turn.request.view.earlier)
        while True:
            view = turn.request.view.latest(rounds)
            shortened = replace(turn, request=replace(turn.request, view=view))
            move = await self._attempt(batch, shortened)
            if isinstance(move, Move):
                return replace(move, rounds_shown=rounds)
            if not rounds:
                return move
            rounds -= max(1, rounds // 4)

    async def _attempt(self, batch: RequestBatch, turn: Turn) -> Move | OversizeError:
        messages = first_messages(turn.request)
        spent = Usage()
        for attempt in range(1 + self.settings.ask_again):
            reply, cost = await batch.reply(messages, *turn.key, attempt, asked_again=attempt > 0)
            spent += cost
            if isinstance(reply, Fault):
                if attempt == 0:
                    return OversizeError(reply.message)
                break  # the view fits, its lengthened conversation does not
            text = parse_move(reply.text)
            if text is not None:
                return Move(text, prompt_tokens=spent.prompt_tokens, new_tokens=spent.new_tokens)
            messages = ask_again(messages, reply)
        self.meter.count(Usage(failed_attempts=1))
        return Move("", prompt_tokens=spent.prompt_tokens, new_tokens=spent.new_tokens)


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


def ask_again(messages: list[Message], reply: Reply) -> list[Message]:
    """The conversation so far, the answer without a move, and what was missing in it."""
    return follow_up(messages, reply, _missing(reply))


def _missing(reply: Reply) -> str:
    wanted = "Write your move between <move> and </move>."
    if reply.cut:
        return f"Your answer reached its limit before it held a move; be brief. {wanted}"
    if _OPENED.search(reply.text):
        return f"Your answer opened <move> and did not close it with </move>. {wanted}"
    return f"Your answer held no <move>...</move>. {wanted}"


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
