"""Static facts of a program, before any model runs: the search's cheapest filter
(docs/specification.md, "Static facts")."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count
from typing import Any, NamedTuple

from xgl.errors import check_kind
from xgl.language import syntax as syn
from xgl.language.canonical import Metadata
from xgl.language.control_flow import unrolled
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import draws, find, read_unset, reads, shown_whole, stores, uncut, writes


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


@dataclass(frozen=True)
class StaticFacts:
    """Facts of a program that are known without playing it, each computed when it is first read;
    ``role`` is taken as the main player."""

    program: syn.Program
    metadata: Metadata
    role: str

    @cached_property
    def _unrolled(self) -> tuple[tuple[int, ...], str]:
        return unrolled(self.program)

    @cached_property
    def _list_items(self) -> tuple[str, ...]:
        """The registers that some list may hold themselves, where lists hold no values."""
        lists = find(self.program, syn.ListOf) if DIALECTS[self.program.dialect].aliases else []
        items = [uncut(item) for each in lists for item in each.items]
        return tuple(dict.fromkeys(i.name for i in items if isinstance(i, syn.Register)))

    def _reads(self, node: Any) -> tuple[str, ...]:
        """The registers that a node reads, each once, in order: with each list also those that the
        list may hold."""
        read = reads(node)
        names = ((n, *self._list_items) if n in syn.LIST_REGISTERS else (n,) for n in read)
        return tuple(dict.fromkeys(chain.from_iterable(names)))

    @property
    def order(self) -> tuple[int, ...]:
        """Positions of the program's lines as they run when no ensure fails."""
        return self._unrolled[0]

    @property
    def _lines(self) -> list[syn.Instruction]:
        """The program's lines as they run."""
        return [self.program.instructions[position] for position in self.order]

    @property
    def steps(self) -> int:
        """Length of the unrolled program."""
        return len(self.order)

    @cached_property
    def players(self) -> tuple[str, ...]:
        """Players that are asked for a move, in order of first elicit."""
        return tuple(dict.fromkeys(line.player for line in find(self.program, syn.Elicit)))

    @property
    def stories(self) -> int:
        """Number of ``story()`` sites."""
        return len(find(self.program, syn.Story))

    @property
    def move_tokens(self) -> int:
        """Most judge tokens the main player may write in one play."""
        return sum(each.max_len * each.times for each in self.elicits if each.player == self.role)

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """Reasons for which it cannot be played at all."""
        kinds = [type(self.program.instructions[position]) for position in self.order]
        is_early = syn.Ensure in kinds and syn.Elicit not in kinds[: kinds.index(syn.Ensure)]
        is_wrong = is_early and not DIALECTS[self.program.dialect].early_ensure
        early = "an ensure stands before any elicit" if is_wrong else ""
        return tuple(filter(None, (self._unrolled[1], early)))

    @cached_property
    def main_reward_depends_on_moves(self) -> bool:
        """Whether a reward of the main player depends on a move of its own: through assigns, or
        through another player that learned something of it: from a text, from a reward of its own,
        or from a condition that its last move must meet. What failures pay again does not count."""
        answer, tied = None, set[syn.Instruction]()
        while answer is None:
            answer = self._pays_for_moves(tied)
        return answer

    def _pays_for_moves(self, tied: set[syn.Instruction]) -> bool | None:
        """Whether a reward does, where moves of the elicits ``tied`` depend on one; None if others
        are tied to one by a condition, which are added: the play goes on from there if it fails."""
        is_live, count = DIALECTS[self.program.dialect].live_reveal, len(tied)
        moved_names: set[str] = set()
        # Any view of a move counts as knowing it: the facts may call a dead reward alive, but never
        # refuse a game that can be learned.
        knowing: set[str] = set()
        watchers: defaultdict[str, set[str]] = defaultdict(set)
        last: syn.Elicit | None = None

        def mark(name: str, depends: bool) -> None:
            """Note whether a register that was set depends on a move, and who learns of it."""
            (moved_names.add if depends else moved_names.discard)(name)
            if depends:
                knowing.update(syn.viewers(name), watchers[name])

        def is_moved(node: Any) -> bool:
            return not moved_names.isdisjoint(self._reads(node))

        for line in self._lines:
            match line:
                case syn.Assign():
                    for name, moved in stores(line, self.program.dialect, is_moved):
                        mark(name, any(moved))
                case syn.Elicit(player):  # it depends on what its player wrote or saw before
                    last = line
                    knowing.update([player] if line in tied else [])
                    for name in line.registers:
                        mark(name, player == self.role or player in knowing)
                case syn.Ensure() if last and is_moved(line):  # that move has to fit what is read
                    tied.add(last)
                case syn.Reveal(player, values):
                    knowing.update([player] if is_moved(line) else [])
                    for value in values if is_live else ():
                        for name in self._reads(value) if isinstance(value, syn.Register) else ():
                            watchers[name].add(player)
                case syn.Reward(player) if is_moved(line):
                    if player in paid_for(self.role):
                        return True
                    knowing.add(player)
        return None if len(tied) > count else False

    @cached_property
    def rewards_cancel(self) -> bool:
        """Whether the main player's rewards sum to nothing term by term, while no register
        changes between equal terms. Two draws differ, a term may keep a prefix with a text, and
        what was paid before a condition failed stays paid."""
        if draws(self.program) or find(self.program, syn.Given):
            return False
        balance: Counter[object] = Counter()
        versions: Counter[str] = Counter()
        for line in self._lines:
            if isinstance(line, syn.Ensure) and any(balance.values()):
                return False
            versions.update(writes(line))
            for sign, term in _paid_xents(line, self.role):
                balance[term, tuple([versions[name] for name in self._reads(term)])] += sign
        return bool(balance) and not any(balance.values())

    @cached_property
    def unused_moves(self) -> tuple[str, ...]:
        """Registers that the main player fills and, before they are set again, nothing reads and no
        other player sees at a move."""
        is_live, shown = DIALECTS[self.program.dialect].live_reveal, set[tuple[str, str]]()
        unused: dict[int, str] = {}
        pending: dict[str, int] = {}
        numbers = count()

        def use(node: Any) -> None:
            for name in self._reads(node):
                unused.pop(pending.get(name, -1), None)

        for line in self._lines:
            own = isinstance(line, syn.Elicit) and line.player == self.role
            if isinstance(line, syn.Reveal) and is_live:
                shown |= {(line.player, name) for name in self._reads(line)}
            if isinstance(line, syn.Elicit) and not own:
                for name, number in pending.items():
                    if line.player in syn.viewers(name) or (line.player, name) in shown:
                        unused.pop(number, None)
            for name, _ in stores(line, self.program.dialect, use):
                pending.pop(name, None)
                if own:
                    pending[name] = next(numbers)
                    unused[pending[name]] = name
        return tuple(dict.fromkeys(unused.values()))

    @cached_property
    def read_before_set(self) -> tuple[str, ...]:
        """Registers of s t x y p read before anything sets them."""
        lines = [self.program.instructions[position] for position in dict.fromkeys(self.order)]
        names = read_unset(lines, self.program.dialect, self._reads)
        return tuple(name for name in names if name[0] not in syn.CONSTANT_TYPES)

    @cached_property
    def elicits(self) -> tuple[ElicitFacts, ...]:
        """Every elicited register, in the order of their first turns: its limit, and what its
        player has and has not been shown."""
        turns: dict[tuple[int, syn.Elicit, str], dict[str, bool]] = {}
        sights = _Sights(self.program, self.metadata)
        for position in self.order:
            line = self.program.instructions[position]
            if not isinstance(line, syn.Elicit):
                sights.learn(line)
                continue
            for name in line.registers:
                sights.note(line.player, turns.setdefault((position, line, name), {}))
                sights.store(name, line.player)
        counts = Counter(self.order)
        return tuple(
            ElicitFacts(
                line=position + 1,
                player=elicit.player,
                register=name,
                max_len=elicit.max_len or self.metadata.max_len,
                times=counts[position] * elicit.registers.count(name),
                sees=tuple(other for other, is_seen in known.items() if is_seen),
                hidden=tuple(other for other, is_seen in known.items() if not is_seen),
            )
            for (position, elicit, name), known in turns.items()
        )

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
    """All static facts of a valid program, with ``role`` as the main player. ``metadata`` holds the
    limit of a move without one (None: its default)."""
    check_kind("program", program, syn.Program, "what xgl.parse returns, or a game's program")
    return StaticFacts(program, metadata or Metadata(), role)


