"""Python expression nodes to sums of xents and to conditions (docs/specification.md,
"Expressions")."""

from __future__ import annotations

import ast
import math

from xgl.language import syntax as syn
from xgl.language.expressions import function, helper_name, kind_of, string, value
from xgl.language.parse_errors import (
    Refusal,
    SourcePlace,
    check_depth,
    description,
    nearest,
    read_each,
    whole_number,
)

SUM = "a sum of xent, nex, xed and dex; they add and subtract, never multiply"


def xent_sum(node: ast.expr, place: SourcePlace, *, numbers: bool = False) -> syn.Sum:
    """A signed sum of xents; ``numbers`` admits bounds and counts too (comparisons only)."""
    amount = _signed_sum(node, place, numbers, 0)
    if len(amount.terms) > syn.MAX_TERMS:
        raise Refusal(node, f"a sum of {len(amount.terms)} terms", f"at most {syn.MAX_TERMS}")
    return amount


def _signed_sum(node: ast.expr, place: SourcePlace, numbers: bool, depth: int) -> syn.Sum:
    check_depth(node, depth)
    span = place.span(node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return syn.Sum(_negate(_signed_sum(node.operand, place, numbers, depth + 1)), span)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left, right = read_each(
            lambda side: _signed_sum(side, place, numbers, depth + 1), (node.left, node.right)
        )
        terms = right.terms if isinstance(node.op, ast.Add) else _negate(right)
        return syn.Sum(left.terms + terms, span)
    return syn.Sum(((1, _number(node, place) if numbers else _xent(node, place)),), span)


def _negate(amount: syn.Sum) -> tuple[tuple[int, syn.Term], ...]:
    return tuple((-sign, term) for sign, term in amount.terms)


def _number(node: ast.expr, place: SourcePlace) -> syn.Term:
    span = place.span(node)
    name = helper_name(node)
    if name is not None and syn.FUNCTIONS[name].result == "number":
        assert isinstance(node, ast.Call)
        return function(node, place, "number")
    if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
        return _xent(node, place)
    if isinstance(node.value, float) and place.dialect.python_conditions:
        if not math.isfinite(node.value) or node.value > syn.MAX_NUMBER:
            raise Refusal(node, "a number too large", f"at most {syn.MAX_NUMBER}")
        return syn.Number(node.value, span)
    if isinstance(node.value, float):
        return _xent(node, place)
    return syn.Number(whole_number(node, 0, "a number of bits"), span)


def _xent(node: ast.expr, place: SourcePlace) -> syn.Xent:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise Refusal(node, description(node), SUM)
    kind = node.func.id
    if kind not in syn.XENT_KINDS:
        is_helper = kind in syn.FUNCTIONS
        found = f"a call of {kind!r}" if is_helper else f"unknown function {kind!r}"
        raise Refusal(node, found, SUM, "" if is_helper else nearest(kind, syn.XENT_KINDS))
    if not 1 <= len(node.args) <= 2 or node.keywords:
        raise Refusal(node, f"{len(node.args)} arguments", f"{kind}(s), {kind}(s | t) or with , o")
    inner, *outer = node.args
    parts = [inner.left, inner.right] if _is_given(inner) else [inner]  # type: ignore[attr-defined]
    texts = read_each(lambda part: string(part, place), (*parts, *outer))
    prefix = texts[1] if len(parts) == 2 else None
    return syn.Xent(kind, texts[0], prefix, texts[-1] if outer else None, place.span(node))


def _is_given(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)


_COMPARATORS: dict[type[ast.cmpop], syn.Comparator] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_ALIKE: tuple[syn.Comparator, ...] = ("==", "!=")
_COMPARATORS_OF_KINDS: dict[tuple[syn.Kind | None, syn.Kind | None], tuple[syn.Comparator, ...]] = {
    ("string", "string"): (*_ALIKE, "in", "not in"),
    ("string", "list"): ("in", "not in"),
    ("list", "list"): _ALIKE,
    ("words", "words"): (*_ALIKE, *syn.COMPARATORS),
}


def condition(node: ast.expr, place: SourcePlace, depth: int = 0) -> syn.Condition:
    """A comparison, ``is_true``, ``is_false``, a bare statement, or a helper that decides."""
    check_depth(node, depth)
    wide = place.dialect.python_conditions
    if isinstance(node, ast.Compare):
        return _comparison(node, place) if wide else _sum_comparison(node, place)
    if wide and isinstance(node, ast.BoolOp):
        return _logic(node, place, depth)
    if wide and isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _not(node, place, depth)
    name = helper_name(node)
    if name is not None and syn.FUNCTIONS[name].result != "string":
        assert isinstance(node, ast.Call)
        return function(node, place, "truth")
    return _statement(node, place)


def _statement(node: ast.expr, place: SourcePlace) -> syn.Truth:
    span = place.span(node)
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    if isinstance(node, ast.Call) and name in ("is_true", "is_false"):
        if not node.args or node.keywords:
            raise Refusal(node, "no statement", f'{name}("statement", …)')
        statement, *params = read_each(lambda part: string(part, place), node.args)
        return syn.Truth(statement, tuple(params), name == "is_true", span)
    return syn.Truth(string(node, place), (), True, span)


def _sum_comparison(node: ast.Compare, place: SourcePlace) -> syn.Comparison:
    comparator = _COMPARATORS.get(type(node.ops[0]))
    if len(node.ops) != 1 or comparator not in syn.COMPARATORS:
        raise Refusal(node, "this comparison", "one of < <= > >= between xent sums")
    return _sums(node.left, comparator, node.comparators[0], place.span(node), place)


def _sums(
    left: ast.expr, comparator: syn.Comparator, right: ast.expr, span: syn.Span, place: SourcePlace
) -> syn.Comparison:
    one, other = read_each(lambda side: xent_sum(side, place, numbers=True), (left, right))
    return syn.Comparison(one, comparator, other, span)


def _comparison(node: ast.Compare, place: SourcePlace) -> syn.Condition:
    """Python's comparisons; ``a < b < c`` is ``a < b and b < c``."""
    sides = [node.left, *node.comparators]
    pairs = read_each(
        lambda pair: _pair(*pair, node, place),
        zip(sides, node.ops, node.comparators, strict=False),
    )
    return pairs[0] if len(pairs) == 1 else syn.Logic("and", tuple(pairs), place.span(node))


def _pair(
    left: ast.expr, op: ast.cmpop, right: ast.expr, node: ast.Compare, place: SourcePlace
) -> syn.Condition:
    comparator = _COMPARATORS.get(type(op))
    if comparator is None:
        raise Refusal(node, "this comparison", "one of < <= > >= == != in, not in")
    kinds = (kind_of(left), kind_of(right))
    if comparator in _COMPARATORS_OF_KINDS.get(kinds, ()):
        one, other = read_each(lambda side: value(side, place, _kind(side)), (left, right))
        return syn.Test(one, comparator, other, place.span(node))
    if "in" in comparator:
        raise Refusal(node, "this comparison", "a string in a string or in a list")
    return _sums(left, comparator, right, place.span(node), place)


def _kind(node: ast.expr) -> syn.Kind:
    return kind_of(node) or "string"


def _logic(node: ast.BoolOp, place: SourcePlace, depth: int) -> syn.Logic:
    parts = read_each(lambda part: _strict_condition(part, place, depth + 1), node.values)
    word = "and" if isinstance(node.op, ast.And) else "or"
    return syn.Logic(word, tuple(parts), place.span(node))  # type: ignore[arg-type]


def _not(node: ast.UnaryOp, place: SourcePlace, depth: int) -> syn.Condition:
    """``not`` of a condition; for a string, a list or a set: whether it is empty."""
    span, kind = place.span(node), kind_of(node.operand)
    if kind in ("string", "list", "words"):
        size = syn.Function("len", (value(node.operand, place, kind),), span)
        nothing = syn.Sum(((1, syn.Number(0, span)),), span)
        return syn.Comparison(syn.Sum(((1, size),), span), "==", nothing, span)
    return syn.Logic("not", (_strict_condition(node.operand, place, depth + 1),), span)


def _strict_condition(node: ast.expr, place: SourcePlace, depth: int) -> syn.Condition:
    """A condition that is no bare statement."""
    if kind_of(node) in ("string", "list", "words", "number"):
        raise Refusal(node, description(node), "a comparison, is_true, is_false or only_uses_…")
    return condition(node, place, depth)
