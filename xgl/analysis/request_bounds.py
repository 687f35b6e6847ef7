"""Static facts of each request: who is asked, knowing what; how large what the judge reads can get.

Sizes are in judge tokens, counted as the sum of the parts' bounds: a story's and a move's limit, a
literal's bytes. Joined text can in rare cases tokenise to more than its parts did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from xgl.language import syntax as syn
from xgl.language.canonical import Metadata
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import descendants, reads


@dataclass(frozen=True, slots=True)
class Unrolled:
    """A program with the positions of its lines in the order in which they run."""

    program: syn.Program
    order: tuple[int, ...]
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Asked:
    """One register of an ``elicit`` line: what its player may write, and on what knowledge."""

    line: int
    """Number of the instruction, from 1."""
    player: str
    register: str
    max_len: int
    """In judge tokens; the metadata's where the line names none."""
    times: int
    """How often it is asked in one play when no ensure fails."""
    sees: tuple[str, ...]
    """Registers whose present value was shown to the player before some asking: assigned or
    elicited in its sight, public, revealed to it, or its own move."""
    hidden: tuple[str, ...]
    """Registers that hold a text at some asking of which the player was shown nothing."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The largest text of one line that a model reads at once, in judge tokens."""

    line: int
    kind: str
    """``score`` (text and context together), ``truth`` (the statement), ``story`` or ``view``."""
    tokens: int


def asked(run: Unrolled) -> tuple[Asked, ...]:
    """Every elicited register, in order of first asking."""
    program, metadata = run.program, run.metadata
    times: dict[tuple[int, str], int] = defaultdict(int)
    sees: dict[tuple[int, str], dict[str, None]] = defaultdict(dict)
    hides: dict[tuple[int, str], dict[str, None]] = defaultdict(dict)
    shown = {name: set(_sighted(name)) for name in sorted(metadata.constants)}
    watchers: defaultdict[str, set[str]] = defaultdict(set)
    live = DIALECTS[program.dialect].live_reveal
    for position in run.order:
        line = program.instructions[position]
        if not isinstance(line, syn.Elicit):
            _learn(line, shown, watchers, live)
            continue
        for name in line.registers:
            key = position, name
            times[key] += 1
            for known, viewers in shown.items():
                (sees if line.player in viewers else hides)[key][known] = None
            shown[name] = {*_sighted(name), line.player, *watchers[name]}
    return tuple(
        Asked(
            line=position + 1,
            player=line.player,
            register=name,
            max_len=line.max_len or metadata.max_len,
            times=count,
            sees=tuple(sees[position, name]),
            hidden=tuple(k for k in hides[position, name] if k not in sees[position, name]),
        )
        for (position, name), count in times.items()
        for line in (program.instructions[position],)
        if isinstance(line, syn.Elicit)
    )


def _sighted(register: str) -> tuple[str, ...]:
    """Who sees a register as it is set."""
    return syn.PLAYERS if register[0] in syn.PUBLIC_TYPES else syn.OMNISCIENT


def _learn(
    line: syn.Instruction,
    shown: dict[str, set[str]],
    watchers: defaultdict[str, set[str]],
    live: bool,
) -> None:
    """What an assign or a reveal changes in who was shown the present value of a register
    (``live``: and in who will be shown its later values)."""
    match line:
        case syn.Assign(targets):
            for name, _ in targets:
                shown[name] = {*_sighted(name), *watchers[name]}
        case syn.Reveal(player, values):
            for value in values:
                for name in reads(value):
                    shown.setdefault(name, set()).add(player)
                if live and isinstance(value, syn.Register):
                    watchers[value.name].add(player)


def bounds(run: Unrolled) -> tuple[Bound, ...]:
    """The largest request of each line that asks the judge or the story source, in line order."""
    largest: dict[tuple[int, str], int] = {}
    scale = Scale(run.program.dialect, run.metadata)
    for position in run.order:
        line = run.program.instructions[position]
        for kind, tokens in scale.requests(line):
            key = position + 1, kind
            largest[key] = max(largest.get(key, 0), tokens)
        scale.store(line)
    return tuple(Bound(line, kind, tokens) for (line, kind), tokens in sorted(largest.items()))


class Scale:
    """Bounds of the registers' present values, in tokens."""

    def __init__(self, dialect: str, metadata: Metadata) -> None:
        self.dialect = DIALECTS[dialect]
        self.metadata = metadata
        self.sizes = {name: len(text.encode()) for name, text in metadata.constants.items()}

    def requests(self, line: syn.Instruction) -> Iterator[tuple[str, int]]:
        for node in descendants(line):
            if isinstance(node, syn.Xent):
                parts = (node.target, node.prefix, node.outer)
                yield "score", sum(self.of(part) for part in parts if part is not None)
            elif isinstance(node, syn.Truth):
                yield "truth", sum(map(self.of, (node.statement, *node.params)))
            elif isinstance(node, syn.Story):
                yield "story", self.of(node)

    def store(self, line: syn.Instruction) -> list[tuple[str, int]]:
        """Take in what a line sets; each register with its size, in order."""
        stored: list[tuple[str, int]] = []
        match line:
            case syn.Assign(targets) if self.dialect.parallel_assign:
                stored = [(name, self.of(value)) for name, value in targets]
                self.sizes |= dict(stored)
            case syn.Assign(targets):
                for name, value in targets:
                    self.sizes[name] = self.of(value)
                    stored.append((name, self.sizes[name]))
            case syn.Elicit(_, registers, max_len):
                stored = [(name, max_len or self.metadata.max_len) for name in registers]
                self.sizes |= dict(stored)
        return stored

    def of(self, node: object) -> int:
        """No string has more tokens than characters it may hold."""
        match node:
            case syn.Literal(value):
                tokens = len(value.encode())
            case syn.Register(name):
                tokens = self.sizes.get(name, 0)
            case syn.Cat(left, right):
                tokens = self.of(left) + self.of(right) + self.dialect.cat_space
            case syn.Cut(text) | syn.Function("remove_common_words", (text, *_)):
                tokens = self.of(text)
            case syn.Given(text, prefix):
                tokens = self.of(text) + self.of(prefix)
            case syn.Function("first_n_tokens", (_, syn.Number(count))):
                tokens = int(count)
            case syn.Story(told):
                heeded = self.dialect.story_arguments
                tokens = (told if heeded else None) or self.metadata.story_tokens
            case _:
                tokens = self.metadata.max_characters
        return min(tokens, self.metadata.max_characters)
