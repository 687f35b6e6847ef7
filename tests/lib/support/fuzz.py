"""Programs to break the language with: drawn from the grammar, mutated, and noise."""

from __future__ import annotations

import re
from collections import Counter
from math import isfinite
from random import Random
from typing import Any
from zlib import crc32

from xgl import Game, Metadata, ProgramError, analyse, game, parse, to_text
from xgl.errors import FlowError
from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import descendants
from xgl.library import entries
from xgl.runtime import meter, requests as ask
from xgl.runtime.machine import Machine

METADATA = Metadata(max_characters=512, max_failures=3, constants={"a": "one", "c": "hidden {0}"})
MAX_NODES = syn.MAX_LINES * 2 * syn.MAX_LINE_CHARACTERS
"""No node is written with less than a character."""
OUTCOMES = ("refused", "misplaced", "finished", "forfeit", "oversize")

LETTERS = (
    "stxyabcplq019_ \t\"'\\()[]{}<>=!+-*/%|&,.:;#@^~`$\n\r\0\x85\u2028\u202e\u200bеｓé😀\ud800"
)
WORDS = (
    *syn.PLAYERS,
    *syn.FLAGS,
    *syn.FUNCTIONS,
    *("is_true", "is_false", "story", "xent", "nex", "xed", "dex", "eval", "open", "__import__"),
    *("lambda", "for", "in", "if", "else", "and", "or", "not", "None", "True", "__class__"),
    *("1", "0", "-1", "1e9", "99999999999", "0x1F", '"a"', "'b'", 'f"{s}"', 'b"x"', "...", "*s"),
    *("s", "t1", "x", "y3", "p", "a", "b2", "c", "l", "l2", "q"),
    *("+", "-", "*", "/", "//", "%", "|", "==", "<", "(", ")", "[", "]", ",", "=", ":=", ".", "@"),
)
MUTABLE = tuple(name for name in syn.REGISTERS if name[0] not in syn.CONSTANT_TYPES)
FORMS = (
    *("assign({m}={s}, {m}=story() + {s})", "assign({m}=story({n}))", "assign({m}={s})"),
    *("assign({k}={v})", "elicit({p}{m}, {m}, 1{n})", "elicit({p}{m})", "ensure({q})"),
    *("ensure({q}, {q})", "reward({p}{e})", "reward({p}{e} + {e} - {e})", "reveal({p}{s}, {v})"),
    *("beacon({f})", "replay({f}, {n})"),
)
STRINGS = (
    *("{r}", "{r}", "{r}", '"a word & {0} %s"', "'b'", "{s} + {s}", "({s}) // {s}"),
    *("{s} % ({s})", "({s} | {s})", "remove_common_words({s}, {s})"),
    *("remove_common_words({s}, {v})", "first_n_tokens({s}, {n})", "sample({v})", "{r}.join({v})"),
)
LISTS = ("{k}", "{k}", "[{s}, {s}]", "[]", "{v} + {v}", "shuffle({v})", "({s}).split({s})")
CONDITIONS = (
    *("{e} < {e}", "{e} - {e} >= {n}", "{n} <= {e} < {n}", "is_true({s})", "is_false({s}, {s})"),
    *("{s}", '"no common words between" + {r} + "&" + {r}', 'is_true("num_words<5", {s})'),
    *("{s} == {s}", "{s} not in {v}", "not ({q})", "({q}) and ({q}) or ({q})", "len({s}) > {n}"),
    *("num_words({s}) != len({v})", "word_set({s}) <= common_word_set({s}, {s})"),
    *("only_uses_words({v}, {s})", "only_uses_chars({s}, {s})"),
)
BITS = ("xent({s})", "nex({s} | {s})", "xed({s} | {s}, {s})", "dex({s}, {s})", "-({e} - {e})")


def _fill_form(rng: Random, form: str, depth: int) -> str:
    """A form with its holes filled; deep down with registers only."""
    fillers = {
        "r": lambda: rng.choice(syn.REGISTERS if rng.random() < 0.99 else WORDS),
        "m": lambda: rng.choice(MUTABLE if rng.random() < 0.98 else WORDS),
        "k": lambda: rng.choice(syn.LIST_REGISTERS),
        "p": lambda: rng.choice(("", f"{rng.choice(syn.PLAYERS)}, ")),
        "n": lambda: str(rng.choice((0, 1, 2, 3, 9, 60))),
        "f": lambda: rng.choice(syn.FLAGS),
    }
    forms = {"s": STRINGS, "v": LISTS, "q": CONDITIONS, "e": BITS}
    plain = {"s": "{r}", "v": "{k}", "q": "{r}", "e": "xent({r})"}

    def fill(hole: re.Match[str]) -> str:
        if hole[1] in fillers:
            return fillers[hole[1]]()
        inner = rng.choice(forms[hole[1]]) if depth > 0 else plain[hole[1]]
        return _fill_form(rng, inner, depth - 1)

    return re.sub(r"\{([a-z])\}", fill, form)


def from_grammar(rng: Random) -> str:
    lines = [
        _fill_form(rng, rng.choice(FORMS), rng.randint(0, 3)) for _ in range(rng.randint(1, 8))
    ]
    return "\n".join(lines)


