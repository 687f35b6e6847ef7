"""Searches for programs and moves that cost much, and for one that breaks the law of cost.

The law: for any text of at most 64 lines of 4,096 characters and any move, each operation ends in
the language's own error or result within ``SECONDS`` of processor time and ``BYTES`` written, judge
and players aside. Small programs are mutated towards more processor time for each character (a
play: for each unit of work that it is charged); now and then one of the worst is widened, repeated
and put into a loop until it is as large as a program may be.
"""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any, NamedTuple

from support.fuzz import LETTERS, SOUND, from_grammar

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

# -- what each operation on a program costs ----------------------------------------------------

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
    """What one operation took; ``units`` are those charged to a play."""

    operation: str
    seconds: float
    written: int
    units: float = 0


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
        "analyse": lambda: _facts(program),
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


def _facts(program: xgl.Program) -> tuple[object, ...]:
    report = xgl.analyse(program)
    return report.degenerate, report.elicits


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
    return cost._replace(written=int(size), units=meter.most_work - meter.work)


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
        case (dict() as record, str() as said):
            spelled = json.dumps(record, indent=1, ensure_ascii=False)
            size = max(len(spelled.encode(errors="replace")), len(said.encode(errors="replace")))
            return size if size <= BYTES else 0  # the command says so instead
    return 0


# -- mutations -----------------------------------------------------------------------------------

LINES, CHARACTERS = 64, 4_096
KEPT = 6
"""Worst programs that are kept for each operation."""
LARGE_EVERY = 1_000
SMALL = 300
"""Characters of a small program."""
MOVES = ("a red hen", "bread & butter", "x" * 60)


def mutate(case: Case, other: Case, rng: Random) -> Case:
    """A neighbour of a case, with lines of another, of itself or of the grammar in it."""
    lines = case.text.split("\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                more = rng.choice((other.text, case.text, from_grammar(rng)))
                lines.insert(at, rng.choice(more.split("\n")))
            case 1 if len(lines) > 1:
                del lines[at]
            case 2:
                lines = looped(lines, rng.choice((1, 3)), rng)
            case 3:
                place = rng.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:place] + rng.choice(LETTERS) + lines[at][place + 1 :]
            case _:
                lines[at] = widened(lines[at], rng.choice((40, 120)))
    moves, letter = case.moves, rng.choice(("a", "a ", "é", "字 ", "\n", "Ⅷ ", "ab-", "0"))
    if rng.random() < 0.15:
        moves = (*moves[:2], letter * rng.choice((1, 30, 4_000)), rng.choice(moves) + letter)
    return Case(truncated(lines), case.dialect, moves)


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
    text = truncated(looped(lines[: LINES - 2], max(0, turns - 1), rng))
    return Case(text, case.dialect, moves)


def looped(lines: list[str], times: int, rng: Random) -> list[str]:
    flag = rng.choice(syn.FLAGS)
    return [f"beacon({flag})", *lines, f"replay({flag}, {times})"]


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


# -- the search ----------------------------------------------------------------------------------


@dataclass
class Search:
    """A population of the worst for each operation, and what broke the law."""

    rng: Random
    cases: Sequence[Case]
    worst: dict[str, list[tuple[float, Case]]] = field(
        default_factory=lambda: {operation: [] for operation in OPERATIONS}
    )
    """By operation, seconds for each character or unit: the worst first."""
    broken: list[tuple[Cost, Case]] = field(default_factory=list)
    steps: int = 0

    def step(self) -> None:
        self.steps += 1
        operation, is_large = self.rng.choice(OPERATIONS), self.steps % LARGE_EVERY == 0
        worst = self.worst[operation]
        known = [case for _, case in worst] if self.rng.random() < 0.8 else []
        case = self.rng.choice(known or self.cases)
        other = self.rng.choice(self.cases)
        case = enlarge(case, self.rng) if is_large else mutate(case, other, self.rng)
        if is_large or len(case.text) <= SMALL:
            self._measure(case, OPERATIONS if is_large else (operation,), is_large)

    def _measure(self, case: Case, operations: Sequence[str], is_large: bool) -> None:
        try:
            for cost in costs(case, operations):
                self._judge(cost, case, is_large)
        except OverrunError:
            self.broken.append((Cost("any", 5 * SECONDS, 0), case))
        except Exception as error:
            error.add_note(f"{case}")
            raise

    def _judge(self, cost: Cost, case: Case, is_large: bool) -> None:
        worst = self.worst[cost.operation]
        units = max(1, cost.units) if cost.operation == "play" else 300 + len(case.text)
        is_worst = len(worst) < KEPT or cost.seconds / units > worst[-1][0]
        if is_worst or cost.seconds > SECONDS / 2:  # other work on the machine only adds
            again = [each for each in costs(case, [cost.operation]) if each[0] == cost[0]]
            cost = min([cost, *again], key=lambda each: each.seconds)
        if cost.seconds > SECONDS or cost.written > BYTES:
            self.broken.append((cost, case))
        if is_worst and not is_large:
            worst.append((cost.seconds / units, case))
            worst.sort(key=lambda each: -each[0])
            del worst[KEPT:]


def search(steps: int, seed: int) -> Search:
    """A search of so many steps; it begins with the library's games and with lines of the
    grammar."""
    signal.signal(signal.SIGALRM, overrun)
    rng = Random(seed)
    texts = [re.sub(r"\s*#.*", "", text).strip() for text in SOUND]
    texts += [from_grammar(rng) for _ in range(40)]
    cases = [Case(text, each, MOVES) for text in texts if len(text) <= SMALL for each in DIALECTS]
    fuzzer = Search(rng, cases)
    while fuzzer.steps < steps and not fuzzer.broken:
        fuzzer.step()
    return fuzzer
