"""The display of a game in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from xgl.cli.narration import FailedEnsure, Notice, PaidReward, ShownText, Term
from xgl.diagram.shapes import cells
from xgl.language.canonical import Game
from xgl.runtime.requests import View

Tokens = Callable[[str, int], Sequence[str]]
"""A text and its number of scored tokens to the tokens, the last of which are the scored ones."""


@dataclass(frozen=True, slots=True)
class Bars:
    """Nine heights for gains and for losses, from none to full."""

    gain: str
    loss: str
    legend: str


COLOURED = Bars(" ▁▂▃▄▅▆▇█", " ▁▂▃▄▅▆▇█", "green gains, red loses")
PLAIN = Bars(" ▁▂▃▄▅▆▇█", " ░░░▒▒▒▓▓", "blocks gain, shades lose")
ASCII = Bars(" 12345678", " abcdefgh", "digits gain, letters lose")
LEAST_FULL = 1.0
"""The bars of a reward are scaled to its largest token, or to this many bits."""


class Screen:
    """Prints a game as one player may see it."""

    def __init__(self, console: Console, tokens: Tokens) -> None:
        self.console = console
        self.bars = _bars(console)
        self.tokens = tokens

    def open(self, game: Game, title: str, who: str) -> None:
        """Print the game; ``who``: who plays which role, as a clause."""
        self.console.print(Panel(Text(game.shown), title=title or None, title_align="left"))
        self.say(f"{printable(who)}. A higher score is better; it is counted in bits.", "dim")

    def say(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style=style))

    def show(self, notice: Notice) -> None:
        match notice:
            case ShownText(item, mover):
                who = f" ({mover})" if mover else ""
                self.console.print(
                    Text.assemble((f"{item.label}{who}: ", "bold"), printable(item.text))
                )
            case PaidReward(player, bits, terms):
                self.console.print(
                    Text.assemble((f"reward {player}: ", "bold"), _styled_bits(bits))
                )
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
            self.console.print(Text("    " + "".join(text for text, _ in row)))
            self.console.print(Text("    ").append_text(strip(row, full, self.bars)))

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


def _bars(console: Console) -> Bars:
    if not console.encoding.startswith("utf"):
        return ASCII
    return PLAIN if console.color_system is None else COLOURED


def strip(pieces: Sequence[tuple[str, float | None]], full: float, bars: Bars) -> Text:
    """A bar under each token, as wide as it; ``full`` bits are the highest bar."""
    line = Text()
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


def _styled_bits(bits: float) -> tuple[str, str]:
    return f"{signed_text(bits)} bits", "bold green" if bits >= 0 else "bold red"


def signed_text(bits: float) -> str:
    """Bits with one digit and their sign; a value that rounds to 0 is +0.0."""
    return f"{round(bits, 1) + 0.0:+.1f}"


def printable(text: str) -> str:
    """``text`` without control characters, line breaks and tabs: each becomes a space."""
    return "".join(c if c.isprintable() else " " for c in text)
