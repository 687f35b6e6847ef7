"""Static facts of a program, before any model runs (SPEC §1): the search's cheapest filter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xgl import syntax as syn
from xgl.errors import FlagOrderError
from xgl.flow import path, unrolled_steps
from xgl.walk import descendants, reads, writes


@dataclass(frozen=True, slots=True)
class Report:
    """What can be known of a program without playing it."""

    steps: int
    """Length of the unrolled program."""
    players: tuple[str, ...]
    """Players that are asked for a move, in order of first elicit."""
    stories: int
    """Number of ``story()`` sites."""
    move_tokens: int
    """Most judge tokens the main player may write in one play (default limits not counted)."""
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

    @property
    def degenerate(self) -> str:
        """Why the program can teach its main player nothing; empty if it might."""
        if self.faults:
            return self.faults[0]
        if syn.MAIN_PLAYER not in self.players:
            return "the main player makes no move"
        if not self.main_reward_depends_on_moves:
            return "no reward of the main player depends on a move"
        if self.rewards_cancel:
            return "the main player's rewards cancel"
        if self.unused_moves:
            return f"the move {self.unused_moves[0]} is never used"
        return ""


def analyse(program: syn.Program) -> Report:
    """All static facts of a valid program, for the main player ``black``."""
    lines = program.instructions
    elicits = [line for line in lines if isinstance(line, syn.Elicit)]
    order, faults = _order(program)
    return Report(
        steps=unrolled_steps(program),
        players=tuple(dict.fromkeys(line.player for line in elicits)),
        stories=sum(isinstance(n, syn.Story) for line in lines for n in descendants(line)),
        move_tokens=sum(_move_tokens(lines[position]) for position in order),
        main_reward_depends_on_moves=_reward_depends(program, order),
        rewards_cancel=_rewards_cancel(program, order),
        unused_moves=_unused(program, order),
        read_before_set=_read_before_set(program, order),
        faults=faults,
    )


def _order(program: syn.Program) -> tuple[tuple[int, ...], tuple[str, ...]]:
    order: list[int] = []
    faults: list[str] = []
    try:
        for position in path(program):
            order.append(position)
            if len(order) > syn.MAX_STEPS:
                break
    except FlagOrderError as error:
        faults.append(str(error))
    kinds = [type(program.instructions[position]) for position in order]
    if syn.Ensure in kinds and syn.Elicit not in kinds[: kinds.index(syn.Ensure)]:
        faults.append("an ensure stands before any elicit")
    return tuple(order), tuple(faults)


def _move_tokens(instruction: syn.Instruction) -> int:
    if not isinstance(instruction, syn.Elicit) or instruction.player != syn.MAIN_PLAYER:
        return 0
    return (instruction.max_len or 0) * len(instruction.registers)


def main_rewards(program: syn.Program) -> dict[int, int]:
    """Positions of the rewards that reach the main player, with their sign (zero-sum pair)."""
    players = {i.player for i in program.instructions if isinstance(i, syn.Elicit)}
    signs = {syn.MAIN_PLAYER: 1} | ({"white": -1} if "white" in players else {})
    return {
        position: signs[line.player]
        for position, line in enumerate(program.instructions)
        if isinstance(line, syn.Reward) and line.player in signs
    }


def _reward_depends(program: syn.Program, order: tuple[int, ...]) -> bool:
    tainted: set[str] = set()
    rewards = main_rewards(program)
    for position in order:
        line = program.instructions[position]
        if position in rewards and tainted.intersection(reads(line)):
            return True
        if isinstance(line, syn.Elicit) and line.player == syn.MAIN_PLAYER:
            tainted.update(line.registers)
        if isinstance(line, syn.Assign):
            for name, value in line.targets:
                (tainted.add if tainted.intersection(reads(value)) else tainted.discard)(name)
    return False


_SIGNS = {"xent": 1, "nex": -1, "xed": 1, "dex": -1}
_NAMES = {"xent": "xent", "nex": "xent", "xed": "xed", "dex": "xed"}


def _rewards_cancel(program: syn.Program, order: tuple[int, ...]) -> bool:
    """Whether equal terms of opposite sign leave nothing, while no register changes between."""
    balance: Counter[object] = Counter()
    versions: Counter[str] = Counter()
    rewards = main_rewards(program)
    for position in order:
        line = program.instructions[position]
        versions.update(writes(line))
        if position in rewards and isinstance(line, syn.Reward):
            for sign, term in line.amount.terms:
                if isinstance(term, syn.Xent):
                    state = tuple((name, versions[name]) for name in reads(term))
                    key = (_NAMES[term.kind], term.target, term.prefix, term.outer, state)
                    balance[key] += rewards[position] * sign * _SIGNS[term.kind]
    return bool(balance) and not any(balance.values())


def _unused(program: syn.Program, order: tuple[int, ...]) -> tuple[str, ...]:
    """Elicited registers of the main player that nothing reads before they are overwritten."""
    pending: dict[str, int] = {}
    used: set[int] = set()
    asked: dict[int, str] = {}
    for step, position in enumerate(order):
        line = program.instructions[position]
        used.update(pending[name] for name in reads(line) if name in pending)
        for offset, name in enumerate(writes(line)):
            pending.pop(name, None)
            if isinstance(line, syn.Elicit) and line.player == syn.MAIN_PLAYER:
                pending[name] = key = step * len(syn.REGISTERS) + offset
                asked[key] = name
    return tuple(dict.fromkeys(name for key, name in asked.items() if key not in used))


def _read_before_set(program: syn.Program, order: tuple[int, ...]) -> tuple[str, ...]:
    known: set[str] = set()
    early: dict[str, None] = {}
    for position in order:
        line = program.instructions[position]
        early |= {n: None for n in reads(line) if n not in known and n[0] not in "abc"}
        known.update(writes(line))
    return tuple(early)
