"""Searches for programs and moves that break the law of cost.

The law: for any text of at most 64 lines of 4,096 characters and any move, each operation ends in
the language's own error or result within ``SECONDS`` of processor time and ``BYTES`` written, judge
and players aside. Programs are widened, repeated and put into a loop until they are as large as a
program may be.
"""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from random import Random
from typing import Any, NamedTuple

from support.fuzz import SOUND, from_grammar

import xgl
from xgl.analysis.plain_english import in_words
from xgl.cli.commands import program_facts
from xgl.diagram import draw
from xgl.errors import XGLError
from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import parts
from xgl.library import Source
from xgl.runtime.machine import Machine
from xgl.runtime.requests import Move, ScoreRequest, Seeds, StoryRequest, TokenScores, TruthRequest

SECONDS, BYTES = 2.0, 1_000_000
"""The law: no operation takes more."""
OPERATIONS = ("parse", "analyse", "print", "check", "diagram", "rules", "play")


class FreeJudge:
    """Costs next to nothing: a token is eight characters and has one bit."""

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores]:
        return [TokenScores((0.123456789012345678,) * (len(r.text) // 8)) for r in requests]

    def truths(self, requests: list[TruthRequest]) -> list[bool]:
        return [True] * len(requests)

    def count(self, text: str) -> int:
        return len(text) // 8

    def truncate(self, text: str, max_len: int) -> str:
        return text[: 8 * max_len]

    first_tokens = truncate


@dataclass
class Script:
    """Makes its moves in turn, over and over, and tells one story."""

    texts: Sequence[str]
    position: int = 0

    def moves(self, turns: Sequence[object]) -> list[Move]:
        self.position += len(turns)
        return [
            Move(self.texts[(self.position - back) % len(self.texts)]) for back in range(len(turns))
        ]

    def story_texts(self, requests: Sequence[tuple[int, StoryRequest]]) -> list[str]:
        return ["Once upon a time a small red hen baked bread by the river."] * len(requests)


@dataclass(frozen=True)
class Case:
    """A text in a dialect with moves to play it."""

    text: str
    dialect: str
    moves: tuple[str, ...]


class Cost(NamedTuple):
    """What one operation took."""

    operation: str
    seconds: float
    written: int


class OverrunError(BaseException):
    """The watchdog's: no handler of the language's errors catches it."""


def overrun(*_: object) -> None:
    raise OverrunError


def costs(case: Case, operations: Sequence[str] = OPERATIONS) -> Iterator[Cost]:
    """The cost of each operation, in order; a text that cannot be parsed has no other than
    ``parse``. Anything that is not the language's own error is raised.
    """
    program, cost = _measure_operation("parse", lambda: xgl.parse(case.text, case.dialect))
    yield cost
    if program is None:
        return
    source = Source("program", "a title", case.text, case.dialect)
    work: dict[str, Callable[[], Any]] = {
        "analyse": lambda: attrgetter("degenerate", "elicits")(xgl.analyse(program)),
        "print": lambda: xgl.game(program).code,
        "check": lambda: program_facts(source),
        "diagram": lambda: draw(program, source.title),
        "rules": lambda: "\n".join(in_words(xgl.game(program))),
    }
    for operation in operations:
        if operation in work:
            yield _measure_operation(operation, work[operation])[1]
    if "play" in operations:
        yield _play(case, xgl.game(program))


def _play(case: Case, whole: xgl.Game) -> Cost:
    machine, script = Machine(whole), Script(case.moves)
    seats = dict.fromkeys(syn.PLAYERS, script)
    cast = xgl.Cast(FreeJudge(), script, seats)  # type: ignore[arg-type]
    instance = xgl.Instance(whole, Seeds(0, 0))
    plays, cost = _measure_operation("play", lambda: xgl.play_all([instance], cast, [machine]))
    meter = machine.meter
    size = meter.most_record - meter.record
    if plays and size > meter.most_record / 8:
        size = len(json.dumps([asdict(event) for event in plays[0].events], indent=1))
    return cost._replace(written=int(size))


def _measure_operation(operation: str, run: Callable[[], Any]) -> tuple[Any, Cost]:
    # The timer counts seconds of the wall: one of processor time makes that clock coarse.
    signal.setitimer(signal.ITIMER_REAL, 30 * SECONDS)
    start = time.process_time()
    try:
        result = run()
        seconds = time.process_time() - start
        size = _size(result)
    except XGLError as error:
        seconds = time.process_time() - start
        result, size = None, len(str(error).encode(errors="replace"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return result, Cost(operation, seconds, size)


def _size(result: Any) -> int:
    """Bytes that the command would write: of both its forms the longer."""
    match result:
        case str():
            return len(result.encode(errors="replace"))
        case (str() as said, bool()):
            return len(said.encode(errors="replace"))
    return 0


LINES, CHARACTERS = 64, 4_096
SMALL = 300
"""Characters of a small program."""
MOVES = ("a red hen", "bread & butter", "x" * 60)


def enlarge(case: Case, rng: Random) -> Case:
    """A case about as large as a program may be: wide lines, many of them, in a loop."""
    room = rng.choice((300, 1_000, 1_900))
    lines = [widened(line, room) for line in case.text.split("\n")]
    lines = lines * max(1, rng.choice((1, 4, 30, LINES - 2)) // len(lines))
    try:
        programs = [xgl.parse(line, case.dialect).instructions for line in lines if line]
    except XGLError:
        return replace(case, text=truncated(lines))
    size = sum(parts(line) for each in programs for line in each)
    turns = min(syn.MAX_STEPS // (len(lines) + 2), syn.MAX_PARTS // (size + 2))
    moves = tuple(move * rng.choice((1, 200)) for move in case.moves)
    flag, times = rng.choice(syn.FLAGS), max(0, turns - 1)
    looped = [f"beacon({flag})", *lines[: LINES - 2], f"replay({flag}, {times})"]
    return Case(truncated(looped), case.dialect, moves)


def widened(line: str, room: int) -> str:
    """A line with its arguments repeated while there is room; sums grow by terms."""
    head, _, rest = line.partition("(")
    arguments = rest.rpartition(")")[0]
    if head in ("beacon", "replay") or not arguments or len(line) > room:
        return line
    times = max(1, room // (len(arguments) + 2))
    if head == "reward":
        return f"reward({' + '.join([arguments] * min(times, 1 + syn.MAX_TERMS // 2))})"
    return f"{head}({', '.join([arguments] * times)})"


def truncated(lines: Sequence[str]) -> str:
    return "\n".join(line[:CHARACTERS] for line in lines[:LINES])


def search(count: int, seed: int) -> list[tuple[Cost, Case]]:
    """What breaks the law of so many large programs, made from the library's games and from lines
    of the grammar."""
    signal.signal(signal.SIGALRM, overrun)
    rng, broken = Random(seed), list[tuple[Cost, Case]]()
    texts = [text for each in SOUND if len(text := re.sub(r"\s*#.*", "", each).strip()) <= SMALL]
    for _ in range(count):
        text = rng.choice(texts) if rng.random() < 0.3 else from_grammar(rng)
        moves = (*MOVES[:2], rng.choice("aé字\nⅧ-0") * rng.choice((1, 30, 4_000)))
        case = enlarge(Case(text, rng.choice([*DIALECTS]), moves), rng)
        try:
            for cost in costs(case):
                if cost.seconds > SECONDS / 2:  # other work on the machine only adds
                    again = (each for each in costs(case, [cost.operation]) if each[0] == cost[0])
                    cost = min([cost, *again], key=lambda each: each.seconds)
                if cost.seconds > SECONDS or cost.written > BYTES:
                    broken.append((cost, case))
        except OverrunError:
            broken.append((Cost("any", 5 * SECONDS, 0), case))
        except Exception as error:
            error.add_note(f"{case}")
            raise
    return broken
