"""Static facts of a program, before any model runs: the search's cheapest filter
(docs/specification.md, "Static facts")."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from xgl.analysis.request_bounds import Bound, ElicitFacts, Unrolled, bounds, elicit_facts
from xgl.analysis.view_bounds import shown, views
from xgl.errors import FlowError
from xgl.language import syntax as syn
from xgl.language.canonical import Metadata
from xgl.language.control_flow import path
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import descendants, listed_registers, reads, writes


@dataclass(frozen=True, slots=True)
class StaticFacts:
    """What can be known of a program without playing it."""

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
    run: Unrolled | None = field(default=None, repr=False, compare=False)
    """The unrolled program; the facts below are computed from it when first read."""

    @property
    def elicits(self) -> tuple[ElicitFacts, ...]:
        """Every request for a move: its limit, and what its player has and has not been shown."""
        return elicit_facts(self.run) if self.run else ()

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The largest request of each line to the judge or the story source, in tokens."""
        return bounds(self.run) if self.run else ()

    @property
    def views(self) -> tuple[Bound, ...]:
        """The largest view of each elicit, in tokens, while no ensure fails."""
        return views(self.run) if self.run else ()

    @property
    def shown(self) -> dict[str, int]:
        """What each player was shown by the end of a play, in tokens and without the code."""
        return shown(self.run) if self.run else {}

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

    ``metadata`` says how long a story and an elicit without a limit are (None: its defaults).
    """
    lines, facts = program.instructions, metadata or Metadata()
    elicits = [line for line in lines if isinstance(line, syn.Elicit)]
    order, faults = _order(program)
    flow = _data_flow(program, order)
    return StaticFacts(
        steps=len(order),
        players=tuple(dict.fromkeys(line.player for line in elicits)),
        stories=sum(isinstance(n, syn.Story) for line in lines for n in descendants(line)),
        move_tokens=sum(_move_tokens(lines[i], role, facts.max_len) for i in order),
        main_reward_depends_on_moves=_reward_depends(
            flow, role, DIALECTS[program.dialect].live_reveal
        ),
        rewards_cancel=_rewards_cancel(program, order, role),
        unused_moves=_unused(flow, role),
        read_before_set=_read_before_set(flow),
        faults=faults,
        role=role,
        run=Unrolled(program, order, facts),
    )


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
    """An instruction as it runs, with what it reads: each list together with the registers that
    it may hold."""

    line: syn.Instruction
    reads: tuple[str, ...]
    """Each register once, in order."""
    writes: dict[str, int]
    """The registers that it sets, and how often."""
    sources: dict[str, tuple[frozenset[str], str]]
    """Of an assign: what each target's value reads, and the register that it is by itself."""
    shown: tuple[str, ...]
    """Of a reveal: the registers that it shows by themselves."""


def _data_flow(program: syn.Program, order: tuple[int, ...]) -> list[_Step]:
    """The instructions as they run: an assign that stores left to right as one for each target."""
    dialect = DIALECTS[program.dialect]
    listed = tuple(item.name for item in listed_registers(program)) if dialect.aliases else ()
    steps: dict[int, list[_Step]] = {}
    for position in dict.fromkeys(order):
        line = program.instructions[position]
        if isinstance(line, syn.Assign) and not dialect.parallel_assign:
            steps[position] = [_assigned(line, (target,), listed) for target in line.targets]
        else:
            steps[position] = [_step(line, listed)]
    return [step for position in order for step in steps[position]]


_LISTS = frozenset(syn.LIST_REGISTERS)
Target = tuple[str, syn.StringExpr | syn.ListExpr]


def _step(line: syn.Instruction, kept: tuple[str, ...]) -> _Step:
    if isinstance(line, syn.Assign):
        return _assigned(line, line.targets, kept)
    shown = line.values if isinstance(line, syn.Reveal) else ()
    bare = tuple(dict.fromkeys(_bare(value, kept) for value in shown))
    return _Step(line, _reads(line, kept), dict(Counter(writes(line))), {}, bare)


def _assigned(line: syn.Assign, targets: Sequence[Target], kept: tuple[str, ...]) -> _Step:
    values = [_reads(value, kept) for _, value in targets]
    sources = {
        name: (frozenset(names), _bare(value, kept))
        for (name, value), names in zip(targets, values, strict=True)
    }
    names = tuple(dict.fromkeys(chain.from_iterable(values)))
    return _Step(line, names, dict(Counter(name for name, _ in targets)), sources, ())


def _reads(node: Any, kept: tuple[str, ...]) -> tuple[str, ...]:
    """Registers that a node reads, each once; after a list those that a list may hold."""
    names = ((name, *kept) if name in _LISTS else (name,) for name in dict.fromkeys(reads(node)))
    return tuple(dict.fromkeys(chain.from_iterable(names)))


def _bare(value: Any, kept: tuple[str, ...]) -> str:
    """The register that a value is, by itself; empty for any other value."""
    if not isinstance(value, syn.Register) or (kept and value.name in _LISTS):
        return ""
    return value.name


def _move_tokens(instruction: syn.Instruction, role: str, max_len: int) -> int:
    if not isinstance(instruction, syn.Elicit) or instruction.player != role:
        return 0
    limit = max_len if instruction.max_len is None else instruction.max_len
    return limit * len(instruction.registers)


_PARTNERS = {"black": "white", "white": "black"}


