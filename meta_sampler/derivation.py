"""Theorem 25: games derived from the reverse prompt game by the moves of the axioms (§2.3).

``python -m meta_sampler.derivation GAME…`` prints the derivations of games of the library, by
default of all that have one. Every step is a program:

* composition (Def. 20): a step of a copy of the reverse prompt game, whose strings and player are
  swapped, is injected: its story, its move, or its reward −xent(s | t);
* update: strings are joined or cut;
* zero-summing (Def. 23): a reward is followed by its negative to another player;
* rescaling (Def. 21) by λ = 0: a reward is skipped;
* disclosure (Cor. 26): a string is shown to a player that does not see everything.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import chain

from xgl import library
from xgl.analysis.static_facts import plain_xents
from xgl.errors import XGLError
from xgl.language import syntax as syn
from xgl.language.parser import parse
from xgl.language.unparse import to_text
from xgl.language.visitors import rename, writes
from xgl.streams import exit_code

START = parse(library.find("reverse_prompt").text)
"""The reverse prompt game (Example 14)."""
STORY, MOVE = "composition: its story", "composition: its move"
Step = tuple[str, syn.Program]
"""The axiom of a move in game space, and the game after it."""


class DerivationError(XGLError):
    """A game with lines that no step of this module makes: statements, demands, or loops."""


def derive(target: syn.Program) -> list[Step]:
    """The steps from the reverse prompt game to ``target``, whose rewards come term by term.

    Raises :class:`DerivationError`.
    """
    lines = [part for line in target.instructions for part in _parts(line)]
    names = [next(_moves(line))[0] for line in lines]
    if not {STORY, MOVE} <= set(names):
        raise DerivationError("found no story or no move, expected both")
    # What stands in the place of each line: the first story and the first move are there at once.
    first = names.index(STORY), names.index(MOVE)
    registers = dict(zip("st", (next(iter(writes(lines[index]))) for index in first), strict=True))
    mover, reward = lines[first[1]], rename(START.instructions[2], registers)
    assert isinstance(mover, syn.Elicit)
    assert isinstance(reward, syn.Reward)
    places = [[line] if index in first else [] for index, line in enumerate(lines)]

    def present(*more: syn.Instruction) -> syn.Program:
        return syn.Program((*chain(*places), *more), target.dialect)

    steps = [
        ("the reverse prompt game", START),
        ("player and strings swapped", present(replace(reward, player=mover.player))),
        ("rescaling: the reward skipped, λ = 0", present()),
    ]
    for place, line in zip(places, lines, strict=True):
        for axiom, new in () if place else _moves(line):
            place[:] = new
            steps.append((axiom, present()))
    return steps


def _parts(line: syn.Instruction) -> Iterator[syn.Instruction]:
    """A line as lines of one value, one register or one plain cross-entropy each."""
    match line:
        case syn.Assign(targets):
            yield from (syn.Assign((target,)) for target in targets)
        case syn.Elicit(player, registers, max_len):
            yield from (syn.Elicit(player, (register,), max_len) for register in registers)
        case syn.Reward(player, amount):
            for sign, term in amount.terms:
                for own_sign, xent in plain_xents(term):
                    yield syn.Reward(player, syn.Sum(((sign * own_sign, xent),)))
        case syn.Reveal():
            yield line
        case _:
            raise DerivationError(
                f"found {type(line).__name__.lower()}, expected a game without loops and statements"
            )


def _moves(line: syn.Instruction) -> Iterator[tuple[str, list[syn.Instruction]]]:
    """The steps that make a line, each with what stands in its place."""
    match line:
        case syn.Assign(((_, syn.Story()),)):
            yield STORY, [line]
        case syn.Assign():
            yield "update: cat and cut", [line]
        case syn.Elicit():
            yield MOVE, [line]
        case syn.Reward(player, syn.Sum(((sign, xent),))) if sign > 0:
            other = "alice" if player != "alice" else "bob"
            paid = syn.Reward(other, syn.Sum(((-1, xent),)))
            yield "composition: its reward", [paid]
            yield "zero-summing", [paid, line]
            yield "rescaling: the first of both skipped, λ = 0", [line]
        case syn.Reward():
            yield "composition: its reward", [line]
        case _:
            yield "disclosure", [line]


def main(arguments: Sequence[str]) -> int:
    """Print the derivations of library games; exit code 2 for one that has none."""
    return exit_code(lambda: _main(arguments))


def _main(arguments: Sequence[str]) -> int:
    parser = ArgumentParser(
        "python -m meta_sampler.derivation",
        description="The steps from the reverse prompt game to games of the library (Theorem 25).",
    )
    parser.add_argument("names", metavar="GAME", nargs="*", help="default: all that have them")
    names = parser.parse_args(arguments).names
    for entry in [library.find(name) for name in names] or library.entries():
        with nullcontext() if names else suppress(DerivationError):
            steps = derive(parse(entry.text, entry.dialect))
            print(f"# {entry.title} in {len(steps)} steps")
            for number, (axiom, program) in enumerate(steps, 1):
                if names or number == len(steps):
                    print(f"\n# {number}. {axiom}\n{to_text(program).strip()}")
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
