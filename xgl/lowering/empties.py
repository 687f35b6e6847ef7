"""Texts that may be empty: the authors' engine fails on the unconditional xent of one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xgl.language import syntax as syn
from xgl.language.visitors import rebuild
from xgl.lowering.account import Account

MARK = syn.Literal(".")


class Guard:
    """Gives xents of texts that a program may leave empty a pre-instruction that is itself empty
    unless the text is: then there is a token to read, and still none to score."""

    def __init__(self, lines: list[syn.Instruction], account: Account) -> None:
        self.account = account
        self.values: dict[str, list[Any]] = {}
        """What each register is assigned; None stands for a move, which its player answers for."""
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

    def _may_be_empty(self, node: Any, asking: frozenset[str]) -> bool:
        match node:
            case None | syn.Story():
                return False
            case syn.Literal(value):
                return not value
            case syn.Cat(left, right):
                return self._may_be_empty(left, asking) and self._may_be_empty(right, asking)
            case syn.Given(text, _):
                return self._may_be_empty(text, asking)
            case syn.Register(name):
                if name in asking:
                    return False
                found = self.values.get(name, [syn.Literal("")])
                return any(self._may_be_empty(value, asking | {name}) for value in found)
        return True
