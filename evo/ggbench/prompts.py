"""What models are told: of a game when they play it, and what they are asked to write (App. B)."""

from __future__ import annotations

from collections.abc import Sequence

from evo.ggbench.game import Game
from xgl.chat.client import Message

PLAY = """You are playing a game for two players. These are its rules:

{rules}

Moves are numbers. This is what they mean:

{moves}

On each of your turns you are shown the position and the numbers of the moves that are allowed. \
Choose the strongest of them."""

TURN = """{board}

Allowed moves: {legal}
Answer with the number of the move that you choose, and nothing else."""


def play_messages(game: Game, board: str, legal: Sequence[int]) -> list[Message]:
    """One turn: the rules and moves as the system's message, the position as the user's."""
    system = PLAY.format(rules=game.rules.strip(), moves=game.moves.strip())
    user = TURN.format(board=board.strip("\n"), legal=", ".join(map(str, sorted(legal))))
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def play_text(game: Game, board: str, legal: Sequence[int]) -> str:
    """The same for a model without roles; its answer begins where the text ends."""
    system, user = play_messages(game, board, legal)
    return f"{system['content']}\n\n{user['content']}\nMove: "
