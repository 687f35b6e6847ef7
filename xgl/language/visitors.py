"""Walking and rebuilding syntax trees: the only module that lists each node's children."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from xgl.language import syntax as syn

Node = TypeVar("Node")


_CHILDREN: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    syn.Cat: lambda node: (node.left, node.right),
    syn.Cut: lambda node: (node.text, node.mark),
    syn.Given: lambda node: (node.text, node.prefix),
    syn.Chain: lambda node: (node.left, node.right),
    syn.Test: lambda node: (node.left, node.right),
    syn.Function: lambda node: node.arguments,
    syn.ListOf: lambda node: node.items,
    syn.Logic: lambda node: node.conditions,
    syn.Xent: lambda node: tuple(
        part for part in (node.target, node.prefix, node.outer) if part is not None
    ),
    syn.Sum: lambda node: tuple([term for _, term in node.terms]),
    syn.Comparison: lambda node: (node.left, node.right),
    syn.Truth: lambda node: (node.statement, *node.params),
    syn.Assign: lambda node: tuple([value for _, value in node.targets]),
    syn.Ensure: lambda node: node.conditions,
    syn.Reward: lambda node: (node.amount,),
    syn.Reveal: lambda node: node.values,
}


def children(node: object) -> tuple[Any, ...]:
    """Direct sub-expressions, in the order written."""
    of = _CHILDREN.get(type(node))
    return of(node) if of else ()


def descendants(node: object) -> Iterator[Any]:
    """``node`` and everything below it, parents first."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        of = _CHILDREN.get(type(node))
        if of:
            waiting += of(node)[::-1]


def joined_parts(node: object) -> Iterator[object]:
    """The strings or lists of a concatenation, which is associative, from left to right; any other
    node alone."""
    if isinstance(node, syn.Cat | syn.Chain):
        yield from joined_parts(node.left)
        yield from joined_parts(node.right)
    else:
        yield node


def parts(instruction: syn.Instruction) -> int:
    """Number of nodes and registers of an instruction: the measure of its size."""
    return sum(1 for _ in descendants(instruction)) + len(writes(instruction))


def rebuild(node: Node, change: Callable[[Any], Any]) -> Node:
    """``node`` with ``change`` applied to each direct sub-expression."""

    def maybe(part: Any) -> Any:
        return None if part is None else change(part)

    fields: dict[str, Any]
    match node:
        case syn.Cat(left, right) | syn.Chain(left, right) | syn.Test(left, _, right):
            fields = {"left": change(left), "right": change(right)}
        case syn.Given(text, prefix):
            fields = {"text": change(text), "prefix": change(prefix)}
        case syn.Function(_, arguments):
            fields = {"arguments": tuple(map(change, arguments))}
        case syn.ListOf(items):
            fields = {"items": tuple(map(change, items))}
        case syn.Cut(text, mark):
            fields = {"text": change(text), "mark": change(mark)}
        case syn.Xent(_, target, prefix, outer):
            fields = {"target": change(target), "prefix": maybe(prefix), "outer": maybe(outer)}
        case syn.Sum(terms):
            fields = {"terms": tuple((sign, change(term)) for sign, term in terms)}
        case syn.Comparison(left, _, right):
            fields = {"left": change(left), "right": change(right)}
        case syn.Truth(statement, params):
            fields = {"statement": change(statement), "params": tuple(map(change, params))}
        case syn.Assign(targets):
            fields = {"targets": tuple((name, change(value)) for name, value in targets)}
        case syn.Ensure(conditions) | syn.Logic(_, conditions):
            fields = {"conditions": tuple(map(change, conditions))}
        case syn.Reward(_, amount):
            fields = {"amount": change(amount)}
        case syn.Reveal(_, values):
            fields = {"values": tuple(map(change, values))}
        case _:
            return node
    return replace(node, **fields)  # type: ignore[type-var]


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
    names, waiting = [], [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, syn.Register):
            names.append(part.name)
        elif of := _CHILDREN.get(type(part)):
            waiting += of(part)[::-1]
    return names


def listed_registers(program: syn.Program) -> tuple[syn.Register, ...]:
    """Registers that some list of the program may hold themselves, where lists hold no values."""
    lists = (n for i in program.instructions for n in descendants(i) if isinstance(n, syn.ListOf))
    items = (item for node in lists for item in node.items if isinstance(item, syn.Register))
    return tuple(dict.fromkeys(items))


def writes(instruction: syn.Instruction) -> tuple[str, ...]:
    """Names of the registers that an instruction sets, in order."""
    match instruction:
        case syn.Assign(targets):
            return tuple(name for name, _ in targets)
        case syn.Elicit(_, registers):
            return registers
        case _:
            return ()


def mentions(instruction: syn.Instruction) -> Iterator[str]:
    """Register names in the order in which the machine meets them."""
    if isinstance(instruction, syn.Assign):
        for name, value in instruction.targets:
            yield from reads(value)
            yield name
    else:
        yield from reads(instruction)
        yield from writes(instruction)
