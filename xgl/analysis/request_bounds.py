"""Static facts of each request: the player, what that player knows, and how large a text the judge
reads.

Sizes are in judge tokens, counted as the sum of the parts' bounds: a story's and a move's limit, a
literal's bytes. Joined text can in rare cases tokenise to more than its parts did.

A player's view is the code and a line for each thing that it was shown
(``xgl.runtime.presentation``); its bound holds while no ensure fails.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from xgl.language import syntax as syn
from xgl.language.canonical import Metadata, game
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import expression_text
from xgl.language.visitors import descendants, listed_registers, reads


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
    """``score`` (text and context together), ``truth`` (the statement), ``story`` or ``view``."""
    tokens: int


def elicit_facts(run: UnrolledProgram) -> tuple[ElicitFacts, ...]:
    """Every elicited register, in the order of their first turns."""
    program, metadata = run.program, run.metadata
    knowledge_of: dict[tuple[int, str], _Knowledge] = {}
    sights = _Sights(metadata, DIALECTS[program.dialect].live_reveal)
    for position in run.order:
        line = program.instructions[position]
        if not isinstance(line, syn.Elicit):
            sights.learn(line)
            continue
        for name in line.registers:
            knowledge_of.setdefault((position, name), _Knowledge()).ask(sights, line.player)
            sights.set(name, line.player)
    return tuple(
        ElicitFacts(
            line=position + 1,
            player=line.player,
            register=name,
            max_len=line.max_len or metadata.max_len,
            times=knowledge.times,
            sees=tuple(knowledge.sees),
            hidden=tuple(k for k in knowledge.hides if k not in knowledge.sees),
        )
        for (position, name), knowledge in knowledge_of.items()
        for line in (program.instructions[position],)
        if isinstance(line, syn.Elicit)
    )


class _Sights:
    """For each player the registers whose present value it has seen, as one bit for each.

    ``live``: a reveal also shows a register's later values.
    """

    def __init__(self, metadata: Metadata, live: bool) -> None:
        self.live = live
        self.names: list[str] = []
        """The registers that hold a text, in the order in which they were set or shown first."""
        self.bits: dict[str, int] = {}
        self.seen_bits = dict.fromkeys(syn.PLAYERS, 0)
        self.watchers: defaultdict[str, set[str]] = defaultdict(set)
        for name in sorted({**metadata.constants, **metadata.prompts}):
            self.set(name)

    def _bit(self, name: str) -> int:
        if name not in self.bits:
            self.bits[name] = 1 << len(self.names)
            self.names.append(name)
        return self.bits[name]

    def set(self, name: str, mover: str = "") -> None:
        """A register has a new value, written by ``mover`` if by a player."""
        bit = self._bit(name)
        viewers = {mover, *syn.viewers(name), *self.watchers[name]}
        for player, old_bits in self.seen_bits.items():
            self.seen_bits[player] = old_bits | bit if player in viewers else old_bits & ~bit

    def learn(self, line: syn.Instruction) -> None:
        """Update the players' registers after an assign or a reveal."""
        match line:
            case syn.Assign(targets):
                for name in dict.fromkeys([name for name, _ in targets]):
                    self.set(name)
            case syn.Reveal(player, values):
                for value in values:
                    for name in reads(value):
                        self.seen_bits[player] |= self._bit(name)
                    if self.live and isinstance(value, syn.Register):
                        self.watchers[value.name].add(player)


class _Knowledge:
    """The registers that a player knows when it is asked for one register, over all its turns."""

    def __init__(self) -> None:
        self.times = self._seen_bits = self._hidden_bits = 0
        self.sees: dict[str, None] = {}
        self.hides: dict[str, None] = {}

    def ask(self, sights: _Sights, player: str) -> None:
        self.times += 1
        seen_bits = sights.seen_bits[player]
        hidden_bits = ((1 << len(sights.names)) - 1) & ~seen_bits
        if seen_bits & ~self._seen_bits or hidden_bits & ~self._hidden_bits:
            for name, bit in sights.bits.items():
                (self.sees if seen_bits & bit else self.hides)[name] = None
            self._seen_bits |= seen_bits
            self._hidden_bits |= hidden_bits


