"""Strings of the paper's dialect in the authors': explicit spaces, copies, stories, constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from xgl.language import syntax as syn
from xgl.language.visitors import descendants, rebuild, writes
from xgl.lowering.account import Account

SPACE, NOTHING = syn.Literal(" "), syn.Literal("")


def constants(line: Any, values: Mapping[str, str], account: Account) -> Any:
    """Constants that the metadata set, as literals: there they are always empty."""

    def change(node: Any) -> Any:
        if isinstance(node, syn.Register) and node.name in values:
            account.change("constants became literals")
            return syn.Literal(values[node.name])
        return rebuild(node, change)

    return rebuild(line, change)


def spaced(line: Any, account: Account) -> Any:
    """``+`` with the space that the paper sandwiches; literals take it in."""

    def change(node: Any) -> Any:
        node = rebuild(node, change)
        if not isinstance(node, syn.Cat):
            return node
        account.change("the spaces of + became explicit")
        if isinstance(node.right, syn.Literal):
            return replace(node, right=syn.Literal(" " + node.right.value))
        if isinstance(node.left, syn.Literal):
            return replace(node, left=syn.Literal(node.left.value + " "))
        if isinstance(node.left, syn.Cat) and isinstance(node.left.right, syn.Literal):
            said = syn.Literal(node.left.right.value + " ")
            return replace(node, left=replace(node.left, right=said))
        return replace(node, left=syn.Cat(node.left, SPACE))

    return rebuild(line, change)


def copied(line: Any, account: Account) -> Any:
    """Lists of values: there, a list holds the register itself."""

    def item(node: Any) -> Any:
        if isinstance(node, syn.Register):
            account.change("a list's registers became copies")
            return syn.Cat(node, NOTHING)
        return change(node)

    def change(node: Any) -> Any:
        if isinstance(node, syn.ListOf):
            return replace(node, items=tuple(map(item, node.items)))
        return rebuild(node, change)

    return rebuild(line, change) if isinstance(line, syn.Assign) else line


def told(line: Any, account: Account) -> Any:
    """``story`` without its argument, which is not heeded there."""

    def change(node: Any) -> Any:
        if isinstance(node, syn.Story) and (node.tokens or node.prompt):
            account.change("story lost its argument; the maps' texts are as it asked")
            return syn.Story()
        return rebuild(node, change)

    return rebuild(line, change)


def stories(program: syn.Program) -> list[syn.Story]:
    """The ``story()`` calls in the order of their sites."""
    lines = program.instructions
    return [node for line in lines for node in descendants(line) if isinstance(node, syn.Story)]


def stepwise(line: syn.Assign, account: Account) -> list[syn.Instruction]:
    """An assign that reads what it sets, as one assign for each register."""
    names = [name for name, _ in line.targets]
    read = {n.name for node in descendants(line) if isinstance(n := node, syn.Register)}
    if len(names) == 1 or not (read & set(names) or len(set(names)) < len(names)):
        return [line]
    account.change("an assign from left to right became several")
    return [replace(line, targets=(target,)) for target in line.targets]


def restored(line: syn.Instruction, account: Account) -> list[syn.Instruction]:
    """An elicit, then its moves stored anew: there, // % and join fail on a shortened move."""
    if not isinstance(line, syn.Elicit):
        return [line]
    account.change("moves are stored anew, so that // % and join work on shortened ones")
    anew = tuple((name, syn.Cat(syn.Register(name), NOTHING)) for name in writes(line))
    return [line, syn.Assign(tuple(dict(anew).items()), line.span)]


def cuts_or_joins(program: syn.Program) -> bool:
    """Whether some string is cut, or some list joined."""
    return any(
        isinstance(node, syn.Cut) or (isinstance(node, syn.Function) and node.name == "join")
        for line in program.instructions
        for node in descendants(line)
    )
