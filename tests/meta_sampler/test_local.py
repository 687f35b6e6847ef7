"""The sampler ``local``: valid by construction, deterministic, with its provenance; its grammar
against the parser."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from support import parents
from support.random_texts import accepts, random_text

import xgl
from meta_sampler import Proposal, SamplerError
from meta_sampler.grammar import xgl_grammar
from meta_sampler.local import Local
from meta_sampler.settings import LocalSettings
from meta_sampler.soundness import faults
from meta_sampler.symbolic import normal_form
from xgl import analyse, game, parse
from xgl.language import syntax as syn
from xgl.language.unparse import instruction_text
from xgl.library import Entry, entries

SMALL = LocalSettings(max_tokens=70, max_lines=4, attempts=3, examples=2, max_terms=2)
PARENT = {d: parents.games({"single": parents.SINGLE}, d)[0] for d in ("paper", "xent")}


@cache
def sampler(**changes: Any) -> Local:
    return Local(replace(SMALL, **changes))


@cache
def propose(dialect: str = "xent", n: int = 4, seed: int = 1, **changes: Any) -> list[Proposal]:
    return sampler(**changes).propose(PARENT[dialect], parents.SCOPE[dialect], n, seed)


@pytest.mark.parametrize("dialect", ["paper", "xent"])
def test_every_complete_draft_is_a_valid_program(dialect: str) -> None:
    n = 4 if dialect == "xent" else 1
    proposals = propose(dialect, n)
    assert len(proposals) == n
    for proposal in proposals:
        if proposal.fate != "unfinished":
            xgl.parse(proposal.text, dialect)


def test_games_are_new_and_sound() -> None:
    parent, scope = PARENT["xent"], parents.SCOPE["xent"]
    games = [proposal.game for proposal in propose() if proposal.game is not None]
    assert games
    forms = [normal_form(each.program) for each in games]
    assert len(set(forms)) == len(forms)
    assert not set(forms) & {normal_form(each.program) for each in (parent, *scope)}
    for each in games:
        assert not faults(each.program, parent, SMALL)
        assert each.metadata == parent.metadata


def test_a_draft_that_goes_on_is_cut_to_its_complete_lines() -> None:
    proposals = propose(attempts=1, max_lines=6, ends_at_reward=False, max_tokens=50)
    cuts = [proposal for proposal in proposals if "cut" in proposal.provenance.repairs]
    assert cuts
    for proposal in cuts:
        raw = proposal.provenance.raw
        assert xgl.parse(raw[: raw.rindex(")\n") + 1], "xent")
        xgl.parse(proposal.text, "xent")


def test_same_seed_same_proposals_and_other_seed_others() -> None:
    first, other = propose(), propose(n=1, seed=2)
    assert first == Local(SMALL).propose(PARENT["xent"], parents.SCOPE["xent"], 4, 1)
    assert first[0].provenance.raw != other[0].provenance.raw


def test_provenance_tells_how_a_text_arose() -> None:
    for proposal in propose():
        origin = proposal.provenance
        found = (origin.sampler, origin.operators, origin.model)
        assert found == ("local", ("decode",), "embedded")
        assert origin.parents[0] == PARENT["xent"].game_id
        assert len(origin.parents) <= 1 + SMALL.examples
        assert len(origin.prompt_hash) == 16
        assert origin.raw.startswith("assign(")
        assert origin.tokens > 0
        assert origin.seconds > 0


def test_a_window_without_room_is_refused() -> None:
    with pytest.raises(SamplerError, match="window of 512"):
        Local(replace(SMALL, max_tokens=512)).propose(PARENT["xent"], [], 1, 1)


PLAIN = LocalSettings(max_lines=12, max_move_tokens=16, players=syn.PLAYERS, ends_at_reward=False)
WIDE = replace(PLAIN, truths=True, loops=True)
KINDS = {"wide": WIDE, "no statements": PLAIN, "search": LocalSettings()}
DIALECTS = ("paper", "xent")
CONSTANTS = ((), ("a", "c"))


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 42), marks=pytest.mark.long)])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_text_is_a_valid_program(dialect: str, kind: str, seeds: range) -> None:
    for seed in seeds:
        _check(dialect, KINDS[kind], CONSTANTS[seed % 2], seed)


def _check(dialect: str, settings: LocalSettings, constants: tuple[str, ...], seed: int) -> None:
    text = random_text(xgl_grammar(dialect, settings, constants), seed)
    program = parse(text, dialect)
    assert parse(game(program).code, dialect) == game(program).program
    assert 3 <= len(program.instructions) <= settings.max_lines
    report = analyse(program)
    assert not report.faults
    assert syn.MAIN_PLAYER in report.players
    assert not report.read_before_set
    _check_players(program, settings)


def _check_players(program: syn.Program, settings: LocalSettings) -> None:
    for line in program.instructions:
        assert len(instruction_text(line)) <= syn.MAX_LINE_CHARACTERS
        match line:
            case syn.Elicit(player, _, limit):
                assert player in settings.players
                assert limit is None or limit <= settings.max_move_tokens
            case syn.Reward(player, amount):
                assert program.dialect == "xent" or player != "env"
                assert len(amount.terms) <= settings.max_terms
            case syn.Reveal(player):
                assert player not in syn.OMNISCIENT


LIBRARY = replace(WIDE, max_lines=16, max_move_tokens=20, max_terms=2**40)
REASONS = {
    "begins without a story": (
        *("fig_3_07_chess", "fig_3_07_naive_chess", "example_16_paradoxical"),
        "remark_29_unlikely_text",
    ),
    "a function of a statement": ("intro_restricted_words", "intro_summary"),
    "a hundred jumps, prompts longer than a literal": ("fig_3_09_naive_sprig",),
    "reads a register that is never set": ("fig_3_12_coordination",),
    "the main player makes no move": (
        *("fig_3_10_secret_sharing", "fig_3_13_blind_guess", "fig_3_13_censor", "retell"),
        *("fig_3_13_hidden_target", "fig_3_13_message"),
    ),
}
"""Library games that the grammar leaves out, by why."""


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_games_of_the_library(entry: Entry) -> None:
    code = game(parse(entry.text, entry.dialect)).code
    is_accepted = accepts(xgl_grammar(entry.dialect, LIBRARY), code)
    assert is_accepted != any(entry.name in names for names in REASONS.values())
