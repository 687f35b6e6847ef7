"""Static facts of each request: the player, what that player knows, and how large a text the judge
reads.

Sizes are in judge tokens, counted as the sum of the parts' bounds: a story's and a move's limit, a
literal's bytes. Joined text can in rare cases tokenise to more than its parts did.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from xgl.language import syntax as syn
from xgl.language.canonical import Metadata
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import descendants, reads


class UnrolledProgram(NamedTuple):
    """A program with the positions of its lines in the order in which they run."""

    program: syn.Program
    order: tuple[int, ...]
    metadata: Metadata


class ElicitFacts(NamedTuple):
    """One register of an ``elicit`` line: what its player may write, and what it knows then."""

    line: int
    """Number of the instruction, from 1."""
    player: str
    register: str
    max_len: int
    """Most judge tokens of the move; the metadata's limit if the line has none."""
    times: int
    """Number of times that it is asked for in one play when no ensure fails."""
    sees: tuple[str, ...]
    """Registers whose present value was shown to the player before one of its turns at this line:
    assigned or elicited in its sight, public, revealed to it, or its own move."""
    hidden: tuple[str, ...]
    """Registers that hold a text at such a turn and were never shown to the player."""


class Bound(NamedTuple):
    """The largest text of one line that a model reads at once, in judge tokens."""

    line: int
    kind: str
    """``score`` (text and context together), ``truth`` (the statement) or ``story``."""
    tokens: int


def elicit_facts(run: UnrolledProgram) -> tuple[ElicitFacts, ...]:
    """Every elicited register, in the order of their first turns."""
    times: Counter[tuple[int, str]] = Counter()
    sees: defaultdict[tuple[int, str], dict[str, None]] = defaultdict(dict)
    hides: defaultdict[tuple[int, str], dict[str, None]] = defaultdict(dict)
    sights = _Sights(run)
    for position in run.order:
        line = run.program.instructions[position]
        if not isinstance(line, syn.Elicit):
            sights.learn(line)
            continue
        for name in line.registers:
            turn = position, name
            times[turn] += 1
            seen = sights.seen[line.player]
            if not (
                seen <= sees[turn].keys() and sights.written.keys() - seen <= hides[turn].keys()
            ):
                for other in sights.written:
                    (sees if other in seen else hides)[turn][other] = None
            sights.store(name, line.player)
    return tuple(
        ElicitFacts(
            line=turn[0] + 1,
            player=line.player,
            register=turn[1],
            max_len=line.max_len or run.metadata.max_len,
            times=count,
            sees=tuple(sees[turn]),
            hidden=tuple(name for name in hides[turn] if name not in sees[turn]),
        )
        for turn, count in times.items()
        if isinstance(line := run.program.instructions[turn[0]], syn.Elicit)
    )


class _Sights:
    """For each player the registers whose present value it has seen."""

    def __init__(self, run: UnrolledProgram) -> None:
        self.live = DIALECTS[run.program.dialect].live_reveal
        """Whether a reveal also shows a register's later values."""
        self.written: dict[str, None] = {}
        """The registers that hold a text, in the order in which they were set or shown first."""
        self.seen: dict[str, set[str]] = {player: set() for player in syn.PLAYERS}
        self.watchers: defaultdict[str, set[str]] = defaultdict(set)
        for name in sorted({**run.metadata.constants, **run.metadata.prompts}):
            self.store(name)

    def store(self, name: str, mover: str = "") -> None:
        """A register has a new value, written by ``mover`` if by a player."""
        self.written[name] = None
        viewers = {mover, *syn.viewers(name), *self.watchers[name]}
        for player, names in self.seen.items():
            (names.add if player in viewers else names.discard)(name)

    def learn(self, line: syn.Instruction) -> None:
        """Update the players' registers after an assign or a reveal."""
        match line:
            case syn.Assign(targets):
                for name, _ in targets:
                    self.store(name)
            case syn.Reveal(player, values):
                names = reads(line)
                self.written |= dict.fromkeys(names)
                self.seen[player].update(names)
                for value in values if self.live else ():
                    if isinstance(value, syn.Register):
                        self.watchers[value.name].add(player)


def bounds(run: UnrolledProgram) -> tuple[Bound, ...]:
    """The largest request of each line that asks the judge or the story source, in line order."""
    largest: dict[tuple[int, str], int] = {}
    sizes = _Sizes(run)
    for position in run.order:
        line = run.program.instructions[position]
        for kind, texts in _requests(line):
            tokens = sum(map(sizes.tokens, texts))
            largest[position + 1, kind] = max(largest.get((position + 1, kind), 0), tokens)
        sizes.store(line)
    return tuple(Bound(line, kind, tokens) for (line, kind), tokens in sorted(largest.items()))


def _requests(line: syn.Instruction) -> Iterator[tuple[str, list[syn.StringExpr]]]:
    """A line's requests to the judge or the story source: their kinds and texts."""
    for node in descendants(line):
        match node:
            case syn.Xent(_, target, prefix, outer):
                yield "score", [part for part in (target, prefix, outer) if part]
            case syn.Truth(statement, params):
                yield "truth", [statement, *params]
            case syn.Story():
                yield "story", [node]


class _Sizes(dict[str, int]):
    """Bounds of the registers' present values, in tokens."""

    def __init__(self, run: UnrolledProgram) -> None:
        self.dialect, self.metadata = DIALECTS[run.program.dialect], run.metadata
        texts = run.metadata.constants.items()
        super().__init__({name: len(text.encode()) for name, text in texts})
        self |= dict.fromkeys(run.metadata.prompts, run.metadata.story_tokens)

    def store(self, line: syn.Instruction) -> None:
        """Update the registers that a line sets."""
        match line:
            case syn.Assign(targets) if self.dialect.parallel_assign:
                self |= [(name, self.tokens(value)) for name, value in targets]
            case syn.Assign(targets):
                for name, value in targets:
                    self[name] = self.tokens(value)
            case syn.Elicit(_, registers, max_len):
                self |= dict.fromkeys(registers, max_len or self.metadata.max_len)

    def tokens(self, text: object) -> int:
        """A text's bound, at most the cap on characters."""
        return min(self._size(text), self.metadata.max_characters)

    def _size(self, node: object) -> int:
        match node:
            case syn.Literal(value):
                return len(value.encode())
            case syn.Register(name):
                return self.get(name, 0)
            case syn.Cat(left, right):
                return self._size(left) + self._size(right) + self.dialect.cat_space
            case syn.Cut(text) | syn.Function("remove_common_words", (text, *_)):
                return self._size(text)
            case syn.Given(text, prefix):
                return self._size(text) + self._size(prefix)
            case syn.Function("first_n_tokens", (_, syn.Number(count))):
                return int(count)
            case syn.Story(limit):
                own = limit if self.dialect.story_arguments else None
                return own or self.metadata.story_tokens
        return self.metadata.max_characters
