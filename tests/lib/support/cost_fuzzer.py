"""Searches for programs and moves that cost much, and for one that breaks the law of cost.

The law: for any text of at most 64 lines of 4,096 characters and any move, each operation ends in
the language's own error or result within ``SECONDS`` of processor time and ``BYTES`` written, judge
and players aside. Small programs are mutated towards more processor time for each character (a
play: for each unit of work that it is charged) and more bytes for each byte; now and then one of
the worst is widened, repeated and put into a loop until it is as large as a program may be.
"""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from random import Random
from typing import Any

from support.fuzz import LETTERS, SOUND, from_grammar

import xgl
from xgl.analysis.plain_english import in_words
from xgl.cli.commands import program_facts
from xgl.cli.files import Source
from xgl.diagram import draw
from xgl.errors import XGLError
from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import parts
from xgl.runtime.machine import Machine
from xgl.runtime.predicates import decide
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
        return [r.predicate is None or decide(r.predicate, self.count) for r in requests]

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


@dataclass(frozen=True)
class Cost:
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
    return report.degenerate, report.elicits, report.bounds


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
    return replace(cost, written=int(size), units=meter.most_work - meter.work)


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
"""Worst programs that are kept for each operation and measure."""
LARGE_EVERY = 1_000
SMALL = 300
"""Characters of a small program."""
MOVES = ("a red hen", "bread & butter", "x" * 60)
HARD = (
    (
        "elicit(t, 400)\nelicit(s, 400)\nassign(x=s % t, y=s // t)\nensure(t not in s)",
        ("a" * 2_490, "a" * 1_240 + "baa"),
    ),
    (
        'elicit(s, 600)\nassign(x=remove_common_words(s, s), y=remove_common_words("", [s + "a"]))',
        ("".join(map(chr, range(0x4E00, 0x4E00 + 1_900))),),
    ),
)
"""Searches that compare a long mark at every place, and more letters than a cache of them holds."""


def mutate(case: Case, other: Case, rng: Random) -> Case:
    """A neighbour of a case, with lines of another, of itself or of the grammar in it."""
    lines = case.text.split("\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(lines))
        match rng.randrange(7):
            case 0:
                lines.insert(at, rng.choice(other.text.split("\n")))
            case 1 if len(lines) > 1:
                del lines[at]
            case 2:
                lines.insert(at, rng.choice(lines))
            case 3:
                lines = looped(lines, rng.choice((1, 3)), rng)
            case 4:
                place = rng.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:place] + rng.choice(LETTERS) + lines[at][place + 1 :]
            case 5:
                lines[at] = widened(lines[at], rng.choice((40, 120)))
            case _:
                lines.insert(at, rng.choice(from_grammar(rng).split("\n")))
    moves, letter = (
        case.moves,
        rng.choice(("a", "a ", "é", "字 ", ".", "\n", "Ⅷ ", "ab-", "0", "K")),
    )
    if rng.random() < 0.15:
        moves = (*moves[:2], letter * rng.choice((1, 30, 4_000)), rng.choice(moves) + letter)
    dialect = rng.choice(tuple(DIALECTS)) if rng.random() < 0.05 else case.dialect
    return Case(truncated(lines), dialect, moves)


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
    """A population of the worst for each operation and measure, and what broke the law."""

    rng: Random
    cases: Sequence[Case]
    worst: dict[tuple[str, str], list[tuple[float, Case]]] = field(default_factory=dict)
    """By operation and measure, ``seconds`` (for each character or unit) or ``bytes``: the worst
    first."""
    broken: list[tuple[Cost, Case]] = field(default_factory=list)
    steps: int = 0

    def __post_init__(self) -> None:
        self.worst = {key: [] for key in product(OPERATIONS, ("seconds", "bytes"))}

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.steps += 1
            self._step(large=self.steps % LARGE_EVERY == 0)

    def _step(self, *, large: bool) -> None:
        key = self.rng.choice(tuple(self.worst))
        case = self._parent(key)
        if large:
            self._measure(enlarge(case, self.rng), OPERATIONS, large=True)
            return
        case = mutate(case, self.rng.choice(self.cases), self.rng)
        if len(case.text) <= SMALL:
            self._measure(case, key[:1], large=False)

    def _parent(self, key: tuple[str, str]) -> Case:
        if not self.worst[key] or self.rng.random() < 0.2:
            return self.rng.choice(self.cases)
        return self.rng.choice(self.worst[key])[1]

    def _measure(self, case: Case, operations: Sequence[str], *, large: bool) -> None:
        try:
            for cost in costs(case, operations):
                self._judge(cost, case, large=large)
        except OverrunError:
            self.broken.append((Cost("any", 5 * SECONDS, 0), case))
        except Exception as error:
            error.add_note(f"{case}")
            raise

    def _judge(self, cost: Cost, case: Case, *, large: bool) -> None:
        cost = self._confirm(cost, case) if cost.seconds > SECONDS / 2 else cost
        if cost.seconds > SECONDS or cost.written > BYTES:
            self.broken.append((cost, case))
        if large:
            return
        units = cost.units if cost.operation == "play" else 300 + len(case.text)
        size = 300 + len(case.text) + sum(map(len, case.moves))
        for measure, value in (("seconds", cost.seconds / units), ("bytes", cost.written / size)):
            worst = self.worst[cost.operation, measure]
            if len(worst) < KEPT or value > worst[-1][0]:
                again = self._confirm(cost, case)
                worst.append((value * again.seconds / max(cost.seconds, 1e-9), case))
                worst.sort(key=lambda each: -each[0])
                del worst[KEPT:]

    def _confirm(self, cost: Cost, case: Case) -> Cost:
        """The smaller of two measurements: other work on the machine only adds."""
        costs_again = [
            each for each in costs(case, [cost.operation]) if each.operation == cost.operation
        ]
        return min([cost, *costs_again], key=lambda each: each.seconds)


def search(steps: int, seed: int, deadline: float = float("inf")) -> Search:
    """A search of so many steps, or fewer where the deadline (process seconds) comes first; it
    begins with the library's games and with lines of the grammar."""
    signal.signal(signal.SIGALRM, overrun)
    rng = Random(seed)
    texts = [re.sub(r"\s*#.*", "", text).strip() for text in SOUND]
    texts += [from_grammar(rng) for _ in range(40)]
    both = [Case(text, dialect, MOVES) for text in texts for dialect in DIALECTS]
    both += [Case(text, dialect, moves) for text, moves in HARD for dialect in DIALECTS]
    fuzzer = Search(rng, [each for each in both if len(each.text) <= SMALL])
    while fuzzer.steps < steps and time.process_time() < deadline and not fuzzer.broken:
        fuzzer.run(min(100, steps - fuzzer.steps))
    return fuzzer
