"""Static facts of a program, before any model runs: the search's cheapest filter
(docs/specification.md, "Static facts")."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from xgl.language import syntax as syn
from xgl.language.canonical import Metadata
from xgl.language.control_flow import unrolled
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import descendants, find, listed_registers, reads, writes


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


@dataclass(frozen=True)
class StaticFacts:
    """Facts of a program that are known without playing it."""

    steps: int
    """Length of the unrolled program."""
    players: tuple[str, ...]
    """Players that are asked for a move, in order of first elicit."""
    stories: int
    """Number of ``story()`` sites."""
    move_tokens: int
    """Most judge tokens the main player may write in one play."""
    main_reward_depends_on_moves: bool
    """Whether some reward of the main player reads an elicited string (data flow)."""
    rewards_cancel: bool
    """Whether the main player's rewards sum to nothing term by term."""
    unused_moves: tuple[str, ...]
    """Registers that are elicited and never read afterwards."""
    read_before_set: tuple[str, ...]
    """Registers of s t x y p read before anything sets them."""
    faults: tuple[str, ...]
    """Reasons for which it cannot be played at all."""
    role: str
    """The player taken as the main one."""
    program: syn.Program = field(repr=False, compare=False)
    order: tuple[int, ...] = field(repr=False, compare=False)
    """Positions of the program's lines as they run; with ``metadata``, what the facts below are
    computed from when they are first read."""
    metadata: Metadata = field(repr=False, compare=False)

    @cached_property
    def elicits(self) -> tuple[ElicitFacts, ...]:
        """Every request for a move: its limit, and what its player has and has not been shown."""
        return elicit_facts(self.program, self.order, self.metadata)

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """The largest request of each line to the judge or the story source, in tokens."""
        return bounds(self.program, self.order, self.metadata)

    @property
    def degenerate(self) -> str:
        """Why the program can teach its main player nothing; empty if it might."""
        if self.faults:
            return self.faults[0]
        if self.role not in self.players:
            return "the main player makes no move"
        if not self.main_reward_depends_on_moves:
            return "no reward of the main player depends on a move"
        if self.rewards_cancel:
            return "the main player's rewards cancel"
        if self.unused_moves:
            return f"the move {self.unused_moves[0]} is never used"
        return ""


def analyse(
    program: syn.Program, metadata: Metadata | None = None, role: str = syn.MAIN_PLAYER
) -> StaticFacts:
    """All static facts of a valid program, with ``role`` as the main player.

    ``metadata`` holds the lengths of a story and of a move without a limit (None: its defaults).
    """
    return analyse_roles(program, metadata, (role,))[0]


def analyse_roles(
    program: syn.Program, metadata: Metadata | None = None, roles: Sequence[str] = ()
) -> list[StaticFacts]:
    """The facts for several main players, in one pass; by default for all players that are asked
    for a move, or for black if none is."""
    lines, facts = program.instructions, metadata or Metadata()
    players = tuple(dict.fromkeys(line.player for line in find(program, syn.Elicit)))
    roles = roles or players or (syn.MAIN_PLAYER,)
    order, fault = unrolled(program)
    kinds = [type(lines[position]) for position in order]
    faults = [fault] if fault else []
    if syn.Ensure in kinds and syn.Elicit not in kinds[: kinds.index(syn.Ensure)]:
        faults.append("an ensure stands before any elicit")
    flow = _data_flow(program, order)
    reached = _Moves(roles, DIALECTS[program.dialect].live_reveal)
    for step in flow:
        reached.follow(step)
    unused, early = _unused_moves(flow), _read_before_set(flow)
    moves = [
        (line.player, (line.max_len or facts.max_len) * len(line.registers))
        for line in (lines[position] for position in order)
        if isinstance(line, syn.Elicit)
    ]
    return [
        StaticFacts(
            steps=len(order),
            players=players,
            stories=len(find(program, syn.Story)),
            move_tokens=sum(tokens for player, tokens in moves if player == role),
            main_reward_depends_on_moves=role in reached.rewarded_roles,
            rewards_cancel=_rewards_cancel(program, order, role),
            unused_moves=tuple(dict.fromkeys(name for player, name in unused if player == role)),
            read_before_set=early,
            faults=tuple(faults),
            role=role,
            program=program,
            order=order,
            metadata=facts,
        )
        for role in roles
    ]


def learning_roles(program: syn.Program) -> tuple[str, ...]:
    """The players that may be the main one (§4.1): those that move and may learn something."""
    return tuple(facts.role for facts in analyse_roles(program) if not facts.degenerate)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """An executed instruction with the registers that it reads: with each list also the registers
    that the list may hold."""

    line: syn.Instruction
    reads: tuple[str, ...]
    """Each register once, in order."""
    writes: dict[str, int]
    """The registers that it sets, and how often."""
    sources: dict[str, tuple[tuple[str, ...], str]]
    """For an assign: the registers that each value reads, and the one that it is by itself."""
    shown_names: tuple[str, ...]
    """For a reveal: the registers that it shows by themselves."""


