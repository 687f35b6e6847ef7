"""Games and plays as notebooks show them: HTML that takes its colours from the page around it.

Texts of games and players become text of an element tree, which escapes them (``xgl.diagram.svg``).
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from xgl.analysis.plain_english import in_words
from xgl.analysis.static_facts import analyse
from xgl.diagram import draw
from xgl.diagram.svg import Element, el, render
from xgl.errors import XGLError, excerpt
from xgl.escaping import visible_lines
from xgl.language.canonical import Game
from xgl.runtime.presentation import visible
from xgl.runtime.requests import Play

MOST_ITEMS = 100
"""Texts and rewards of a play that are shown; of the others only their number is."""
MOST_CHARACTERS = 400
"""Characters of one text that are shown."""
STYLE = (
    ".xgl-panel{font:14px/1.5 system-ui,sans-serif;max-width:62rem;overflow-wrap:anywhere}"
    ".xgl-panel .xgl-head{font-weight:600;margin:.2em 0 .5em}"
    ".xgl-panel .xgl-soft{opacity:.7;font-weight:400}"
    ".xgl-panel .xgl-pair{display:flex;flex-wrap:wrap;gap:.4em 2em}"
    ".xgl-panel .xgl-pair>*{flex:1 1 20rem;min-width:0}"
    ".xgl-panel pre{margin:0;padding:.6em .8em;background:rgba(128,128,128,.1);color:inherit;"
    "border-radius:5px;white-space:pre-wrap;font:13px/1.6 ui-monospace,Menlo,Consolas,monospace}"
    ".xgl-panel ol{margin:0;padding:.4em 0 0 1.6em}"
    ".xgl-panel table{border-collapse:collapse;margin:.3em 0;font-size:inherit}"
    ".xgl-panel :is(th,td){text-align:left;vertical-align:baseline;background:none;color:inherit;"
    "padding:.25em 1.2em .25em 0;border:0;border-bottom:1px solid rgba(128,128,128,.35);"
    "font-weight:400;white-space:normal;max-width:none}"
    ".xgl-panel th{font-weight:600;white-space:nowrap}"
    ".xgl-panel thead th{opacity:.7;font-weight:400}"
    ".xgl-panel .xgl-number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".xgl-panel q{font-family:Georgia,serif}"
    ".xgl-panel summary{cursor:pointer}"
    ".xgl-panel img{max-width:100%;margin-top:.5em;border-radius:5px}"
)


def panel(*parts: Element | str | None) -> str:
    """Parts below each other, with a style that touches nothing else on the page."""
    body = "".join(render(part) for part in parts if part is not None)
    return f'<div class="xgl-panel"><style>{STYLE}</style>{body}</div>'


def heading(title: str, facts: str) -> Element:
    """A title, with further facts after it in paler letters."""
    return el("div", title, " ", el("span", facts, class_="xgl-soft"), class_="xgl-head")


Cell = Element | str


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]], numbers: int = 0) -> Element:
    """Rows whose first cell is a heading; the last ``numbers`` columns are numbers."""
    first = len(head) - numbers
    heads = [_cell("th", cell, column >= first) for column, cell in enumerate(head)]
    lines = []
    for row in rows:
        cells = [_cell("td", cell, column >= first) for column, cell in enumerate(row)]
        lines.append(el("tr", _cell("th", row[0], False), *cells[1:]))
    return el("table", el("thead", el("tr", *heads)), el("tbody", *lines))


def _cell(tag: str, content: Cell, number: bool) -> Element:
    """A cell, never without a child: HTML has no self-closing tags, and the renderer writes one."""
    return el(tag, content or " ", class_="xgl-number" if number else None)


def quote(text: str) -> Element:
    """A text of a game, cut where it is long."""
    return el("q", excerpt(text, MOST_CHARACTERS) or " ")


# -- games ---------------------------------------------------------------------------------------


def game_html(game: Game) -> str:
    """The program next to its rules in plain English, and its diagram, folded."""
    facts = analyse(game.program)
    players = ", ".join(facts.players) or "nobody plays"
    text = f"{game.dialect} dialect; {players}; {facts.steps} steps"
    sentences = el("ol", *(el("li", sentence) for sentence in in_words(game)))
    program = el("div", el("pre", game.code), sentences, class_="xgl-pair")
    return panel(heading(f"Game {game.game_id}", text), program, _diagram(game))


def _diagram(game: Game) -> Element | None:
    """The diagram as a picture, so that its styles do not reach the page; None if too large."""
    try:
        drawing = draw(game.program, game.game_id)
    except XGLError:
        return None
    data = base64.b64encode(drawing.encode()).decode()
    picture = el("img", src=f"data:image/svg+xml;base64,{data}", alt="Diagram of the game")
    return el("details", el("summary", "Diagram"), picture)


# -- plays ---------------------------------------------------------------------------------------


def play_html(play: Play) -> str:
    """The outcome of a play, and what a player that sees everything saw of it."""
    scores = ", ".join(f"{name} {_bits(score)}" for name, score in play.scores.items())
    outcome = f"{play.outcome} by {play.forfeiter}" if play.forfeiter else play.outcome
    items = visible(play.events, "env")
    more = len(items) - MOST_ITEMS
    return panel(
        heading(f"Play: {outcome}", scores or "nobody was paid"),
        el("div", excerpt(play.reason)) if play.reason else None,
        table(("", "text"), [(each.label, quote(each.text)) for each in items[:MOST_ITEMS]]),
        el("div", f"… and {more} more", class_="xgl-soft") if more > 0 else None,
    )


def _bits(score: float) -> str:
    return f"{score:+.2f} bits".replace("-", "−")


def game_text(game: Game) -> str:
    """The game as ``print`` shows it: who plays, the program, and its rules in plain English."""
    facts = analyse(game.program, game.metadata)
    players = ", ".join(facts.players) or "nobody plays"
    head = f"Game {game.game_id} ({game.dialect} dialect; {players}; {facts.steps} steps)"
    rules = [f"{number}. {rule}" for number, rule in enumerate(in_words(game), 1)]
    return visible_lines("\n".join([head, "", game.shown, "", *rules]))


# What is shown knows nothing of how; `import xgl` imports this module.
Game.__str__ = game_text  # type: ignore[method-assign, assignment]
Game._repr_html_ = game_html  # type: ignore[attr-defined]
Play._repr_html_ = play_html  # type: ignore[attr-defined]
