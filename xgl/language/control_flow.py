"""Control flow that needs no strings: the order of lines, flags, loops (paper §2.4.1).

Ensure failures aside, the path through a program is fixed by its beacons and replays. The
machine and the static analysis step through it with the same :class:`Flow`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from xgl.errors import FlagMissingError, FlowError
from xgl.language.dialects import DIALECTS
from xgl.language.syntax import MAX_STEPS, Beacon, Ensure, Instruction, Program, Replay


class Flow:
    """Position, flags and jump counters of one running game; positions count from 0."""

    def __init__(self, program: Program) -> None:
        self.program, self.dialect = program, DIALECTS[program.dialect]
        self.position = 0
        self.flags: dict[str, int] = {}
        self.jumps: Counter[int] = Counter()

    @property
    def done(self) -> bool:
        return self.position >= len(self.program.instructions)

    def advance(self) -> None:
        """Leave the present line: place its flag, jump, or go on to the next line.

        Raises, as the dialect demands, :class:`FlowError` if flag_1 is placed after flag_2 and
        :class:`FlagMissingError` for a replay of a flag that was never placed.
        """
        line = f"line {self.program.source_line(self.position)}"
        match self.program.instructions[self.position]:
            case Beacon(flag):
                self.flags[flag] = self.position
                is_late = self.flags.get("flag_1", 0) > self.flags.get("flag_2", self.position)
                if is_late and self.dialect.flag_order:
                    raise FlowError(f"{line}: flag_1 stands after flag_2")
            case Replay(flag, times):
                if not self.dialect.flags_at_start and flag not in self.flags:
                    raise FlagMissingError(f"{line}: {flag} was never placed")
                if self.jumps[self.position] < times:
                    self.jumps[self.position] += 1
                    self.position = self.flags.get(flag, 0)  # one never placed is at the start
                    return
                self.jumps[self.position] = 0  # an outer loop starts this one afresh
        self.position += 1


def path(program: Program) -> Iterator[int]:
    """Positions in the order in which they run when no ensure fails; may be very long."""
    flow = Flow(program)
    while not flow.done:
        yield flow.position
        flow.advance()


def unrolled(program: Program) -> tuple[tuple[int, ...], str]:
    """Positions of the unrolled program's steps, at most ``MAX_STEPS + 1`` of them, and the fault
    at which a play ends behind them, empty without one."""
    lines = enumerate(program.instructions)
    marks = [(i, each, each.span.line) for i, each in lines if isinstance(each, Beacon | Replay)]
    return _unrolled(len(program.instructions), tuple(marks), program.dialect)


@lru_cache(maxsize=64)  # candidates that differ in other lines alone are asked for in turn
def _unrolled(
    length: int, marks: tuple[tuple[int, Beacon | Replay, int], ...], dialect: str
) -> tuple[tuple[int, ...], str]:
    """``marks``: the lines that :meth:`Flow.advance` reads, with their places and line numbers."""
    lines: list[Instruction] = [Ensure(())] * length
    for position, line, _ in marks:
        lines[position] = line
    order: list[int] = []
    try:
        for position in islice(path(Program(tuple(lines), dialect)), MAX_STEPS + 1):
            order.append(position)
    except FlowError as error:
        return tuple(order), str(error)
    return tuple(order), ""
