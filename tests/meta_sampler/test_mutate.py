"""What every child of the mutation sampler must be, over parents, seeds and settings; operators by
exact examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings, strategies as st
from support import parents

import xgl
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.growth.initial_scope import initial_tasks
from meta_sampler import Mutate, MutateSettings, Outcome, Progress, Proposal, Provenance
from meta_sampler.mutate import NEEDS, OPERATORS
from meta_sampler.program_editor import PRUNE, EditContext, rebind_reads, registers_at
from meta_sampler.registry import Portfolio, make
from meta_sampler.soundness import FIT, KnownGames, fit, has_loops, move_tokens
from meta_sampler.symbolic import normal_form
from xgl.analysis.static_facts import learning_roles
from xgl.language import syntax as syn
from xgl.language.canonical import Metadata
from xgl.language.control_flow import _unrolled
from xgl.language.visitors import find

REPAIRS = {FIT, PRUNE}
"""What provenance names beside operators."""

SEEDS = st.integers(0, 2**31)
PARENTS = st.sampled_from(parents.EVERY)
PLAYERS = ("black", "white", "alice", "bob")
WIDE = MutateSettings(max_lines=12, max_move_tokens=24, max_steps=32, max_terms=6, loops=True)
"""Room for every operator, each with the weight of its table."""
SETTINGS = st.builds(
    MutateSettings,
    max_lines=st.integers(6, 14),
    max_move_tokens=st.integers(8, 40),
    max_steps=st.integers(8, 40),
    max_stories=st.integers(2, 4),
    players=st.sampled_from([("black",), PLAYERS]),
    truths=st.booleans(),
    loops=st.booleans(),
)


def children(parent: xgl.Game, n: int, seed: int, limits: MutateSettings) -> list[Proposal]:
    return Mutate(limits).propose(parent, parents.SCOPE[parent.dialect], n, seed)


def programs(proposals: list[Proposal]) -> Iterator[syn.Program]:
    for proposal in proposals:
        assert proposal.game is not None
        yield proposal.game.program


@settings(max_examples=30)
@given(PARENTS, SEEDS, SETTINGS)
def test_every_child_is_valid_reads_back_and_obeys_the_caps(
    parent: xgl.Game, seed: int, limits: MutateSettings
) -> None:
    own = {p for line in parent.program.instructions if (p := getattr(line, "player", None))}
    had_loops = has_loops(parent.program)
    caps = limits.widen(len(parents.SCOPE[parent.dialect]))
    like = xgl.analyse(parent.program)  # a child may be as large as its parent
    for proposal in children(parent, 3, seed, limits):
        assert proposal.game is not None
        assert proposal.errors == ()
        program = xgl.parse(proposal.text, parent.dialect)
        assert program == proposal.game.program
        assert xgl.to_text(program) == proposal.text
        assert xgl.game(program, parent.metadata) == proposal.game
        report = xgl.analyse(program)
        assert len(program.instructions) <= max(caps.max_lines, len(parent.program.instructions))
        assert report.steps <= max(caps.max_steps, 2 * len(parent.program.instructions))
        assert report.stories <= max(caps.max_stories, like.stories)
        assert move_tokens(program, parent.metadata.max_len) <= caps.max_move_tokens
        players = {p for line in program.instructions if (p := getattr(line, "player", None))}
        assert players <= own | set(limits.players)
        if not limits.loops and not had_loops:
            assert not has_loops(program)
        if not limits.truths:
            assert len(find(program, syn.Truth)) <= len(find(parent.program, syn.Truth))


@given(SETTINGS, st.integers(0, 500), st.floats(0, 2))
def test_caps_widen_with_the_scope(limits: MutateSettings, games: int, widening: float) -> None:
    limits = replace(limits, widening=widening)
    here, there = limits.widen(games), limits.widen(2 * games)
    for name in ("max_lines", "max_steps", "max_stories", "max_move_tokens"):
        first, now, then = (getattr(each, name) for each in (limits, here, there))
        assert first <= now <= then
        assert games > 1 or now == first
        assert widening > 0 or then == first


@settings(max_examples=8)
@given(PARENTS, SEEDS)
def test_same_seed_same_children_and_other_seed_others(parent: xgl.Game, seed: int) -> None:
    first = children(parent, 4, seed, WIDE)
    assert first == children(parent, 4, seed, WIDE)
    assert first[:2] == children(parent, 2, seed, WIDE)[: len(first)]
    assert first != children(parent, 4, seed + 1, WIDE)


@settings(max_examples=8)
@given(PARENTS, SEEDS)
def test_no_child_repeats_the_parent_the_scope_or_another(parent: xgl.Game, seed: int) -> None:
    scope = parents.SCOPE[parent.dialect]
    proposals = children(parent, 12, seed, WIDE)
    for key in (lambda each: each.code, lambda each: normal_form(each.program)):
        new = [key(proposal.game) for proposal in proposals]
        assert len(set(new)) == len(new)
        assert not set(new) & set(map(key, [parent, *scope]))


def test_a_limit_that_is_the_usual_one_makes_no_new_game() -> None:
    text = "assign(s=story())\nelicit(x{})\nreward(xed(s | x))"
    implicit, explicit, other = (
        xgl.game(xgl.parse(text.format(limit), "xent"), Metadata(max_len=8))
        for limit in ("", ", 8", ", 9")
    )
    known = KnownGames([implicit])
    origin = Provenance("listed", (), (implicit.game_id,))
    explicit, other = (known.checked(Proposal(g.code, g, (), origin)) for g in (explicit, other))
    assert explicit.game is None
    assert other.game is not None


def test_a_cap_of_one_token_leaves_games() -> None:
    tight = replace(WIDE, max_move_tokens=1, widening=0.0)
    assert len(children(parents.SCOPE["xent"][0], 4, 1, tight)) == 4


@cache
def brood(players: tuple[str, ...]) -> list[Proposal]:
    """Five children of every parent."""
    limits = replace(WIDE, players=players)
    return [each for parent in parents.EVERY for each in children(parent, 5, 3, limits)]


@pytest.mark.parametrize("players", [("black",), PLAYERS])
def test_children_are_many_and_rarely_degenerate(players: tuple[str, ...]) -> None:
    child_programs = list(programs(brood(players)))
    reports = [xgl.analyse(program) for program in child_programs]
    assert all(map(learning_roles, child_programs))
    assert not any(report.read_before_set for report in reports)
    assert len(child_programs) > 0.9 * 5 * len(parents.EVERY)


def test_every_operator_reaches_a_child_on_some_parent() -> None:
    operators = {o for proposal in brood(PLAYERS) for o in proposal.provenance.operators}
    for name in OPERATORS.keys() - operators:
        alone = Mutate(replace(WIDE, players=PLAYERS), {name: OPERATORS[name]})
        for parent in reversed(parents.EVERY):
            proposals = alone.propose(parent, parents.SCOPE[parent.dialect], 2, 1)
            operators |= {o for proposal in proposals for o in proposal.provenance.operators}
            if name in operators:
                break
    assert operators - REPAIRS == set(OPERATORS)


def test_operators_without_what_they_need_are_not_drawn() -> None:
    contrast = parents.SCOPE["xent"][1]
    proposals = Mutate(replace(WIDE, loops=False)).propose(contrast, [contrast], 40, 1)
    drawn = {o for proposal in proposals for o in proposal.provenance.operators}
    assert drawn
    assert {*NEEDS.values()} == {"players", "loops", "donor"}
    assert not NEEDS.keys() & drawn


@pytest.mark.parametrize(("dialect", "moves"), [("paper", ()), ("xent", ("y",))])
def test_operators_read_an_assign_as_its_dialect_does(dialect: str, moves: tuple[str, ...]) -> None:
    code = "assign(s=story(), t=s)\nelicit(x, 4)\nassign(x=s, y=x + t)"
    lines, context = xgl.parse(code, dialect).instructions, EditContext(WIDE, PLAYERS, (), dialect)
    assert registers_at(lines, 3, context).move_registers == moves
    assert rebind_reads(lines, context, Random(1)) == lines


def test_observation_leads_the_draws_within_bounds() -> None:
    scope = parents.SCOPE["xent"]
    learner, fresh = Mutate(WIDE), Mutate(WIDE)
    good = [Outcome(f"g{i}", ("replace_operand",), Progress.ACCEPTED) for i in range(60)]
    bad = [Outcome(f"b{i}", ("add_term", "insert_story"), Progress.REFUSED) for i in range(60)]
    learner.observe(good + bad)
    shares, usual = _shares(learner, scope), _shares(fresh, scope)
    assert shares["replace_operand"] > 1.3 * usual["replace_operand"]
    assert 0 < shares["add_term"] < usual["add_term"]
    first = learner.propose(scope[0], scope, 10, 1)
    assert first == learner.propose(scope[0], scope, 10, 1), "proposing changes nothing"
    assert first != fresh.propose(scope[0], scope, 10, 1)


def _shares(sampler: Mutate, scope: list[xgl.Game]) -> dict[str, float]:
    """Of the children that each operator takes part in."""
    proposals = [p for seed in range(2) for p in sampler.propose(scope[1], scope, 60, seed)]
    counts = Counter(name for p in proposals for name in set(p.provenance.operators))
    return {name: count / len(proposals) for name, count in counts.items()}


def test_zero_summing_gives_a_game_of_one_player_an_adversary() -> None:
    """Def. 23: the second player is paid the negative of what the first one gets."""
    parent = xgl.game(xgl.parse("assign(s=story())\nelicit(x, 4)\nreward(xed(s | x))", "xent"))
    limits = replace(WIDE, players=("black", "alice", "white"))
    sampler = Mutate(limits, {"zero_sum": OPERATORS["zero_sum"]})
    proposals = sampler.propose(parent, [parent], 20, 1)
    assert len(proposals) >= 15
    for program in programs(proposals):
        movers = {line.player for line in program.instructions if isinstance(line, syn.Elicit)}
        assert len(movers) == 2
    assert sum(map(_is_zero_sum, programs(proposals))) >= 5


def _is_zero_sum(program: syn.Program) -> bool:
    """Whether a reward is followed by its negative to another player."""
    paid = [line for line in program.instructions if isinstance(line, syn.Reward)]
    return any(
        second.amount.terms == tuple((-sign, term) for sign, term in first.amount.terms)
        for first, second in pairwise(paid)
        if second.player != first.player
    )


def test_a_long_growth_proposes_player_swaps_reveals_and_loops() -> None:
    config = load(RunConfig, ["+experiment=long_growth"])
    portfolio = make(config.meta_sampler.name, config.meta_sampler.settings)
    assert isinstance(portfolio, Portfolio)
    sampler, scope = portfolio.members["mutate"], [task.game for task in initial_tasks(config)]
    proposals = [p for game in scope for p in sampler.propose(game, scope, 80, 0)]
    kinds = Counter(name for p in proposals for name in p.provenance.operators)
    for program in programs(proposals):
        lines = program.instructions
        kinds["reveal"] += any(isinstance(line, syn.Reveal) for line in lines)
        kinds["loop"] += any(isinstance(line, syn.Replay) for line in lines)
        kinds["two players"] += len(learning_roles(program)) > 1
        kinds["zero-sum"] += _is_zero_sum(program)
    expected = ("retarget_player", "compose", "reveal", "loop", "two players", "zero-sum")
    assert all(kinds[kind] >= 2 for kind in expected), kinds


def test_a_long_loop_is_not_unrolled_again_for_each_length_of_its_moves() -> None:
    sprig = xgl.read_game("naive_sprig")
    before = _unrolled.cache_info()
    assert fit(sprig.program, MutateSettings(loops=True), sprig) != sprig.program
    after = _unrolled.cache_info()
    assert after.misses - before.misses <= 7
    assert after.hits - before.hits > 50
