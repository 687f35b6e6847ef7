"""Characters that a program may hold, texts that no tokenizer accepts (docs/reference/dialects.md,
"Characters"), and strings of others where they are written: on a terminal, in JSON, Python,
Markdown, a name.

Programs, ids, references and settings of an archive may be a stranger's. Whatever is written with
them passes one of these functions, which end neither the line nor the literal that they stand in.
"""

from __future__ import annotations

import json
import re
from typing import Any

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


def printable(text: str) -> str:
    """``text`` without control characters, line breaks and tabs: each becomes a space."""
    return "".join(c if c.isprintable() else " " for c in text)


# -- what others wrote, where it is written --------------------------------------------------------


def visible(text: str, allowed: str = "") -> str:
    """``text`` with everything unprintable that is not ``allowed``, line breaks too, as an escape.

    >>> visible("a\\u202eb\\n\\ud800")
    'a\\\\u202eb\\\\n\\\\ud800'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in allowed else ascii(c)[1:-1] for c in text)


def visible_lines(text: str) -> str:
    """The same, with line breaks and tabs as they are."""
    return visible(text.replace("\r\n", "\n"), "\n\t")


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON in which everything that a terminal could obey or that ends a line is escaped. Raises
    ValueError for NaN and infinities."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    # Outside of strings JSON is printable, so what is not stands in one and may be escaped there.
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def code_span(text: str) -> str:
    """A span of code in Markdown: no mark, link or tag in it counts. Not for cells of tables, which
    end at a ``|``."""
    shown = visible(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    margin = " " if shown.strip("` ") != shown or not shown else ""
    return f"{fence}{margin}{shown}{margin}{fence}"


def code_block(text: str) -> str:
    """A block of code in Markdown, indented by four spaces and ending in a line break."""
    return "".join(f"    {visible(line, chr(9))}\n" for line in text.split("\n"))


def comment(text: str) -> str:
    """Text for a comment of a program, where nothing invisible may stand."""
    return "".join(c if is_visible(c) else ascii(c)[1:-1] for c in text)


def word(text: str) -> str:
    """Letters, digits, ``_`` and ``-`` of ASCII, else ``_``: such a word names no other folder."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text)
