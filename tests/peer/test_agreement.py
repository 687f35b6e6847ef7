"""The xent dialect beside the authors' released engine: same judge model, maps and moves.

Long, and needs the peer: see ``conftest.py``. Registers, the order of events, what each asked
player can see, and refusals must be the same; rewards within 1e-3 bits a token.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import pytest
from peer_engine import Event, Outcome, Peer, play_here
from peer_expressions import CONDITIONS, OPERATORS, Case, case
from peer_grammar import program
from peer_programs import INSTRUCTIONS
from peer_refusals import ONLY_HERE, ONLY_THERE, REFUSED

from xgl import analyse, parse
from xgl.judge.transformer_judge import TransformerJudge

pytestmark = pytest.mark.long

BITS_A_TOKEN = 1e-3
GENERATED = 160
PACKAGED = ("Alethiometer", "Condense", "Contrast", "Horizon", "Synthesize", "Two-Ways")
MOVES = {
    "words": ("sun owl tree", "the sun, the moon"),
    "one": ("hen",),
    "story": ("Once upon a time a small red hen", "and bread", "the harbour"),
    "empty": ("", "x"),
}
CRASH = ("Horizon", "empty")


def each_case(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


@each_case(OPERATORS + CONDITIONS + INSTRUCTIONS)
def test_programs_by_hand(case: Case, peer: Peer, judge: TransformerJudge) -> None:
    agree(case, peer, judge)


@pytest.mark.parametrize("seed", range(GENERATED))
def test_programs_of_a_grammar(seed: int, peer: Peer, judge: TransformerJudge) -> None:
    agree(Case(f"seed {seed}", program(seed)), peer, judge)


PLAYS = [(name, moves) for name in PACKAGED for moves in MOVES if (name, moves) != CRASH]


@pytest.mark.parametrize(("name", "moves"), PLAYS)
def test_its_packaged_games(name: str, moves: str, peer: Peer, judge: TransformerJudge) -> None:
    agree(packaged_case(name, moves), peer, judge)


def packaged_case(name: str, moves: str) -> Case:
    code = files("xent").joinpath("games", f"{name}.xent").read_text()
    return Case(name, code, {"black": MOVES[moves]})


def test_an_empty_move_that_breaks_its_judge_is_a_failed_ensure_here(
    peer: Peer, judge: TransformerJudge
) -> None:
    """The packaged bound is what the judge thinks of other texts; 0 bits are never above 0."""
    original = packaged_case(*CRASH)
    code = original.code.replace(">= xed(t2 | t1)", "> 0")
    variant = replace(original, code=code, moves={"black": ("",)})
    assert code != original.code
    for horizon, endings in ((original, {"finished", "forfeit"}), (variant, {"forfeit"})):
        there, here = both(horizon, peer, judge)
        assert there.ending == "refused"
        assert "reshape" in there.why
        assert here.ending in endings


def test_every_packaged_game_is_named_above(peer: Peer) -> None:
    names = {entry.name for entry in files("xent").joinpath("games").iterdir()}
    assert {name for name in names if name.endswith(".xent")} == {f"{n}.xent" for n in PACKAGED}


@each_case(REFUSED)
def test_what_both_refuse(case: Case, peer: Peer, judge: TransformerJudge) -> None:
    there, here = both(case, peer, judge)
    assert (there.ending, here.ending) == ("refused", "refused"), (there.why, here.why)


@each_case(ONLY_THERE)
def test_what_we_refuse_on_purpose(case: Case, peer: Peer, judge: TransformerJudge) -> None:
    there, here = both(case, peer, judge)
    assert (there.ending, here.ending) == ("finished", "refused"), (there.why, here.why)


@each_case(ONLY_HERE)
def test_what_we_play_beyond_it(case: Case, peer: Peer, judge: TransformerJudge) -> None:
    there, here = both(case, peer, judge)
    assert (there.ending, here.ending) == ("refused", "finished"), (there.why, here.why)


def test_what_spells_a_special_token_is_text_here(peer: Peer, judge: TransformerJudge) -> None:
    code = 'elicit(y, 30)\nassign(s="by <|eos|>")\nreward(xent("a " + s))\nreward(xent(y))'
    special = case("special", code, "a fox <|bos|>")
    there, here = both(special, peer, judge)
    assert (there.ending, here.ending, there.registers) == ("finished", "finished", here.registers)
    rewards = [event for event in there.events if event[:2] == ("reward", "black")]
    for theirs, ours in zip(rewards, (e for e in here.events if e[0] == "reward"), strict=True):
        assert len(theirs[2]) < len(ours[2])


@pytest.mark.parametrize(("sign", "here_holds"), [("==", True), ("!=", False)])
def test_a_xent_and_a_number_are_compared_in_bits_here(
    sign: str, here_holds: bool, peer: Peer, judge: TransformerJudge
) -> None:
    """One token alone costs nothing in this dialect."""
    code = f'elicit(y, 3)\nassign(s="x")\nensure(xent(s) {sign} 0)'
    there, here = both(case("zero", code), peer, judge)
    endings = {True: "finished", False: "forfeit"}
    assert (here.ending, there.ending) == (endings[here_holds], endings[not here_holds])


def test_reveal_with_the_player_second_shows_it_to_that_player_here(
    peer: Peer, judge: TransformerJudge
) -> None:
    there, here = both(case("second", "elicit(y, 3)\nreveal(y, alice)", "a fox"), peer, judge)
    assert here.events[-1] == ("reveal", "alice", ("a fox",))
    assert there.events[-1][:2] == ("reveal", "black")
    assert there.events[-1][2][0] == "a fox"


def both(case: Case, peer: Peer, judge: TransformerJudge) -> tuple[Outcome, Outcome]:
    """There and here; chance there gives what it gave here."""
    here = play_here(case.code, case.moves, judge)
    return peer.play(case.code, case.moves, here.orders), here


def agree(case: Case, peer: Peer, judge: TransformerJudge) -> None:
    there, here = both(case, peer, judge)
    assert here.ending == there.ending, (case.code, there.why, here.why)
    assert here.ending in ("finished", "forfeit"), (case.code, there.why)
    assert here.registers == there.registers, case.code
    _same_events(here.events, _without_mirrors(there.events, case.code), case.code)
    _same_sights(here, there, case.code)
    if any(event[:2] == ("move", "black") for event in here.events) and here.ending == "finished":
        tokens = sum(len(event[2]) for event in here.events if event[0] == "reward")
        assert here.score == pytest.approx(there.score, abs=BITS_A_TOKEN * (1 + tokens)), case.code


def _without_mirrors(events: list[Event], code: str) -> list[Event]:
    """Without the other half of a zero-sum reward whose player is never asked (paper §2.4.1: it is
    discarded; nobody sees it there either)."""
    players = analyse(parse(code, "xent")).players
    partner = {"white": "black", "black": "white"}
    result: list[Event] = []
    mirror = ""
    for event in events:
        player = event[1]
        if event[0] == "reward" and player == mirror:
            result += [event] if player in players else []
            mirror = ""
            continue
        mirror = partner.get(player, "") if event[0] == "reward" else ""
        result.append(event)
    return result


def _same_events(here: list[Event], there: list[Event], code: str) -> None:
    assert [event[:2] for event in here] == [event[:2] for event in there], code
    for ours, theirs in zip(here, there, strict=True):
        if ours[0] == "reward":
            assert ours[2] == pytest.approx(theirs[2], abs=BITS_A_TOKEN), code
        else:
            assert ours == theirs, code


def _same_sights(here: Outcome, there: Outcome, code: str) -> None:
    """Who was asked, and every register that it could read there reads the same here.

    Here a player also finds its own earlier moves, which there stand in its history.
    """
    own: dict[str, set[str]] = {}
    moves = iter([event for event in here.events if event[0] == "move"])
    for ours, theirs in zip(here.sights, there.sights, strict=True):
        (player, own_texts), (peer_player, peer_texts) = ours, theirs
        assert player == peer_player, code
        hers = own.setdefault(player, set())
        assert {
            name: text for name, text in own_texts.items() if name in peer_texts or name not in hers
        } == peer_texts, code
        hers.add(next(moves)[2])
