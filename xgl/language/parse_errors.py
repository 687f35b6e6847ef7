"""Shared code of the parser's readers: refuse a node, read several parts at once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar

from xgl.errors import MAX_PROBLEMS, excerpt
from xgl.language import syntax as syn
from xgl.language.characters import first_invisible
from xgl.language.dialects import Dialect
from xgl.language.syntax import Span

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """The place of an expression: its line's number, and the dialect of its program."""

    line: int
    dialect: Dialect

    def span(self, node: ast.expr) -> Span:
        return Span(self.line, node.col_offset + 1, (node.end_col_offset or 0) + 1)


class Refusal(Exception):  # noqa: N818 - a signal inside the parser, never seen outside
    """A node that is not in the language; becomes a :class:`~xgl.errors.Problem`.

    ``all`` holds it and the refusals of the other parts of the same node.
    """

    def __init__(self, node: ast.AST, found: str, expected: str, suggestion: str = "") -> None:
        super().__init__(found)
        self.node = node if hasattr(node, "col_offset") else getattr(node, "value", node)
        self.found, self.expected, self.suggestion = excerpt(found), excerpt(expected), suggestion
        self.all: tuple[Refusal, ...] = (self,)


class TooDeepError(Refusal):
    """Ends the reading of its line, whose other parts are as deep."""


def read_each(read: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """The results of ``read`` for all parts; raises one refusal that holds all refusals of parts,
    up to the number that is reported."""
    results, refusals = [], list[Refusal]()
    for part in parts:
        if len(refusals) >= MAX_PROBLEMS:
            break
        try:
            results.append(read(part))
        except TooDeepError:
            raise
        except Refusal as refusal:
            refusals.extend(refusal.all)
    if refusals:
        refusals[0].all = tuple(refusals[:MAX_PROBLEMS])
        raise refusals[0]
    return results


def nearest(name: str, names: Iterable[str]) -> str:
    return next(iter(get_close_matches(name, list(names), 1)), "")


def register(node: ast.AST, name: str) -> str:
    if name in syn.REGISTERS:
        return name
    expected = "s t x y p a b c, plain or with 0-3"
    if name in syn.LIST_REGISTERS:
        raise Refusal(node, f"the list {name!r}", f"a string register: {expected}")
    raise Refusal(node, f"unknown register {name!r}", expected, nearest(name, syn.REGISTERS))


def whole_number(node: ast.expr, least: int, expected: str) -> int:
    value = node.value if isinstance(node, ast.Constant) else None
    if type(value) is not int or value < least:
        raise Refusal(node, description(node), expected)
    if value > syn.MAX_NUMBER:
        raise Refusal(node, "a number too large", f"at most {syn.MAX_NUMBER}")
    return value


def check_depth(node: ast.expr, depth: int) -> None:
    if depth > syn.MAX_DEPTH:
        raise TooDeepError(node, "an expression too deep", f"at most {syn.MAX_DEPTH} levels")


def literal_text(node: ast.Constant) -> str:
    value = str(node.value)
    invisible = first_invisible(value, "\n\t")
    if invisible is not None:
        found = f"the character {invisible!a} in a literal"
        raise Refusal(node, found, "printable text, \\n or \\t")
    return value


_PRINTED_BITS = 128
"""Most bits of a number that a message shows; Python prints none above 4,300 digits."""


def description(node: ast.AST) -> str:
    """A node in words, for a message."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return f"a call of {node.func.id!r}"
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, int) and value.bit_length() > _PRINTED_BITS:
            return "a number too large"
        return f"the value {value!r}"[:60]
    return _SHAPES.get(type(node), f"a {type(node).__name__}".lower())


_SHAPES: dict[type[ast.AST], str] = {
    ast.Attribute: "an attribute",
    ast.BinOp: "an operation",
    ast.Compare: "a comparison",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.JoinedStr: "an f-string",
    ast.ListComp: "a comprehension",
    ast.NamedExpr: "an assignment with :=",
    ast.SetComp: "a comprehension",
    ast.Starred: "a starred argument",
    ast.UnaryOp: "an operation",
}
