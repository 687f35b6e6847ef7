"""Games and plays as ``print`` shows them, and notebooks, in ``<pre>``: text, never markup."""

from __future__ import annotations

from html import escape

from xgl.analysis.plain_english import in_words
from xgl.analysis.static_facts import analyse
from xgl.errors import excerpt
from xgl.escaping import visible_lines
from xgl.language.canonical import Game
from xgl.runtime.presentation import Sight
from xgl.runtime.requests import Play

MOST_ITEMS = 100
"""Texts and rewards of a play that are shown; of the others only their number is."""
MOST_CHARACTERS = 400
"""Characters of one text that are shown."""


def pre(value: object) -> str:
    """What ``print`` shows, as HTML."""
    return f"<pre>{escape(str(value))}</pre>"


def game_text(game: Game) -> str:
    """Who plays, the program, and its rules in plain English."""
    facts = analyse(game.program, game.metadata)
    players = ", ".join(facts.players) or "nobody plays"
    head = f"Game {game.game_id} ({game.dialect} dialect; {players}; {facts.steps} steps)"
    rules = [f"{number}. {rule}" for number, rule in enumerate(in_words(game), 1)]
    return visible_lines("\n".join([head, "", game.shown, "", *rules]))


def play_text(play: Play) -> str:
    """The outcome of a play, and what a player that sees everything saw of it."""
    outcome = f"{play.outcome} by {play.forfeiter}" if play.forfeiter else play.outcome
    scores = [f"{name} {score:+.2f} bits" for name, score in play.scores.items()]
    head = f"Play: {outcome}; {', '.join(scores) or 'nobody was paid'}"
    items = Sight("env").visible_items(play.events)
    lines = [f"{each.label}: {excerpt(each.text, MOST_CHARACTERS)}" for each in items[:MOST_ITEMS]]
    lines += [f"… and {more} more"] if (more := len(items) - MOST_ITEMS) > 0 else []
    lines += [excerpt(play.reason)] if play.reason else []
    return visible_lines("\n".join([head, "", *lines]))


# What is shown knows nothing of how; `import xgl` imports this module.
Game.__str__ = game_text  # type: ignore[method-assign, assignment]
Play.__str__ = play_text  # type: ignore[method-assign, assignment]
Game._repr_html_ = Play._repr_html_ = pre  # type: ignore[attr-defined]
