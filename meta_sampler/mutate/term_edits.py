"""Operators below the line: the kind, the operands and the terms of scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from meta_sampler.mutate import random_expressions
from meta_sampler.mutate.program_editor import (
    Bench,
    Lines,
    Site,
    at,
    operands,
    scene,
    sites,
    some_reward_sum,
)
from xgl.language import syntax as syn


def _some_term(
    lines: Lines, rng: Random, fits: Callable[[syn.Xent], bool] = lambda _: True
) -> Site | None:
    found = [site for site in sites(lines, syn.Xent) if fits(site.node)]
    return rng.choice(found) if found else None


def change_kind(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    """xent, nex, xed or dex in place of another; without a prefix only the first two differ."""
    site = _some_term(lines, rng)
    if site is None:
        return None
    kinds = syn.XENT_KINDS if site.node.prefix else ("xent", "nex")
    kind = rng.choice([kind for kind in kinds if kind != site.node.kind])
    return at(lines, site, replace(site.node, kind=kind))


def swap_target_prefix(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    site = _some_term(lines, rng, lambda term: term.prefix is not None)
    if site is None:
        return None
    term = site.node
    return at(lines, site, replace(term, target=term.prefix, prefix=term.target))


def replace_operand(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    """Another live register, or a cat or cut of live ones, in place of a scored string."""
    choices = operands(lines)
    if not choices:
        return None
    site = rng.choice(choices)
    here = scene(lines, site.position, bench)
    return at(lines, site, random_expressions.string(rng, here)) if here.live else None


def add_term(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    site = some_reward_sum(lines, rng, 1)
    term = site and random_expressions.term(rng, scene(lines, site.position, bench))
    if not site or not term:
        return None
    return at(lines, site, syn.Sum((*site.node.terms, term)))


def drop_term(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    site = some_reward_sum(lines, rng, 2)
    if site is None:
        return None
    terms = list(site.node.terms)
    del terms[rng.randrange(len(terms))]
    return at(lines, site, syn.Sum(tuple(terms)))


def add_prefix(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    """A prefix where there is none, another string beside it, or one before both scores."""
    site = _some_term(lines, rng)
    if site is None:
        return None
    term = site.node
    live = [syn.Register(name) for name in scene(lines, site.position, bench).live]
    if not live:
        return None
    extra = rng.choice(live)
    if term.prefix is None:
        return at(lines, site, replace(term, prefix=extra))
    if term.outer is None and rng.random() < 0.4:
        return at(lines, site, replace(term, outer=extra))
    pair = rng.sample([term.prefix, extra], 2)
    return at(lines, site, replace(term, prefix=syn.Cat(*pair)))


def drop_prefix(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    """Without its prefix a difference is zero, so it becomes the plain score."""
    site = _some_term(lines, rng, lambda term: term.prefix is not None)
    if site is None:
        return None
    term = site.node
    if term.outer is not None:
        return at(lines, site, replace(term, outer=None))
    if isinstance(term.prefix, syn.Cat):
        return at(
            lines, site, replace(term, prefix=rng.choice((term.prefix.left, term.prefix.right)))
        )
    plain = {"xed": "xent", "dex": "nex"}.get(term.kind, term.kind)
    return at(lines, site, replace(term, kind=plain, prefix=None))
