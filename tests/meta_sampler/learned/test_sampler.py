"""The sampler ``learned``: valid, deterministic, and led by verdicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from support import parents

import xgl
from meta_sampler import Mutate, MutateSettings, Outcome, Progress, Proposal, SamplerError
from meta_sampler.learned.adaptation import REWARDS, ProposalLesson, adapt, example
from meta_sampler.learned.sampler import MODEL, Learned, shipped_model
from meta_sampler.screening.normal_form import normal_form
from meta_sampler.screening.soundness import faults
from meta_sampler.settings import LearnedSettings
from training.xgl_model.corpus import Pair, pairs
from training.xgl_model.likelihood import child_bits
from xgl.language import syntax as syn

FAST = LearnedSettings(batch=64, attempts=3, steps=8)
PARENT, SCOPE = parents.SCOPE["xent"][1], parents.SCOPE["xent"]


def test_the_model_is_small() -> None:
    assert sum(path.stat().st_size for path in MODEL.iterdir()) <= 8 * 2**20


@cache
def sampler(**changes: Any) -> Learned:
    return Learned(replace(FAST, **changes))


@cache
def propose(n: int = 6, seed: int = 1, **changes: Any) -> list[Proposal]:
    return sampler(**changes).propose(PARENT, SCOPE, n, seed)


@pytest.mark.parametrize("dialect", ["paper", "xent"])
def test_every_complete_draft_is_a_valid_program(dialect: str) -> None:
    scope, complete = parents.SCOPE[dialect], 0
    proposals = sampler(attempts=1).propose(scope[1], scope, 128, 3)
    for proposal in proposals:
        if proposal.fate != "unfinished":
            xgl.parse(proposal.text, dialect)
            complete += 1
    assert complete >= 120
    assert sum(proposal.game is not None for proposal in proposals) > 0.25 * len(proposals)


@pytest.mark.parametrize("place", range(0, len(parents.EVERY), 7))
def test_any_game_may_be_a_parent(place: int) -> None:
    """Of either dialect, with other players, loops and statements."""
    parent = parents.EVERY[place]
    proposals = sampler(max_lines=10, attempts=1).propose(parent, [parent], 6, 1)
    complete = [each for each in proposals if each.fate != "unfinished"]
    assert len(complete) >= 2
    for proposal in complete:
        xgl.parse(proposal.text, parent.dialect)


def test_games_are_new_and_sound() -> None:
    games = [proposal.game for proposal in propose(16) if proposal.game is not None]
    assert len(games) >= 14
    forms = [normal_form(each.program) for each in games]
    assert len(set(forms)) == len(forms)
    assert not set(forms) & {normal_form(each.program) for each in SCOPE}
    for each in games:
        assert not faults(each.program, PARENT, FAST)
        assert each.metadata == PARENT.metadata


def test_children_are_nearer_to_their_own_parent_than_to_another() -> None:
    """A child's text is likelier after the parent it came from."""
    model, tokenizer = shipped_model()
    held_out = list(pairs(60, 10**6, 20))
    other_pairs = [replace(pair, parent=held_out[i - 30].parent) for i, pair in enumerate(held_out)]

    def bits(sample: Sequence[Pair]) -> float:
        backend = tokenizer.backend_tokenizer
        return child_bits(model, [example(backend, each.parent, each.child) for each in sample])

    assert bits(held_out) < 0.9 * bits(other_pairs)


