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

ASK = "your move: "
ENDS = {1: "You win.", -1: "You lose.", 0: "Nobody wins.", None: "You left the game."}
LEAVE = ("q", "quit", "exit")


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
) -> int | None:
    """Play; the result for the person (1, −1, 0), None if they left.

    ``seat``: 0 moves first. What a game says may be a stranger's: nothing of it moves the cursor.
    Raises :class:`~evo.ggbench.box.GameFaultError`.
    """

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, highlight=False, markup=False)

    def explain() -> None:
        for text in (game.rules, f"**Moves.** {game.moves}"):
            console.print(Markdown(visible_lines(text), hyperlinks=False))
            console.print()

    def move_of_person(legal: tuple[int, ...]) -> int | None:
        listed = ", ".join(map(str, legal))
        say(f"legal moves: {listed}")
        while True:
            try:
                answer = ask(ASK).strip()
            except EOFError:
                answer = LEAVE[0]
            if answer.lower() in LEAVE:
                return None
            if answer.isascii() and answer.isdecimal() and int(answer) in legal:
                return int(answer)
            if answer == "?":
                explain()
            else:
                say(f"{answer!r} is not a legal move, expected one of: {listed}")

    with Box(game) as box:
        explain()
        order = "first" if seat == 0 else "second"
        say(f"You are player {seat + 1} and move {order}. ? shows the rules again, q leaves.")
        view, moves = box.new(seed), 0
        while view.result is None:
            say(f"\n{visible_lines(view.text)}")
            if view.mover == seat:
                move = move_of_person(view.legal)
            else:
                move = box.choose(opponent, seed + moves, seconds=60.0)
                say(f"the opponent plays {move}", "bold")
            if move is None:
                break
            view, moves = box.play(move), moves + 1
    if view.result is not None:
        say(f"\n{visible_lines(view.text)}")
    result = view.result if seat == 0 or view.result is None else -view.result
    console.print(ENDS[result], style="bold")
    return result
