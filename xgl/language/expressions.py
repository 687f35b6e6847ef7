"""Python expression nodes to XGL strings, lists, helper calls, sums of xents and conditions, by a
whitelist of shapes (docs/specification.md, "Reading a program" and "Expressions")."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from xgl.errors import excerpt
from xgl.escaping import first_invisible
from xgl.language import syntax as syn
from xgl.language.dialects import Dialect
from xgl.language.visitors import draws


class Refusal(Exception):  # noqa: N818 - a signal inside the parser, never seen outside
    """What is not in the language, at a node or a column; becomes a
    :class:`~xgl.errors.Problem`."""

    def __init__(
        self, place: ast.expr | ast.keyword | int, found: str, expected: str, suggestion: str = ""
    ) -> None:
        super().__init__(found)
        self.column = place if isinstance(place, int) else place.col_offset + 1
        self.found, self.expected, self.suggestion = excerpt(found), excerpt(expected), suggestion


def nearest(name: str, names: Iterable[str]) -> str:
    return next(iter(get_close_matches(name, list(names), 1)), "")


def register(node: ast.expr | ast.keyword, name: str) -> str:
    if name in syn.REGISTERS:
        return name
    expected = "s t x y p a b c, plain or with 0-3"
    if name in syn.LIST_REGISTERS:
        raise Refusal(node, f"the list {name!r}", f"a string register: {expected}")
    if (player := name.lower()) in syn.PLAYERS:
        expected = f"a register ({expected}); a player is first"
        raise Refusal(node, f"the player {name!r}", expected, player if player != name else "")
    raise Refusal(node, f"unknown register {name!r}", expected, nearest(name, syn.REGISTERS))


def whole_number(node: ast.expr, least: int, expected: str) -> int:
    value = node.value if isinstance(node, ast.Constant) else None
    if type(value) is not int or value < least:
        raise Refusal(node, description(node), expected)
    if value > syn.MAX_NUMBER:
        raise Refusal(node, "a number too large", f"at most {syn.MAX_NUMBER}")
    return value


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
_EXPECTED: dict[syn.Kind, str] = {
    "string": "a string: a literal, a register, + // or %",
    "list": "a list: [strings], a register l, +, split or shuffle",
    "words": "a set of words: word_set(s) or common_word_set(s, t)",
    "number": "a sum of xent, nex, xed and dex; they add and subtract, never multiply",
    "truth": "a condition: a comparison, a statement, is_true, is_false or only_uses_…",
}
"""What may give a value of each kind."""
_OPERATORS: dict[type[ast.operator], tuple[syn.Kind, ...]] = {
    ast.Add: ("string", "list", "number"),
    ast.Sub: ("number",),
    ast.FloorDiv: ("string",),
    ast.Mod: ("string",),
    ast.BitOr: ("string",),
}
"""Kinds of the operands, which are that of the result."""
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
_COMPARATORS_OF_KINDS: dict[tuple[syn.Kind, syn.Kind], tuple[syn.Comparator, ...]] = {
    ("string", "string"): (*_ALIKE, "in", "not in"),
    ("string", "list"): ("in", "not in"),
    ("list", "list"): _ALIKE,
    ("words", "words"): (*_ALIKE, *syn.COMPARATORS),
    ("number", "number"): (*_ALIKE, *syn.COMPARATORS),
}
_VERDICTS = ("is_true", "is_false")


class Reader:
    """Reads the expressions of a line of the instruction ``name``: ``story()`` may stand in assign
    only, and bounds and counts in ensure only. Raises :class:`Refusal`."""

    def __init__(self, dialect: Dialect, name: str) -> None:
        self.dialect, self.name = dialect, name

    def value(self, node: ast.expr, *kinds: syn.Kind, depth: int = 0) -> Any:
        """The expression of a node, whose value must be of one of ``kinds``."""
        if depth > syn.MAX_DEPTH:
            raise Refusal(node, "an expression too deep", f"at most {syn.MAX_DEPTH} levels")
        value = self._read(node, kinds, depth)
        if value is None or syn.kind_of(value) not in kinds:
            raise Refusal(node, description(node), _EXPECTED[kinds[0]])
        return value

    def _read(self, node: ast.expr, kinds: tuple[syn.Kind, ...], depth: int) -> Any:
        """The expression of a node, of any kind; ``kinds``: those that are useful. None for a node
        that is not in the language."""
        match node:
            case ast.Constant(value=str()):
                return syn.Literal(literal_text(node))
            case ast.Constant(value=int() | float()) if self.name == "ensure":
                return self._bound(node)
            case ast.Name(id=name):
                return syn.Register(name if name in syn.LIST_REGISTERS else register(node, name))
            case ast.List(elts=items):
                strings = (self.value(item, "string", depth=depth + 1) for item in items)
                return syn.ListOf(tuple(strings))
            case ast.BinOp():
                return self._operation(node, kinds, depth)
            case ast.UnaryOp(ast.USub(), operand) if "number" in kinds:
                return _negated(self.value(operand, "number", depth=depth + 1))
            case ast.Call():
                return self._call(node, kinds, depth)
            case ast.Compare() if "truth" in kinds:
                return self._comparison(node, depth)
            case ast.BoolOp() | ast.UnaryOp(ast.Not()) if self.dialect.python_conditions:
                return self._logic(node, depth)
        return None

    def _operation(self, node: ast.BinOp, kinds: tuple[syn.Kind, ...], depth: int) -> Any:
        if isinstance(node.op, ast.Div) and "string" in kinds:
            raise Refusal(node, "the operator /", "// (what precedes) or % (what follows)", "//")
        own = [kind for kind in kinds if kind in _OPERATORS.get(type(node.op), ())]
        if not own or (isinstance(node.op, ast.BitOr) and not self.dialect.stored_prefix):
            return None
        left = self.value(node.left, *own, depth=depth + 1)
        kind = syn.kind_of(left)
        right = self.value(node.right, kind, depth=depth + 1)
        match node.op:
            case ast.Add() | ast.Sub() if kind == "number":
                other = right if isinstance(node.op, ast.Add) else _negated(right)
                if (size := len(left.terms) + len(other.terms)) > syn.MAX_TERMS:
                    raise Refusal(node, f"a sum of {size} terms", f"at most {syn.MAX_TERMS}")
                return syn.Sum(left.terms + other.terms)
            case ast.Add():
                return syn.Chain(left, right) if kind == "list" else syn.Cat(left, right)
            case ast.BitOr():
                return syn.Given(left, right)
        return syn.Cut(left, right, "before" if isinstance(node.op, ast.FloorDiv) else "after")

    def _bound(self, node: ast.Constant) -> syn.Sum | None:
        """A bound in bits; only the xent dialect has fractions."""
        bits: Any = node.value
        if isinstance(bits, int):
            return _sum(syn.Number(whole_number(node, 0, "a number of bits")))
        if not self.dialect.python_conditions:
            return None
        if not bits <= syn.MAX_NUMBER:
            raise Refusal(node, "a number too large", f"at most {syn.MAX_NUMBER}")
        return _sum(syn.Number(bits))

    # -- calls ---------------------------------------------------------------------------------

    def _call(self, node: ast.Call, kinds: tuple[syn.Kind, ...], depth: int) -> Any:
        is_method = isinstance(node.func, ast.Attribute)
        name: Any = getattr(node.func, "attr" if is_method else "id", "")
        signature = syn.FUNCTIONS.get(name)
        if signature is not None and signature.method == is_method:
            return self._function(node, name, depth)
        if is_method or not name:
            return None
        if name == "story":
            return self._story(node)
        if name in syn.XENT_KINDS:
            return _sum(self._xent(node, name))
        if name in _VERDICTS:
            return self._verdict(node, name)
        near = nearest(name, ("story", *syn.XENT_KINDS, *_VERDICTS, *syn.FUNCTIONS))
        raise Refusal(node, f"unknown function {name!r}", _EXPECTED[kinds[0]], near)

    def _function(self, node: ast.Call, name: str, depth: int) -> Any:
        signature = syn.FUNCTIONS[name]
        own = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        arguments = own + list(node.args)
        most = len(signature.arguments)
        if node.keywords or not most - signature.optional <= len(arguments) <= most:
            words = ["/".join(kinds) for kinds in signature.arguments]
            before = f"{words.pop(0)}." if signature.method else ""
            raise Refusal(node, "other arguments", f"{before}{name}({', '.join(words)})")
        # Strings and lists count their depth from where sums and conditions begin.
        inner = 1 if signature.result in ("number", "truth") else depth + 1
        call = syn.Function(
            name,
            tuple(
                syn.Number(whole_number(argument, 0, "a number of tokens"))
                if kinds == ("number",)
                else self.value(argument, *kinds, depth=inner)
                for argument, kinds in zip(arguments, signature.arguments, strict=False)
            ),
        )
        if signature.result != "number":
            return call
        return _sum(call) if self.name == "ensure" else None

    def _story(self, node: ast.Call) -> syn.Story:
        if self.name != "assign":  # it is drawn where it is stored, and nowhere else
            raise Refusal(node, "story() outside assign", "story() on the right of assign only")
        if len(node.args) > 1 or node.keywords:
            raise Refusal(node, "several arguments", 'story(), story(tokens) or story("prompt")')
        if not node.args:
            return syn.Story()
        argument = node.args[0]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            return syn.Story(prompt=literal_text(argument))
        return syn.Story(tokens=whole_number(argument, 1, "a number of tokens or a prompt"))

    def _xent(self, node: ast.Call, kind: syn.XentKind) -> syn.Xent:
        if not 1 <= len(node.args) <= 2 or node.keywords:
            forms = f"{kind}(s), {kind}(s | t) or with , o"
            raise Refusal(node, f"{len(node.args)} argument{'s' * (len(node.args) != 1)}", forms)
        inner, *outer = node.args
        is_given = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.BitOr)
        parts = [inner.left, inner.right] if is_given else [inner]  # type: ignore[attr-defined]
        target, *prefix = [self.value(part, "string") for part in parts]
        before = self.value(outer[0], "string") if outer else None
        return syn.Xent(kind, target, prefix[0] if prefix else None, before)

    def _verdict(self, node: ast.Call, name: str) -> syn.Truth:
        if not node.args or node.keywords:
            raise Refusal(node, "no statement", f'{name}("statement", …)')
        statement, *params = [self.value(part, "string") for part in node.args]
        return syn.Truth(statement, tuple(params), name == "is_true")

    # -- conditions ----------------------------------------------------------------------------

    def condition(self, node: ast.expr) -> syn.Condition:
        """A condition, or a bare statement."""
        value: Any = self.value(node, "truth", "string")
        return value if syn.kind_of(value) == "truth" else syn.Truth(value)

    def _comparison(self, node: ast.Compare, depth: int) -> syn.Condition:
        """One of two sums or, where the dialect has them, Python's comparisons; ``a < b < c`` is
        ``a < b and b < c``."""
        kinds: tuple[syn.Kind, ...] = ("number",)
        if self.dialect.python_conditions:
            kinds += ("string", "list", "words")
        elif len(node.ops) != 1 or _COMPARATORS.get(type(node.ops[0])) not in syn.COMPARATORS:
            raise Refusal(node, "this comparison", "one of < <= > >= between xent sums")
        if len(node.ops) > 1 and depth == syn.MAX_DEPTH:  # the two stand a level below their and
            raise Refusal(node, "an expression too deep", f"at most {syn.MAX_DEPTH} levels")
        sides = [self.value(side, *kinds) for side in (node.left, *node.comparators)]
        if any(map(draws, sides[1:-1])):
            raise Refusal(node, "a draw between two comparisons", "it to be assigned before")
        pairs = []
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            comparator: Any = _COMPARATORS.get(type(op))
            both = (syn.kind_of(left), syn.kind_of(right))
            if comparator not in _COMPARATORS_OF_KINDS.get(both, ()):
                expected = "< <= > >= == != of sums or sets, == != of lists, == != in of strings"
                raise Refusal(node, "this comparison", expected)
            test = syn.Comparison if both[0] == "number" else syn.Test
            pairs.append(test(left, comparator, right))
        return pairs[0] if len(pairs) == 1 else syn.Logic("and", tuple(pairs))

    def _logic(self, node: ast.BoolOp | ast.UnaryOp, depth: int) -> syn.Condition:
        """Conditions joined, or ``not`` of one; of a string, list or set: whether it is empty."""
        if isinstance(node, ast.BoolOp):
            parts = tuple(self.value(part, "truth", depth=depth + 1) for part in node.values)
            return syn.Logic("and" if isinstance(node.op, ast.And) else "or", parts)
        value = self.value(node.operand, "truth", "string", "list", "words", depth=depth + 1)
        if syn.kind_of(value) == "truth":
            return syn.Logic("not", (value,))
        return syn.Comparison(_sum(syn.Function("len", (value,))), "==", _sum(syn.Number(0)))


def _sum(term: syn.Term) -> syn.Sum:
    return syn.Sum(((1, term),))


def _negated(amount: syn.Sum) -> syn.Sum:
    return syn.Sum(tuple((-sign, term) for sign, term in amount.terms))
