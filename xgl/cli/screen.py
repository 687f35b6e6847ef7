"""What a person sees of a game in the terminal."""

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
        """``who`` plays whom, as a clause."""
        self.console.print(Panel(Text(game.code), title=title or None, title_align="left"))
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
                self.console.print(Text.assemble((f"reward {player}: ", "bold"), _coloured(bits)))
                full = max([LEAST_FULL, *(abs(bit) for term in terms for bit in term.bits)])
                if terms:
                    self.say(f"  ({self.bars.legend}; a full bar is {full:.1f} bits)", "dim")
                for term in terms:
                    self._term(term, full)
            case FailedEnsure():
                self._failed_ensure(notice)

    def _failed_ensure(self, failed: FailedEnsure) -> None:
        self.say(f"This does not hold (line {failed.line}):", "bold red")
        for reason in failed.reasons:
            self.say(f"  {printable(reason)}", "red")
        if failed.left >= 0:
            self.say(f"Try again; failures left before a forfeit: {failed.left}.", "red")

    def _term(self, term: Term, full: float) -> None:
        """The text and beneath it the strip; for a hidden text the strip and its numbers."""
        total = f"  {term.label} = {signed(sum(term.bits))}"
        if term.text is None:
            self.say(f"{total}, of a text that is not shown:")
            pieces: Sequence[str] = [f"{signed(bit)} " for bit in term.bits]
        else:
            self.say(total)
            pieces = self.tokens(term.text, len(term.bits))
        unscored = [(piece, None) for piece in pieces[: len(pieces) - len(term.bits)]]
        scored = list(zip(pieces[len(unscored) :], term.bits, strict=True))
        for row in _rows([*unscored, *scored], max(20, self.console.width - 6)):
            self.console.print(Text("    " + "".join(text for text, _ in row)))
            self.console.print(Text("    ").append_text(strip(row, full, self.bars)))

    def best(self, number: int, score: float, moves: Sequence[str]) -> None:
        listed = printable(" / ".join(moves)) or "no move"
        self.say(f"Best earlier round: {number}, {signed(score)} bits, with: {listed}", "cyan")

    def ask(self, view: View, max_len: int) -> str:
        """Raises EOFError when there is no more input."""
        self.say(f"{view.player}, write {view.register} (at most {max_len} tokens):", "bold")
        # readline must know what stands on its line; with --json standard output is not ours
        return input("" if self.console.stderr else "> ")


def _bars(console: Console) -> Bars:
    if not console.encoding.startswith("utf"):
        return ASCII
    return PLAIN if console.color_system is None else COLOURED


def strip(scored: Sequence[tuple[str, float | None]], full: float, bars: Bars) -> Text:
    """A bar under each token, as wide as it; ``full`` bits are the highest bar."""
    line = Text()
    for text, bits in scored:
        width = max(1, cells(text))
        if bits is None:
            line.append(" " * width)
            continue
        levels, colour = (bars.gain, "green") if bits >= 0 else (bars.loss, "red")
        level = min(len(levels) - 1, round(abs(bits) / full * len(levels)))
        line.append(levels[level] * width, colour)
    return line


def _rows(
    scored: Sequence[tuple[str, float | None]], width: int
) -> Iterator[list[tuple[str, float | None]]]:
    """Tokens in rows that fit; line breaks inside a token are shown as spaces."""
    row: list[tuple[str, float | None]] = []
    used = 0
    for text, bits in scored:
        shown = printable(text)
        if row and used + cells(shown) > width:
            yield row
            row, used = [], 0
        row.append((shown, bits))
        used += cells(shown)
    if row:
        yield row


def _coloured(bits: float) -> tuple[str, str]:
    return f"{signed(bits)} bits", "bold green" if bits >= 0 else "bold red"


def signed(bits: float) -> str:
    """With its sign; what rounds to nothing is +0.0."""
    return f"{round(bits, 1) + 0.0:+.1f}"


def printable(text: str) -> str:
    """What a terminal may be sent: no control characters; line breaks and tabs are spaces."""
    return "".join(c if c.isprintable() else " " for c in text)
