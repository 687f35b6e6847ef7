"""Two solvers of one map: many samples, and beam search.

A game with several moves is searched move by move, with the other moves fixed as in the best play
so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xgl.judge.transformer_judge import TransformerJudge
from xgl.models import corpus
from xgl.players.scripts import SCRIPTS, ScriptPlayer, visible_texts
from xgl.random_streams import stream
from xgl.runtime.presentation import STOP
from xgl.runtime.requests import Player, Turn
from xgl.solvers.trials import (
    MapTrials,
    Moves,
    Search,
    Solution,
    one_line,
)

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
        """What beams are built of, besides words in view."""
        return vocabulary(self.judge)

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
        for first in range(0, search.remaining if self.player else 0, SAMPLES_AT_ONCE):
            samples = range(first, first + min(SAMPLES_AT_ONCE, search.remaining))
            assert self.player is not None
            search.keep(search.trials.play_samples(self.player, samples))

    # -- beam search ---------------------------------------------------------------------------

    def beam(self, search: Search) -> None:
        """Build a move from the empty one by pieces that add most: words in view, judge tokens."""
        moves, turns = _opening(search.trials)
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
            longer = self._longer(search, beams, pieces, place, share)
            attempts = search.attempts(longer)
            if not attempts:
                break
            ranking = sorted(zip(longer, attempts, strict=False), key=lambda pair: -pair[1].score)
            if steps == limit:  # what is good alone is tried first after it
                alone = {moves[index]: rank for rank, (moves, _) in enumerate(ranking)}
                pieces = sorted(pieces, key=lambda p: alone.get(one_line(p), len(alone)))
            beams = [moves for moves, attempt in ranking[:width] if attempt.finished]
        return pieces

    def _longer(
        self,
        search: Search,
        beams: Sequence[Moves],
        pieces: Sequence[str],
        place: tuple[int, int],
        most: int,
    ) -> list[Moves]:
        """Beams with a piece at the end of one move, the beams in turn; at most ``most`` of them
        that the search has not tried, and between these the ones that it has."""
        streams = [self._extensions(beam, pieces, *place) for beam in beams]
        longer, new = dict[Moves, None](), 0
        while streams and new < most:
            for extensions in list(streams):
                moves = next(extensions, None)
                if moves is None:
                    streams.remove(extensions)
                elif new < most and moves not in longer:
                    longer[moves] = None
                    new += moves not in search.tried
        return list(longer)

    def _extensions(
        self, beam: Moves, pieces: Sequence[str], index: int, limit: int
    ) -> Iterator[Moves]:
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


def vocabulary(judge: TransformerJudge) -> tuple[str, ...]:
    """The texts of the judge's tokens, with the space that some begin with, but without those that
    would end a move."""
    lm = judge.lm
    size = min(int(lm.model.config.vocab_size), len(lm.tokenizer))
    alone = lm.tokenizer.batch_decode([[token] for token in range(size)], skip_special_tokens=True)
    # A token alone may lose its space, so each is decoded after a word.
    word = next(token for token, text in enumerate(alone) if text.strip().isalpha())
    pairs = [[word, token] for token in range(size)]
    texts = lm.tokenizer.batch_decode(pairs, skip_special_tokens=True)
    pieces = (text[len(alone[word]) :] for text in texts)
    usable = (piece for piece in pieces if piece.strip() and STOP not in piece)
    return tuple(dict.fromkeys(piece for piece in usable if UNREADABLE not in piece))


def _opening(trials: MapTrials) -> tuple[Moves, tuple[Turn, ...]]:
    """The best moves so far and the turn of each; without a finished play, no moves and the first
    turn alone."""
    if (best := trials.best()) is None:
        return (), tuple(trials.turns(("",))[:1])
    return best.moves, tuple(trials.turns(best.moves))
