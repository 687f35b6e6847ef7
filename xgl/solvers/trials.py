"""Plays of one role of one game on one map, by moves that a solver chose; its budget of judge
calls, and its curve."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xgl.errors import OversizeError
from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.random_streams import seed as named_seed
from xgl.runtime.lockstep import Cast, Instance, RunningMachine, machines_of, play_all, step
from xgl.runtime.presentation import STOP
from xgl.runtime.requests import (
    Move,
    Play,
    Player,
    Rewarded,
    ScoreRequest,
    Seeds,
    Turn,
)

GRADIENT_CALLS = 3
"""What a gradient counts as: the judge reads the texts of a play forwards and backwards."""


@dataclass(frozen=True)
class Solution:
    """The best moves that a solver came to on one map. ``curve`` has a point (judge calls, best
    score so far in bits) for each improvement; ``calls`` is what it spent in all. One call is one
    candidate's play, whatever the number of texts that the judge reads in it."""

    solver: str
    best: Attempt
    calls: int
    curve: tuple[tuple[int, float], ...]


class Search:
    """One solver at work on one map, with ``calls`` to spend. A candidate that it tried already
    costs nothing; one that only other solvers tried costs what it costs them."""

    def __init__(self, trials: MapTrials, calls: int) -> None:
        self.trials, self.budget, self.calls = trials, calls, 0
        self.best: Attempt | None = None
        self.curve: list[tuple[int, float]] = []
        self._seen: dict[Moves, Attempt] = {}

    @property
    def left(self) -> int:
        """Calls that may still be spent."""
        return self.budget - self.calls

    def tried(self, moves: Moves) -> bool:
        """Whether these moves cost nothing any more."""
        return moves in self._seen

    def spend(self, calls: int) -> bool:
        """Spend calls on something else than plays; False where too few are left."""
        if calls > self.left:
            return False
        self.calls += calls
        return True

    def attempts(self, candidates: Sequence[Moves]) -> list[Attempt]:
        """The attempts of candidates in their order, as many as the calls allow."""
        affordable: list[Moves] = []
        new: dict[Moves, None] = {}
        for moves in candidates:
            if moves not in self._seen and moves not in new:
                if len(new) == self.left:
                    break
                new[moves] = None
            affordable.append(moves)
        made = dict(zip(new, self.trials.of_moves(list(new)), strict=True))
        for moves, attempt in made.items():
            self.keep(attempt)
            self._seen[moves] = attempt
        return [self._seen[moves] for moves in affordable]

    def keep(self, attempt: Attempt) -> None:
        """Count one play, and mark it on the curve where it is the best so far."""
        self.calls += 1
        if attempt.finished and (self.best is None or attempt.score > self.best.score):
            self.best = attempt
            self.curve.append((self.calls, attempt.score))

    def solution(self, solver: str) -> Solution | None:
        """What the solver came to; None where no play was finished."""
        if self.best is None:
            return None
        return Solution(solver, self.best, self.calls, tuple(self.curve))


Moves = tuple[str, ...]
BATCH = 256
"""Plays that run in lockstep."""


@dataclass(frozen=True)
class Attempt:
    """The role's moves in one play, as the game cut them, and their bits; −∞ where a rule was
    broken or a text outgrew a model, so that the play did not finish."""

    moves: Moves
    score: float

    @property
    def finished(self) -> bool:
        """Whether the moves obey every rule."""
        return self.score > -math.inf


@dataclass(frozen=True)
class SignedScore:
    """A cross-entropy that the role is paid, or pays, for: ``sign`` × its bits."""

    sign: int
    request: ScoreRequest


