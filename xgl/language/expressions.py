"""Python expression nodes to XGL strings, lists, helper calls, sums of xents and conditions, by a
whitelist of shapes (docs/specification.md, "Reading a program" and "Expressions")."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

from xgl.errors import MAX_PROBLEMS, excerpt
from xgl.language import syntax as syn
from xgl.language.characters import first_invisible
from xgl.language.dialects import Dialect

Part = TypeVar("Part")
Result = TypeVar("Result")


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
    node: ast.expr, dialect: Dialect, *, story: bool = False, depth: int = 0
) -> syn.StringExpr:
    """A string expression; ``story``: whether ``story()`` is allowed here (only in assign)."""
    check_depth(node, depth)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return syn.Literal(literal_text(node))
    if isinstance(node, ast.Name):
        return syn.Register(register(node, node.id))
    if isinstance(node, ast.BinOp):
        return _operation(node, dialect, story, depth)
    if isinstance(node, ast.Call):
        return _call(node, dialect, story, depth)
    raise Refusal(node, description(node), STRING)


def _operation(node: ast.BinOp, dialect: Dialect, story: bool, depth: int) -> syn.StringExpr:
    if isinstance(node.op, ast.Div):
        raise Refusal(node, "the operator /", "// (what precedes) or % (what follows)", "//")
    is_prefix = isinstance(node.op, ast.BitOr) and dialect.stored_prefix
    if not is_prefix and not isinstance(node.op, ast.Add | ast.FloorDiv | ast.Mod):
        raise Refusal(node, f"the operator {type(node.op).__name__}", "+ // or % between strings")
    left, right = read_each(
        lambda side: string(side, dialect, story=story, depth=depth + 1), (node.left, node.right)
    )
    if is_prefix:
        return syn.Given(left, right)
    if isinstance(node.op, ast.Add):
        return syn.Cat(left, right)
    return syn.Cut(left, right, "before" if isinstance(node.op, ast.FloorDiv) else "after")


def _call(node: ast.Call, dialect: Dialect, story: bool, depth: int) -> syn.StringExpr:
    if isinstance(node.func, ast.Name) and node.func.id == "story":
        return _story(node, dialect, story)
    if helper_name(node) is None:
        strings = ("story", *(n for n, s in syn.FUNCTIONS.items() if s.result == "string"))
        near = nearest(node.func.id, strings) if isinstance(node.func, ast.Name) else ""
        raise Refusal(node, description(node), STRING, near)
    return function(node, dialect, "string", story=story, depth=depth)


def _story(node: ast.Call, dialect: Dialect, allowed: bool) -> syn.Story:
    if not allowed:
        raise Refusal(node, "story() outside assign", "story() on the right of assign only")
    if len(node.args) > 1 or node.keywords:
        raise Refusal(node, "several arguments", 'story(), story(tokens) or story("prompt")')
    if not node.args:
        return syn.Story()
    argument = node.args[0]
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return syn.Story(prompt=literal_text(argument))
    return syn.Story(tokens=whole_number(argument, 1, "a number of tokens or a prompt"))


def list_of(
    node: ast.expr, dialect: Dialect, *, story: bool = False, depth: int = 0
) -> syn.ListExpr:
    """A list expression."""
    check_depth(node, depth)
    if isinstance(node, ast.Name) and node.id in syn.LIST_REGISTERS:
        return syn.Register(node.id)
    if isinstance(node, ast.List):
        items = read_each(
            lambda item: string(item, dialect, story=story, depth=depth + 1), node.elts
        )
        return syn.ListOf(tuple(items))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = read_each(
            lambda side: list_of(side, dialect, story=story, depth=depth + 1),
            (node.left, node.right),
        )
        return syn.Chain(left, right)
    if helper_name(node) is not None:
        return function(node, dialect, "list", story=story, depth=depth)
    near = nearest(node.id, syn.LIST_REGISTERS) if isinstance(node, ast.Name) else ""
    raise Refusal(node, description(node), LIST, near)


def helper_name(node: ast.expr) -> str | None:
    """Name of the helper function that a node calls, None for any other node."""
    if not isinstance(node, ast.Call):
        return None
    method = isinstance(node.func, ast.Attribute)
    name = getattr(node.func, "attr" if method else "id", "")
    signature = syn.FUNCTIONS.get(name)
    return name if signature and signature.method == method else None


def function(
    node: ast.expr, dialect: Dialect, kind: syn.Kind, *, story: bool = False, depth: int = 0
) -> syn.Function:
    """A helper call, which must give a value of ``kind``."""
    name = helper_name(node)
    assert name is not None
    assert isinstance(node, ast.Call)
    signature = syn.FUNCTIONS[name]
    if signature.result != kind:
        raise Refusal(node, f"{name}, which gives {_A[signature.result]}", _EXPECTED[kind])
    own = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    arguments = own + list(node.args)
    most = len(signature.arguments)
    if node.keywords or not most - signature.optional <= len(arguments) <= most:
        raise Refusal(node, "other arguments", usage(name))
    values = read_each(
        lambda pair: _argument(*pair, dialect, story, depth + 1),
        zip(arguments, signature.arguments, strict=False),
    )
    return syn.Function(name, tuple(values))


def _argument(
    node: ast.expr, kinds: tuple[syn.Kind, ...], dialect: Dialect, story: bool, depth: int
) -> syn.Expression:
    if kinds == ("number",):
        return syn.Number(whole_number(node, 0, "a number of tokens"))
    kind = kind_of(node)
    return value(node, dialect, kind if kind in kinds else kinds[0], story=story, depth=depth)


def value(
    node: ast.expr, dialect: Dialect, kind: syn.Kind, *, story: bool = False, depth: int = 0
) -> Any:
    """An expression of a kind: a string, a list or a set of words."""
    if kind == "string":
        return string(node, dialect, story=story, depth=depth)
    if kind == "list":
        return list_of(node, dialect, story=story, depth=depth)
    if helper_name(node) is None:
        raise Refusal(node, description(node), _EXPECTED[kind])
    check_depth(node, depth)
    return function(node, dialect, kind, story=story, depth=depth)


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
    own = f"{words.pop(0)}." if signature.method else ""
    return f"{own}{name}({', '.join(words)})"


SUM = "a sum of xent, nex, xed and dex; they add and subtract, never multiply"


def xent_sum(node: ast.expr, dialect: Dialect, *, numbers: bool = False) -> syn.Sum:
    """A signed sum of xents; ``numbers`` admits bounds and counts too (comparisons only)."""
    amount = _signed_sum(node, dialect, numbers, 0)
    if len(amount.terms) > syn.MAX_TERMS:
        raise Refusal(node, f"a sum of {len(amount.terms)} terms", f"at most {syn.MAX_TERMS}")
    return amount


def _signed_sum(node: ast.expr, dialect: Dialect, numbers: bool, depth: int) -> syn.Sum:
    check_depth(node, depth)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return syn.Sum(_negate(_signed_sum(node.operand, dialect, numbers, depth + 1)))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left, right = read_each(
            lambda side: _signed_sum(side, dialect, numbers, depth + 1), (node.left, node.right)
        )
        terms = right.terms if isinstance(node.op, ast.Add) else _negate(right)
        return syn.Sum(left.terms + terms)
    return syn.Sum(((1, _number(node, dialect) if numbers else _xent(node, dialect)),))


def _negate(amount: syn.Sum) -> tuple[tuple[int, syn.Term], ...]:
    return tuple((-sign, term) for sign, term in amount.terms)


def _number(node: ast.expr, dialect: Dialect) -> syn.Term:
    bits = node.value if isinstance(node, ast.Constant) else None
    name = helper_name(node)
    if name is not None and syn.FUNCTIONS[name].result == "number":
        return function(node, dialect, "number")
    if type(bits) is int:
        return syn.Number(whole_number(node, 0, "a number of bits"))
    if type(bits) is not float or not dialect.python_conditions:
        return _xent(node, dialect)
    if not bits <= syn.MAX_NUMBER:
        raise Refusal(node, "a number too large", f"at most {syn.MAX_NUMBER}")
    return syn.Number(bits)


def _xent(node: ast.expr, dialect: Dialect) -> syn.Xent:
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
    is_given = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.BitOr)
    parts = [inner.left, inner.right] if is_given else [inner]  # type: ignore[attr-defined]
    texts = read_each(lambda part: string(part, dialect), (*parts, *outer))
    prefix = texts[1] if len(parts) == 2 else None
    return syn.Xent(kind, texts[0], prefix, texts[-1] if outer else None)


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


def condition(node: ast.expr, dialect: Dialect, depth: int = 0) -> syn.Condition:
    """A comparison, ``is_true``, ``is_false``, a bare statement, or a helper that decides."""
    check_depth(node, depth)
    wide = dialect.python_conditions
    if isinstance(node, ast.Compare):
        return _comparison(node, dialect)
    if wide and isinstance(node, ast.BoolOp):
        return _logic(node, dialect, depth)
    if wide and isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _not(node, dialect, depth)
    name = helper_name(node)
    if name is not None and syn.FUNCTIONS[name].result != "string":
        return function(node, dialect, "truth")
    return _statement(node, dialect)


def _statement(node: ast.expr, dialect: Dialect) -> syn.Truth:
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    if isinstance(node, ast.Call) and name in ("is_true", "is_false"):
        if not node.args or node.keywords:
            raise Refusal(node, "no statement", f'{name}("statement", …)')
        statement, *params = read_each(lambda part: string(part, dialect), node.args)
        return syn.Truth(statement, tuple(params), name == "is_true")
    return syn.Truth(string(node, dialect), (), True)


def _sums(
    left: ast.expr, comparator: syn.Comparator, right: ast.expr, dialect: Dialect
) -> syn.Comparison:
    one, other = read_each(lambda side: xent_sum(side, dialect, numbers=True), (left, right))
    return syn.Comparison(one, comparator, other)


def _comparison(node: ast.Compare, dialect: Dialect) -> syn.Condition:
    """One of two sums or, where the dialect has them, Python's comparisons; ``a < b < c`` is
    ``a < b and b < c``."""
    if not dialect.python_conditions:
        comparator = _COMPARATORS.get(type(node.ops[0]))
        if len(node.ops) != 1 or comparator not in syn.COMPARATORS:
            raise Refusal(node, "this comparison", "one of < <= > >= between xent sums")
        return _sums(node.left, comparator, node.comparators[0], dialect)
    sides = [node.left, *node.comparators]
    pairs = read_each(
        lambda pair: _pair(*pair, node, dialect),
        zip(sides, node.ops, node.comparators, strict=False),
    )
    return pairs[0] if len(pairs) == 1 else syn.Logic("and", tuple(pairs))


def _pair(
    left: ast.expr, op: ast.cmpop, right: ast.expr, node: ast.Compare, dialect: Dialect
) -> syn.Condition:
    comparator = _COMPARATORS.get(type(op))
    if comparator is None:
        raise Refusal(node, "this comparison", "one of < <= > >= == != in, not in")
    kinds = (kind_of(left), kind_of(right))
    if comparator in _COMPARATORS_OF_KINDS.get(kinds, ()):
        one, other = read_each(
            lambda side: value(side, dialect, kind_of(side) or "string"), (left, right)
        )
        return syn.Test(one, comparator, other)
    if "in" in comparator:
        raise Refusal(node, "this comparison", "a string in a string or in a list")
    return _sums(left, comparator, right, dialect)


def _logic(node: ast.BoolOp, dialect: Dialect, depth: int) -> syn.Logic:
    parts = read_each(lambda part: _strict_condition(part, dialect, depth + 1), node.values)
    word = "and" if isinstance(node.op, ast.And) else "or"
    return syn.Logic(word, tuple(parts))  # type: ignore[arg-type]


def _not(node: ast.UnaryOp, dialect: Dialect, depth: int) -> syn.Condition:
    """``not`` of a condition; for a string, a list or a set: whether it is empty."""
    kind = kind_of(node.operand)
    if kind in ("string", "list", "words"):
        size = syn.Function("len", (value(node.operand, dialect, kind),))
        nothing = syn.Sum(((1, syn.Number(0)),))
        return syn.Comparison(syn.Sum(((1, size),)), "==", nothing)
    return syn.Logic("not", (_strict_condition(node.operand, dialect, depth + 1),))


def _strict_condition(node: ast.expr, dialect: Dialect, depth: int) -> syn.Condition:
    """A condition that is no bare statement."""
    if kind_of(node) in ("string", "list", "words", "number"):
        raise Refusal(node, description(node), "a comparison, is_true, is_false or only_uses_…")
    return condition(node, dialect, depth)
