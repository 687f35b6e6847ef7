"""What each operation on a program costs: processor seconds, and bytes written, judge and players
aside."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import xgl
from xgl.analysis.plain_english import in_words
from xgl.cli.commands import program_facts
from xgl.cli.files import Source
from xgl.diagram import draw
from xgl.errors import XGLError
from xgl.language import syntax as syn
from xgl.runtime.machine import Machine
from xgl.runtime.predicates import decide
from xgl.runtime.requests import Move, ScoreRequest, Seeds, StoryRequest, TokenScores, TruthRequest

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
        "print": lambda: xgl.to_text(program) + xgl.game(program).code,
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
    return report.degenerate, report.elicits, report.bounds, report.views


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
