"""Rewrites of texts for the authors' engine, and the account of what a lowering did.

There ``+`` joins with nothing between, a list holds registers, ``story`` uses no argument,
constants are empty, reveals take their names from the source and keep them live, and the
unconditional xent of an empty text fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import expression_text
from xgl.language.visitors import descendants, find, reads, rebuild, transform, writes


@dataclass
class Account:
    """The passes add to it in turn. With ``lenient`` a loss is recorded, else it is a refusal."""

    lenient: bool = False
    changes: dict[str, None] = field(default_factory=dict)
    inexact: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    refusals: dict[str, None] = field(default_factory=dict)

    def change(self, what: str) -> None:
        """Record a change that keeps the meaning."""
        self.changes[what] = None

    def note(self, what: str) -> None:
        """Record a difference of the engines that no program can express."""
        self.notes[what] = None

    def loss(self, at: syn.Instruction, what: str) -> None:
        """Record a change after which the program is only nearly the same."""
        (self.inexact if self.lenient else self.refusals)[f"line {at.span.line}: {what}"] = None

    def refuse(self, at: syn.Instruction | None, what: str) -> None:
        """Record why the program cannot be lowered."""
        self.refusals[f"line {at.span.line}: {what}" if at else what] = None


# -- strings, lists and stories ------------------------------------------------------------------

SPACE, NOTHING = syn.Literal(" "), syn.Literal("")


def replace_constants(line: Any, values: Mapping[str, str], account: Account) -> Any:
    """The line with the metadata's constants as literals: there constants are always empty."""

    def change(node: Any) -> Any:
        if isinstance(node, syn.Register) and node.name in values:
            account.change("constants became literals")
            return syn.Literal(values[node.name])
        return node

    return transform(line, change)


def add_spaces(line: Any, account: Account) -> Any:
    """``+`` with the paper's space made explicit, inside a literal where there is one."""

    def change(node: Any) -> Any:
        if not isinstance(node, syn.Cat):
            return node
        account.change("the spaces of + became explicit")
        if isinstance(node.right, syn.Literal):
            return replace(node, right=syn.Literal(" " + node.right.value))
        if isinstance(node.left, syn.Literal):
            return replace(node, left=syn.Literal(node.left.value + " "))
        if isinstance(node.left, syn.Cat) and isinstance(node.left.right, syn.Literal):
            literal = syn.Literal(node.left.right.value + " ")
            return replace(node, left=replace(node.left, right=literal))
        return replace(node, left=syn.Cat(node.left, SPACE))

    return transform(line, change)


def copy_list_items(line: Any, account: Account) -> Any:
    """The line with copies in its lists: there, a list holds the register itself."""

    def change(node: Any) -> Any:
        if not isinstance(node, syn.ListOf):
            return node
        if any(isinstance(item, syn.Register) for item in node.items):
            account.change("a list's registers became copies")
        copies = [syn.Cat(i, NOTHING) if isinstance(i, syn.Register) else i for i in node.items]
        return replace(node, items=tuple(copies))

    return transform(line, change) if isinstance(line, syn.Assign) else line


def remove_story_arguments(line: Any, account: Account) -> Any:
    """``story`` without its argument, which that engine ignores."""

    def change(node: Any) -> Any:
        if isinstance(node, syn.Story) and (node.tokens or node.prompt):
            account.change("story lost its argument; the maps' texts are as it asked")
            return syn.Story()
        return node

    return transform(line, change)


def split_assign(line: syn.Assign, account: Account) -> list[syn.Instruction]:
    """An assign that reads registers which it sets, as one assign for each register."""
    names = [name for name, _ in line.targets]
    names_read = set(reads(line))
    if len(names) == 1 or not (names_read & set(names) or len(set(names)) < len(names)):
        return [line]
    account.change("an assign from left to right became several")
    return [replace(line, targets=(target,)) for target in line.targets]


def drop_overwritten(line: syn.Instruction, account: Account) -> list[syn.Instruction]:
    """An assign that names each register once: Python evaluates no call with a keyword twice."""
    if not isinstance(line, syn.Assign) or len(kept := dict(line.targets)) == len(line.targets):
        return [line]
    dropped = [value for name, value in line.targets if value is not kept[name]]
    for node in (node for value in dropped for node in descendants(value)):
        if isinstance(node, syn.Story) or getattr(node, "name", "") in ("sample", "shuffle"):
            account.refuse(line, "a text that is drawn and overwritten in one line stays drawn")
    account.change("a register that a line sets twice is set once, to its last value")
    return [replace(line, targets=tuple(kept.items()))]


