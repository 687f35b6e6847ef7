"""Names of models under one judge (paper §2.2.2: an umbrella model that hosts several, with an
activation prefix that says which one is to be used).

One rule for all: an in-line text that begins with ``@`` and a name, as a pre-instruction
(``xent(s | t, "@weak")``) or at the beginning of a statement (``ensure("@weak It rains." + s)``),
names the model that answers; what follows the name is the text. Texts of registers name none, so no
move can choose who judges it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from xgl.errors import ConfigError
from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.language.visitors import find

MAIN = "main"
"""The name of the judge itself."""
BASE = "base"
"""As the name of NPCs: the base player."""
RESERVED = (MAIN, "judge", BASE)
"""Names that no model under the judge may have."""
_NAME = re.compile(r"@([A-Za-z]\w*)(?:\s+|$)", re.ASCII)


def split_name(text: syn.StringExpr | None) -> tuple[str, syn.StringExpr | None]:
    """The name at the beginning of a text, empty if it names none, and the rest of it.

    >>> split_name(syn.Literal("@weak Be brief."))
    ('weak', Literal(value='Be brief.'))
    """
    first = text
    while isinstance(first, syn.Cat):
        first = first.left
    match = _NAME.match(first.value) if isinstance(first, syn.Literal) else None
    return (match[1], _without(text, match.end())) if match else ("", text)


def _without(text: syn.StringExpr | None, characters: int) -> syn.StringExpr | None:
    """A text without its first characters, which are in-line; None if none are left."""
    if isinstance(text, syn.Cat):
        left = _without(text.left, characters)
        return text.right if left is None else replace(text, left=left)
    assert isinstance(text, syn.Literal)
    return replace(text, value=text.value[characters:]) if len(text.value) > characters else None


def names_of(node: object) -> list[str]:
    """The models that a program or a line names, in order, each once."""
    texts: list[syn.StringExpr | None] = [each.outer for each in find(node, syn.Xent)]
    texts += [each.statement for each in find(node, syn.Truth)]
    return list(dict.fromkeys(name for text in texts if (name := split_name(text)[0])))


def model_names(game: Game) -> list[str]:
    """The models under the judge that a game needs, by its program or its metadata."""
    own = [game.metadata.judge, game.metadata.npc]
    names = dict.fromkeys([*own, *names_of(game.program)])
    return [name for name in names if name not in ("", *RESERVED)]


def check_names(game: Game, known: Collection[str], origin: str, setting: str) -> None:
    """Raises :class:`ConfigError`, one sentence that begins with ``origin``, if a game needs a
    model that is not among the names ``known``; ``setting``: what would name it, with {}."""
    for name in model_names(game):
        if name not in known:
            found = ", ".join(known) or "none"
            raise ConfigError(
                f"{origin}: needs the model {name!r} under the judge, found {found}, expected "
                f"{setting.format(name)}"
            )
