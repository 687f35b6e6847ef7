"""Python expression nodes to XGL strings, lists and helper calls, by a whitelist of shapes
(docs/specification.md, "Reading a program"); ``xgl.language.conditions`` reads the rest."""

from __future__ import annotations

import ast
from typing import Any

from xgl.language import syntax as syn
from xgl.language.parse_errors import (
    Refusal,
    SourcePlace,
    check_depth,
    description,
    literal_text,
    nearest,
    read_each,
    register,
    whole_number,
)

STRING = "a string: a literal, a register, + // or %"
LIST = "a list: [strings], a register l, +, split or shuffle"
WORDS = "a set of words: word_set(s) or common_word_set(s, t)"
_EXPECTED: dict[syn.Kind, str] = {
    "string": STRING,
    "list": LIST,
    "words": WORDS,
    "number": "a whole number",
    "truth": "a condition",
}


def string(
    node: ast.expr, place: SourcePlace, *, story: bool = False, depth: int = 0
) -> syn.StringExpr:
    """A string expression; ``story``: whether ``story()`` is allowed here (only in assign)."""
    check_depth(node, depth)
    span = place.span(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return syn.Literal(literal_text(node), span)
    if isinstance(node, ast.Name):
        return syn.Register(register(node, node.id), span)
    if isinstance(node, ast.BinOp):
        return _operation(node, place, story, depth)
    if isinstance(node, ast.Call):
        return _call(node, place, story, depth)
    raise Refusal(node, description(node), STRING)


def _operation(node: ast.BinOp, place: SourcePlace, story: bool, depth: int) -> syn.StringExpr:
    if isinstance(node.op, ast.Div):
        raise Refusal(node, "the operator /", "// (what precedes) or % (what follows)", "//")
    is_prefix = isinstance(node.op, ast.BitOr) and place.dialect.stored_prefix
    if not is_prefix and not isinstance(node.op, ast.Add | ast.FloorDiv | ast.Mod):
        raise Refusal(node, f"the operator {type(node.op).__name__}", "+ // or % between strings")
    left, right = read_each(
        lambda side: string(side, place, story=story, depth=depth + 1), (node.left, node.right)
    )
    span = place.span(node)
    if is_prefix:
        return syn.Given(left, right, span)
    if isinstance(node.op, ast.Add):
        return syn.Cat(left, right, span)
    return syn.Cut(left, right, "before" if isinstance(node.op, ast.FloorDiv) else "after", span)


def _call(node: ast.Call, place: SourcePlace, story: bool, depth: int) -> syn.StringExpr:
    if isinstance(node.func, ast.Name) and node.func.id == "story":
        return _story(node, place, story)
    if helper_name(node) is None:
        strings = ("story", *(n for n, s in syn.FUNCTIONS.items() if s.result == "string"))
        near = nearest(node.func.id, strings) if isinstance(node.func, ast.Name) else ""
        raise Refusal(node, description(node), STRING, near)
    return function(node, place, "string", story=story, depth=depth)


def _story(node: ast.Call, place: SourcePlace, allowed: bool) -> syn.Story:
    if not allowed:
        raise Refusal(node, "story() outside assign", "story() on the right of assign only")
    if len(node.args) > 1 or node.keywords:
        raise Refusal(node, "several arguments", 'story(), story(tokens) or story("prompt")')
    span = place.span(node)
    if not node.args:
        return syn.Story(span=span)
    argument = node.args[0]
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return syn.Story(prompt=literal_text(argument), span=span)
    return syn.Story(tokens=whole_number(argument, 1, "a number of tokens or a prompt"), span=span)


def list_of(
    node: ast.expr, place: SourcePlace, *, story: bool = False, depth: int = 0
) -> syn.ListExpr:
    """A list expression."""
    check_depth(node, depth)
    span = place.span(node)
    if isinstance(node, ast.Name) and node.id in syn.LIST_REGISTERS:
        return syn.Register(node.id, span)
    if isinstance(node, ast.List):
        items = read_each(lambda item: string(item, place, story=story, depth=depth + 1), node.elts)
        return syn.ListOf(tuple(items), span)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = read_each(
            lambda side: list_of(side, place, story=story, depth=depth + 1), (node.left, node.right)
        )
        return syn.Chain(left, right, span)
    if isinstance(node, ast.Call) and helper_name(node) is not None:
        return function(node, place, "list", story=story, depth=depth)
    near = nearest(node.id, syn.LIST_REGISTERS) if isinstance(node, ast.Name) else ""
    raise Refusal(node, description(node), LIST, near)


def helper_name(node: ast.expr) -> str | None:
    """Name of the helper function that a node calls, None for any other node."""
    if not isinstance(node, ast.Call):
        return None
    func, method = node.func, isinstance(node.func, ast.Attribute)
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", None)
    signature = syn.FUNCTIONS.get(name) if name else None
    return name if signature and signature.method == method else None


def function(
    node: ast.Call, place: SourcePlace, kind: syn.Kind, *, story: bool = False, depth: int = 0
) -> syn.Function:
    """A helper call, which must give a value of ``kind``."""
    name = helper_name(node)
    assert name is not None
    signature = syn.FUNCTIONS[name]
    if signature.result != kind:
        raise Refusal(node, f"{name}, which gives {_A[signature.result]}", _EXPECTED[kind])
    own = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    arguments = own + list(node.args)
    most = len(signature.arguments)
    if node.keywords or not most - signature.optional <= len(arguments) <= most:
        raise Refusal(node, "other arguments", usage(name))
    values = read_each(
        lambda pair: _argument(*pair, place, story, depth + 1),
        zip(arguments, signature.arguments, strict=False),
    )
    return syn.Function(name, tuple(values), place.span(node))


def _argument(
    node: ast.expr, kinds: tuple[syn.Kind, ...], place: SourcePlace, story: bool, depth: int
) -> syn.Expression:
    if kinds == ("number",):
        return syn.Number(whole_number(node, 0, "a number of tokens"), place.span(node))
    kind = kind_of(node)
    return value(node, place, kind if kind in kinds else kinds[0], story=story, depth=depth)


def value(
    node: ast.expr, place: SourcePlace, kind: syn.Kind, *, story: bool = False, depth: int = 0
) -> Any:
    """An expression of a kind: a string, a list or a set of words."""
    if kind == "string":
        return string(node, place, story=story, depth=depth)
    if kind == "list":
        return list_of(node, place, story=story, depth=depth)
    if helper_name(node) is None:
        raise Refusal(node, description(node), _EXPECTED[kind])
    assert isinstance(node, ast.Call)
    check_depth(node, depth)
    return function(node, place, kind, story=story, depth=depth)


def kind_of(node: ast.expr) -> syn.Kind | None:
    """The kind of value that a node seems to have; None if the node does not show it."""
    while isinstance(node, ast.BinOp):
        node = node.left
    name = helper_name(node)
    if name is not None:
        return syn.FUNCTIONS[name].result
    if isinstance(node, ast.Name):
        return "list" if node.id in syn.LIST_REGISTERS else "string"
    if isinstance(node, ast.List):
        return "list"
    if isinstance(node, ast.Constant):
        return "string" if isinstance(node.value, str) else "number"
    return None


_A: dict[syn.Kind, str] = {
    "string": "a string",
    "list": "a list",
    "words": "a set of words",
    "number": "a number",
    "truth": "a truth value",
}


def usage(name: str) -> str:
    """The form of a call of a helper function, for messages."""
    signature = syn.FUNCTIONS[name]
    words = ["/".join(kinds) for kinds in signature.arguments]
    if signature.method:
        own, *words = words
        return f"{own}.{name}({', '.join(words)})"
    return f"{name}({', '.join(words)})"
