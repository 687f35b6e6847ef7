"""Moves of random tokens, the search for games that pay for improbable words (Def. 30)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evo.jobs.evaluation import ScoredPlay, Task, scored_play, seated
from evo.jobs.results import seconds_of_work
from xgl.analysis.static_facts import analyse
from xgl.errors import OversizeError
from xgl.random_streams import stream
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import Move, MoveRequest, Player, Seeds, Turn

if TYPE_CHECKING:
    from xgl.judge.transformer_judge import TransformerJudge

MOVES, FEWEST = 32, 4
"""Random plays on each map, and how many at least where a play has many moves."""
MOVES_OF_A_MAP = 48
"""Moves asked for on a map, by all players together, beyond which it has fewer plays."""


def search(
    judge: TransformerJudge, cast: Cast, task: Task, seeds: Sequence[Seeds]
) -> list[list[ScoredPlay]]:
    """The best and the median of up to ``MOVES`` random plays on each map, (2, seeds) in bits; a
    map without a finished play has an unfinished one twice."""
    start = seconds_of_work()
    asked = sum(each.times for each in analyse(task.game.program, task.game.metadata).elicits)
    count = min(MOVES, max(FEWEST, MOVES_OF_A_MAP // asked))
    names = list(map(str, range(count)))
    players: dict[str, Player] = {name: _Once(player) for name, player in cast.players.items()}
    seats = seated(Cast(cast.judge, cast.stories, players), task, _RandomTokens(judge))
    plays = play_all([Instance(task.game, each, name) for each in seeds for name in names], seats)
    seconds = (seconds_of_work() - start) / max(1, len(plays))
    found: list[tuple[ScoredPlay, ScoredPlay]] = []
    for index, each in enumerate(seeds):
        own = plays[index * count : (index + 1) * count]
        scored = [scored_play(task, each, one, None, judge.uniform_bits, seconds) for one in own]
        ranking = sorted(scored, key=lambda play: -play.raw)
        finished = [play for play in ranking if math.isfinite(play.raw)] or ranking
        found.append((finished[0], finished[len(finished) // 2]))
    return [list(plays) for plays in zip(*found, strict=True)]


class _RandomTokens:
    """As many random tokens as a move may have; gives up after a failed ensure."""

    def __init__(self, judge: TransformerJudge) -> None:
        self.lm = judge.lm

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        return [self._move(turn) for turn in turns]

    def _move(self, turn: Turn) -> Move | OversizeError:
        if any(item.label == "ensure" for item in turn.request.view.items):
            return OversizeError("random tokens have no second attempt")
        rng = stream("random tokens", *turn.key, int(turn.policy))
        ids = rng.integers(len(self.lm.tokenizer), size=turn.request.max_len)
        return Move(" ".join(self.lm.decode(ids.tolist()).split()))


class _Once:
    """A player that is asked only once for what it would answer alike."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.answers: dict[tuple[tuple[int, ...], MoveRequest], Move | OversizeError] = {}

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        keys = [(turn.key, turn.request) for turn in turns]
        new = {k: turn for k, turn in zip(keys, turns, strict=True) if k not in self.answers}
        self.answers.update(zip(new, self.player.moves([*new.values()]), strict=True))
        return [self.answers[key] for key in keys]
