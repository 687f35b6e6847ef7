"""A game against an agent on a terminal, as a new player plays it."""

from __future__ import annotations

import sys
from collections.abc import Callable

from rich.console import Console
from rich.markdown import Markdown

from evo.ggbench.box import OPTIMAL, Agent, Box, agent_named
from evo.ggbench.game import ProgramGame
from xgl.errors import ConfigError
from xgl.escaping import visible_lines

ENDS = {1: "You win.", -1: "You lose.", 0: "Nobody wins.", None: "You left the game."}


def agent_of(name: str) -> Agent:
    """An opponent without weights. Raises :class:`ConfigError`."""
    agent = agent_named(name)
    if agent is None or name == OPTIMAL:
        expected = "random, mcts or mcts@N, such as mcts@25"
        raise ConfigError(f"--against: found {name!r}, expected {expected}")
    return agent


def answer_of_person(prompt: str) -> str:
    """A line of the keyboard, or of a file, where it would not be seen otherwise.

    Raises :class:`EOFError`.
    """
    if sys.stdin is None:
        raise EOFError
    try:
        answer = input(prompt)
    except UnicodeDecodeError:
        return "what is no text"
    if not sys.stdin.isatty():
        print(answer)
    return answer


def play(
    game: ProgramGame,
    opponent: Agent,
    seat: int,
    seed: int,
    console: Console,
    ask: Callable[[str], str] = answer_of_person,
) -> None:
    """Play; ``seat``: 0 moves first. What a game says may be a stranger's: nothing of it moves the
    cursor. Raises :class:`~evo.ggbench.box.GameFaultError`."""

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    with Box(game) as box:
        for text in (game.rules, f"**Moves.** {game.moves}"):
            console.print(Markdown(visible_lines(text), hyperlinks=False))
        order = "first" if seat == 0 else "second"
        say(f"\nYou are player {seat + 1} and move {order}. q leaves.")
        view, moves = box.new(seed), 0
        while view.result is None:
            say(f"\n{visible_lines(view.text)}")
            if view.mover == seat:
                move = _answer(view.legal, say, ask)
            else:
                move = box.choose(opponent, seed + moves, seconds=60.0)
                say(f"the opponent plays {move}")
            if move is None:
                say(ENDS[None])
                return
            view, moves = box.play(move), moves + 1
    say(f"\n{visible_lines(view.text)}")
    say(ENDS[view.result if seat == 0 else -view.result])


def _answer(
    legal: tuple[int, ...], say: Callable[[str], None], ask: Callable[[str], str]
) -> int | None:
    """A person's legal move; None: they leave."""
    listed = ", ".join(map(str, legal))
    say(f"legal moves: {listed}")
    while True:
        try:
            answer = ask("your move: ").strip()
        except EOFError:
            return None
        if answer.lower() in ("q", "quit", "exit"):
            return None
        if answer.isascii() and answer.isdecimal() and int(answer) in legal:
            return int(answer)
        say(f"{answer!r} is not a legal move, expected one of: {listed}")
