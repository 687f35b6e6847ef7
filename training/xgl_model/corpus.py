"""Training pairs of the model of XGL: a parent and a child, both programs that could teach.

Families start from the library and from texts drawn from the grammar, every byte that it allows
equally likely, that have no lint warning. They grow by ``mutate`` under many settings; a pair is
one proposal of it. The same seed gives the same pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

import numpy as np
from llguidance import LLTokenizer

from meta_sampler.constrained.decoding import Guides
from meta_sampler.constrained.xgl_grammar import xgl_grammar
from meta_sampler.mutate.sampler import Mutate
from meta_sampler.screening.lint import lint_warnings
from meta_sampler.settings import GrammarSettings, MutateSettings
from xgl import Game, ProgramError, analyse, game, parse
from xgl.language import syntax as syn
from xgl.library import entries
from xgl.random_streams import stream

DIALECTS = ("xent", "xent", "xent", "paper")
"""Growth's default dialect three times out of four."""
SIBLINGS = 4
"""Children of a game that is a parent."""
LONGEST = 420
"""Characters of a program in a pair, at most."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Canonical texts of a game and of one related to it, and the family they are of."""

    parent: str
    child: str
    family: int


def pairs(count: int, seed: int, families: int) -> Iterator[Pair]:
    """``count`` pairs of so many families, in turn."""
    for family in range(families):
        size = count // families + (family < count % families)
        yield from _family(family, size, seed)


def _family(family: int, size: int, seed: int) -> Iterator[Pair]:
    """Pairs of a tree of descent: every child may be a parent."""
    rng = Random(f"family/{seed}/{family}")
    root = founder(rng, seed, family)
    settings = _settings(rng)
    sampler, games, count = Mutate(settings), [root], 0
    for generation in range(4 * size):
        parent = rng.choice(games[-12:])
        scope = [parent, *rng.sample(games, min(3, len(games)))]
        batch = min(SIBLINGS, size - count)
        for proposal in sampler.propose(parent, scope, batch, generation):
            if proposal.game and max(len(parent.code), len(proposal.text)) <= LONGEST:
                games.append(proposal.game)
                count += 1
                yield Pair(parent.code, proposal.text, family)
        if count >= size:
            return


def _settings(rng: Random) -> MutateSettings:
    """Mostly those of small runs, sometimes more players, loops and statements."""
    wide = rng.random() < 0.3
    others = [name for name in syn.PLAYERS if name != syn.MAIN_PLAYER]
    invited = rng.sample(others, rng.randint(1, 2)) if wide and rng.random() < 0.6 else []
    return MutateSettings(
        max_lines=rng.randint(7, 10) if wide else 6,
        max_move_tokens=rng.choice((16, 24)) if wide else rng.choice((8, 8, 12)),
        max_stories=3,
        max_steps=24 if wide else 8,
        max_terms=rng.choice((3, 4)),
        players=(syn.MAIN_PLAYER, *invited),
        truths=wide and rng.random() < 0.4,
        loops=wide and rng.random() < 0.5,
        weights={"drop_term": 6, "insert_distractor": 4},
    )


def founder(rng: Random, seed: int, family: int) -> Game:
    """A game of the library, or a sensible one drawn from the grammar."""
    dialect = rng.choice(DIALECTS)
    if rng.random() < 0.4:
        return rng.choice(_library(dialect))
    for attempt in range(400):
        text = random_text(dialect, stream("founder", seed, family, attempt))
        candidate = game(parse(text, dialect))
        if len(candidate.code) <= LONGEST and sensible(candidate):
            return candidate
    return rng.choice(_library(dialect))


def sensible(candidate: Game) -> bool:
    """Whether a game could teach something and has no lint warning."""
    report = analyse(candidate.program)
    if report.degenerate or report.read_before_set:
        return False
    return not lint_warnings(candidate.program)


@cache
def _library(dialect: str) -> tuple[Game, ...]:
    """The library's sensible games, read in a dialect that may be another than theirs."""
    games = []
    for entry in entries():
        try:
            each = game(parse(entry.text, dialect))
        except ProgramError:
            continue
        if not entry.refused and len(each.code) <= LONGEST and sensible(each):
            games.append(each)
    return tuple(games)


@cache
def _lark(dialect: str) -> str:
    bounds = GrammarSettings(
        max_lines=5,
        max_limit=12,
        max_terms=2,
        max_joined=2,
        max_targets=2,
        players=(syn.MAIN_PLAYER,),
        literals=False,
        truths=False,
        loops=False,
        helpers=False,
    )
    return xgl_grammar(dialect, bounds).lark()


def random_text(dialect: str, draws: np.random.Generator) -> str:
    """A text of the grammar; every byte that it allows is equally likely."""
    vocabulary = _bytes()
    guides, ids = Guides(vocabulary, _lark(dialect), 1), list[int]()
    while not guides.has_ended(0, ids) and len(ids) < LONGEST:
        allowed = np.flatnonzero(guides.allowed(0, ids).numpy())
        token = int(draws.choice(allowed))
        if token == vocabulary.eos_token:
            break
        ids.append(token)
    return guides.draft(0, ids).text.strip("\n")


@cache
def _bytes() -> LLTokenizer:
    return LLTokenizer("byte")
