"""A game against an agent on a terminal, as a new player plays it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console
from rich.markdown import Markdown

from evo.ggbench.box import Agent, Box, ProgramView
from evo.ggbench.game import ProgramGame
from xgl.errors import ConfigError
from xgl.escaping import visible_lines

ASK = "your move: "
ENDS = {1: "You win.", -1: "You lose.", 0: "Nobody wins.", None: "You left the game."}
LUCKS = (1, 2)
"""Seeds of chance for a look ahead."""
LEAVE = ("q", "quit", "exit")
HELP = "? shows the rules again, ?? what each move does, ?N the position after move N, q leaves."


def agent_of(name: str) -> Agent:
    """An opponent without weights: random, or mcts@N with N simulations, 100 where not said.

    Raises :class:`ConfigError`.
    """
    kind, _, simulations = name.partition("@")
    if name == "random":
        return {"kind": "random"}
    if kind == "mcts" and (simulations or "100").isdecimal() and int(simulations or 100) > 0:
        return {"kind": "search", "simulations": int(simulations or 100), "policy": None}
    raise ConfigError(
        f"--against: found {name!r}, expected random, mcts or mcts@N, such as mcts@25"
    )


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

    ``seat``: 0 moves first. Raises :class:`~evo.ggbench.answers.GameFaultError`.
    """
    with Box(game) as box:
        terminal = _Terminal(game, box, seed, console, ask)
        terminal.explain()
        order = "first" if seat == 0 else "second"
        console.print(f"You are player {seat + 1} and move {order}. {HELP}", highlight=False)
        result = terminal.play(opponent, seat)
    console.print(ENDS[result], style="bold")
    return result


@dataclass
class _Terminal:
    """A game under way. What a game says may be a stranger's: nothing of it moves the cursor."""

    game: ProgramGame
    box: Box
    seed: int
    console: Console
    ask: Callable[[str], str]
    moves: list[int] = field(default_factory=list)

    def explain(self) -> None:
        """The rules, and what moves mean."""
        self.console.print(Markdown(visible_lines(self.game.rules), hyperlinks=False))
        self.console.print()
        self.console.print(
            Markdown(f"**Moves.** {visible_lines(self.game.moves)}", hyperlinks=False)
        )
        self.console.print()

    def play(self, opponent: Agent, seat: int) -> int | None:
        """Play to the end; returns the result for the person's seat."""
        view = self.box.new(self.seed)
        while view.result is None:
            self._show(view)
            if view.mover == seat:
                move = self._ask_move(view)
                if move is None:
                    return None
            else:
                move = self.box.choose(opponent, self.seed + len(self.moves), seconds=60.0)
                self.console.print(f"the opponent plays {move}", style="bold", highlight=False)
            self.moves.append(move)
            view = self.box.play(move)
        self._show(view)
        return view.result if seat == 0 else -view.result

    def _show(self, view: ProgramView, style: str = "") -> None:
        text = f"\n{visible_lines(view.text)}"
        self.console.print(text, highlight=False, markup=False, style=style)

    def _ask_move(self, view: ProgramView) -> int | None:
        """The person's move; None if they leave."""
        legal = ", ".join(map(str, view.legal))
        self.console.print(f"legal moves: {legal}", highlight=False)
        while True:
            try:
                answer = self.ask(ASK).strip()
            except EOFError:
                self.console.print()
                return None
            number = answer.removeprefix("?").strip()
            if answer.lower() in LEAVE:
                return None
            if answer == "?":
                self.explain()
            elif answer == "??":
                self._compare(view)
            elif not (number.isascii() and number.isdecimal() and int(number) in view.legal):
                wrong = f"{answer!r} is not a legal move, expected one of: {legal}"
                self.console.print(wrong, markup=False, highlight=False)
            elif answer.startswith("?"):
                self._look(int(number))
            else:
                return int(number)

    def _look(self, move: int) -> None:
        """The position after a move, whose chance is not the one to come."""
        views = [self.box.peek(move, luck) for luck in LUCKS]
        self._show(views[0], style="dim")
        if views[0].text != views[1].text:
            self.console.print("dice or cards may fall otherwise", style="dim")

    def _compare(self, view: ProgramView) -> None:
        """Print the effect of each legal move: the lines of the board that this move changes, not
        every move or chance."""
        lines = {move: self._certain(move) for move in view.legal}
        known_lines = {
            *visible_lines(view.text).split("\n"),
            *set.intersection(*map(set, lines.values())),
        }
        for move in view.legal:
            new_lines = [line for line in lines[move] if line not in known_lines]
            text = "   ".join(new_lines) or "no line of its own"
            self.console.print(f"{move:3d}  {text}", highlight=False, markup=False, style="dim")

    def _certain(self, move: int) -> list[str]:
        """Lines after a move that come whatever the dice say, and whether the game ends."""
        views = [self.box.peek(move, luck) for luck in LUCKS]
        first, second = (visible_lines(view.text).split("\n") for view in views)
        ends = [] if views[0].result is None else ["the game ends"]
        return [line for line in first if line in second] + ends