def analyse_roles(program: syn.Program, metadata: Metadata | None = None) -> list[StaticFacts]:
    """The facts for each player that is asked for a move as the main one, or for black if none
    is."""
    players = analyse(program).players or (syn.MAIN_PLAYER,)
    return [analyse(program, metadata, role) for role in players]


def learning_roles(program: syn.Program) -> tuple[str, ...]:
    """The players that may be the main one (§4.1): those that move and may learn something."""
    return tuple(facts.role for facts in analyse_roles(program) if not facts.degenerate)


def paid_for(role: str) -> dict[str, int]:
    """The players whose rewards count for ``role``, with their sign (the zero-sum pair)."""
    return {role: 1} | ({syn.PARTNERS[role]: -1} if role in syn.PARTNERS else {})


_SIGNS = {"xent": 1, "nex": -1, "xed": -1, "dex": 1}
"""Sign of the conditional xent in each kind; xed and dex hold the unconditional one as well."""


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

    def note(self, player: str, known: dict[str, bool]) -> None:
        """Add to ``known`` whether the player has seen each register at one turn or another; the
        seen ones in the order in which they were seen."""
        for name in self.written:
            if name not in self.seen[player]:
                known.setdefault(name, False)
            elif not known.get(name):
                known.pop(name, None)
                known[name] = True

    def learn(self, line: syn.Instruction) -> None:
        """Update the players' registers after an assign or a reveal."""
        for name in writes(line):
            self.store(name)
        if isinstance(line, syn.Reveal):
            names = [name for value in line.values for name in shown_whole(value)]
            self.written |= dict.fromkeys(names)
            self.seen[line.player].update(names)
            for value in line.values if self.live else ():
                if isinstance(value, syn.Register):
                    self.watchers[value.name].add(line.player)
