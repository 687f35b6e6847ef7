"""Reveals: the authors' engine takes their names from the source and keeps them live."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import expression_text
from xgl.language.visitors import reads, writes
from xgl.lowering.account import Account

NAMES = tuple(kind + suffix for suffix in ("", "1", "2", "3") for kind in "stxy")
"""Private registers that both engines have."""
LISTS = tuple("l" + suffix for suffix in ("", "1", "2", "3"))


class Revealing:
    """Gives what is revealed registers of its own where that engine needs them."""

    def __init__(self, program: syn.Program, account: Account) -> None:
        self.account = account
        self.live = DIALECTS[program.dialect].live_reveal
        lines = program.instructions
        self.taken = {name for line in lines for name in (*reads(line), *writes(line))}
        written = Counter(name for line in lines for name in writes(line))
        again = any(isinstance(line, syn.Ensure | syn.Replay) for line in lines)
        self.steady = set() if again else {name for name in self.taken if written[name] < 2}

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
        seen = value.name[0] in syn.PUBLIC_TYPES or player in syn.OMNISCIENT
        return not (self.live or seen or value.name in self.steady)

    def _own(self, line: syn.Reveal, value: syn.StringExpr | syn.ListExpr) -> str | None:
        pool = LISTS if syn.kind_of(value) == "list" else NAMES
        free = next((name for name in pool if name not in self.taken), None)
        if free is None:
            self.account.refuse(line, "no register is left for what is revealed")
            return None
        self.taken.add(free)
        self.account.change("what is revealed has a register of its own")
        return free