def bounds(run: UnrolledProgram) -> tuple[Bound, ...]:
    """The largest request of each line that asks the judge or the story source, in line order."""
    largest: dict[tuple[int, str], int] = {}
    scale = Scale(run.program.dialect, run.metadata)
    lines = {position: run.program.instructions[position] for position in dict.fromkeys(run.order)}
    requests = {position: scale.requests(line) for position, line in lines.items()}
    for position in run.order:
        for kind, forms in requests[position]:
            key = position + 1, kind
            largest[key] = max(largest.get(key, 0), sum(map(scale.tokens, forms)))
        scale.store(lines[position])
    return tuple(Bound(line, kind, tokens) for (line, kind), tokens in sorted(largest.items()))


Form = tuple[int, tuple[tuple[str, int], ...]]
"""A string's bound: a number of tokens, and the number of times that it holds each register."""


class Scale:
    """Bounds of the registers' present values, in tokens."""

    def __init__(self, dialect: str, metadata: Metadata) -> None:
        self.dialect = DIALECTS[dialect]
        self.metadata = metadata
        self.sizes = {name: len(text.encode()) for name, text in metadata.constants.items()}
        self.sizes |= dict.fromkeys(metadata.prompts, metadata.story_tokens)
        self._forms: dict[int, list[tuple[str, Form]]] = {}

    def requests(self, line: syn.Instruction) -> list[tuple[str, tuple[Form, ...]]]:
        """A line's requests to the judge or the story source: their kinds, and the bounds of
        texts."""
        # Forms are made once for each line and then only evaluated: a loop runs a line up to 1,024
        # times, each time with other sizes.
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
        """Update the registers that a line sets; returns each with its size, in order."""
        register_sizes: list[tuple[str, int]] = []
        match line:
            case syn.Assign() if self.dialect.parallel_assign:
                register_sizes = [(name, self.tokens(form)) for name, form in self._targets(line)]
                self.sizes |= dict(register_sizes)
            case syn.Assign():
                for name, form in self._targets(line):
                    self.sizes[name] = self.tokens(form)
                    register_sizes.append((name, self.sizes[name]))
            case syn.Elicit(_, registers, max_len):
                register_sizes = [(name, max_len or self.metadata.max_len) for name in registers]
                self.sizes |= dict(register_sizes)
        return register_sizes

    def _targets(self, assign: syn.Assign) -> list[tuple[str, Form]]:
        if id(assign) not in self._forms:
            forms = [(name, self.form(value)) for name, value in assign.targets]
            self._forms[id(assign)] = forms
        return self._forms[id(assign)]

    def tokens(self, form: Form) -> int:
        """A bound with the present sizes of the registers, at most the cap on characters."""
        own, registers = form
        sizes = self.sizes
        total = own + sum([times * sizes.get(name, 0) for name, times in registers])
        return min(total, self.metadata.max_characters)

    def form(self, node: object) -> Form:
        """An expression's bound as a function of the registers' sizes."""
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


NUMBER = 8
"""Bytes of one token's bits, with the separator."""
REWARD = 32
"""Bytes of a reward's label and sum."""


def views(run: UnrolledProgram) -> tuple[Bound, ...]:
    """The largest view of each ``elicit`` line, in line order."""
    largest, _ = _follow(run)
    return tuple(Bound(line, "view", tokens) for line, tokens in sorted(largest.items()))


def shown_tokens(run: UnrolledProgram) -> dict[str, int]:
    """Tokens that each player was shown by the end of a play, without the code."""
    return dict(_follow(run)[1].tokens)


