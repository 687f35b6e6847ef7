"""Static facts of a program, before any model runs: the search's cheapest filter
(docs/specification.md, "Static facts")."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby
from typing import Any

from xgl.analysis.request_bounds import (
    Bound,
    ElicitFacts,
    UnrolledProgram,
    bounds,
    elicit_facts,
    shown_tokens,
    views,
)
from xgl.errors import FlowError
from xgl.language import syntax as syn
from xgl.language.canonical import Metadata
from xgl.language.control_flow import path
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import find, listed_registers, reads, writes


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
    role: str = syn.MAIN_PLAYER
    """The player taken as the main one."""
    run: UnrolledProgram | None = field(default=None, repr=False, compare=False)
    """The unrolled program; the facts below are computed from it when first read."""

    @cached_property
    def elicits(self) -> tuple[ElicitFacts, ...]:
        """Every request for a move: its limit, and what its player has and has not been shown."""
        return elicit_facts(self.run) if self.run else ()

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """The largest request of each line to the judge or the story source, in tokens."""
        return bounds(self.run) if self.run else ()

    @cached_property
    def views(self) -> tuple[Bound, ...]:
        """The largest view of each elicit, in tokens, while no ensure fails."""
        return views(self.run) if self.run else ()

    @cached_property
    def shown_tokens(self) -> dict[str, int]:
        """Tokens that each player is shown by the end of a play, without the code."""
        return shown_tokens(self.run) if self.run else {}

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
    order, faults = _order(program)
    flow = _data_flow(program, order)
    reached_roles = _reached_rewards(flow, roles, DIALECTS[program.dialect].live_reveal)
    unused, early = _unused_moves(flow), _read_before_set(flow)
    run = UnrolledProgram(program, order, facts)
    return [
        StaticFacts(
            steps=len(order),
            players=players,
            stories=len(find(program, syn.Story)),
            move_tokens=sum(_move_tokens(lines[i], role, facts.max_len) for i in order),
            main_reward_depends_on_moves=role in reached_roles,
            rewards_cancel=_rewards_cancel(program, order, role),
            unused_moves=tuple(dict.fromkeys(name for player, name in unused if player == role)),
            read_before_set=early,
            faults=faults,
            role=role,
            run=run,
        )
        for role in roles
    ]


def learning_roles(program: syn.Program) -> tuple[str, ...]:
    """The players that may be the main one (§4.1): those that move and may learn something."""
    return tuple(facts.role for facts in analyse_roles(program) if not facts.degenerate)


def _order(program: syn.Program) -> tuple[tuple[int, ...], tuple[str, ...]]:
    order: list[int] = []
    faults: list[str] = []
    try:
        for position in path(program):
            order.append(position)
            if len(order) > syn.MAX_STEPS:
                break
    except FlowError as error:
        faults.append(str(error))
    kinds = [type(program.instructions[position]) for position in order]
    if syn.Ensure in kinds and syn.Elicit not in kinds[: kinds.index(syn.Ensure)]:
        faults.append("an ensure stands before any elicit")
    return tuple(order), tuple(faults)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """An executed instruction with the registers that it reads: with each list also the registers
    that the list may hold."""

    line: syn.Instruction
    reads: tuple[str, ...]
    """Each register once, in order."""
    writes: dict[str, int]
    """The registers that it sets, and how often."""
    sources: dict[str, tuple[frozenset[str], str]]
    """For an assign: the registers that each value reads, and the one that it is by itself."""
    shown_names: tuple[str, ...]
    """For a reveal: the registers that it shows by themselves."""


def _data_flow(program: syn.Program, order: tuple[int, ...]) -> list[_Step]:
    """The executed instructions; an assign that stores left to right becomes one step for each
    target. Equal steps in a row become one, since the second changes nothing."""
    dialect = DIALECTS[program.dialect]
    list_items = tuple(item.name for item in listed_registers(program)) if dialect.aliases else ()
    assign_steps: dict[tuple[_Value, ...], _Step] = {}
    steps: defaultdict[int, list[_Step]] = defaultdict(list)
    for position in dict.fromkeys(order):
        line = program.instructions[position]
        if isinstance(line, syn.Assign):
            values = tuple(_value(target, list_items) for target in line.targets)
            single = [(value,) for value, _ in groupby(values)]
            for part in [values] if dialect.parallel_assign else single:
                if part not in assign_steps:
                    assign_steps[part] = _assign_step(line, part)
                steps[position].append(assign_steps[part])
        else:
            steps[position].append(_step(line, list_items))
    return [step for position in order for step in steps[position]]


_LISTS = frozenset(syn.LIST_REGISTERS)
_Value = tuple[str, tuple[str, ...], str]
"""A target of an assign, the registers that its value reads, and the one that it is by itself."""


def _value(
    target: tuple[str, syn.StringExpr | syn.ListExpr], list_items: tuple[str, ...]
) -> _Value:
    name, value = target
    return name, _reads(value, list_items), _bare(value, list_items)


def _step(line: syn.Instruction, list_items: tuple[str, ...]) -> _Step:
    values = line.values if isinstance(line, syn.Reveal) else ()
    bare = tuple(dict.fromkeys(_bare(value, list_items) for value in values))
    return _Step(line, _reads(line, list_items), dict(Counter(writes(line))), {}, bare)


def _assign_step(line: syn.Assign, values: tuple[_Value, ...]) -> _Step:
    sources = {name: (frozenset(names), source) for name, names, source in values}
    names = tuple(dict.fromkeys(chain.from_iterable(names for _, names, _ in values)))
    return _Step(line, names, dict(Counter(name for name, _, _ in values)), sources, ())


def _reads(node: Any, list_items: tuple[str, ...]) -> tuple[str, ...]:
    """Registers that a node reads, each once; after a list those that a list may hold."""
    names = (
        (name, *list_items) if name in _LISTS else (name,) for name in dict.fromkeys(reads(node))
    )
    return tuple(dict.fromkeys(chain.from_iterable(names)))


def _bare(value: Any, list_items: tuple[str, ...]) -> str:
    """The register that a value is, by itself; empty for any other value."""
    if not isinstance(value, syn.Register) or (list_items and value.name in _LISTS):
        return ""
    return value.name


def _move_tokens(instruction: syn.Instruction, role: str, max_len: int) -> int:
    if not isinstance(instruction, syn.Elicit) or instruction.player != role:
        return 0
    limit = max_len if instruction.max_len is None else instruction.max_len
    return limit * len(instruction.registers)


def paid_for(role: str) -> dict[str, int]:
    """The players whose rewards count for ``role``, with their sign (the zero-sum pair)."""
    return {role: 1} | ({syn.PARTNERS[role]: -1} if role in syn.PARTNERS else {})


def _reached_rewards(flow: list[_Step], roles: Sequence[str], live: bool) -> set[str]:
    """The roles whose moves can change a reward of theirs: through assigns, or through another
    player that saw something of the move before its own move (``live``: or that a register was
    revealed to before it was set)."""
    moves = _Moves({role: 1 << index for index, role in enumerate(roles)}, live)
    for step in flow:
        match step.line:
            case syn.Assign():
                moves.assign(step)
            case syn.Elicit(player):
                moves.elicit(player, step)
            case syn.Reveal(player):
                moves.reveal(player, step)
            case syn.Reward(player):
                moves.reward(player, step)
    return {role for role, bit in moves.bits.items() if moves.rewarded_roles & bit}


class _Moves:
    """For each register the roles whose moves it depends on, and for each player the roles whose
    moves it has seen something of; a set of roles is an integer, with one of ``bits`` for each."""

    def __init__(self, bits: dict[str, int], live: bool) -> None:
        self.bits = bits
        self.rewarded_roles = 0
        self._live = live
        self._paid_roles: defaultdict[str, int] = defaultdict(int)
        self._roles_in: dict[str, int] = {}
        # Any view of a move counts as knowing it: the facts may call a dead reward alive, but never
        # refuse a game that can be learned.
        self._roles_known_to: dict[str, int] = dict.fromkeys((*syn.PLAYERS, *bits), 0)
        self._watchers: defaultdict[str, set[str]] = defaultdict(set)
        for role, bit in bits.items():
            for player in paid_for(role):
                self._paid_roles[player] |= bit

    def assign(self, step: _Step) -> None:
        """Update the targets: a register by itself is read when it is stored, all else before."""
        before = {name: self._union(names) for name, (names, _) in step.sources.items()}
        for name, (_, source) in step.sources.items():
            roles = self._roles_in.get(source, 0) if source else before[name]
            self._roles_in[name] = roles
            if roles:
                self._inform((name,), roles)

    def elicit(self, player: str, step: _Step) -> None:
        """Update a move's registers: it depends on what its player wrote or saw before."""
        own = self.bits.get(player, 0)
        if own:
            self._inform(step.writes, own)
        roles = own | self._roles_known_to[player]
        self._roles_in.update(dict.fromkeys(step.writes, roles))

    def reveal(self, player: str, step: _Step) -> None:
        """The player has seen what the line reads, and under ``live`` sees later values too."""
        self._roles_known_to[player] |= self._union(step.reads)
        for name in step.shown_names if self._live else ():
            self._watchers[name].add(player)

    def reward(self, player: str, step: _Step) -> None:
        """Add the paid roles whose own moves the amount depends on."""
        self.rewarded_roles |= self._paid_roles[player] & self._union(step.reads)

    def _union(self, names: Iterable[str]) -> int:
        roles = 0
        for name in names:
            roles |= self._roles_in.get(name, 0)
        return roles

    def _inform(self, names: Collection[str], roles: int) -> None:
        for player in _onlookers(names, self._watchers):
            self._roles_known_to[player] |= roles


