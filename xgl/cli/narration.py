"""What one player may learn of a game's events (docs/specification.md, "What a player sees").

An event holds what happened; the narrator also has the line that made it, and from this the text
behind a number and whether this player may see that text.

The display of these notices in the terminal stands below.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.panel import Panel
from rich.text import Text as Styled

from xgl.diagram.svg import cells
from xgl.errors import OversizeError
from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import expression_text
from xgl.language.visitors import children, find, reads
from xgl.runtime.presentation import Sight, token_spans
from xgl.runtime.requests import Assigned, Ensured, Event, Item, Judge, Moved, Rewarded, View
from xgl.runtime.values import MissingError, Text, Values


class ShownText(NamedTuple):
    """A string that the player may see."""

    item: Item
    mover: str = ""
    """The player that wrote it; empty if it is no move."""


class Term(NamedTuple):
    """One xent of a reward: its bits for each token, signed as they count for the player."""

    label: str
    """The term as the program writes it."""
    bits: tuple[float, ...]
    text: str | None
    """The scored text; None if the player may not see it, or a helper function made it."""


class PaidReward(NamedTuple):
    """A reward; its terms where it is the player's own."""

    player: str
    bits: float
    terms: tuple[Term, ...]


class FailedEnsure(NamedTuple):
    """A failed ensure of the player's own: its line and conditions, and the failures left."""

    line: int
    conditions: tuple[str, ...]
    remaining: int


Notice = ShownText | PaidReward | FailedEnsure


class Narrator:
    """Narrates one game to ``player``; feed it the events in their order, each once."""

    def __init__(self, game: Game, player: str) -> None:
        self.game, self.player = game, player
        self.registers = dict.fromkeys(syn.REGISTERS, "") | game.metadata.constants
        self.given = {k: v for k, v in self.registers.items() if player in syn.viewers(k)}
        self.history: list[Event] = []
        self.sight = Sight.for_game(game, player)
        self.shown_count = 0

    def notices(self, log: Iterable[tuple[int, Event]]) -> Iterator[Notice]:
        """The notices of these events for the player; each event has the position of its line."""
        for position, event in log:
            line = self.game.program.instructions[position]
            match event:
                case Assigned(values):
                    self.registers |= dict(values)
                case Moved(_, register, move):
                    self.registers[register] = move.text
                case Rewarded(to, bits) if to == self.player:
                    yield PaidReward(to, bits, tuple(self._terms(line, event)))
                case Rewarded(to, bits) if self.player in syn.OMNISCIENT:
                    yield PaidReward(to, bits, ())
                case Ensured(by, False, failures) if by == self.player:
                    left = self.game.metadata.max_failures - failures
                    conditions = tuple(map(expression_text, children(line)))
                    yield FailedEnsure(position + 1, conditions, left)
            if not isinstance(event, Rewarded | Ensured):
                self.history.append(event)
                self.sight.visible_items(self.history)
                mover = event.player if isinstance(event, Moved) else ""
                yield from (ShownText(item, mover) for item in self.sight.items[self.shown_count :])
                self.shown_count = len(self.sight.items)

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
        except (MissingError, OversizeError):
            return None


GAIN, LOSS = " ▁▂▃▄▅▆▇█", " ░░░▒▒▒▓▓"
"""Nine heights of a bar for a token, from none to full."""
LEAST_FULL = 1.0
"""The bars of a reward are scaled to its largest token, or to this many bits."""


class Screen:
    """Prints a game as one player may see it."""

    def __init__(self, console: Console, judge: Judge) -> None:
        self.console, self.judge = console, judge

    def open(self, game: Game, title: str, who: str) -> None:
        """Print the game; ``who``: who plays which role, as a clause."""
        self.console.print(Panel(Styled(game.shown), title=title or None, title_align="left"))
        self.say(f"{printable(who)}. A higher score is better; it is counted in bits.", "dim")

    def say(self, text: str, style: str = "") -> None:
        self.console.print(Styled(text, style=style))

    def show(self, notice: Notice) -> None:
        match notice:
            case ShownText(item, mover):
                who = f" ({mover})" if mover else ""
                self.console.print(
                    Styled.assemble((f"{item.label}{who}: ", "bold"), printable(item.text))
                )
            case PaidReward(player, bits, terms):
                amount = f"{signed_text(bits)} bits", "bold green" if bits >= 0 else "bold red"
                self.console.print(Styled.assemble((f"reward {player}: ", "bold"), amount))
                full = max([LEAST_FULL, *(abs(bit) for term in terms for bit in term.bits)])
                if terms:
                    self.say(f"  (blocks gain, shades lose; a full bar is {full:.1f} bits)", "dim")
                for term in terms:
                    self._term(term, full)
            case FailedEnsure(line, conditions, remaining):
                self.say(f"This does not hold (line {line}):", "bold red")
                for condition in conditions:
                    self.say(f"  {printable(condition)}", "red")
                if remaining >= 0:
                    self.say(f"Try again; failures left before a forfeit: {remaining}.", "red")

    def _term(self, term: Term, full: float) -> None:
        """Print the text and beneath it the strip; for a hidden text the strip and its numbers."""
        total = f"  {term.label} = {signed_text(sum(term.bits))}"
        if term.text is None:
            self.say(f"{total}, of a text that is not shown:")
            pieces: Sequence[str] = [f"{signed_text(bit)} " for bit in term.bits]
        else:
            self.say(total)
            pieces = token_spans(self.judge, term.text, len(term.bits))
        unscored_pieces = [(piece, None) for piece in pieces[: len(pieces) - len(term.bits)]]
        scored_pieces = list(zip(pieces[len(unscored_pieces) :], term.bits, strict=True))
        for row in _rows([*unscored_pieces, *scored_pieces], max(20, self.console.width - 6)):
            self.console.print(Styled("    " + "".join(text for text, _ in row)))
            self.console.print(Styled("    ").append_text(strip(row, full)))

    def ask(self, view: View, max_len: int) -> str:
        """Raises EOFError when there is no more input."""
        self.say(f"{view.player}, write {view.register} (at most {max_len} tokens):", "bold")
        # readline must know what stands on its line; with --json standard output is not ours
        return input("" if self.console.stderr else "> ")


def strip(pieces: Sequence[tuple[str, float | None]], full: float) -> Styled:
    """A bar under each token, as wide as it; ``full`` bits are the highest bar."""
    line = Styled()
    for text, bits in pieces:
        width = max(1, cells(text))
        if bits is None:
            line.append(" " * width)
            continue
        levels, colour = (GAIN, "green") if bits >= 0 else (LOSS, "red")
        level = min(len(levels) - 1, round(abs(bits) / full * len(levels)))
        line.append(levels[level] * width, colour)
    return line


def _rows(
    pieces: Sequence[tuple[str, float | None]], width: int
) -> Iterator[list[tuple[str, float | None]]]:
    """Tokens in rows that fit; line breaks inside a token are shown as spaces."""
    row: list[tuple[str, float | None]] = []
    row_width = 0
    for text, bits in pieces:
        piece = printable(text)
        if row and row_width + cells(piece) > width:
            yield row
            row, row_width = [], 0
        row.append((piece, bits))
        row_width += cells(piece)
    if row:
        yield row


def signed_text(bits: float) -> str:
    """Bits with one digit and their sign; a value that rounds to 0 is +0.0."""
    return f"{round(bits, 1) + 0.0:+.1f}"


def printable(text: str) -> str:
    """``text`` without control characters, line breaks and tabs: each becomes a space."""
    return "".join(c if c.isprintable() else " " for c in text)
