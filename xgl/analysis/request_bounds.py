"""Static facts of each request: who is asked, knowing what; how large what the judge reads can get.

Sizes are in judge tokens, counted as the sum of the parts' bounds: a story's and a move's limit, a
literal's bytes. Joined text can in rare cases tokenise to more than its parts did.
"""

from __future__ import annotations

from collections import Counter, defaultdict
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
class ElicitFacts:
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


def elicit_facts(run: Unrolled) -> tuple[ElicitFacts, ...]:
    """Every elicited register, in order of first asking."""
    program, metadata = run.program, run.metadata
    found: dict[tuple[int, str], _Knowledge] = {}
    sights = _Sights(metadata, DIALECTS[program.dialect].live_reveal)
    for position in run.order:
        line = program.instructions[position]
        if not isinstance(line, syn.Elicit):
            sights.learn(line)
            continue
        for name in line.registers:
            found.setdefault((position, name), _Knowledge()).ask(sights, line.player)
            sights.set(name, line.player)
    return tuple(
        ElicitFacts(
            line=position + 1,
            player=line.player,
            register=name,
            max_len=line.max_len or metadata.max_len,
            times=known.times,
            sees=tuple(known.sees),
            hidden=tuple(k for k in known.hides if k not in known.sees),
        )
        for (position, name), known in found.items()
        for line in (program.instructions[position],)
        if isinstance(line, syn.Elicit)
    )


class _Sights:
    """Who was shown the present value of each register, as one bit for each register.

    ``live``: a reveal also shows a register's later values.
    """

    def __init__(self, metadata: Metadata, live: bool) -> None:
        self.live = live
        self.names: list[str] = []
        """The registers that hold a text, in the order in which they were set or shown first."""
        self.bits: dict[str, int] = {}
        self.seen = dict.fromkeys(syn.PLAYERS, 0)
        self.watchers: defaultdict[str, set[str]] = defaultdict(set)
        for name in sorted(metadata.constants):
            self.set(name)

    def _bit(self, name: str) -> int:
        if name not in self.bits:
            self.bits[name] = 1 << len(self.names)
            self.names.append(name)
        return self.bits[name]

    def set(self, name: str, mover: str = "") -> None:
        """A register has a new value, written by ``mover`` if by a player."""
        bit = self._bit(name)
        sighted = {mover, *_sighted(name), *self.watchers[name]}
        for player, seen in self.seen.items():
            self.seen[player] = seen | bit if player in sighted else seen & ~bit

    def learn(self, line: syn.Instruction) -> None:
        """What an assign or a reveal changes in who was shown what."""
        match line:
            case syn.Assign(targets):
                for name in dict.fromkeys([name for name, _ in targets]):
                    self.set(name)
            case syn.Reveal(player, values):
                for value in values:
                    for name in reads(value):
                        self.seen[player] |= self._bit(name)
                    if self.live and isinstance(value, syn.Register):
                        self.watchers[value.name].add(player)


class _Knowledge:
    """What a player knew when it was asked for one register, over all its turns."""

    def __init__(self) -> None:
        self.times = self._seen = self._hidden = 0
        self.sees: dict[str, None] = {}
        self.hides: dict[str, None] = {}

    def ask(self, sights: _Sights, player: str) -> None:
        self.times += 1
        seen = sights.seen[player]
        hidden = ((1 << len(sights.names)) - 1) & ~seen
        if seen & ~self._seen or hidden & ~self._hidden:
            for name, bit in sights.bits.items():
                (self.sees if seen & bit else self.hides)[name] = None
            self._seen |= seen
            self._hidden |= hidden


def _sighted(register: str) -> tuple[str, ...]:
    """Who sees a register as it is set."""
    return syn.PLAYERS if register[0] in syn.PUBLIC_TYPES else syn.OMNISCIENT


