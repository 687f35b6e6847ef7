"""Prompts: to play a game, to write games, and to sort them into kinds (App. B, D). Their texts are
in ``prompt_texts``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import Template

from evo.ggbench.game import ProgramGame
from xgl.chat.client import Message

FOLDER = Path(__file__).parent / "prompt_texts"


def prompt(name: str, **texts: object) -> str:
    """The prompt of a file, with these texts in it."""
    parts = {key: str(text).strip() for key, text in texts.items()}
    return Template((FOLDER / f"{name}.md").read_text("utf-8").strip()).substitute(parts)


def request(name: str, **texts: object) -> list[Message]:
    """The prompt as the only message."""
    return [{"role": "user", "content": prompt(name, **texts)}]


def play_messages(game: ProgramGame, board: str, legal: Sequence[int]) -> list[Message]:
    """One turn: the rules and moves as the system's message, the position as the user's."""
    system = prompt("play", rules=game.rules, moves=game.moves)
    numbers = ", ".join(map(str, sorted(legal)))
    user = f"{board.strip(chr(10))}\n\n{prompt('turn', legal=numbers)}"
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def play_text(game: ProgramGame, board: str, legal: Sequence[int]) -> str:
    """The same for a model without roles; its answer begins where the text ends."""
    system, user = play_messages(game, board, legal)
    return f"{system['content']}\n\n{user['content']}\nMove: "
