"""The share of degenerate children that ``mutate``'s operators give, before and after the redraw.

    python benchmarks/mutation_operators.py --draws 150

Raw: one operator on one parent, the result is not checked. Degenerate: no reward depends on a
move, or a register is read before it is set (`xgl.analyse`).
Unsound: refused for a lint warning (`meta_sampler/screening/lint.py`).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from random import Random

from meta_sampler import Mutate, MutateSettings
from meta_sampler.mutate.program_editor import (
    EditContext,
    Lines,
    donor_lines,
    edit_context,
    prune,
    unread_registers,
)
from meta_sampler.mutate.sampler import OPERATORS, OperatorEntry
from meta_sampler.screening.soundness import faults, named_players
from xgl import Game, ProgramError, analyse, game, parse
from xgl.language.syntax import Program
from xgl.library import entries

PLAYERS = ("black", "white", "alice", "bob")
WIDE = MutateSettings(
    max_lines=12,
    max_move_tokens=24,
    max_steps=32,
    max_terms=6,
    loops=True,
    players=PLAYERS,
)
LARGE = MutateSettings(
    max_lines=64,
    max_move_tokens=10**6,
    max_stories=99,
    max_steps=1024,
    max_terms=99,
    max_joined=99,
)


def parents() -> list[Game]:
    """The library's games that are neither refused nor faulty themselves, and some children of
    them with several players: the library has few games of players who do not see everything."""
    library, seed = _library(), 0
    several: list[Game] = []
    while len(several) < len(library):
        seed += 1
        for each in library:
            for proposal in Mutate(WIDE).propose(each, library, 4, seed):
                cast = named_players(proposal.game.program.instructions) if proposal.game else set()
                if proposal.game and cast & {"alice", "bob"}:
                    several.append(proposal.game)
    return library + several[: len(library)]


def _library() -> list[Game]:
    games = []
    for entry in entries():
        try:
            each = game(parse(entry.text, entry.dialect))
        except ProgramError:
            continue
        if not entry.refused and not _degenerate(each.program):
            games.append(each)
    return games


def _degenerate(program: Program) -> bool:
    report = analyse(program)
    return bool(report.degenerate or report.read_before_set)


def raw(entry: OperatorEntry, name: str, scope: Sequence[Game], draws: int) -> Counter[str]:
    """How many applications changed something, and what came of them."""
    counts, settings = Counter[str](), WIDE
    for number in range(draws):
        rng = Random(f"{name}/{number}")
        parent = rng.choice(scope)
        context = edit_context(parent, settings)
        context = _with_donor(context, rng.choice(scope))
        before = parent.program.instructions
        edited = entry.apply(before, context, rng) if entry.is_available(context) else None
        if not edited or edited == before:
            continue
        counts["changed"] += 1
        counts += _judge_edit(edited, before, parent)
    return counts


def _with_donor(context: EditContext, other: Game) -> EditContext:
    return EditContext(
        context.settings,
        context.players,
        context.constants,
        donor_lines(other.program, context) or (),
    )


def _judge_edit(edited: Lines, before: Lines, parent: Game) -> Counter[str]:
    child = Program(prune(edited, unread_registers(before)), parent.dialect)
    try:
        valid = bool(parse(game(child).code, parent.dialect).instructions)
    except ProgramError:
        valid = False
    if not valid:
        return Counter(invalid=1)
    if _degenerate(child):
        return Counter(degenerate=1)
    return Counter(unsound=1) if faults(child, parent, LARGE) else Counter(sound=1)


def children(scope: Sequence[Game], each: int) -> Counter[str]:
    """The same of what the sampler proposes."""
    counts = Counter[str]()
    for parent in scope:
        for proposal in Mutate(WIDE).propose(parent, scope, each, 1):
            counts["changed"] += 1
            program = parse(proposal.text, parent.dialect)
            counts["degenerate" if _degenerate(program) else "sound"] += 1
    return counts


def _row(name: str, counts: Counter[str]) -> str:
    shares = [counts[k] / max(1, counts["changed"]) for k in ("invalid", "degenerate", "unsound")]
    return f"| {name} | {counts['changed']} | " + " | ".join(f"{s:.0%}" for s in shares) + " |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--draws", type=int, default=150, help="of each operator")
    draws = options.parse_args().draws
    scope, total = parents(), Counter[str]()
    print("| operator | children | invalid | degenerate | unsound |\n| --- " + "| --- " * 4 + "|")
    for name, entry in OPERATORS.items():
        counts = raw(entry, name, scope, draws)
        total += counts
        print(_row(f"`{name}`", counts), flush=True)
    print(_row("all, each as often", total))
    print(_row("children of the sampler", children(scope, max(4, draws // 10))))


if __name__ == "__main__":
    main()