def store_moves_again(line: syn.Instruction, account: Account) -> list[syn.Instruction]:
    """An elicit, then its moves stored again: there, // % and join fail on a shortened move."""
    if not isinstance(line, syn.Elicit):
        return [line]
    account.change("moves are stored again, so that // % and join work on shortened ones")
    again = tuple((name, syn.Cat(syn.Register(name), NOTHING)) for name in writes(line))
    return [line, syn.Assign(tuple(dict(again).items()), line.span)]


def has_cut_or_join(program: syn.Program) -> bool:
    """Whether some string is cut, or some list joined."""
    joins = any(call.name == "join" for call in find(program, syn.Function))
    return joins or bool(find(program, syn.Cut))


# -- reveals -------------------------------------------------------------------------------------

NAMES = tuple(kind + suffix for suffix in ("", "1", "2", "3") for kind in "stxy")
"""Private registers that both engines have."""
LISTS = tuple("l" + suffix for suffix in ("", "1", "2", "3"))


class RevealRewriter:
    """Stores revealed values in registers of their own where that engine needs them."""

    def __init__(self, program: syn.Program, account: Account) -> None:
        self.account = account
        self.live = DIALECTS[program.dialect].live_reveal
        lines = program.instructions
        self.used_names = {name for line in lines for name in (*reads(line), *writes(line))}
        write_counts = Counter(name for line in lines for name in writes(line))
        again = any(isinstance(line, syn.Ensure | syn.Replay) for line in lines)
        self.steady = (
            set() if again else {name for name in self.used_names if write_counts[name] < 2}
        )

    def lower(self, line: syn.Reveal) -> list[syn.Instruction]:
        """The reveal, after the assigns that it needs."""
        before: list[syn.Instruction] = []
        values: list[syn.StringExpr | syn.ListExpr] = []
        for value in line.values:
            register = self._own(line, value) if self._needs_own(line.player, value) else None
            if register:
                before.append(syn.Assign(((register, value),), line.span))
            values.append(syn.Register(register) if register else value)
        return [*before, replace(line, values=tuple(values))]

    def _needs_own(self, player: str, value: syn.StringExpr | syn.ListExpr) -> bool:
        if not isinstance(value, syn.Register):
            return not self.live or any(mark in expression_text(value) for mark in ",()")
        is_visible = player in syn.viewers(value.name)
        return not (self.live or is_visible or value.name in self.steady)

    def _own(self, line: syn.Reveal, value: syn.StringExpr | syn.ListExpr) -> str | None:
        pool = LISTS if syn.kind_of(value) == "list" else NAMES
        free = next((name for name in pool if name not in self.used_names), None)
        if free is None:
            self.account.refuse(line, "no register is left for what is revealed")
            return None
        self.used_names.add(free)
        self.account.change("what is revealed has a register of its own")
        return free


# -- texts that may be empty ---------------------------------------------------------------------

MARK = syn.Literal(".")


class Guard:
    """Adds a pre-instruction to xents of texts that may be empty. It is empty unless the text is:
    then there is a token to read, and still none to score."""

    def __init__(self, lines: list[syn.Instruction], account: Account) -> None:
        self.account = account
        self.values: dict[str, list[Any]] = {}
        """The values that each register is assigned; None stands for a move of a player."""
        for line in lines:
            if isinstance(line, syn.Assign):
                for name, value in line.targets:
                    self.values.setdefault(name, []).append(value)
            elif isinstance(line, syn.Elicit):
                for name in line.registers:
                    self.values.setdefault(name, []).append(None)

    def __call__(self, node: Any) -> Any:
        """An instruction or expression with its xents guarded."""
        if not isinstance(node, syn.Xent):
            return rebuild(node, self)
        if node.outer is not None or not self._may_be_empty(node.target, frozenset()):
            return node
        self.account.change("texts that may be empty are scored behind a guard")
        text = node.target.text if isinstance(node.target, syn.Given) else node.target
        rest = syn.Cut(syn.Cat(text, MARK), text, "after")
        return replace(node, outer=syn.Cut(MARK, rest, "before"))

    def _may_be_empty(self, node: Any, visited_names: frozenset[str]) -> bool:
        match node:
            case None | syn.Story():
                return False
            case syn.Literal(value):
                return not value
            case syn.Cat(left, right):
                return self._may_be_empty(left, visited_names) and self._may_be_empty(
                    right, visited_names
                )
            case syn.Given(text, _):
                return self._may_be_empty(text, visited_names)
            case syn.Register(name):
                if name in visited_names:
                    return False
                values = self.values.get(name, [syn.Literal("")])
                return any(self._may_be_empty(value, visited_names | {name}) for value in values)
        return True