def mutation(rng: Random) -> str:
    """A valid program with a few wounds."""
    text = rng.choice(SOUND) if rng.random() < 0.5 else from_grammar(rng)
    for _ in range(rng.randint(1, 3)):
        at, to = sorted(rng.randint(0, len(text)) for _ in range(2))
        to = min(to, at + rng.choice((0, 1, 1, 8)))
        insertion = rng.choice(("", "", rng.choice(LETTERS), rng.choice(WORDS), text[at:to] * 2))
        if rng.random() < 0.02:
            insertion = rng.choice((insertion, rng.choice(LETTERS))) * rng.choice((40, 400, 4000))
        text = text[:at] + insertion + text[to:]
    lines = text.split("\n")
    if rng.random() < 0.3:
        lines.insert(rng.randint(0, len(lines)), rng.choice(lines))
    if rng.random() < 0.2:
        rng.shuffle(lines)
    return "\n".join(lines * (rng.randint(2, 40) if rng.random() < 0.02 else 1))


def noise(rng: Random) -> str:
    size = rng.randint(0, 60)
    match rng.randrange(3):
        case 0:
            return rng.randbytes(size).decode(rng.choice(("latin-1", "utf-8")), "surrogateescape")
        case 1:
            return "".join(rng.choices(LETTERS, k=size))
    call = rng.choice(FORMS).split("(")[0]
    return f"{call}({' '.join(rng.choices(WORDS, k=size // 4))})"


SOUND = tuple(entry.text for entry in entries())
SOURCES = (from_grammar, mutation, noise)


def outcome(text: str, dialect: str, rng: Random) -> str:
    """Parse, print, analyse and play; one of ``OUTCOMES``. Any other exception than the
    language's own, and any bound broken, is the caller's to see."""
    try:
        program = parse(text, dialect)
    except ProgramError as error:
        _check_problems(error, text)
        return "refused"
    nodes = sum(1 for line in program.instructions for _ in descendants(line))
    assert nodes <= MAX_NODES
    assert parse(to_text(program), dialect) == program
    analyse(program)
    game_ = game(program, METADATA)
    assert parse(game_.code, dialect) == game_.program
    return _play_outcome(game_, rng)


def _check_problems(error: ProgramError, text: str) -> None:
    lines = text.split("\n")
    assert error.problems
    for problem in error.problems:
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        assert problem.found
        assert problem.expected
    str(error).encode("utf-8")


def _play_outcome(game_: Game, rng: Random) -> str:
    machine = Machine(game_)
    exchange = machine.play()
    size = 0
    try:
        requests = next(exchange)
        while True:
            size += sum(map(size_of, requests))
            requests = exchange.send(tuple(_answer(request, rng) for request in requests))
    except StopIteration as end:
        play = end.value
    except FlowError:
        return "misplaced"
    assert play.steps <= syn.MAX_EXECUTED + 1
    assert meter.SEND * size <= syn.MAX_WORK
    texts = {n: text for n, text in play.registers.items() if n not in syn.LIST_REGISTERS}
    assert all(len(text) <= METADATA.max_characters for text in texts.values())
    assert all(map(isfinite, play.scores.values()))
    return str(play.outcome)


def size_of(request: Any) -> int:
    """Characters that the judge is sent."""
    match request:
        case ask.ScoreRequest(text, context):
            return len(text) + sum(map(len, context))
        case ask.TruthRequest(text) | ask.PrefixRequest(text):
            return len(text)
        case ask.Predicate(_, texts):
            return sum(map(len, texts))
    return 0


MOVES = ("a good word", "", "bad & worse", "{0.__class__} %s\0", "x" * 600, "\ud800\u202e\n", "a")


def _answer(request: Any, rng: Random) -> Any:
    match request:
        case ask.ScoreRequest(text, context):
            words = text.split()[:64]
            checksum = crc32(repr((words, context)).encode("ascii", "backslashreplace"))
            return ask.TokenScores(tuple(checksum % (7 + i) / 4 for i in range(len(words))))
        case ask.TruthRequest() | ask.Predicate():
            return rng.random() < 0.7
        case ask.StoryRequest(site):
            return f"tale {site} of a red hen"
        case ask.PrefixRequest(text, tokens):
            return text[: 3 * tokens]
        case ask.DrawRequest(size):
            return rng.sample(range(size), size)
    assert isinstance(request, ask.MoveRequest)
    return ask.Move(rng.choice(MOVES))


def count_outcomes(number: int, seed: int = 0) -> Counter[str]:
    """What ``number`` texts came to, each source in turn; texts are named by their seeds."""
    outcomes: Counter[str] = Counter()
    for index in range(number):
        rng = Random(f"{seed}/{index}")
        text = SOURCES[index % len(SOURCES)](rng)
        dialect = rng.choice(tuple(DIALECTS))
        try:
            outcomes[outcome(text, dialect, rng)] += 1
        except Exception as error:
            error.add_note(f"text {seed}/{index} in {dialect}: {text[:2000]!r}")
            raise
    return outcomes
