"""What a lowering did to a program: changes, losses and refusals, each named once."""

from __future__ import annotations

from dataclasses import dataclass, field

from xgl.language import syntax as syn


@dataclass
class Account:
    """Filled by the passes in turn. With ``lenient`` a loss is noted, else it is a refusal."""

    lenient: bool = False
    changes: dict[str, None] = field(default_factory=dict)
    inexact: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    refusals: dict[str, None] = field(default_factory=dict)

    def change(self, what: str) -> None:
        """The program says the same in other words."""
        self.changes[what] = None

    def note(self, what: str) -> None:
        """The engines differ in something that the program cannot say."""
        self.notes[what] = None

    def loss(self, at: syn.Instruction, what: str) -> None:
        """The program cannot say the same, but nearly so."""
        (self.inexact if self.lenient else self.refusals)[f"line {at.span.line}: {what}"] = None

    def refuse(self, at: syn.Instruction | None, what: str) -> None:
        """The program cannot be said at all."""
        self.refusals[f"line {at.span.line}: {what}" if at else what] = None
