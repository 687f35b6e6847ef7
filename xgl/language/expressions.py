"""Python expression nodes to XGL strings, lists, helper calls, sums of xents and conditions, by a
whitelist of shapes (docs/specification.md, "Reading a program" and "Expressions")."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, Concatenate, ParamSpec, TypeVar

from xgl.errors import MAX_PROBLEMS, excerpt
from xgl.escaping import first_invisible
from xgl.language import syntax as syn
from xgl.language.dialects import Dialect

Part = TypeVar("Part")
Result = TypeVar("Result")
Rest = ParamSpec("Rest")
_Terms = tuple[tuple[int, syn.Term], ...]


class Refusal(Exception):  # noqa: N818 - a signal inside the parser, never seen outside
    """What is not in the language, at a node or a column; becomes a :class:`~xgl.errors.Problem`.

    ``all`` holds it and the refusals of the other parts of the same node.
    """

    def __init__(
        self, place: ast.expr | ast.keyword | int, found: str, expected: str, suggestion: str = ""
    ) -> None:
        super().__init__(found)
        self.column = place if isinstance(place, int) else place.col_offset + 1
        self.found, self.expected, self.suggestion = excerpt(found), excerpt(expected), suggestion
        self.all: list[Refusal] = [self]


class TooDeepError(Refusal):
    """Ends the reading of its line, whose other parts are as deep."""


def read_each(
    read: Callable[Concatenate[Part, Rest], Result],
    parts: Iterable[Part],
    *rest: Rest.args,
    **options: Rest.kwargs,
) -> list[Result]:
    """The results of ``read`` for all parts; raises one refusal that holds all refusals of parts,
    up to the number that is reported."""
    results, refusals = [], list[Refusal]()
    for part in parts:
        if len(refusals) >= MAX_PROBLEMS:
            break
        try:
            results.append(read(part, *rest, **options))
        except TooDeepError:
            raise
        except Refusal as refusal:
            refusals += refusal.all
    if refusals:
        refusals[0].all = refusals
        raise refusals[0]
    return results


def nearest(name: str, names: Iterable[str]) -> str:
    return next(iter(get_close_matches(name, list(names), 1)), "")


def register(node: ast.expr | ast.keyword, name: str) -> str:
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
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "an assignment with :=",
    ast.Starred: "a starred argument",
    ast.UnaryOp: "an operation",
    **dict.fromkeys((ast.DictComp, ast.GeneratorExp, ast.ListComp, ast.SetComp), "a comprehension"),
}


SUM = "a sum of xent, nex, xed and dex; they add and subtract, never multiply"
_KINDS: dict[syn.Kind, tuple[str, str]] = {
    "string": ("a string", "a string: a literal, a register, + // or %"),
    "list": ("a list", "a list: [strings], a register l, +, split or shuffle"),
    "words": ("a set of words", "a set of words: word_set(s) or common_word_set(s, t)"),
    "number": ("a number", "a whole number"),
    "truth": ("a truth value", "a condition"),
}
"""Each kind of value, and what may give one."""
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


def _called(node: ast.expr) -> str:
    """The name that a node calls; empty for any other node, and for a method."""
    called = node.func if isinstance(node, ast.Call) else None
    return called.id if isinstance(called, ast.Name) else ""


def helper_name(node: ast.expr) -> str | None:
    """Name of the helper function that a node calls, None for any other node."""
    if not isinstance(node, ast.Call):
        return None
    method = isinstance(node.func, ast.Attribute)
    name = getattr(node.func, "attr" if method else "id", "")
    signature = syn.FUNCTIONS.get(name)
    return name if signature and signature.method == method else None


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


class Reader:
    """Reads the expressions of a line; ``story``: whether ``story()`` may stand in them, as in
    assign only. Raises :class:`Refusal`."""

    def __init__(self, dialect: Dialect, story: bool = False) -> None:
        self.dialect, self.story = dialect, story

    # -- strings, lists, sets of words ---------------------------------------------------------

    def string(self, node: ast.expr, depth: int = 0) -> syn.StringExpr:
        check_depth(node, depth)
        match node:
            case ast.Constant(value=str()):
                return syn.Literal(literal_text(node))
            case ast.Name(id=name):
                return syn.Register(register(node, name))
            case ast.BinOp():
                return self._operation(node, depth)
            case ast.Call() if _called(node) == "story":
                return self._story(node)
            case ast.Call() if helper_name(node) is not None:
                return self.function(node, "string", depth)
        strings = ("story", *(n for n, s in syn.FUNCTIONS.items() if s.result == "string"))
        raise Refusal(node, description(node), _KINDS["string"][1], nearest(_called(node), strings))

    def _operation(self, node: ast.BinOp, depth: int) -> syn.StringExpr:
        if isinstance(node.op, ast.Div):
            raise Refusal(node, "the operator /", "// (what precedes) or % (what follows)", "//")
        is_prefix = isinstance(node.op, ast.BitOr) and self.dialect.stored_prefix
        if not is_prefix and not isinstance(node.op, ast.Add | ast.FloorDiv | ast.Mod):
            found = f"the operator {type(node.op).__name__}"
            raise Refusal(node, found, "+ // or % between strings")
        left, right = read_each(self.string, (node.left, node.right), depth + 1)
        if is_prefix:
            return syn.Given(left, right)
        if isinstance(node.op, ast.Add):
            return syn.Cat(left, right)
        return syn.Cut(left, right, "before" if isinstance(node.op, ast.FloorDiv) else "after")

    def _story(self, node: ast.Call) -> syn.Story:
        if not self.story:
            raise Refusal(node, "story() outside assign", "story() on the right of assign only")
        if len(node.args) > 1 or node.keywords:
            raise Refusal(node, "several arguments", 'story(), story(tokens) or story("prompt")')
        if not node.args:
            return syn.Story()
        argument = node.args[0]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            return syn.Story(prompt=literal_text(argument))
        return syn.Story(tokens=whole_number(argument, 1, "a number of tokens or a prompt"))

    def list_of(self, node: ast.expr, depth: int = 0) -> syn.ListExpr:
        check_depth(node, depth)
        match node:
            case ast.Name(id=name) if name in syn.LIST_REGISTERS:
                return syn.Register(name)
            case ast.List(elts=items):
                return syn.ListOf(tuple(read_each(self.string, items, depth + 1)))
            case ast.BinOp(left, ast.Add(), right):
                return syn.Chain(*read_each(self.list_of, (left, right), depth + 1))
            case ast.Call() if helper_name(node) is not None:
                return self.function(node, "list", depth)
        near = nearest(node.id, syn.LIST_REGISTERS) if isinstance(node, ast.Name) else ""
        raise Refusal(node, description(node), _KINDS["list"][1], near)

    def function(self, node: ast.Call, kind: syn.Kind, depth: int = 0) -> syn.Function:
        """A helper call, which must give a value of ``kind``."""
        name = str(helper_name(node))
        signature = syn.FUNCTIONS[name]
        if signature.result != kind:
            found = f"{name}, which gives {_KINDS[signature.result][0]}"
            raise Refusal(node, found, _KINDS[kind][1])
        own = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        arguments = own + list(node.args)
        most = len(signature.arguments)
        if node.keywords or not most - signature.optional <= len(arguments) <= most:
            words = ["/".join(kinds) for kinds in signature.arguments]
            before = f"{words.pop(0)}." if signature.method else ""
            raise Refusal(node, "other arguments", f"{before}{name}({', '.join(words)})")
        pairs = zip(arguments, signature.arguments, strict=False)
        return syn.Function(name, tuple(read_each(self._argument, pairs, depth + 1)))

    def _argument(
        self, argument: tuple[ast.expr, tuple[syn.Kind, ...]], depth: int
    ) -> syn.Expression:
        node, kinds = argument
        if kinds == ("number",):
            return syn.Number(whole_number(node, 0, "a number of tokens"))
        kind = kind_of(node)
        value: syn.Expression = self.value(node, kind if kind in kinds else kinds[0], depth)
        return value

    def value(self, node: ast.expr, kind: syn.Kind, depth: int = 0) -> Any:
        """An expression of a kind: a string, a list or a set of words."""
        if kind == "string":
            return self.string(node, depth)
        if kind == "list":
            return self.list_of(node, depth)
        if not isinstance(node, ast.Call) or helper_name(node) is None:
            raise Refusal(node, description(node), _KINDS[kind][1])
        check_depth(node, depth)
        return self.function(node, kind, depth)

    # -- sums of xents -------------------------------------------------------------------------

    def xent_sum(self, node: ast.expr, numbers: bool = False) -> syn.Sum:
        """A signed sum of xents; ``numbers`` admits bounds and counts too (comparisons only)."""
        terms = self._terms(node, numbers, 0)
        if len(terms) > syn.MAX_TERMS:
            raise Refusal(node, f"a sum of {len(terms)} terms", f"at most {syn.MAX_TERMS}")
        return syn.Sum(terms)

    def _terms(self, node: ast.expr, numbers: bool, depth: int) -> _Terms:
        check_depth(node, depth)
        match node:
            case ast.UnaryOp(ast.USub(), operand):
                return _negated(self._terms(operand, numbers, depth + 1))
            case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
                one, other = read_each(self._terms, (left, right), numbers, depth + 1)
                return one + (other if isinstance(op, ast.Add) else _negated(other))
        return ((1, self._number(node) if numbers else self._xent(node)),)

    def _number(self, node: ast.expr) -> syn.Term:
        bits = node.value if isinstance(node, ast.Constant) else None
        name = helper_name(node)
        if isinstance(node, ast.Call) and name and syn.FUNCTIONS[name].result == "number":
            return self.function(node, "number")
        if type(bits) is int:
            return syn.Number(whole_number(node, 0, "a number of bits"))
        if type(bits) is not float or not self.dialect.python_conditions:
            return self._xent(node)
        if not bits <= syn.MAX_NUMBER:
            raise Refusal(node, "a number too large", f"at most {syn.MAX_NUMBER}")
        return syn.Number(bits)

    def _xent(self, node: ast.expr) -> syn.Xent:
        kind: Any = _called(node)
        if not kind or not isinstance(node, ast.Call):
            raise Refusal(node, description(node), SUM)
        if kind not in syn.XENT_KINDS:
            is_helper = kind in syn.FUNCTIONS
            found = f"a call of {kind!r}" if is_helper else f"unknown function {kind!r}"
            raise Refusal(node, found, SUM, "" if is_helper else nearest(kind, syn.XENT_KINDS))
        if not 1 <= len(node.args) <= 2 or node.keywords:
            forms = f"{kind}(s), {kind}(s | t) or with , o"
            raise Refusal(node, f"{len(node.args)} arguments", forms)
        inner, *outer = node.args
        is_given = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.BitOr)
        parts = [inner.left, inner.right] if is_given else [inner]  # type: ignore[attr-defined]
        texts = read_each(self.string, (*parts, *outer))
        prefix = texts[1] if len(parts) == 2 else None
        return syn.Xent(kind, texts[0], prefix, texts[-1] if outer else None)

    # -- conditions ----------------------------------------------------------------------------

    def condition(self, node: ast.expr, depth: int = 0) -> syn.Condition:
        """A comparison, ``is_true``, ``is_false``, a bare statement, or a helper that decides."""
        check_depth(node, depth)
        wide, name = self.dialect.python_conditions, helper_name(node)
        match node:
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp(op, parts) if wide:
                word: Any = "and" if isinstance(op, ast.And) else "or"
                return syn.Logic(word, tuple(read_each(self._strict_condition, parts, depth + 1)))
            case ast.UnaryOp(ast.Not(), operand) if wide:
                return self._not(operand, depth)
            case ast.Call() if name is not None and syn.FUNCTIONS[name].result != "string":
                return self.function(node, "truth")
            case ast.Call(args=parts) if (verdict := _called(node)) in ("is_true", "is_false"):
                if not parts or node.keywords:
                    raise Refusal(node, "no statement", f'{verdict}("statement", …)')
                statement, *params = read_each(self.string, parts)
                return syn.Truth(statement, tuple(params), verdict == "is_true")
        return syn.Truth(self.string(node))

    def _comparison(self, node: ast.Compare) -> syn.Condition:
        """One of two sums or, where the dialect has them, Python's comparisons; ``a < b < c`` is
        ``a < b and b < c``."""
        if not self.dialect.python_conditions:
            comparator = _COMPARATORS.get(type(node.ops[0]))
            if len(node.ops) != 1 or comparator not in syn.COMPARATORS:
                raise Refusal(node, "this comparison", "one of < <= > >= between xent sums")
            return self._sums(node.left, comparator, node.comparators[0])
        sides = [node.left, *node.comparators]
        triples = zip(sides, node.ops, node.comparators, strict=False)
        pairs = read_each(self._pair, triples, node)
        return pairs[0] if len(pairs) == 1 else syn.Logic("and", tuple(pairs))

    def _pair(
        self, triple: tuple[ast.expr, ast.cmpop, ast.expr], node: ast.Compare
    ) -> syn.Condition:
        left, op, right = triple
        comparator = _COMPARATORS.get(type(op))
        if comparator is None:
            raise Refusal(node, "this comparison", "one of < <= > >= == != in, not in")
        kinds = (kind_of(left), kind_of(right))
        if comparator in _COMPARATORS_OF_KINDS.get(kinds, ()):
            one, other = read_each(
                lambda side: self.value(side, kind_of(side) or "string"), (left, right)
            )
            return syn.Test(one, comparator, other)
        if "in" in comparator:
            raise Refusal(node, "this comparison", "a string in a string or in a list")
        return self._sums(left, comparator, right)

    def _sums(self, left: ast.expr, comparator: syn.Comparator, right: ast.expr) -> syn.Comparison:
        one, other = read_each(self.xent_sum, (left, right), numbers=True)
        return syn.Comparison(one, comparator, other)

    def _not(self, operand: ast.expr, depth: int) -> syn.Condition:
        """``not`` of a condition; for a string, a list or a set: whether it is empty."""
        kind = kind_of(operand)
        if kind in ("string", "list", "words"):
            size = syn.Function("len", (self.value(operand, kind),))
            nothing = syn.Sum(((1, syn.Number(0)),))
            return syn.Comparison(syn.Sum(((1, size),)), "==", nothing)
        return syn.Logic("not", (self._strict_condition(operand, depth + 1),))

    def _strict_condition(self, node: ast.expr, depth: int) -> syn.Condition:
        """A condition that is no bare statement."""
        if kind_of(node) in ("string", "list", "words", "number"):
            expected = "a comparison, is_true, is_false or only_uses_…"
            raise Refusal(node, description(node), expected)
        return self.condition(node, depth)


def _negated(terms: _Terms) -> _Terms:
    return tuple((-sign, term) for sign, term in terms)
