"""What a string expression stands for, from the registers alone."""

from __future__ import annotations

from collections.abc import Mapping

from xgl import syntax as syn
from xgl.dialects import Dialect


class UnknownTextError(Exception):
    """An expression whose text the registers alone do not tell: a draw, a helper function."""


def text_of(node: object, registers: Mapping[str, str], dialect: Dialect) -> str:
    """The text of ``node``. Raises :class:`UnknownTextError`."""
    match node:
        case syn.Literal(value):
            return value
        case syn.Register(name) if name in registers:
            return registers[name]
        case syn.Cat(left, right):
            space = " " if dialect.cat_space else ""
            return text_of(left, registers, dialect) + space + text_of(right, registers, dialect)
        case syn.Cut(text, mark, side):
            whole, cut = text_of(text, registers, dialect), text_of(mark, registers, dialect)
            before, _, after = whole.partition(cut) if cut else (whole, "", "")
            return before if side == "before" else after
    raise UnknownTextError