def _onlookers(names: Collection[str], watchers: Mapping[str, set[str]]) -> Iterable[str]:
    """The players that see registers when they are set: the omniscient, those they were revealed
    to, and everyone if one is public."""
    if any(name[0] in syn.PUBLIC_TYPES for name in names):
        return syn.PLAYERS
    return {*syn.OMNISCIENT, *(player for name in names for player in watchers.get(name, ()))}


_SIGNS = {"xent": 1, "nex": -1, "xed": -1, "dex": 1}
"""Sign of the conditional xent in each kind; xed and dex hold the unconditional one as well."""


def _rewards_cancel(program: syn.Program, order: tuple[int, ...], role: str) -> bool:
    """Whether equal terms of opposite sign leave nothing, while no register changes between."""
    lines = {position: program.instructions[position] for position in dict.fromkeys(order)}
    numbers: dict[syn.Xent, int] = {}
    terms = {position: _paid_terms(line, role, numbers) for position, line in lines.items()}
    write_names = {position: tuple(dict.fromkeys(writes(line))) for position, line in lines.items()}
    balance: Counter[object] = Counter()
    # Two equal terms are the same number only while no register in them was set between them.
    versions: Counter[str] = Counter()
    for position in order:
        versions.update(write_names[position])
        for sign, number, names in terms[position]:
            balance[number, tuple([versions[name] for name in names])] += sign
    return bool(balance) and not any(balance.values())