def _data_flow(program: syn.Program, order: tuple[int, ...]) -> list[_Step]:
    """The executed instructions; an assign that stores left to right becomes one step for each
    target."""
    dialect = DIALECTS[program.dialect]
    list_items = tuple(item.name for item in listed_registers(program)) if dialect.aliases else ()
    steps: dict[int, list[_Step]] = {}
    for position in dict.fromkeys(order):
        line = program.instructions[position]
        parts: list[syn.Instruction] = [line]
        if isinstance(line, syn.Assign) and not dialect.parallel_assign:
            parts = [syn.Assign((target,)) for target in line.targets]
        steps[position] = [_step(part, list_items) for part in parts]
    return [step for position in order for step in steps[position]]


_LISTS = frozenset(syn.LIST_REGISTERS)


def _step(line: syn.Instruction, list_items: tuple[str, ...]) -> _Step:
    targets = line.targets if isinstance(line, syn.Assign) else ()
    values = line.values if isinstance(line, syn.Reveal) else ()
    return _Step(
        line,
        _reads(line, list_items),
        Counter(writes(line)),
        {n: (_reads(value, list_items), _bare(value, list_items)) for n, value in targets},
        tuple(dict.fromkeys(_bare(value, list_items) for value in values)),
    )


def _reads(node: Any, list_items: tuple[str, ...]) -> tuple[str, ...]:
    """Registers that a node reads, each once; after a list those that a list may hold."""
    names = ((name, *list_items) if name in _LISTS else (name,) for name in reads(node))
    return tuple(dict.fromkeys(chain.from_iterable(names)))


def _bare(value: Any, list_items: tuple[str, ...]) -> str:
    """The register that a value is, by itself; empty for any other value."""
    if not isinstance(value, syn.Register) or (list_items and value.name in _LISTS):
        return ""
    return value.name


def paid_for(role: str) -> dict[str, int]:
    """The players whose rewards count for ``role``, with their sign (the zero-sum pair)."""
    return {role: 1} | ({syn.PARTNERS[role]: -1} if role in syn.PARTNERS else {})


