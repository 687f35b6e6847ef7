"""Characters that a program may hold, and texts that no tokenizer accepts
(docs/reference/dialects.md, "Characters")."""

from __future__ import annotations

import re

_IGNORABLE = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef"
)
"""Letters and marks with Unicode's property Default_Ignorable_Code_Point: fillers, joiners and
variation selectors. The others that have it are format characters, or not assigned."""
_BLANK = "\u2800\U00013441\U00013442\U00016fe4\U0001d159"
"""Symbols and letters whose glyph is empty."""
_INVISIBLE = re.compile(f"[{_IGNORABLE}{_BLANK}]")


def is_visible(character: str) -> bool:
    """Whether a character is visible: no control or format character, no space but the plain one,
    nothing that is ignored or blank where text is drawn.

    >>> [is_visible(c) for c in ("a", " ", "é", "\\n", "\\u00a0", "\\u200d", "\\u3164", "\\u2800")]
    [True, True, True, False, False, False, False, False]
    """
    return character.isprintable() and not _INVISIBLE.match(character)


def first_invisible(text: str, allowed: str) -> str | None:
    """The first character that is neither visible nor one of ``allowed``; None without one."""
    if text.isprintable() and (text.isascii() or not _INVISIBLE.search(text)):
        return None
    return next((c for c in text if c not in allowed and not is_visible(c)), None)


def well_formed(text: str) -> str:
    """``text`` with a question mark for each half of a surrogate pair, which no tokenizer, file or
    request can hold; JSON and Python can write one.

    >>> well_formed("a\\ud83d b")
    'a? b'
    """
    return text.encode(errors="replace").decode()
