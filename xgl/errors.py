"""The language's error family: everything a program or its user can get wrong."""

from __future__ import annotations

from dataclasses import dataclass


class XGLError(Exception):
    """Root of every error that this package raises on purpose."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a program's text.

    ``line`` counts from 1 over the whole text, ``column`` from 1 within the line;
    ``found`` says what stands there, ``expected`` what would be right.
    """

    line: int
    column: int
    found: str
    expected: str
    source: str = ""
    """The line as written; characters that cannot be printed stand as ``\\ufffd``."""
    suggestion: str = ""

    def __str__(self) -> str:
        hint = f"; did you mean {self.suggestion!r}?" if self.suggestion else ""
        head = (
            f"line {self.line}, column {self.column}: {self.found}; expected {self.expected}{hint}"
        )
        if not self.source:
            return head
        before = self.source[: self.column - 1].ljust(self.column - 1)
        margin = "".join("\t" if c == "\t" else " " for c in before)
        return f"{head}\n    {self.source}\n    {margin}^"


class ProgramError(XGLError):
    """A text that is no valid program; ``problems`` holds all that is wrong with it."""

    def __init__(self, problems: tuple[Problem, ...], origin: str = "program") -> None:
        self.problems = problems
        self.origin = origin
        super().__init__(origin, problems)

    def __str__(self) -> str:
        count = f"{len(self.problems)} problem" + ("s" if len(self.problems) > 1 else "")
        return f"{self.origin}: {count}\n" + "\n".join(str(problem) for problem in self.problems)


class OversizeError(XGLError):
    """A string beyond the metadata's cap, or a request beyond a model's window
    (docs/specification.md, "Size limits").

    Sent into a running game it ends the game; as a batch's answer it is a value, not a raise.
    """


class ConfigError(XGLError, ValueError):
    """A setting that cannot be: one sentence with the key, what was given, what would be right."""


class DialectError(XGLError):
    """No such dialect."""


class FlowError(XGLError):
    """A program that is valid line by line cannot run in this order of lines."""


class FlagOrderError(FlowError):
    """flag_1 was placed after flag_2 (paper §2.4.1)."""


class FlagMissingError(FlowError):
    """A replay of a flag that was never placed, where the dialect allows none."""


class EarlyEnsureError(FlowError):
    """An ensure before any elicit, where the dialect allows none."""


class JudgeError(XGLError):
    """The judge could not give a number; a failed score is never 0."""


class StoryError(XGLError):
    """No source can tell a story that a program asks for."""


class PlayerError(XGLError):
    """A player could not give a move."""


class BudgetError(PlayerError):
    """A player's budget of tokens or dollars is spent; no further request was sent."""