def bounds(run: Unrolled) -> tuple[Bound, ...]:
    """The largest request of each line that asks the judge or the story source, in line order."""
    largest: dict[tuple[int, str], int] = {}
    scale = Scale(run.program.dialect, run.metadata)
    lines = {place: run.program.instructions[place] for place in dict.fromkeys(run.order)}
    requests = {place: scale.requests(line) for place, line in lines.items()}
    for position in run.order:
        for kind, forms in requests[position]:
            key = position + 1, kind
            largest[key] = max(largest.get(key, 0), sum(map(scale.tokens, forms)))
        scale.store(lines[position])
    return tuple(Bound(line, kind, tokens) for (line, kind), tokens in sorted(largest.items()))


Form = tuple[int, tuple[tuple[str, int], ...]]
"""A string's bound: a number of tokens, and how often each register stands in it."""


class Scale:
    """Bounds of the registers' present values, in tokens."""

    def __init__(self, dialect: str, metadata: Metadata) -> None:
        self.dialect = DIALECTS[dialect]
        self.metadata = metadata
        self.sizes = {name: len(text.encode()) for name, text in metadata.constants.items()}
        self._forms: dict[int, list[tuple[str, Form]]] = {}

    def requests(self, line: syn.Instruction) -> list[tuple[str, tuple[Form, ...]]]:
        """What a line asks the judge or the story source for: its kind, and of which texts."""
        forms: list[tuple[str, tuple[Form, ...]]] = []
        for node in descendants(line):
            if isinstance(node, syn.Xent):
                parts = (node.target, node.prefix, node.outer)
                forms.append(("score", tuple(self.form(part) for part in parts if part)))
            elif isinstance(node, syn.Truth):
                forms.append(("truth", tuple(map(self.form, (node.statement, *node.params)))))
            elif isinstance(node, syn.Story):
                forms.append(("story", (self.form(node),)))
        return list(dict.fromkeys(forms))

    def store(self, line: syn.Instruction) -> list[tuple[str, int]]:
        """Take in what a line sets; each register with its size, in order."""
        stored: list[tuple[str, int]] = []
        match line:
            case syn.Assign() if self.dialect.parallel_assign:
                stored = [(name, self.tokens(form)) for name, form in self._targets(line)]
                self.sizes |= dict(stored)
            case syn.Assign():
                for name, form in self._targets(line):
                    self.sizes[name] = self.tokens(form)
                    stored.append((name, self.sizes[name]))
            case syn.Elicit(_, registers, max_len):
                stored = [(name, max_len or self.metadata.max_len) for name in registers]
                self.sizes |= dict(stored)
        return stored

    def _targets(self, assign: syn.Assign) -> list[tuple[str, Form]]:
        if id(assign) not in self._forms:
            forms = [(name, self.form(value)) for name, value in assign.targets]
            self._forms[id(assign)] = forms
        return self._forms[id(assign)]

    def tokens(self, form: Form) -> int:
        """A bound with the registers as they are. No string has more tokens than characters it
        may hold."""
        own, registers = form
        sizes = self.sizes
        total = own + sum([times * sizes.get(name, 0) for name, times in registers])
        return min(total, self.metadata.max_characters)

    def of(self, node: object) -> int:
        """The bound of an expression as the registers are."""
        return self.tokens(self.form(node))

    def form(self, node: object) -> Form:
        """An expression's bound, whatever the registers hold."""
        if isinstance(node, syn.Register):
            return 0, ((node.name, 1),)
        own, times, waiting = 0, Counter[str](), [node]
        while waiting:
            match waiting.pop():
                case syn.Literal(value):
                    own += len(value.encode())
                case syn.Register(name):
                    times[name] += 1
                case syn.Cat(left, right):
                    waiting += [left, right]
                    own += self.dialect.cat_space
                case syn.Cut(text) | syn.Function("remove_common_words", (text, *_)):
                    waiting.append(text)
                case syn.Given(text, prefix):
                    waiting += [text, prefix]
                case syn.Function("first_n_tokens", (_, syn.Number(count))):
                    own += int(count)
                case syn.Story(limit):
                    uses_limit = self.dialect.story_arguments
                    own += (limit if uses_limit else None) or self.metadata.story_tokens
                case _:
                    own += self.metadata.max_characters
        return own, tuple(times.items())