class _Moves:
    """For each register the roles whose moves it depends on, and for each player the roles whose
    moves it has seen something of. So a move changes a reward through assigns, or through another
    player that saw something of it (``live``: or that a register was revealed to before)."""

    def __init__(self, roles: Sequence[str], live: bool) -> None:
        self.roles, self.live = roles, live
        self.rewarded_roles: set[str] = set()
        self._roles_in: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
        # Any view of a move counts as knowing it: the facts may call a dead reward alive, but never
        # refuse a game that can be learned.
        self._roles_known_to: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
        self._watchers: defaultdict[str, set[str]] = defaultdict(set)

    def follow(self, step: _Step) -> None:
        match step.line:
            case syn.Assign():  # a register by itself is read when it is stored, all else before
                before = {name: self._union(names) for name, (names, _) in step.sources.items()}
                for name, (_, source) in step.sources.items():
                    self._roles_in[name] = self._roles_in[source] if source else before[name]
                    self._inform((name,), self._roles_in[name])
            case syn.Elicit(player):  # it depends on what its player wrote or saw before
                own = frozenset({player}.intersection(self.roles))
                self._inform(step.writes, own)
                roles = own | self._roles_known_to[player]
                self._roles_in.update(dict.fromkeys(step.writes, roles))
            case syn.Reveal(player):
                self._roles_known_to[player] |= self._union(step.reads)
                for name in step.shown_names if self.live else ():
                    self._watchers[name].add(player)
            case syn.Reward(player):
                self.rewarded_roles |= self._union(step.reads).intersection(paid_for(player))

    def _union(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset[str]().union(*(self._roles_in[name] for name in names))

    def _inform(self, names: Collection[str], roles: frozenset[str]) -> None:
        """The players that see registers when they are set: everyone if one is public, else the
        omniscient and those they were revealed to."""
        public = any(name[0] in syn.PUBLIC_TYPES for name in names)
        watchers = chain.from_iterable(self._watchers[name] for name in names)
        for player in syn.PLAYERS if public else {*syn.OMNISCIENT, *watchers}:
            self._roles_known_to[player] |= roles


_SIGNS = {"xent": 1, "nex": -1, "xed": -1, "dex": 1}
"""Sign of the conditional xent in each kind; xed and dex hold the unconditional one as well."""


def _rewards_cancel(program: syn.Program, order: tuple[int, ...], role: str) -> bool:
    """Whether equal terms of opposite sign leave nothing, while no register changes between."""
    balance: Counter[object] = Counter()
    # Two equal terms are the same number only while no register in them was set between them.
    versions: Counter[str] = Counter()
    for position in order:
        line = program.instructions[position]
        versions.update(writes(line))
        for sign, term in _paid_xents(line, role):
            balance[term, tuple([versions[name] for name in reads(term)])] += sign
    return bool(balance) and not any(balance.values())


def _paid_xents(line: syn.Instruction, role: str) -> Iterator[tuple[int, syn.Xent]]:
    """The plain xents that a line pays to ``role``, with their signs."""
    signs = paid_for(role)
    if isinstance(line, syn.Reward) and line.player in signs:
        for sign, term in line.amount.terms:
            for part_sign, part in plain_xents(term):
                yield signs[line.player] * sign * part_sign, part


def surprise_writers(program: syn.Program, role: str) -> list[str]:
    """Of ``role`` and its zero-sum partner those that are paid for the surprise of words of their
    own, written as they are or put together by assigns: such gains may rest on improbable words."""
    return [player for player in paid_for(role) if _is_paid_for_surprise(program, player)]


def _is_paid_for_surprise(program: syn.Program, player: str) -> bool:
    """Whether the target of a xent with positive sign holds a move of the player."""
    lines = program.instructions
    paid = (term for line in lines for sign, term in _paid_xents(line, player) if sign > 0)
    scored = {name for term in paid for name in reads(term.target)}
    values = [pair for line in lines if isinstance(line, syn.Assign) for pair in line.targets]
    for _ in values:  # each pass follows one more assign
        scored |= {each for name, value in values if name in scored for each in reads(value)}
    moves = (each for each in lines if isinstance(each, syn.Elicit) and each.player == player)
    return any(scored & {*move.registers} for move in moves)


def plain_xents(term: syn.Term) -> Iterator[tuple[int, syn.Xent]]:
    """A term as a signed sum of plain xents."""
    if isinstance(term, syn.Xent):
        sign = _SIGNS[term.kind]
        yield sign, replace(term, kind="xent")
        if term.kind in ("xed", "dex"):
            yield -sign, replace(term, kind="xent", prefix=None)


def _unused_moves(flow: list[_Step]) -> list[tuple[str, str]]:
    """Elicited registers that nothing reads before they are overwritten, each with its player."""
    pending: dict[str, int] = {}
    used_moves: set[int] = set()
    moves: list[tuple[str, str]] = []
    lost_moves: set[int] = set()
    for step in flow:
        used_moves.update([pending[name] for name in step.reads if name in pending])
        for name, times in step.writes.items():
            pending.pop(name, None)
            if isinstance(step.line, syn.Elicit):
                pending[name] = len(moves)
                lost_moves.update([len(moves)] if times > 1 else [])
                moves.append((step.line.player, name))
    return [move for key, move in enumerate(moves) if key not in used_moves or key in lost_moves]


def _read_before_set(flow: list[_Step]) -> tuple[str, ...]:
    names_set: set[str] = set()
    early: dict[str, None] = {}
    for step in dict.fromkeys(flow):  # later turns of a loop read nothing sooner
        early |= {n: None for n in step.reads if n not in names_set and n[0] not in "abc"}
        names_set.update(step.writes)
    return tuple(early)


# -- who is asked, knowing what; and how large the judge's requests can get ------------------------
# Sizes are in judge tokens, the sum of the parts' bounds: a story's and a move's limit, a literal's
# bytes. Joined text can in rare cases tokenise to more than its parts did.


def elicit_facts(
    program: syn.Program, order: Sequence[int], metadata: Metadata
) -> tuple[ElicitFacts, ...]:
    """Every elicited register, in the order of their first turns."""
    times: Counter[tuple[int, str]] = Counter()
    sees: defaultdict[tuple[int, str], dict[str, None]] = defaultdict(dict)
    hides: defaultdict[tuple[int, str], dict[str, None]] = defaultdict(dict)
    sights = _Sights(program, metadata)
    for position in order:
        line = program.instructions[position]
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
            max_len=line.max_len or metadata.max_len,
            times=count,
            sees=tuple(sees[turn]),
            hidden=tuple(name for name in hides[turn] if name not in sees[turn]),
        )
        for turn, count in times.items()
        if isinstance(line := program.instructions[turn[0]], syn.Elicit)
    )


class _Sights:
    """For each player the registers whose present value it has seen."""

    def __init__(self, program: syn.Program, metadata: Metadata) -> None:
        self.live = DIALECTS[program.dialect].live_reveal
        """Whether a reveal also shows a register's later values."""
        self.written: dict[str, None] = {}
        """The registers that hold a text, in the order in which they were set or shown first."""
        self.seen: dict[str, set[str]] = {player: set() for player in syn.PLAYERS}
        self.watchers: defaultdict[str, set[str]] = defaultdict(set)
        for name in sorted({**metadata.constants, **metadata.prompts}):
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


def bounds(program: syn.Program, order: Sequence[int], metadata: Metadata) -> tuple[Bound, ...]:
    """The largest request of each line that asks the judge or the story source, in line order."""
    largest: dict[tuple[int, str], int] = {}
    sizes = _Sizes(program, metadata)
    for position in order:
        line = program.instructions[position]
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

    def __init__(self, program: syn.Program, metadata: Metadata) -> None:
        self.dialect, self.metadata = DIALECTS[program.dialect], metadata
        texts = metadata.constants.items()
        super().__init__({name: len(text.encode()) for name, text in texts})
        self |= dict.fromkeys(metadata.prompts, metadata.story_tokens)

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
