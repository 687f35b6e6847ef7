"""Operators below the line: the kind, the operands and the terms of scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from meta_sampler.mutate import random_expressions
from meta_sampler.mutate.program_editor import (
    EditContext,
    Lines,
    Site,
    operands,
    random_reward_sum,
    registers_at,
    replace_node,
    sites,
)
from xgl.language import syntax as syn


def _random_term(
    lines: Lines, rng: Random, fits: Callable[[syn.Xent], bool] = lambda _: True
) -> Site | None:
    terms = [site for site in sites(lines, syn.Xent) if fits(site.node)]
    return rng.choice(terms) if terms else None


def change_kind(lines: Lines, context: EditContext, rng: Random) -> Lines | None:
    """xent, nex, xed or dex in place of another; without a prefix only the first two differ."""
    site = _random_term(lines, rng)
    if site is None:
        return None
    kinds = syn.XENT_KINDS if site.node.prefix else ("xent", "nex")
    kind = rng.choice([kind for kind in kinds if kind != site.node.kind])
    return replace_node(lines, site, replace(site.node, kind=kind))


def swap_target_prefix(lines: Lines, context: EditContext, rng: Random) -> Lines | None:
    site = _random_term(lines, rng, lambda term: term.prefix is not None)
    if site is None:
        return None
    term = site.node
    return replace_node(lines, site, replace(term, target=term.prefix, prefix=term.target))


def replace_operand(lines: Lines, context: EditContext, rng: Random) -> Lines | None:
    """Another live register, or a cat or cut of live ones, in place of a scored string."""
    choices = operands(lines)
    if not choices:
        return None
    site = rng.choice(choices)
    here = registers_at(lines, site.position, context)
    return replace_node(lines, site, random_expressions.string(rng, here)) if here.live else None


def add_term(lines: Lines, context: EditContext, rng: Random) -> Lines | None:
    site = random_reward_sum(lines, rng, 1)
    term = site and random_expressions.term(rng, registers_at(lines, site.position, context))
    if not site or not term:
        return None
    return replace_node(lines, site, syn.Sum((*site.node.terms, term)))


def drop_term(lines: Lines, context: EditContext, rng: Random) -> Lines | None:
    site = random_reward_sum(lines, rng, 2)
    if site is None:
        return None
    terms = list(site.node.terms)
    del terms[rng.randrange(len(terms))]
    return replace_node(lines, site, syn.Sum(tuple(terms)))


def add_prefix(lines: Lines, context: EditContext, rng: Random) -> Lines | None:
    """A prefix where there is none, another string beside it, or one before both scores."""
    site = _random_term(lines, rng)
    if site is None:
        return None
    term = site.node
    live = [syn.Register(name) for name in registers_at(lines, site.position, context).live]
    if not live:
        return None
    extra = rng.choice(live)
    if term.prefix is None:
        return replace_node(lines, site, replace(term, prefix=extra))
    if term.outer is None and rng.random() < 0.4:
        return replace_node(lines, site, replace(term, outer=extra))
    pair = rng.sample([term.prefix, extra], 2)
    return replace_node(lines, site, replace(term, prefix=syn.Cat(*pair)))


def drop_prefix(lines: Lines, context: EditContext, rng: Random) -> Lines | None:
    """Without its prefix a difference is zero, so it becomes the plain score."""
    site = _random_term(lines, rng, lambda term: term.prefix is not None)
    if site is None:
        return None
    term = site.node
    if term.outer is not None:
        return replace_node(lines, site, replace(term, outer=None))
    if isinstance(term.prefix, syn.Cat):
        return replace_node(
            lines, site, replace(term, prefix=rng.choice((term.prefix.left, term.prefix.right)))
        )
    plain = {"xed": "xent", "dex": "nex"}.get(term.kind, term.kind)
    return replace_node(lines, site, replace(term, kind=plain, prefix=None))
