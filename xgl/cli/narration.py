"""What one player may learn of a game's events (docs/specification.md, "What a player sees").

An event holds what happened; the narrator also has the line that made it, and from this the text
behind a number and whether this player may see that text. The screen displays it in the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.panel import Panel
from rich.text import Text as Styled

from xgl.console import Console
from xgl.errors import OversizeError
from xgl.escaping import printable
from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import expression_text
from xgl.language.visitors import children, find, reads
from xgl.runtime.presentation import Sight, token_spans
from xgl.runtime.requests import Assigned, Ensured, Event, Item, Judge, Moved, Rewarded, View
from xgl.runtime.values import Text, Values


class Term(NamedTuple):
    """One xent of a reward: its bits for each token, signed as they count for the player."""

    label: str
    """The term as the program writes it."""
    bits: tuple[float, ...]
    text: str | None
    """The scored text; None if the player may not see it, or a helper function made it."""


class Narrator:
    """Tells one game to ``player``; feed it the events in their order, each once."""

    def __init__(self, game: Game, player: str) -> None:
        self.game, self.player = game, player
        self.registers = dict.fromkeys(syn.REGISTERS, "") | game.metadata.constants
        self.given = {k: v for k, v in self.registers.items() if player in syn.viewers(k)}
        self.history: list[Event] = []
        self.sight = Sight.for_game(game, player)

    def tell(
        self, log: Iterable[tuple[int, Event]]
    ) -> Iterator[tuple[int, Event, list[Item], list[Term]]]:
        """Each event that the player learns of, with the position of the line that made it, as in
        ``log``, what the player sees of it, and the terms of a reward of its own."""
        for position, event in log:
            line, seen = self.game.program.instructions[position], len(self.sight.items)
            if isinstance(event, Assigned):
                self.registers |= dict(event.values)
            elif isinstance(event, Moved):
                self.registers[event.register] = event.move.text
            own = isinstance(event, Rewarded) and event.player == self.player
            terms = list(self._terms(line, event)) if own else []  # type: ignore[arg-type]
            self.history.append(event)
            self.sight.visible_items(self.history)
            if items := self.sight.items[seen:]:
                yield position, event, items, terms

    def _terms(self, line: syn.Instruction, event: Rewarded) -> Iterator[Term]:
        """The line's xents with their bits; numbers for a text that is hidden, never the text."""
        for xent, (sign, _, scores) in zip(find(line, syn.Xent), event.terms, strict=True):
            label = ("" if sign > 0 else "−") + expression_text(xent)
            yield Term(label, tuple(sign * bit for bit in scores.bits), self._target_text(xent))

    def _target_text(self, xent: syn.Xent) -> str | None:
        """The text behind a number, where the player may see it and the registers hold it: that of
        a random draw does not follow from them."""
        for name in reads(xent.target):
            seen = self.sight.last_texts.get(name, self.given.get(name))
            if seen is None or seen != self.registers.get(name):
                return None
        values = Values(DIALECTS[self.game.dialect], self.game.metadata)
        for name, text in self.registers.items():
            items = tuple(map(Text, json.loads(text))) if name in syn.LIST_REGISTERS else None
            values.store(name, Text(text) if items is None else items)
        try:
            return str(values.plain(xent.target))
        except (KeyError, OversizeError):  # KeyError: of a story or a random draw
            return None


COLOURED = 0.5
"""Least bits for which a token of a reward has a colour: green for a gain, red for a loss."""


class Screen:
    """Prints a game as one player may see it."""

    def __init__(self, console: Console, judge: Judge, game: Game) -> None:
        self.console, self.judge, self.game = console, judge, game

    def open(self, title: str, who: str) -> None:
        """Print the game; ``who``: who plays which role, as a clause."""
        self.console.print(Panel(Styled(self.game.shown), title=title or None, title_align="left"))
        self.say(f"{printable(who)}. A higher score is better; it is counted in bits.", "dim")

    def say(self, text: str, style: str = "") -> None:
        self.console.print(Styled(text, style=style))

    def show(
        self, position: int, event: Event, items: Sequence[Item], terms: Sequence[Term]
    ) -> None:
        """Print what a :class:`Narrator` tells."""
        match event:
            case Rewarded(player, bits):
                amount = f"{signed_text(bits)} bits", "bold green" if bits >= 0 else "bold red"
                self.console.print(Styled.assemble((f"reward {player}: ", "bold"), amount))
                for term in terms if self.game.metadata.token_bits else ():
                    self._term(term)
            case Ensured(_, _, failures):
                lines = self.game.program.instructions
                above = len(self.game.shown.splitlines()) - len(lines)
                line = above + position + 1  # of the program as it was printed
                self.say(f"This does not hold (line {line}):", "bold red")
                for condition in children(lines[position]):
                    self.say(f"  {printable(expression_text(condition))}", "red")
                left = self.game.metadata.max_failures - failures
                loops = find(self.game.program, syn.Replay)  # it may have asked on the way before
                asked = loops or any(isinstance(each, syn.Elicit) for each in lines[:position])
                if left >= 0 and asked:
                    self.say(f"Try again; failures left before a forfeit: {left}.", "red")
            case _:
                who = f" ({event.player})" if isinstance(event, Moved) else ""
                for item in items:
                    label = f"{item.label}{who}: ", "bold"
                    self.console.print(Styled.assemble(label, printable(item.text)))

    def _term(self, term: Term) -> None:
        """Print a term and its text, whose tokens are coloured; of a hidden text the numbers."""
        total = f"  {term.label} = {signed_text(sum(term.bits))}"
        if term.text is None:
            numbers = " ".join(map(signed_text, term.bits))
            self.say(f"{total}, of a text that is not shown: {numbers}")
            return
        line, pieces = Styled(f"{total}: "), token_spans(self.judge, term.text, len(term.bits))
        unscored = [0.0] * (len(pieces) - len(term.bits))
        for piece, bits in zip(pieces, [*unscored, *term.bits], strict=True):
            colour = "green" if bits > 0 else "red"
            line.append(printable(piece), colour if abs(bits) >= COLOURED else "")
        self.console.print(line)

    def ask(self, view: View, max_len: int) -> str:
        """Raises EOFError when there is no more input."""
        self.say(f"{view.player}, write {view.register} (at most {max_len} tokens):", "bold")
        # readline must know what stands on its line; with --json standard output is not ours
        return input("" if self.console.stderr else "> ")


def signed_text(bits: float) -> str:
    """Bits with one digit and their sign; a value that rounds to 0 is +0.0."""
    return f"{round(bits, 1) + 0.0:+.1f}"