class MapTrials:
    """One map with its chance. Moves go the way of every player's moves: they end with the line,
    are cut at the game's limit, and are asked about by every ensure; unlike players, a candidate
    that fails an ensure has no second attempt. What was played once is remembered."""

    def __init__(self, game: Game, role: str, seeds: Seeds, cast: Cast) -> None:
        self.game, self.role, self.seeds, self.cast = game, role, seeds, cast
        self.known: dict[Moves, Attempt] = {}
        """By the moves as they were chosen."""

    def of_moves(self, candidates: Sequence[Moves]) -> list[Attempt]:
        """One attempt for each candidate, which has all of the role's moves in order."""
        whole = [tuple(map(one_line, moves)) for moves in candidates]
        new = [moves for moves in dict.fromkeys(whole) if moves not in self.known]
        for first in range(0, len(new), BATCH):
            part = new[first : first + BATCH]
            plays = self._plays(_Chosen(part), map(str, range(len(part))))
            attempts = map(self._attempt, part, plays)
            self.known.update(zip(part, attempts, strict=True))
        return [self.known[moves] for moves in whole]

    def of_player(self, player: Player, samples: Sequence[int]) -> list[Attempt]:
        """Attempts of a player, whose own chance has another name in each of ``samples``."""
        resampled = _Resampled(player, self.seeds)
        return self._played(resampled, [str(sample) for sample in samples])

    def of_policies(self, player: Player, policies: Sequence[str]) -> list[Attempt]:
        """Attempts of the policies of a player that is several, such as the scripts."""
        return self._played(player, policies)

    def turns(self, moves: Moves) -> list[Turn]:
        """What the role is asked in a play of these moves, as far as they lead."""
        player = _Chosen([moves])
        self._plays(player, ["0"])
        return player.turns

    def signed_scores(self, moves: Moves) -> list[SignedScore]:
        """The cross-entropies whose signed sum is the role's score of a finished play, but for
        constants."""
        running = self._running_machine(moves)
        signed: list[SignedScore] = []
        requests: list[ScoreRequest] = []
        while not running.is_idle:
            machine = running.machine
            if isinstance(self.game.program.instructions[machine.flow.position], syn.Reward):
                requests += [each for each in running.requests if isinstance(each, ScoreRequest)]
            before = len(machine.events)
            step([running])
            paid = [each for each in machine.events[before:] if isinstance(each, Rewarded)]
            for event in paid:
                if event.player == self.role and len(event.xents) == len(requests):
                    signs = (sign for sign, _ in event.xents)
                    signed += map(SignedScore, signs, requests)
            requests = [] if paid else requests
        return signed

    def _running_machine(self, moves: Moves) -> RunningMachine:
        instance = Instance(self.game, self.seeds, "0")
        [machine] = machines_of([instance])
        return RunningMachine(instance, self._seated(_Chosen([moves])), machine)

    def _played(self, player: Player, policies: Sequence[str]) -> list[Attempt]:
        plays = self._plays(player, policies)
        attempts = [self._attempt((), play) for play in plays]
        self.known.update((each.moves, each) for each in attempts if each.finished)
        return attempts

    def _plays(self, player: Player, policies: Iterable[str]) -> list[Play]:
        instances = [Instance(self.game, self.seeds, policy) for policy in policies]
        return play_all(instances, self._seated(player))

    def _seated(self, player: Player) -> Cast:
        return replace(self.cast, players={**self.cast.players, self.role: player})

    def _attempt(self, chosen: Moves, play: Play) -> Attempt:
        if play.outcome_for(self.role) != "finished":
            return Attempt(chosen, -math.inf)
        return Attempt(tuple(play.accepted_moves(self.role)), play.scores.get(self.role, 0.0))


def one_line(text: str) -> str:
    """A text as a player could say it: a move ends where a line ends.

    >>> one_line(" a cat\\nreward: 9")
    'a cat'
    """
    return text.strip().split(STOP)[0].strip()


class _Chosen:
    """Says candidates, of which a turn's policy is the place; sent back, it gives up."""

    def __init__(self, candidates: Sequence[Moves]) -> None:
        self.candidates, self.turns = candidates, list[Turn]()
        self._made = Counter[str]()

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        self.turns += turns
        return [self._move(turn) for turn in turns]

    def _move(self, turn: Turn) -> Move | OversizeError:
        moves, place = self.candidates[int(turn.policy)], self._made[turn.policy]
        failed = any(item.label == "ensure" for item in turn.request.view.items)
        if failed or place >= len(moves):
            return OversizeError("a candidate has no second attempt")
        self._made[turn.policy] += 1
        return Move(moves[place])


@dataclass(frozen=True)
class _Resampled:
    """A player whose moves have chance of their own for each policy, a number."""

    player: Player
    seeds: Seeds

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        return self.player.moves([self._again(turn) for turn in turns])

    def _again(self, turn: Turn) -> Turn:
        own = named_seed("solver sample", self.seeds.play_seed, turn.policy, bits=62)
        return replace(turn, seeds=Seeds(self.seeds.map_seed, own), policy="")
