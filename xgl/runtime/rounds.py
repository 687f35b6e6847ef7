"""Repeated play: the same game on the same map, with earlier rounds in view (paper §4.1.3).

Seeds stay as they are from round to round, so the others get the same random numbers each time and
see no earlier round; the main player's random numbers are new in each. In the control each map
shows the rounds of another map, made by the same player under the same seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xgl.language.canonical import Game
from xgl.runtime.lockstep import Cast, Instance, Memory, play_all
from xgl.runtime.presentation import Sight
from xgl.runtime.requests import Item, Moved, Play, Seeds

RoundItems = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """One play of a series on one map; ``number`` counts from 1; ``control``: whether the
    earlier rounds in its view are those of another map."""

    seeds: Seeds
    number: int
    control: bool
    play: Play


def play_rounds(
    game: Game,
    role: str,
    cast: Cast,
    seeds: Sequence[Seeds],
    rounds: int,
    control: bool = True,
    policy: str = "",
) -> list[Round]:
    """``rounds`` plays on each of ``seeds``, all maps of a round in one batch.

    The control begins at round 2. Its plays see the earlier rounds of the next map (a cyclic
    shift), those played with that map's own history in view. In round 1 there is no history, so it
    needs no control. Raises ``ValueError`` for a control on fewer than two maps.
    """
    if control and len(seeds) < 2:
        raise ValueError(f"found {len(seeds)} maps, expected two or more for a control")
    history: list[tuple[RoundItems, ...]] = [()] * len(seeds)
    results: list[Round] = []
    for number in range(1, rounds + 1):
        histories = [(False, history)]
        if control and number > 1:
            histories.append((True, [*history[1:], *history[:1]]))
        instances = [
            (other, Instance(game, instance_seeds, policy, Memory(role, number, earlier)))
            for other, earliers in histories
            for instance_seeds, earlier in zip(seeds, earliers, strict=True)
        ]
        plays = play_all([instance for _, instance in instances], cast)
        results += [
            Round(instance.seeds, number, other, play)
            for (other, instance), play in zip(instances, plays, strict=True)
        ]
        own = plays[: len(seeds)]  # the control's plays are nobody's history
        history = [
            (*past, visible_items(game, play, role))
            for past, play in zip(history, own, strict=True)
        ]
    return results


def visible_items(game: Game, play: Play, role: str) -> RoundItems:
    """All items of a play that ``role`` sees up to its end, the last reward too."""
    return Sight.for_game(game, role).visible_items(play.events)


def rounds_shown(play: Play, role: str) -> int:
    """The smallest number of earlier rounds in the role's view over its moves in the play."""
    moves = [e.move for e in play.events if isinstance(e, Moved) and e.player == role]
    return min((move.rounds_shown for move in moves), default=0)
