"""What one player may learn of a game's events (docs/specification.md, "What a player sees").

An event holds what happened; the narrator also has the line that made it, and from this the text
behind a number and whether this player may see that text.

The display of these notices in the terminal stands below.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from xgl.language.visitors import find, reads
from xgl.runtime.machine import Machine, RequestGenerator
from xgl.runtime.presentation import Sight
from xgl.runtime.requests import Assigned, Ensured, Event, Item, Moved, Rewarded, View
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
    """A failed ensure of the player's own."""

    line: int
    reasons: tuple[str, ...]
    """The conditions, with the bits that were compared or the judge's answer."""
    failures: int
    remaining: int
    """Failures that are still allowed."""


Notice = ShownText | PaidReward | FailedEnsure


class Narrator:
    """Narrates one game to ``player``; feed it the events in their order, each once."""

    def __init__(self, game: Game, player: str) -> None:
        self.game = game
        self.player = player
        self.registers = dict.fromkeys(syn.REGISTERS, "") | game.metadata.constants
        self.given = {k: v for k, v in self.registers.items() if player in syn.viewers(k)}
        self.history: list[Event] = []
        self.sight = Sight.for_game(game, player)
        self.shown_count = self.line = 0

    def notices(self, log: Iterable[tuple[int, Event]]) -> Iterator[Notice]:
        """The notices of these events for the player; each event has the position of its line."""
        for self.line, event in log:
            if not isinstance(event, Rewarded | Ensured):
                self.history.append(event)
            yield from self._notices_of(event)

    @property
    def _line(self) -> syn.Instruction:
        return self.game.program.instructions[self.line]

    def _notices_of(self, event: Event) -> Iterator[Notice]:
        match event:
            case Assigned(values):
                self.registers |= dict(values)
            case Moved(_, register, move):
                self.registers[register] = move.text
            case Rewarded(to, bits) if to == self.player or self.player in syn.OMNISCIENT:
                own = to == self.player
                yield PaidReward(to, bits, tuple(self._terms(event)) if own else ())
            case Ensured(by, passed) if not passed and by == self.player:
                yield self._failed_ensure(event)
        self.sight.visible_items(self.history)
        mover = event.player if isinstance(event, Moved) else ""
        yield from (ShownText(item, mover) for item in self.sight.items[self.shown_count :])
        self.shown_count = len(self.sight.items)

    def _terms(self, event: Rewarded) -> Iterator[Term]:
        """The line's xents with their bits; numbers for a text that is hidden, never the text."""
        line = self._line
        assert isinstance(line, syn.Reward)
        xents = [xent for _, xent in line.amount.terms if isinstance(xent, syn.Xent)]
        for xent, (sign, _, scores) in zip(xents, event.terms, strict=True):
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

    def _failed_ensure(self, event: Ensured) -> FailedEnsure:
        line = self._line
        assert isinstance(line, syn.Ensure)
        sides = _sides(line.conditions, event)
        texts = [expression_text(each) for each in line.conditions]
        reasons = tuple(text + amounts for text, amounts in zip(texts, sides, strict=True))
        if len(reasons) == 1 and isinstance(line.conditions[0], syn.Truth):
            judged = "false" if line.conditions[0].expected else "true"
            reasons = (f"{texts[0]}: it was judged {judged}",)
        remaining = self.game.metadata.max_failures - event.failures
        return FailedEnsure(self.line + 1, reasons, event.failures, remaining)


def _sides(conditions: tuple[syn.Condition, ...], event: Ensured) -> list[str]:
    """The values of both sums of each plain comparison of xents; empty for other conditions."""
    plain = [isinstance(condition, syn.Comparison) for condition in conditions]
    if sum(plain) != len(event.sides):
        return [""] * len(conditions)
    sides = iter(event.sides)
    amounts = [": {:.1f} against {:.1f} bits".format(*next(sides)) if one else "" for one in plain]
    return [
        amount if find(condition, syn.Xent) else ""
        for amount, condition in zip(amounts, conditions, strict=True)
    ]


