"""Walking, searching and rebuilding syntax trees, from a program down to its literals. A node's
children are those of its fields that are nodes, or hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS

Node = TypeVar("Node")
Found = TypeVar("Found")


def children(node: object) -> tuple[Any, ...]:
    """Direct sub-expressions, in the order written."""
    return tuple(_children_backwards(node)[::-1])


_PLAIN = {str, int, float, bool, type(None)}


def _children_backwards(node: object) -> list[Any]:
    nodes: list[Any] = []
    values = [getattr(node, name) for name in getattr(node, "__slots__", ())]
    while values:
        value = values.pop()
        kind = type(value)
        if kind is tuple:
            values += value
        elif kind not in _PLAIN:
            nodes.append(value)
    return nodes


def descendants(node: object) -> Iterator[Any]:
    """``node`` and everything below it, parents first."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += _children_backwards(node)


def find(root: object, kind: type[Found]) -> list[Found]:
    """The nodes of a type in a program, a line or an expression, in the order written."""
    return [node for node in descendants(root) if isinstance(node, kind)]


def of_type(lines: Sequence[syn.Instruction], *kinds: type) -> list[tuple[int, Any]]:
    """The lines of some types, each after its position."""
    return [(position, line) for position, line in enumerate(lines) if isinstance(line, kinds)]


def draws(node: object) -> bool:
    """Whether texts are drawn at random during a play, beside its map."""
    return any(call.name in ("sample", "shuffle") for call in find(node, syn.Function))


def joined_parts(node: Any) -> Iterator[Any]:
    """The strings or lists of a concatenation, from left to right; any other node alone."""
    if isinstance(node, syn.Cat | syn.Chain):
        yield from joined_parts(node.left)
        yield from joined_parts(node.right)
    else:
        yield node


def parts(instruction: syn.Instruction) -> int:
    """Number of nodes and registers of an instruction: the measure of its size."""
    return sum(1 for _ in descendants(instruction)) + len(writes(instruction))


def rebuild(node: Node, change: Callable[[Any], Any]) -> Node:
    """``node`` with ``change`` applied to each direct sub-expression, in the order written."""

    def new(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(new, part))
        return part if type(part) in _PLAIN else change(part)

    fields = {name: new(getattr(node, name)) for name in node.__slots__}  # type: ignore[attr-defined]
    return replace(node, **fields)  # type: ignore[type-var]


def transform(node: Node, change: Callable[[Any], Any]) -> Node:
    """``node`` with ``change`` applied to everything below it, each part after its own parts."""
    return rebuild(node, lambda part: change(transform(part, change)))


def rename(node: Node, names: dict[str, str]) -> Node:
    """``node`` with every register renamed; names that are missing stay."""
    match node:
        case syn.Register(name):
            return replace(node, name=names.get(name, name))
        case syn.Assign(targets):
            new_targets = tuple((names.get(n, n), rename(value, names)) for n, value in targets)
            return replace(node, targets=new_targets)
        case syn.Elicit(_, registers):
            return replace(node, registers=tuple(names.get(n, n) for n in registers))
        case _:
            return rebuild(node, lambda child: rename(child, names))


def reads(node: object) -> list[str]:
    """Names of the registers whose values an instruction or expression uses, in order."""
    return [part.name for part in descendants(node) if isinstance(part, syn.Register)]


def writes(instruction: syn.Instruction) -> tuple[str, ...]:
    """Names of the registers that an instruction sets, in order."""
    match instruction:
        case syn.Assign(targets):
            return tuple(name for name, _ in targets)
        case syn.Elicit(_, registers):
            return registers
        case _:
            return ()


def stores(
    line: syn.Instruction, dialect: str, read: Callable[[Any], Found]
) -> Iterator[tuple[str, list[Found]]]:
    """The registers that a line sets, in that order, each with what ``read`` answers for its value.

    A node is read when the machine reads it, so the caller sets each register before it asks for
    the next. Where an assign evaluates all before it stores any, a register by itself is read when
    it is stored, and what may be one both times; a register named twice keeps its first place and
    its last value.
    """
    if not isinstance(line, syn.Assign):
        answer = read(line)
        yield from ((name, [answer]) for name in writes(line))
    elif not DIALECTS[dialect].parallel_assign:
        yield from ((name, [read(value)]) for name, value in line.targets)
    else:
        before: dict[str, list[Found]] = {}
        for name, value in line.targets:
            is_late = isinstance(value, syn.Register) and value.name in before
            before[name] = [] if is_late else [read(value)]
        for name, value in dict(line.targets).items():
            source = uncut(value)
            is_kept = isinstance(source, syn.Register) or getattr(source, "name", "") == "sample"
            yield name, before[name] + ([read(value)] if is_kept else [])


def read_unset(
    lines: Iterable[syn.Instruction], dialect: str, names: Callable[[Any], Iterable[str]] = reads
) -> list[str]:
    """Registers that lines read before they set them, each once, in order; ``names``: those that a
    node reads."""
    unset, set_names = dict[str, None](), set[str]()

    def note(node: Any) -> None:
        unset.update((name, None) for name in names(node) if name not in set_names)

    for line in lines:
        for name, _ in stores(line, dialect, note):
            set_names.add(name)
    return list(unset)


def uncut(value: Any) -> Any:
    """What first tokens are taken of, or the value itself: the first tokens of a text are the very
    text, with its register and its prefix, if they are all of it."""
    while isinstance(value, syn.Function) and value.name == "first_n_tokens":
        value = value.arguments[0]
    return value


def shown_whole(node: Any) -> Iterator[str]:
    """Names of the registers whose whole text a string or a list holds: not those that it cuts."""
    match node:
        case syn.Register(name):
            yield name
        case syn.Cat() | syn.Chain() | syn.ListOf() | syn.Function("join"):
            for part in children(node):
                yield from shown_whole(part)


def mentions(instruction: syn.Instruction) -> Iterator[str]:
    """Register names in the order in which the machine meets them."""
    if isinstance(instruction, syn.Assign):
        for name, value in instruction.targets:
            yield from reads(value)
            yield name
    else:
        yield from reads(instruction)
        yield from writes(instruction)