def test_same_seed_same_proposals_on_any_number_of_threads() -> None:
    first, threads = propose(), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert first == Learned(FAST).propose(PARENT, SCOPE, 6, 1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert [p.text for p in first] != [p.text for p in propose(seed=2)]


def test_provenance_tells_how_a_text_arose() -> None:
    for proposal in propose():
        origin = proposal.provenance
        assert (origin.sampler, origin.operators, origin.model) == (
            "learned",
            ("decode",),
            "learned",
        )
        assert origin.parents == (PARENT.game_id,)
        assert origin.raw.startswith("assign(")
        assert origin.tokens > 0
        assert origin.seconds > 0


# -- learning --------------------------------------------------------------------------------------


def plain(candidate: xgl.Game) -> bool:
    """Whether the skeleton is the shortest one."""
    skeleton = tuple(map(type, candidate.program.instructions))
    return skeleton == (syn.Assign, syn.Elicit, syn.Reward)


@cache
def children() -> tuple[xgl.Game, ...]:
    """Of the parent, by mutation; about half of them plain."""
    limits = MutateSettings(max_lines=6, max_move_tokens=8, loops=False)
    games = tuple(p.game for p in Mutate(limits).propose(PARENT, SCOPE, 40, 7) if p.game)
    for half in (games[:20], games[20:]):
        assert 5 < sum(map(plain, half)) < 15
    return games


def outcome_of(candidate: xgl.Game) -> Outcome:
    """Accepted where the skeleton is the shortest one; anything else is too long to learn."""
    progress = Progress.ACCEPTED if plain(candidate) else Progress.UNPLAYABLE
    id_, code = candidate.game_id, candidate.code
    return Outcome(id_, (), progress, "", PARENT.game_id, code, PARENT.code)


@cache
def trained_learner() -> Learned:
    learner = Learned(FAST)
    learner.observe([outcome_of(each) for each in children()[:20]])
    return learner


@pytest.mark.long
def test_lessons_lead_towards_skeletons_that_were_accepted() -> None:
    """What it was told of, and among what it was not, those like what was accepted: their odds
    against the others rise by more than two bits."""
    before, after = shipped_model()[0], trained_learner().writer.lm.model
    tokenizer = shipped_model()[1].backend_tokenizer

    def harder(candidates: Sequence[xgl.Game], is_plain: bool) -> float:
        """Bits that a candidate takes more than before, on average."""
        group = [each for each in candidates if plain(each) is is_plain]
        examples = [example(tokenizer, PARENT.code, each.code) for each in group]
        return (child_bits(after, examples) - child_bits(before, examples)) / len(examples)

    lesson_games, others = children()[:20], children()[20:]
    assert harder(lesson_games, True) < 0 < harder(lesson_games, False)
    assert harder(others, False) - harder(others, True) > 2


def test_a_restored_sampler_goes_on_as_if_nothing_had_happened() -> None:
    original, copy = trained_learner(), Learned(FAST)
    before = original.state()
    copy.restore(json.loads(json.dumps(before)))
    assert copy.state() == before
    first = copy.propose(PARENT, SCOPE, 4, 4)
    assert first == original.propose(PARENT, SCOPE, 4, 4)
    assert original.state() == before
    assert first != propose(4, 4)


def test_verdicts_observed_one_by_one_or_at_once_teach_the_same() -> None:
    singly = Learned(FAST)
    for each in children()[:20]:
        singly.observe([outcome_of(each)])
    assert singly.state() == trained_learner().state()


def test_what_teaches_nothing_leaves_the_shipped_model() -> None:
    model, tokenizer = shipped_model()
    same = [ProposalLesson(PARENT.code, each.code, 0.2) for each in SCOPE]
    long = ProposalLesson(PARENT.code, "\n".join([PARENT.code] * 60), 1.0)
    backend = tokenizer.backend_tokenizer
    assert adapt(model, backend, [], FAST) is model
    assert adapt(model, backend, same, FAST) is model
    assert adapt(model, backend, [*same, long], FAST) is model
    lessons = [replace(same[0], reward=1.0), same[1]]
    assert adapt(model, backend, lessons, replace(FAST, steps=0)) is model
    assert adapt(model, backend, lessons, FAST) is not model


def test_only_the_latest_verdicts_are_kept() -> None:
    learner = Learned(replace(FAST, max_verdicts=3))
    learner.observe([outcome_of(each) for each in children()[:5]])
    learner.observe([Outcome("no text", (), Progress.ACCEPTED)])
    lesson_texts = [lesson["child"] for lesson in learner.state()["lessons"]]
    assert lesson_texts == [each.code for each in children()[2:5]]


def test_every_progress_has_a_reward_and_more_of_it_a_higher_one() -> None:
    rewards = [REWARDS[progress] for progress in Progress]
    assert rewards == sorted(set(rewards))
    assert (rewards[0], rewards[-1]) == (-0.3, 1.0)


# -- state ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [{}, {"lessons": 3}, {"lessons": [{"parent": ""}]}, {"tried": 1}])
def test_a_foreign_state_is_refused(state: dict[str, Any]) -> None:
    with pytest.raises(SamplerError, match="not of learned"):
        Learned(FAST).restore(state)