class WatchedMachine(Machine):
    """Runs as any machine does, and remembers the position of the line behind each event."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._lines: list[int] = []

    def log(self, start: int = 0) -> list[tuple[int, Event]]:
        """The events from the ``start``-th on, each with the position of its line."""
        pending = [self.flow.position] * (len(self.events) - max(start, len(self._lines)))
        return list(zip([*self._lines[start:], *pending], self.events[start:], strict=True))

    def _step(self) -> RequestGenerator:
        position = self.flow.position
        try:
            yield from super()._step()
        finally:  # also where the step ends in a forfeit, whose events are shown like others
            self._lines += [position] * (len(self.events) - len(self._lines))


Tokens = Callable[[str, int], Sequence[str]]
"""A text and its number of scored tokens to the tokens, the last of which are the scored ones."""


class Bars(NamedTuple):
    """Nine heights for gains and for losses, from none to full."""

    gain: str
    loss: str
    legend: str


COLOURED = Bars(" ▁▂▃▄▅▆▇█", " ▁▂▃▄▅▆▇█", "green gains, red loses")
PLAIN = Bars(" ▁▂▃▄▅▆▇█", " ░░░▒▒▒▓▓", "blocks gain, shades lose")
LEAST_FULL = 1.0
"""The bars of a reward are scaled to its largest token, or to this many bits."""


class Screen:
    """Prints a game as one player may see it."""

    def __init__(self, console: Console, tokens: Tokens) -> None:
        self.console = console
        self.bars = PLAIN if console.color_system is None else COLOURED
        self.tokens = tokens

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
                    self.say(f"  ({self.bars.legend}; a full bar is {full:.1f} bits)", "dim")
                for term in terms:
                    self._term(term, full)
            case FailedEnsure():
                self._failed_ensure(notice)

    def _failed_ensure(self, notice: FailedEnsure) -> None:
        self.say(f"This does not hold (line {notice.line}):", "bold red")
        for reason in notice.reasons:
            self.say(f"  {printable(reason)}", "red")
        if notice.remaining >= 0:
            self.say(f"Try again; failures left before a forfeit: {notice.remaining}.", "red")

    def _term(self, term: Term, full: float) -> None:
        """Print the text and beneath it the strip; for a hidden text the strip and its numbers."""
        total = f"  {term.label} = {signed_text(sum(term.bits))}"
        if term.text is None:
            self.say(f"{total}, of a text that is not shown:")
            pieces: Sequence[str] = [f"{signed_text(bit)} " for bit in term.bits]
        else:
            self.say(total)
            pieces = self.tokens(term.text, len(term.bits))
        unscored_pieces = [(piece, None) for piece in pieces[: len(pieces) - len(term.bits)]]
        scored_pieces = list(zip(pieces[len(unscored_pieces) :], term.bits, strict=True))
        for row in _rows([*unscored_pieces, *scored_pieces], max(20, self.console.width - 6)):
            self.console.print(Styled("    " + "".join(text for text, _ in row)))
            self.console.print(Styled("    ").append_text(strip(row, full, self.bars)))

    def best(self, number: int, score: float, moves: Sequence[str]) -> None:
        moves_text = printable(" / ".join(moves)) or "no move"
        self.say(
            f"Best earlier round: {number}, {signed_text(score)} bits, with: {moves_text}", "cyan"
        )

    def ask(self, view: View, max_len: int) -> str:
        """Raises EOFError when there is no more input."""
        self.say(f"{view.player}, write {view.register} (at most {max_len} tokens):", "bold")
        # readline must know what stands on its line; with --json standard output is not ours
        return input("" if self.console.stderr else "> ")


def strip(pieces: Sequence[tuple[str, float | None]], full: float, bars: Bars) -> Styled:
    """A bar under each token, as wide as it; ``full`` bits are the highest bar."""
    line = Styled()
    for text, bits in pieces:
        width = max(1, cells(text))
        if bits is None:
            line.append(" " * width)
            continue
        levels, colour = (bars.gain, "green") if bits >= 0 else (bars.loss, "red")
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
