"""Search for the best moves of a game with access to the judge (docs/specification.md, "Ceilings"):
two solvers of one map, many samples and beam search, with a budget of judge calls.

A game with several moves is searched move by move, with the other moves fixed as in the best play
so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, zip_longest
from typing import NamedTuple

import numpy as np

from xgl.errors import OversizeError
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.canonical import Game
from xgl.models import corpus
from xgl.players import OneAttempt
from xgl.players.scripts import SCRIPTS, ScriptPlayer, visible_texts
from xgl.random_streams import seed as named_seed, stream
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.presentation import STOP, one_line
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
        self.tried: set[Moves] = set()

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
        self.keep(self.trials.play_moves(list(new)))
        self.tried.update(new)
        return self.trials.play_moves(affordable)

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
        players = {**self.cast.players, self.role: OneAttempt(player)}
        return play_all(instances, replace(self.cast, players=players))

    def _attempt(self, moves: Moves, play: Play) -> Attempt:
        if play.outcome_for(self.role) != "finished":
            return Attempt(moves, -math.inf)
        return Attempt(tuple(play.accepted_moves(self.role)), play.scores.get(self.role, 0.0))


class _CandidatePlayer:
    """Plays candidates; a turn's policy is the index of one."""

    def __init__(self, candidates: Sequence[Moves]) -> None:
        self.remaining, self.turns = [iter(moves) for moves in candidates], list[Turn]()

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        self.turns += turns
        texts = (next(self.remaining[int(turn.policy)], None) for turn in turns)
        end = OversizeError("a candidate has no further move")
        return [end if text is None else Move(text) for text in texts]


class _ResampledPlayer(NamedTuple):
    """A player with a random stream of its own for each policy, which is a number."""

    player: Player
    seeds: Seeds

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        again = []
        for turn in turns:
            seed = named_seed("solver sample", self.seeds.play_seed, turn.policy)
            again.append(replace(turn, seeds=Seeds(self.seeds.map_seed, seed), policy=""))
        return self.player.moves(again)


SAMPLES_AT_ONCE = 128
UNREADABLE = "\ufffd"
"""The text of a token that is a part of a character."""


@dataclass(frozen=True)
class Solvers:
    """``calls``: judge calls of each solver on each map. ``width``: beams kept. ``player``: whose
    samples are tried; None: scripts alone."""

    judge: TransformerJudge
    calls: int
    player: Player | None = None
    width: int = 8

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The texts of the judge's tokens, of which beams are built besides words in view: with the
        space that some begin with, without those that would end a move."""
        lm = self.judge.lm
        size = min(int(lm.model.config.vocab_size), len(lm.tokenizer))
        singles = [[token] for token in range(size)]
        alone = lm.tokenizer.batch_decode(singles, skip_special_tokens=True)
        # A token alone may lose its space, so each is decoded after a word.
        word = next(token for token, text in enumerate(alone) if text.strip().isalpha())
        pairs = [[word, token] for token in range(size)]
        texts = lm.tokenizer.batch_decode(pairs, skip_special_tokens=True)
        pieces = (text[len(alone[word]) :] for text in texts)
        usable = (piece for piece in pieces if piece.strip() and STOP not in piece)
        return tuple(dict.fromkeys(piece for piece in usable if UNREADABLE not in piece))

    def solve(self, trials: MapTrials) -> list[Solution]:
        """The solution of each solver on a map, without solvers that finished no play."""
        solutions = []
        for name, solver in (("samples", self.sample), ("beam", self.beam)):
            search = Search(trials, self.calls)
            solver(search)
            if search.best is not None:
                solutions.append(Solution(name, search.best, search.calls, tuple(search.curve)))
        return solutions

    def sample(self, search: Search) -> None:
        """Every script once, then the player until the calls are spent."""
        scripts = list(SCRIPTS)[: search.remaining]
        search.keep(search.trials.play_policies(ScriptPlayer(self.judge.count), scripts))
        if self.player is None:
            return
        player = _ResampledPlayer(self.player, search.trials.seeds)
        for first in range(0, search.remaining, SAMPLES_AT_ONCE):
            samples = range(first, first + min(SAMPLES_AT_ONCE, search.remaining))
            search.keep(search.trials.play_policies(player, list(map(str, samples))))

    def beam(self, search: Search) -> None:
        """Build a move from the empty one by pieces that add most: words in view, judge tokens."""
        best = search.trials.best()
        moves = best.moves if best else ()
        turns = search.trials.turns(moves) if best else search.trials.turns(("",))[:1]
        shares = np.linspace(0, self.calls, len(turns) + 1).astype(int)[1:]
        for index, turn in enumerate(turns):
            start = (*moves[:index], "", *moves[index + 1 :])
            until = int(search.budget - shares[index])
            search.attempts([start])
            pieces: Sequence[str] = self._pieces(search.trials, turn)
            width, before = self.width, -1
            while search.remaining > until and search.calls > before:  # the rest goes into width
                before, limit = search.calls, turn.request.max_len
                pieces = self._extend(search, start, (index, limit), pieces, width, until)
                width *= 2
            moves = search.best.moves if search.best is not None else moves

    def _extend(
        self,
        search: Search,
        start: Moves,
        place: tuple[int, int],
        pieces: Sequence[str],
        width: int,
        until: int,
    ) -> Sequence[str]:
        """Run one pass to the move's limit (``place``: its index, and limit) that leaves ``until``
        calls; returns the pieces, sorted by the score of each by itself."""
        (index, limit), beams = place, [start]
        for steps in range(limit, 0, -1):
            share = (search.remaining - until) // (min(steps, 3) if steps == limit else steps)
            # The beams in turn: as many that the search has not tried as its share allows, and
            # between these the ones that it has.
            streams = [self._extensions(beam, pieces, *place) for beam in beams]
            longer, new = dict[Moves, None](), 0
            for moves in filter(None, chain.from_iterable(zip_longest(*streams))):
                if new >= share:
                    break
                new += moves not in search.tried and moves not in longer
                longer[moves] = None
            attempts = search.attempts(list(longer))
            if not attempts:
                break
            ranking = sorted(zip(longer, attempts, strict=False), key=lambda pair: -pair[1].score)
            if steps == limit:  # what is good alone is tried first after it
                alone = {moves[index]: rank for rank, (moves, _) in enumerate(ranking)}
                pieces = sorted(pieces, key=lambda p: alone.get(one_line(p), len(alone)))
            beams = [moves for moves, attempt in ranking[:width] if attempt.finished]
        return pieces

    def _extensions(
        self, beam: Moves, pieces: Sequence[str], index: int, limit: int
    ) -> Iterator[Moves]:
        """A beam with a piece at the end of one move, for each piece that fits."""
        for piece in pieces:
            text = one_line(beam[index] + piece)
            if text != beam[index] and self.judge.count(text) <= limit:
                yield (*beam[:index], text, *beam[index + 1 :])

    def _pieces(self, trials: MapTrials, turn: Turn) -> list[str]:
        """Words in view, those with content first, then the vocabulary in an order of the map."""
        texts = visible_texts(turn.request.view)
        words = [word for text in texts for word in corpus.content_words(text)]
        words += [word for text in texts for word in text.split()]
        rng = stream("beam", trials.seeds.map_seed, trials.seeds.play_seed, turn.request.turn)
        pieces = [self.pieces[index] for index in rng.permutation(len(self.pieces))]
        return list(dict.fromkeys([*(f" {word}" for word in words), *pieces]))