def _paid_terms(
    line: syn.Instruction, role: str, numbers: dict[syn.Xent, int]
) -> list[tuple[int, int, tuple[str, ...]]]:
    """The plain xents that a line pays to ``role``: sign, number (equal ones have one) and the
    registers in them."""
    signs = paid_for(role)
    if not isinstance(line, syn.Reward) or line.player not in signs:
        return []
    return [
        (
            signs[line.player] * sign * part_sign,
            numbers.setdefault(part, len(numbers)),
            tuple(dict.fromkeys(reads(part))),
        )
        for sign, term in line.amount.terms
        for part_sign, part in plain_xents(term)
    ]


def surprise_writers(program: syn.Program, role: str) -> list[str]:
    """Of ``role`` and its zero-sum partner those that are paid for the surprise of words of their
    own, written as they are or put together by assigns: such gains may rest on improbable words."""
    return [player for player in paid_for(role) if _is_paid_for_surprise(program, player)]


def _is_paid_for_surprise(program: syn.Program, player: str) -> bool:
    """Whether the target of a xent with positive sign holds a move of the player."""
    signs, lines = paid_for(player), program.instructions
    scored = {
        name
        for line in lines
        if isinstance(line, syn.Reward) and line.player in signs
        for sign, term in line.amount.terms
        for part_sign, part in plain_xents(term)
        if signs[line.player] * sign * part_sign > 0
        for name in reads(part.target)
    }
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
