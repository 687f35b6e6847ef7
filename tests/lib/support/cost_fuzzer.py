"""Searches for programs and moves that cost much, and for one that breaks the law of cost.

The law: for any text of at most 64 lines of 4,096 characters and any move, each operation ends in
the language's own error or result within ``SECONDS`` of processor time and ``BYTES`` written, judge
and players aside. Small programs are mutated towards more processor time for each character (a
play: for each unit of work that it is charged) and more bytes for each byte; now and then one of
the worst is widened, repeated and put into a loop until it is as large as a program may be.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from random import Random

from support.operation_costs import (
    BYTES,
    OPERATIONS,
    SECONDS,
    Case,
    Cost,
    OverrunError,
    costs,
    overrun,
)

import xgl
from xgl.errors import XGLError
from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import parts

LINES, CHARACTERS = 64, 4_096
KEPT = 6
"""Worst programs that are kept for each operation and measure."""
LARGE_EVERY = 1_000
SMALL = 300
"""Characters of a small program."""


# -- mutations -----------------------------------------------------------------------------------

_NAMES = (*syn.REGISTERS[:14], "p", "c", "l", "l1", "l2")
_WRAPPERS = (
    "({a} + {b})", "({a} // {b})", "({a} % {b})", "remove_common_words({a}, {b})", "[{a}, {b}]",
    "first_n_tokens({a}, 9)", "sample([{a}, {b}])", "({a} | {b})", "{a}.join(l)", "{a}.split({b})",
    "shuffle(l)", "sample(l1)", "shuffle({a}.split())", "xent({a} | {b}, {a})", "xed({a} | {b})",
    "is_true({a}, {b})", "not {a}", "num_words({a}) > 3", "{a} < {b}", "{a} == {b}", "{a} in {b}",
    "word_set({a}) <= word_set({b})", "only_uses_words({a}, {b})", "only_uses_chars({a}, {b})",
    "len({a}) < 9", "common_word_set({a}, {b}) == word_set({b})", "({a} and {b})", "-{a}",
    '"no common words between" + {a} + "&" + {b}', "story()", 'story("{b}")', "s={a}", "l={a}",
)  # fmt: skip
_LETTERS = ("a", "a ", " ", "é", "字 ", "😀", ".", "\\n", "\\t", "'", "\\\\", "Ⅷ ", "ab-", "0", "K")
_MANY = "".join(map(chr, range(0x4E00, 0x4E00 + 1_900)))
_SEEDS = (
    (
        "elicit(t, 400)\nelicit(s, 400)\nassign(x=s % t, y=s // t)\nensure(t not in s)",
        ("a" * 2_490, "a" * 1_240 + "baa"),
    ),
    (
        'elicit(s, 600)\nassign(x=remove_common_words(s, s), y=remove_common_words("", [s + "a"]))',
        (_MANY,),
    ),
)
"""Searches that compare a long mark at every place, and more letters than a cache of them holds."""
_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass
class Mutator:
    """Structural changes of programs; everything it does follows from its chance."""

    rng: Random
    library: Sequence[Case]

    def mutate(self, case: Case, other: Case) -> Case:
        """A neighbour of a case, with something of another in it."""
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            if self.rng.random() < 0.15:
                case = replace(case, moves=self._moves(case.moves))
            else:
                case = replace(case, text=self._lines(case.text, other.text))
        if self.rng.random() < 0.05:
            case = replace(case, dialect=self.rng.choice(tuple(DIALECTS)))
        return replace(case, text=_truncate(case.text))

    def _lines(self, text: str, other: str) -> str:
        lines, rng = text.split("\n"), self.rng
        at = rng.randrange(len(lines))
        change = rng.randrange(8)
        if change == 0:
            lines.insert(at, rng.choice(other.split("\n")))
        elif change == 1 and len(lines) > 1:
            del lines[at]
        elif change == 2:
            lines.insert(at, rng.choice(lines))
        elif change == 3:
            lines = self.add_loop(lines, rng.choice((1, 3)))
        elif change == 4:
            place = rng.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:place] + rng.choice(_LETTERS) + lines[at][place + 1 :]
        else:
            lines[at] = self._line(lines[at], rng.choice(other.split("\n")))
        return "\n".join(lines)

    def add_loop(self, lines: list[str], times: int) -> list[str]:
        flag = self.rng.choice(syn.FLAGS)
        return [f"beacon({flag})", *lines, f"replay({flag}, {times})"]

    def _line(self, line: str, other: str) -> str:
        """Change the arguments of one instruction."""
        head, arguments = _arguments(line)
        _, spare = _arguments(other)
        if not arguments:
            return line
        rng, at = self.rng, self.rng.randrange(len(arguments))
        change = rng.randrange(6)
        if change == 0:
            arguments *= rng.choice((2, 3, 8))
        elif change == 1:
            arguments.insert(at, rng.choice(spare or arguments))
        elif change == 2:
            arguments[at] = self._literal(arguments[at])
        elif change == 3 and len(arguments) > 1:
            del arguments[at]
        else:
            name, equals, value = arguments[at].rpartition("=")
            plain = bool(equals) and name.isalnum()
            wrapped = self._wrap(value if plain else arguments[at])
            arguments[at] = f"{name}={wrapped}" if plain else wrapped
        return f"{head}({', '.join(arguments)})"

    def _wrap(self, value: str) -> str:
        rng = self.rng
        one, other = value, rng.choice((value, rng.choice(_NAMES), self._text()))
        if rng.random() < 0.5:
            one, other = other, one
        return rng.choice(_WRAPPERS).format(a=one, b=other)

    def _literal(self, value: str) -> str:
        return _LITERAL.sub(lambda _: self._text(), value, count=1)

    def _text(self) -> str:
        return f'"{self.rng.choice(_LETTERS) * self.rng.choice((1, 9, 120))}"'

    def _moves(self, moves: tuple[str, ...]) -> tuple[str, ...]:
        rng = self.rng
        letters = rng.choice(_LETTERS).encode().decode("unicode_escape", "replace")
        new = rng.choice((letters * rng.choice((1, 30, 4_000)), rng.choice(moves) + letters))
        return (*moves[:3], new[:50_000]) if rng.random() < 0.5 else (new[:50_000],)

    def enlarge(self, case: Case) -> Case:
        """A case about as large as a program may be: wide lines, many of them, in a loop."""
        rng = self.rng
        room = rng.choice((300, 1_000, 1_900))
        lines = [_widen(line, room) for line in case.text.split("\n")]
        lines = lines * max(1, rng.choice((1, 4, 30, LINES - 2)) // len(lines))
        try:
            programs = [xgl.parse(line, case.dialect).instructions for line in lines if line]
        except XGLError:
            return replace(case, text=_truncate("\n".join(lines)))
        size = sum(parts(line) for each in programs for line in each)
        turns = min(syn.MAX_STEPS // (len(lines) + 2), syn.MAX_PARTS // (size + 2))
        lines = self.add_loop(lines[: LINES - 2], max(0, turns - 1))
        moves = tuple(move * rng.choice((1, 200)) for move in case.moves)
        return Case(_truncate("\n".join(lines)), case.dialect, moves)


def _arguments(line: str) -> tuple[str, list[str]]:
    """The name of an instruction and its arguments, split at commas outside brackets."""
    head, _, rest = line.partition("(")
    body = rest.rpartition(")")[0]
    arguments, depth, in_string, start = list[str](), 0, False, 0
    for place, letter in enumerate(body):
        if letter == '"' and body[place - 1 : place] != "\\":
            in_string = not in_string
        elif not in_string:
            depth += (letter in "([") - (letter in ")]")
            if letter == "," and depth == 0:
                arguments.append(body[start:place].strip())
                start = place + 1
    return head, [each for each in (*arguments, body[start:].strip()) if each]


def _widen(line: str, room: int) -> str:
    """A line with its arguments repeated while there is room; sums grow by terms."""
    head, arguments = _arguments(line)
    if head in ("beacon", "replay") or not arguments or len(line) > room:
        return line
    times = max(1, room // (len(", ".join(arguments)) + 2))
    if head == "reward":
        return f"reward({' + '.join([arguments[-1]] * min(times, 1 + syn.MAX_TERMS // 2))})"
    return f"{head}({', '.join(arguments * times)})"


def _truncate(text: str) -> str:
    return "\n".join(line[:CHARACTERS] for line in text.split("\n")[:LINES])


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
        self.mutator = Mutator(self.rng, self.cases)
        self.worst = {key: [] for key in product(OPERATIONS, ("seconds", "bytes"))}

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.steps += 1
            self._step(large=self.steps % LARGE_EVERY == 0)

    def _step(self, *, large: bool) -> None:
        key = self.rng.choice(tuple(self.worst))
        case = self._parent(key)
        if large:
            self._measure(self.mutator.enlarge(case), OPERATIONS, large=True)
            return
        case = self.mutator.mutate(case, self.rng.choice(self.cases))
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


def library() -> list[Case]:
    """Where the search begins: the library's games, and lines of each kind."""
    folder = Path(xgl.__file__).parent / "library"
    moves = ("a red hen", "bread & butter", "x" * 60)
    suffixes = {dialect.suffix: name for name, dialect in DIALECTS.items()}
    files = sorted(path for path in folder.iterdir() if path.suffix in suffixes)
    plain = [re.sub(r"\s*#.*", "", path.read_text("utf-8")).strip() for path in files]
    games = [Case(t, suffixes[p.suffix], moves) for t, p in zip(plain, files, strict=True)]
    lines = [f"elicit(x, 20)\nensure({wrapper})" for wrapper in _WRAPPERS if "=" not in wrapper]
    lines += [f"assign(l=[s, t], t={wrapper})" for wrapper in _WRAPPERS if "=" not in wrapper]
    filled = [line.format(a="x", b="s") for line in lines]
    both = [Case(line, dialect, moves) for line in filled for dialect in DIALECTS]
    seeds = [Case(text, dialect, moves) for text, moves in _SEEDS for dialect in DIALECTS]
    return [each for each in (*games, *both, *seeds) if len(each.text) <= SMALL]


def search(steps: int, seed: int, deadline: float = float("inf")) -> Search:
    """A search of so many steps, or fewer where the deadline (process seconds) comes first."""
    signal.signal(signal.SIGALRM, overrun)
    fuzzer = Search(Random(seed), library())
    while fuzzer.steps < steps and time.process_time() < deadline and not fuzzer.broken:
        fuzzer.run(min(100, steps - fuzzer.steps))
    return fuzzer
