"""A player is told what the rules let it know, and the right text behind each number."""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from xgl import Cast, Instance, Metadata, Program, Seeds, analyse, game, parse, play_all
from xgl.cli.narration import FailedEnsure, Narrator, Notice, PaidReward, ShownText, WatchedMachine
from xgl.language.dialects import DIALECTS
from xgl.language.syntax import OMNISCIENT, PLAYERS
from xgl.runtime.presentation import visible
from xgl.runtime.requests import Ensured, Move, Moved, Play, Rewarded, Turn


class Talker:
    """Says what it is told to, one line after another."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)

    def moves(self, turns: list[Turn]) -> list[Move]:
        return [Move(self.lines.pop(0) if self.lines else "sea") for _ in turns]


def notices_of(
    seat: Callable[..., Cast],
    code: str,
    player: str,
    *lines: str,
    dialect: str = "paper",
    token_bits: bool = True,
) -> tuple[list[Notice], Play]:
    whole = game(parse(code, dialect), Metadata(token_bits=token_bits))
    machine = WatchedMachine(whole)
    [play] = play_all([Instance(whole, Seeds(1, 0))], seat(Talker(*lines)), [machine])
    return list(Narrator(whole, player).notices(machine.log())), play


def paid_rewards(notices: list[Notice]) -> list[PaidReward]:
    return [one for one in notices if isinstance(one, PaidReward)]


def test_people_see_the_bits_of_tokens_where_models_see_sums_alone(
    seat: Callable[..., Cast],
) -> None:
    code = "assign(s=story())\nelicit(x, 4)\nreward(xed(s | x))"
    whole, alone = [
        paid_rewards(notices_of(seat, code, "black", "one two", token_bits=each)[0])
        for each in (True, False)
    ]
    assert whole == alone
    assert alone[0].terms


def test_omniscient_players_see_every_text(seat: Callable[..., Cast]) -> None:
    code = "assign(s=story())\nelicit(x, 4)\nreward(xed(s | x) - xent(x + s))"
    notices, play = notices_of(seat, code, "black", "one two")
    texts = [one.item.text for one in notices if isinstance(one, ShownText)]
    assert texts == ["tale 1 0", "one two"]
    [reward] = paid_rewards(notices)
    assert [term.text for term in reward.terms] == ["tale 1 0", "one two tale 1 0"]
    assert [term.label for term in reward.terms] == ["xed(s | t)", "−xent(t + s)"]
    assert sum(sum(term.bits) for term in reward.terms) == play.scores["black"]


def test_a_hidden_text_is_numbers_only(seat: Callable[..., Cast]) -> None:
    code = "assign(s=story())\n{}elicit(bob, x, 4)\nreward(bob, xent(s | x) + xent(x))"
    [reward] = paid_rewards(notices_of(seat, code.format(""), "bob", "hello")[0])
    assert [term.text for term in reward.terms] == [None, "hello"]
    assert len(reward.terms[0].bits) == 3
    [reward] = paid_rewards(notices_of(seat, code.format("reveal(bob, s)\n"), "bob", "hello")[0])
    assert reward.terms[0].text == "tale 1 0"
    stale = code.format("reveal(bob, s)\nassign(s=story())\n")
    [reward] = paid_rewards(notices_of(seat, stale, "bob", "hello")[0])
    assert reward.terms[0].text is None
    part = code.format("reveal(bob, s // s)\n")
    [reward] = paid_rewards(notices_of(seat, part, "bob", "hello")[0])
    assert reward.terms[0].text is None


def test_only_omniscient_players_see_another_players_reward(seat: Callable[..., Cast]) -> None:
    code = "elicit(x, 4)\nelicit(bob, t, 4)\nreward(bob, xent(t))"
    [reward] = paid_rewards(notices_of(seat, code, "black")[0])
    assert (reward.player, reward.terms) == ("bob", ())
    code = "elicit(x, 4)\nelicit(bob, t, 4)\nreward(xent(t))"
    assert paid_rewards(notices_of(seat, code, "bob")[0]) == []


def test_the_zero_sum_pair_line_by_line(seat: Callable[..., Cast]) -> None:
    code = (
        "elicit(x, 4)\nelicit(white, t, 4)\nreward(xent(x))\nreward(white, xent(t))\n"
        "reward(env, xent(x))\nreward(xent(x + t))"
    )
    for player, sign in (("black", ""), ("white", "−")):
        notices, play = notices_of(seat, code, player, "one", "two")
        own = [reward for reward in paid_rewards(notices) if reward.player == player]
        other = "−" if sign == "" else ""
        labels = [term.label for reward in own for term in reward.terms]
        assert labels == [sign + "xent(s)", other + "xent(t)", sign + "xent(s + t)"]
        texts = [term.text for reward in own for term in reward.terms]
        assert texts == ["one", "two", "one two"]
        assert sum(reward.bits for reward in own) == play.scores[player]


def test_a_failed_ensure_is_explained(seat: Callable[..., Cast]) -> None:
    code = (
        'elicit(white, t, 4)\nelicit(x, 4)\nensure("no common words between" + t + "&" + x, '
        "xent(x) >= 0)\nreward(xent(x))"
    )
    notices, _ = notices_of(seat, code, "black", "the sea", "a sea", "hills")
    [failure] = [one for one in notices if isinstance(one, FailedEnsure)]
    assert failure.line == 3
    assert failure.reasons[
        0
    ] == 'is_true("no common words between" + s + "&" + t)' or failure.reasons[0].startswith(
        '"no common'
    )
    assert re.fullmatch(r"xent\(t\) >= 0: \d+\.\d against 0\.0 bits", failure.reasons[1])
    assert (failure.failures, failure.remaining) == (1, 9)
    assert not any(
        isinstance(one, FailedEnsure) for one in notices_of(seat, code, "white", "b", "b", "c")[0]
    )


def test_texts_of_lists_and_helper_functions_stand_behind_their_numbers(
    seat: Callable[..., Cast],
) -> None:
    code = (
        'assign(s=story(), l=["tale"])\nelicit(x, 4)\n'
        'reward(xed("".join(l) | x) + xent(remove_common_words(x, s)))'
    )
    [reward] = paid_rewards(notices_of(seat, code, "black", "hills sea", dialect="xent")[0])
    assert [term.text for term in reward.terms] == ["tale", "hills sea"]


def test_words_of_a_hidden_text_are_not_named(seat: Callable[..., Cast]) -> None:
    code = (
        'assign(s=story())\nelicit(bob, x, 4)\nensure("no common words between" + s + "&" + x)\n'
        "reward(bob, xent(x))"
    )
    notices, _ = notices_of(seat, code, "bob", "a tale", "hills")
    [failure] = [one for one in notices if isinstance(one, FailedEnsure)]
    assert "tale" not in " ".join(failure.reasons)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_game_is_followed_to_its_end(
    programs: st.SearchStrategy[Program],
    seat: Callable[..., Cast],
    echo_player: Callable[[], object],
    data: st.DataObject,
) -> None:
    """What is shown is what ``presentation.visible`` lets through, reward for reward."""
    program = data.draw(programs)
    assume(not analyse(program).faults)
    whole = game(program)
    player = data.draw(st.sampled_from(PLAYERS))
    machine = WatchedMachine(whole)
    [play] = play_all([Instance(whole, Seeds(1, 0))], seat(echo_player()), [machine])
    log = machine.log()
    assert tuple(event for _, event in log) == play.events
    assert all(line == event.line for line, event in log if isinstance(event, Moved))
    notices = list(Narrator(whole, player).notices(log))
    items = [one.item for one in notices if isinstance(one, ShownText)]
    facts = [e for e in play.events if not isinstance(e, Rewarded | Ensured)]
    assert items == list(visible(facts, player, DIALECTS[whole.dialect].live_reveal))
    own = [e for e in play.events if isinstance(e, Rewarded) and e.player == player]
    mine = [one for one in paid_rewards(notices) if one.player == player]
    assert [one.bits for one in mine] == [event.bits for event in own]
    for one, event in zip(mine, own, strict=True):
        assert [len(t.bits) for t in one.terms] == [len(s.bits) for _, _, s in event.terms]
    if player not in OMNISCIENT:
        assert len(paid_rewards(notices)) == len(mine)
