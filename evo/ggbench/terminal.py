"""A game against an agent on a terminal, as a new player plays it."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.markdown import Markdown

from evo.ggbench.box import Agent, Box, View
from evo.ggbench.game import Game
from xgl.errors import ConfigError

ASK = "your move: "
LEAVE = ("q", "quit", "exit")


def agent_of(name: str) -> Agent:
    """An opponent without weights: random, or mcts@N with N simulations, 100 where not said.

    Raises :class:`ConfigError`.
    """
    kind, _, simulations = name.partition("@")
    if name == "random":
        return {"kind": "random"}
    if kind == "mcts" and (simulations or "100").isdecimal() and int(simulations or 100) > 0:
        return {"kind": "search", "simulations": int(simulations or 100), "policy": None}
    raise ConfigError(f"against: found {name!r}, expected random, mcts or mcts@N, such as mcts@25")


def play(
    game: Game,
    opponent: Agent,
    seat: int,
    seed: int,
    console: Console,
    ask: Callable[[str], str] = input,
) -> int | None:
    """Play; the result for the person (1, −1, 0), None where they left.

    ``seat``: 0 moves first. Raises :class:`~evo.ggbench.answers.GameFaultError`.
    """
    console.print(Markdown(game.rules))
    console.print(Markdown(f"**Moves.** {game.moves}"))
    with Box(game) as box:
        view = box.new(seed)
        while view.result is None:
            console.print(f"\n{view.text}", highlight=False, markup=False)
            if view.mover == seat:
                move = _asked(view, console, ask)
                if move is None:
                    return None
            else:
                move = box.choose(opponent, seed + len(view.text), seconds=60.0)
                console.print(f"the opponent plays {move}", style="bold", highlight=False)
            view = box.play(move)
    console.print(f"\n{view.text}", highlight=False, markup=False)
    result = view.result if seat == 0 else -view.result
    console.print({1: "You win.", -1: "You lose.", 0: "Nobody wins."}[result], style="bold")
    return result


def _asked(view: View, console: Console, ask: Callable[[str], str]) -> int | None:
    """The person's move; None where they leave."""
    legal = ", ".join(map(str, view.legal))
    console.print(f"legal moves: {legal}  (q leaves)", highlight=False)
    while True:
        try:
            said = ask(ASK).strip()
        except (EOFError, KeyboardInterrupt):
            return None
        if said.lower() in LEAVE:
            return None
        if said.isascii() and said.isdecimal() and int(said) in view.legal:
            return int(said)
        console.print(f"{said!r} is not a legal move, expected one of: {legal}", markup=False)