def _follow(run: UnrolledProgram) -> tuple[dict[int, int], _ShownTokens]:
    """The largest view by line, and the tokens shown by the end."""
    program, largest = run.program, dict[int, int]()
    counter = _ShownTokens(program, run.metadata)
    code = len(game(program, run.metadata).shown.encode())
    for position in run.order:
        line = program.instructions[position]
        if isinstance(line, syn.Elicit):
            view = code + counter.ask(line)
            largest[position + 1] = max(largest.get(position + 1, 0), view)
            continue
        for name, tokens in counter.scale.store(line):
            counter.keep(name, _label(name) + tokens)
            if name in counter.in_lists:
                counter.keep_lists(1)
        counter.learn(line)
    return largest, counter


def _label(text: str) -> int:
    return len(text.encode()) + 4  # a canonical name may be longer by two; the colon, the line end


class _ShownTokens:
    """Tokens that each player was shown so far."""

    def __init__(self, program: syn.Program, metadata: Metadata) -> None:
        self.scale = Scale(program.dialect, metadata)
        aliases = self.scale.dialect.aliases
        self.in_lists = {item.name for item in listed_registers(program)} if aliases else set()
        """The registers that lists may hold themselves."""
        self.tokens: defaultdict[str, int] = defaultdict(int)
        self._viewers = {
            name: dict.fromkeys(syn.viewers(name)) for name in (*syn.REGISTERS, *syn.LIST_REGISTERS)
        }
        self._lines: dict[int, list[tuple[int, Form]]] = {}
        for name, tokens in self.scale.sizes.items():
            self.keep(name, _label(name) + tokens)

    def keep(self, name: str, tokens: int, mover: str = "") -> None:
        """Count a register that was set for the players who see it."""
        for player in self._viewers[name]:
            if player != mover:
                self.tokens[player] += tokens

    def keep_lists(self, times: int) -> None:
        """Count all lists, whose text may change when a register that they hold is set."""
        for name in syn.LIST_REGISTERS:
            if name in self.scale.sizes:
                self.keep(name, times * (_label(name) + self.scale.sizes[name]))

    def ask(self, line: syn.Elicit) -> int:
        """Count the moves of a line; returns the tokens that its player sees when it is asked for
        the last register, its largest view at this line."""
        *earlier, last = self.scale.store(line)
        for (name, tokens), times in Counter(earlier).items():
            self._keep_move(name, tokens, line.player, times)
        view = self.tokens[line.player] + _label(last[0])
        self._keep_move(*last, line.player, 1)
        return view

    def _keep_move(self, name: str, tokens: int, mover: str, times: int) -> None:
        size = times * (_label(name) + tokens)
        self.tokens[mover] += size
        self.keep(name, size, mover)
        if name in self.in_lists:
            self.keep_lists(times)

    def learn(self, line: syn.Instruction) -> None:
        """Count what a reveal or a reward shows."""
        match line:
            case syn.Reveal(player, values):
                for own, form in self._forms(line):
                    self.tokens[player] += own + self.scale.tokens(form)
                for value in values:
                    if isinstance(value, syn.Register):
                        self._viewers[value.name].setdefault(player)
            case syn.Reward(player):
                bits = self._token_bits(line)
                payees = {player, syn.PARTNERS.get(player, player)}
                for reader in {*payees, *syn.OMNISCIENT}:
                    self.tokens[reader] += len(payees) * (REWARD + bits)

    def _token_bits(self, line: syn.Reward) -> int:
        """Tokens of the bits that are shown next to a reward's sum."""
        if not self.scale.metadata.token_bits:
            return 0
        return sum(NUMBER * (self.scale.tokens(form) + 1) for _, form in self._forms(line))

    def _forms(self, line: syn.Reveal | syn.Reward) -> list[tuple[int, Form]]:
        """The items that a line shows: the tokens of each label and the bound of each text."""
        if id(line) not in self._lines:
            if isinstance(line, syn.Reveal):
                labels = [_label(expression_text(value)) for value in line.values]
                nodes: list[object] = list(line.values)
            else:
                nodes = [t.target for _, t in line.amount.terms if isinstance(t, syn.Xent)]
                labels = [0] * len(nodes)
            self._lines[id(line)] = list(zip(labels, map(self.scale.form, nodes), strict=True))
        return self._lines[id(line)]
