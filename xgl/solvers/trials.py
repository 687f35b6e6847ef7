"""Plays of one role of one game on one map with the moves of a solver; the solver's budget of
judge calls, and its curve."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from xgl.errors import OversizeError
from xgl.language.canonical import Game
from xgl.random_streams import seed as named_seed
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.presentation import STOP
from xgl.runtime.requests import Move, Play, Player, Seeds, Turn

BATCH = 256
"""Plays that run in lockstep."""
Moves = tuple[str, ...]


class Attempt(NamedTuple):
    """The role's moves in one play, as the game cut them, and their bits; −∞ where a rule was
    broken or a text outgrew a model, so that the play did not finish."""

    moves: Moves
    score: float

    @property
    def finished(self) -> bool:
        """Whether the moves obey every rule."""
        return self.score > -math.inf


class Solution(NamedTuple):
    """The best moves that a solver found on one map. ``curve`` has a point (judge calls, best score
    so far in bits) for each improvement; ``calls`` counts all that it spent. One call is one
    candidate's play, whatever the number of texts that the judge reads in it."""

    solver: str
    best: Attempt
    calls: int
    curve: tuple[tuple[int, float], ...]


class Search:
    """One solver at work on one map, with ``budget`` judge calls to spend. A candidate that this
    solver tried before costs nothing; one that only other solvers tried costs a call."""

    def __init__(self, trials: MapTrials, budget: int) -> None:
        self.trials, self.budget, self.calls = trials, budget, 0
        self.best: Attempt | None = None
        self.curve: list[tuple[int, float]] = []
        self.tried: dict[Moves, Attempt] = {}

    @property
    def remaining(self) -> int:
        """Calls that may still be spent."""
        return self.budget - self.calls

    def attempts(self, candidates: Sequence[Moves]) -> list[Attempt]:
        """The attempts of candidates in their order, as many as the calls allow."""
        affordable, new = list[Moves](), dict[Moves, None]()
        for moves in candidates:
            if moves not in self.tried and moves not in new:
                if len(new) == self.remaining:
                    break
                new[moves] = None
            affordable.append(moves)
        attempts = self.trials.play_moves(list(new))
        self.keep(attempts)
        self.tried.update(zip(new, attempts, strict=True))
        return [self.tried[moves] for moves in affordable]

    def keep(self, attempts: Iterable[Attempt]) -> None:
        """Count plays, and mark on the curve each that is the best so far."""
        for attempt in attempts:
            self.calls += 1
            if attempt.finished and (self.best is None or attempt.score > self.best.score):
                self.best = attempt
                self.curve.append((self.calls, attempt.score))


class MapTrials:
    """Plays of one map under fixed seeds. Moves are treated as every player's moves: they end with
    the line, are cut at the game's limit and must pass every ensure; but a candidate that fails an
    ensure has no second attempt. Moves that were played once are not played again."""

    def __init__(self, game: Game, role: str, seeds: Seeds, cast: Cast) -> None:
        self.game, self.role, self.seeds, self.cast = game, role, seeds, cast
        self.attempts: dict[Moves, Attempt] = {}
        """Attempts by the candidate's moves, before the game cuts them."""

    def play_moves(self, candidates: Sequence[Moves]) -> list[Attempt]:
        """One attempt for each candidate, which has all of the role's moves in order."""
        whole = [tuple(map(one_line, moves)) for moves in candidates]
        new = [moves for moves in dict.fromkeys(whole) if moves not in self.attempts]
        for first in range(0, len(new), BATCH):
            part = new[first : first + BATCH]
            plays = self._plays(_CandidatePlayer(part), map(str, range(len(part))))
            self.attempts.update(zip(part, map(self._attempt, part, plays), strict=True))
        return [self.attempts[moves] for moves in whole]

    def play_samples(self, player: Player, samples: Sequence[int]) -> list[Attempt]:
        """Attempts of a player, with a random stream of its own for each of ``samples``."""
        return self.play_policies(_ResampledPlayer(player, self.seeds), list(map(str, samples)))

    def play_policies(self, player: Player, policies: Sequence[str]) -> list[Attempt]:
        """Attempts of several policies of one player, such as the scripts."""
        attempts = [self._attempt((), play) for play in self._plays(player, policies)]
        self.attempts.update((attempt.moves, attempt) for attempt in attempts if attempt.finished)
        return attempts

    def best(self) -> Attempt | None:
        """The best finished attempt by any solver."""
        attempts = [a for a in self.attempts.values() if a.finished]
        return max(attempts, key=lambda attempt: (attempt.score, attempt.moves), default=None)

    def turns(self, moves: Moves) -> list[Turn]:
        """The role's turns in a play of these moves, up to the first that has no move."""
        player = _CandidatePlayer([moves])
        self._plays(player, ["0"])
        return player.turns

    def _plays(self, player: Player, policies: Iterable[str]) -> list[Play]:
        instances = [Instance(self.game, self.seeds, policy) for policy in policies]
        players = {**self.cast.players, self.role: player}
        return play_all(instances, replace(self.cast, players=players))

    def _attempt(self, moves: Moves, play: Play) -> Attempt:
        if play.outcome_for(self.role) != "finished":
            return Attempt(moves, -math.inf)
        return Attempt(tuple(play.accepted_moves(self.role)), play.scores.get(self.role, 0.0))


def one_line(text: str) -> str:
    """A text as a player could say it: a move ends where a line ends.

    >>> one_line(" a cat\\nreward: 9")
    'a cat'
    """
    return text.strip().split(STOP)[0].strip()


class _CandidatePlayer:
    """Plays candidates; a turn's policy is the index of one. Gives up after a failed ensure."""

    def __init__(self, candidates: Sequence[Moves]) -> None:
        self.candidates, self.turns = candidates, list[Turn]()
        self._move_counts = Counter[str]()

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        self.turns += turns
        return [self._move(turn) for turn in turns]

    def _move(self, turn: Turn) -> Move | OversizeError:
        moves, index = self.candidates[int(turn.policy)], self._move_counts[turn.policy]
        has_failed = any(item.label == "ensure" for item in turn.request.view.items)
        if has_failed or index >= len(moves):
            return OversizeError("a candidate has no second attempt")
        self._move_counts[turn.policy] += 1
        return Move(moves[index])


@dataclass(frozen=True)
class _ResampledPlayer:
    """A player with a random stream of its own for each policy, which is a number."""

    player: Player
    seeds: Seeds

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        name, play = "solver sample", self.seeds.play_seed
        own = [named_seed(name, play, turn.policy, bits=62) for turn in turns]
        again = [
            replace(turn, seeds=Seeds(self.seeds.map_seed, seed), policy="")
            for turn, seed in zip(turns, own, strict=True)
        ]
        return self.player.moves(again)