def _signs(role: str) -> dict[str, int]:
    """Whose rewards reach ``role``, with their sign (the zero-sum pair)."""
    return {role: 1} | ({_PARTNERS[role]: -1} if role in _PARTNERS else {})


def _reward_depends(flow: list[_Step], role: str, live: bool) -> bool:
    """Whether a move can reach a reward: through assigns, or through another player that was
    shown something of it before its own move (``live``: or a register before it was set)."""
    paid = _signs(role)
    tainted: set[str] = set()
    informed: set[str] = set()
    watchers: defaultdict[str, set[str]] = defaultdict(set)
    for step in flow:
        line, touched = step.line, not tainted.isdisjoint(step.reads)
        if isinstance(line, syn.Reward) and line.player in paid and touched:
            return True
        if isinstance(line, syn.Reveal):
            informed.update([line.player] if touched else [])
            for name in step.shown if live else ():
                watchers[name].add(line.player)
        elif isinstance(line, syn.Elicit):
            if line.player == role:
                informed.update(_onlookers(step.writes, watchers))
            reached = line.player == role or line.player in informed
            (tainted.update if reached else tainted.difference_update)(step.writes)
        elif isinstance(line, syn.Assign):
            changed = _tainted_by(step, tainted)
            informed.update(_onlookers(changed, watchers) if changed else ())
    return False


def _tainted_by(step: _Step, tainted: set[str]) -> tuple[str, ...]:
    """Carry ``tainted`` through an assign; the targets that depend on a move.

    A register by itself is read as it is stored, all else before anything is.
    """
    before = {name: not tainted.isdisjoint(names) for name, (names, _) in step.sources.items()}
    changed = []
    for name, (_, source) in step.sources.items():
        depends = source in tainted if source else before[name]
        (tainted.add if depends else tainted.discard)(name)
        changed += [name] if depends else []
    return tuple(changed)


def _onlookers(names: Collection[str], watchers: Mapping[str, set[str]]) -> Iterable[str]:
    """Who sees registers as they are set: the omniscient, those they were revealed to, and
    everyone where one is public."""
    if any(name[0] in syn.PUBLIC_TYPES for name in names):
        return syn.PLAYERS
    return {*syn.OMNISCIENT, *(player for name in names for player in watchers.get(name, ()))}


_SIGNS = {"xent": 1, "nex": -1, "xed": -1, "dex": 1}
"""Of the conditional xent in each kind; xed and dex hold the unconditional one as well."""


def _rewards_cancel(program: syn.Program, order: tuple[int, ...], role: str) -> bool:
    """Whether equal terms of opposite sign leave nothing, while no register changes between."""
    lines = {place: program.instructions[place] for place in dict.fromkeys(order)}
    numbers: dict[syn.Xent, int] = {}
    terms = {place: _paid_terms(line, role, numbers) for place, line in lines.items()}
    written = {place: tuple(dict.fromkeys(writes(line))) for place, line in lines.items()}
    balance: Counter[object] = Counter()
    versions: Counter[str] = Counter()
    for place in order:
        versions.update(written[place])
        for sign, number, names in terms[place]:
            balance[number, tuple([versions[name] for name in names])] += sign
    return bool(balance) and not any(balance.values())


def _paid_terms(
    line: syn.Instruction, role: str, numbers: dict[syn.Xent, int]
) -> list[tuple[int, int, tuple[str, ...]]]:
    """The plain xents that a line pays to ``role``: sign, number (equal ones have one) and the
    registers in them."""
    paid = _signs(role)
    if not isinstance(line, syn.Reward) or line.player not in paid:
        return []
    return [
        (
            paid[line.player] * sign * part_sign,
            numbers.setdefault(part, len(numbers)),
            tuple(dict.fromkeys(reads(part))),
        )
        for sign, term in line.amount.terms
        for part_sign, part in _xents(term)
    ]


def _xents(term: syn.Term) -> Iterator[tuple[int, syn.Xent]]:
    """A term as a signed sum of plain xents."""
    if isinstance(term, syn.Xent):
        sign = _SIGNS[term.kind]
        yield sign, replace(term, kind="xent")
        if term.kind in ("xed", "dex"):
            yield -sign, replace(term, kind="xent", prefix=None)


def _unused(flow: list[_Step], role: str) -> tuple[str, ...]:
    """Elicited registers of ``role`` that nothing reads before they are overwritten."""
    pending: dict[str, int] = {}
    used: set[int] = set()
    asked: list[str] = []
    lost: set[int] = set()
    for step in flow:
        used.update(pending[name] for name in step.reads if name in pending)
        own = isinstance(step.line, syn.Elicit) and step.line.player == role
        for name, times in step.writes.items():
            pending.pop(name, None)
            if own:
                pending[name] = len(asked)
                lost.update([len(asked)] if times > 1 else [])
                asked.append(name)
    unread = (name for key, name in enumerate(asked) if key not in used or key in lost)
    return tuple(dict.fromkeys(unread))


def _read_before_set(flow: list[_Step]) -> tuple[str, ...]:
    known: set[str] = set()
    early: dict[str, None] = {}
    for step in dict.fromkeys(flow):  # later turns of a loop read nothing sooner
        early |= {n: None for n in step.reads if n not in known and n[0] not in "abc"}
        known.update(step.writes)
    return tuple(early)
