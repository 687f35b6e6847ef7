"""Python expression nodes to XGL expressions, through a whitelist of shapes (SPEC §1)."""

from __future__ import annotations

import ast
from difflib import get_close_matches

from xgl import syntax as syn
from xgl.syntax import Span


class Refusal(Exception):  # noqa: N818 - a signal inside the parser, never seen outside
    """A node that is not in the language; becomes a :class:`~xgl.errors.Problem`."""

    def __init__(self, node: ast.AST, found: str, expected: str, suggestion: str = "") -> None:
        super().__init__(found)
        self.node = node if hasattr(node, "col_offset") else getattr(node, "value", node)
        self.found, self.expected, self.suggestion = found, expected, suggestion


def span_of(node: ast.expr, line: int) -> Span:
    return Span(line, node.col_offset + 1, (node.end_col_offset or 0) + 1)


def register(node: ast.AST, name: str) -> str:
    if name in syn.REGISTERS:
        return name
    close = next(iter(get_close_matches(name, syn.REGISTERS, 1)), "")
    raise Refusal(node, f"unknown register {name!r}", "s t x y p a b c, plain or with 0-3", close)


def whole(node: ast.expr, least: int, expected: str) -> int:
    value = node.value if isinstance(node, ast.Constant) else None
    if type(value) is not int or value < least:
        raise Refusal(node, _shape(node), expected)
    if value > syn.MAX_NUMBER:
        raise Refusal(node, "a number too large", f"at most {syn.MAX_NUMBER}")
    return value


def string(node: ast.expr, line: int, *, story: bool = False, depth: int = 0) -> syn.StringExpr:
    """A string expression; ``story`` says whether ``story()`` may stand here (assign only)."""
    _bound(node, depth)
    span = span_of(node, line)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return syn.Literal(_clean(node), span)
    if isinstance(node, ast.Name):
        return syn.Register(register(node, node.id), span)
    if isinstance(node, ast.BinOp):
        return _joined(node, line, story, depth)
    if isinstance(node, ast.Call):
        return _story(node, line, story)
    raise Refusal(node, _shape(node), "a string: a literal, a register, + // or %")


def _joined(node: ast.BinOp, line: int, story: bool, depth: int) -> syn.StringExpr:
    if isinstance(node.op, ast.Div):
        raise Refusal(node, "the operator /", "// (what precedes) or % (what follows)", "//")
    if not isinstance(node.op, ast.Add | ast.FloorDiv | ast.Mod):
        raise Refusal(node, f"the operator {type(node.op).__name__}", "+ // or % between strings")
    left = string(node.left, line, story=story, depth=depth + 1)
    right = string(node.right, line, story=story, depth=depth + 1)
    span = span_of(node, line)
    if isinstance(node.op, ast.Add):
        return syn.Cat(left, right, span)
    return syn.Cut(left, right, "before" if isinstance(node.op, ast.FloorDiv) else "after", span)


def _story(node: ast.Call, line: int, allowed: bool) -> syn.Story:
    if not isinstance(node.func, ast.Name) or node.func.id != "story":
        raise Refusal(node, _shape(node), "a string: a literal, a register, + // or %")
    if not allowed:
        raise Refusal(node, "story() outside assign", "story() on the right of assign only")
    if len(node.args) > 1 or node.keywords:
        raise Refusal(node, "several arguments", 'story(), story(tokens) or story("prompt")')
    span = span_of(node, line)
    if not node.args:
        return syn.Story(span=span)
    argument = node.args[0]
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return syn.Story(prompt=_clean(argument), span=span)
    return syn.Story(tokens=whole(argument, 1, "a number of tokens or a prompt"), span=span)


def xent_sum(node: ast.expr, line: int, *, numbers: bool = False) -> syn.Sum:
    """A signed sum of xents; ``numbers`` admits whole-bit bounds (comparisons only)."""
    amount = _signed_sum(node, line, numbers, 0)
    if len(amount.terms) > syn.MAX_TERMS:
        raise Refusal(node, f"a sum of {len(amount.terms)} terms", f"at most {syn.MAX_TERMS}")
    return amount


def _signed_sum(node: ast.expr, line: int, numbers: bool, depth: int) -> syn.Sum:
    _bound(node, depth)
    span = span_of(node, line)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return syn.Sum(_negated(_signed_sum(node.operand, line, numbers, depth + 1)), span)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left = _signed_sum(node.left, line, numbers, depth + 1)
        right = _signed_sum(node.right, line, numbers, depth + 1)
        terms = right.terms if isinstance(node.op, ast.Add) else _negated(right)
        return syn.Sum(left.terms + terms, span)
    if numbers and isinstance(node, ast.Constant) and type(node.value) is int:
        return syn.Sum(((1, syn.Number(whole(node, 0, "a number of bits"), span)),), span)
    return syn.Sum(((1, _xent(node, line)),), span)


def _negated(amount: syn.Sum) -> tuple[tuple[int, syn.Xent | syn.Number], ...]:
    return tuple((-sign, term) for sign, term in amount.terms)


def _xent(node: ast.expr, line: int) -> syn.Xent:
    expected = "a sum of xent, nex, xed and dex; they add and subtract, never multiply"
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise Refusal(node, _shape(node), expected)
    kind = node.func.id
    if kind not in syn.XENT_KINDS:
        close = next(iter(get_close_matches(kind, syn.XENT_KINDS, 1)), "")
        raise Refusal(node, f"unknown function {kind!r}", expected, close)
    if not 1 <= len(node.args) <= 2 or node.keywords:
        raise Refusal(node, f"{len(node.args)} arguments", f"{kind}(s), {kind}(s | t) or with , o")
    target, prefix = _conditional(node.args[0], line)
    outer = string(node.args[1], line) if len(node.args) == 2 else None
    return syn.Xent(kind, target, prefix, outer, span_of(node, line))


def _conditional(node: ast.expr, line: int) -> tuple[syn.StringExpr, syn.StringExpr | None]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return string(node.left, line), string(node.right, line)
    return string(node, line), None


_COMPARATORS: dict[type[ast.cmpop], syn.Comparator] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def condition(node: ast.expr, line: int) -> syn.Condition:
    """A comparison of xent sums, ``is_true``, ``is_false`` or a bare statement."""
    span = span_of(node, line)
    if isinstance(node, ast.Compare):
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARATORS:
            raise Refusal(node, "this comparison", "one of < <= > >= between xent sums")
        left = xent_sum(node.left, line, numbers=True)
        right = xent_sum(node.comparators[0], line, numbers=True)
        return syn.Comparison(left, _COMPARATORS[type(node.ops[0])], right, span)
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    if isinstance(node, ast.Call) and name in ("is_true", "is_false"):
        if not node.args or node.keywords:
            raise Refusal(node, "no statement", f'{name}("statement", …)')
        statement, *params = (string(argument, line) for argument in node.args)
        return syn.Truth(statement, tuple(params), name == "is_true", span)
    return syn.Truth(string(node, line), (), True, span)


def _bound(node: ast.expr, depth: int) -> None:
    if depth > syn.MAX_DEPTH:
        raise Refusal(node, "an expression too deep", f"at most {syn.MAX_DEPTH} levels")


def _clean(node: ast.Constant) -> str:
    value = str(node.value)
    bad = next((c for c in value if not c.isprintable() and c not in "\n\t"), None)
    if bad is not None:
        raise Refusal(node, f"the character {bad!r} in a literal", "printable text, \\n or \\t")
    return value


def _shape(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return f"a call of {node.func.id!r}"
    if isinstance(node, ast.Constant):
        return f"the value {node.value!r}"[:60]
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
