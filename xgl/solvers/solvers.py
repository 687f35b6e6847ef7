"""Three solvers of one map: many samples, beam search, coordinate-wise search along the gradient.

All use the candidate's score; the last one also uses its gradient. A game with several moves is
searched move by move, with the other moves fixed as in the best play so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel, length_mask, pad
from xgl.lm.prefix_sharing import Ids, ScoredSequence
from xgl.models import corpus
from xgl.players.scripts import SCRIPTS, ScriptPlayer, visible_texts
from xgl.random_streams import stream
from xgl.runtime.presentation import STOP
from xgl.runtime.requests import Player, ScoreRequest, Turn
from xgl.solvers.trials import (
    GRADIENT_CALLS,
    Attempt,
    MapTrials,
    Moves,
    Search,
    SignedScore,
    Solution,
    one_line,
)

# -- the gradient of the judge's bits with respect to the tokens of a move -------------------------
# As one-hot vectors, as in greedy coordinate gradient (Zou et al. 2023, arXiv:2307.15043).

Occurrence = tuple[int, ScoredSequence, tuple[tuple[int, int], ...]]
"""The sign of a sequence that the judge reads, the sequence, and the positions of the move's tokens
in it: pairs (index in the sequence, index in the move)."""


def token_gradient(
    judge: TransformerJudge, scores: Sequence[SignedScore], move: str
) -> Tensor | None:
    """(P, V) float32, on the CPU: gradient of the signed sum of ``scores``, in bits, with respect
    to token v at position p of the move, whose P tokens are the judge's own.

    None if the move is read nowhere: it is empty, was cut to pieces, or became part of other
    tokens.
    """
    ids, lm = judge.tokens(move), judge.lm
    one_hot = torch.zeros(len(ids), int(lm.model.config.vocab_size), device=lm.device)
    one_hot[range(len(ids)), list(ids)] = 1.0
    with torch.enable_grad():
        one_hot.requires_grad_(True)
        bits = bits_of_soft_move(judge, scores, move, one_hot)
        if bits is None:
            return None
        [gradient] = torch.autograd.grad(bits, one_hot)
    return torch.as_tensor(gradient).float().cpu()


def bits_of_soft_move(
    judge: TransformerJudge, scores: Sequence[SignedScore], move: str, one_hot: Tensor
) -> Tensor | None:
    """The signed sum () of those ``scores`` whose texts hold the move, in bits, with ``one_hot``
    (P, V) in place of its tokens; differentiable. None if no text holds it."""
    ids = judge.tokens(move)
    occurrences = list(filter(None, (_occurrence(judge, *each, move) for each in scores)))
    return _signed_bits(judge.lm, occurrences, one_hot) if occurrences and ids else None


def _occurrence(
    judge: TransformerJudge, sign: int, request: ScoreRequest, move: str
) -> Occurrence | None:
    sequence, ids = judge.sequence(request), judge.tokens(move)
    if sequence is None or len(sequence.ids) > judge.lm.window:
        return None
    forms = [ids, judge.tokens(f" {move}")]  # in the paper's dialect a space stands before it
    whole = [form for form in forms if len(form) == len(ids)]
    places = dict.fromkeys(place for form in whole for place in _token_places(sequence, form))
    return (sign, sequence, tuple(places)) if places else None


def _token_places(sequence: ScoredSequence, ids: Ids) -> Iterator[tuple[int, int]]:
    """Index pairs of the move's tokens: of all of them or, if those at its ends became part of
    other tokens, of the others."""
    for first, last in ((0, 0), (1, 0), (0, 1), (1, 1)):
        part = ids[first : len(ids) - last]
        starts = range(len(sequence.ids) - len(part) + 1) if part else ()
        places = [start for start in starts if sequence.ids[start : start + len(part)] == part]
        if places:
            for start in places:
                yield from ((start + k, first + k) for k in range(len(part)))
            return


def _signed_bits(lm: LanguageModel, occurrences: Sequence[Occurrence], one_hot: Tensor) -> Tensor:
    """The signed sum of bits, differentiable with respect to ``one_hot`` (P, V), which replaces the
    move's tokens both as inputs and as targets."""
    embedding = lm.model.get_input_embeddings().weight
    ids, lengths = pad([sequence.ids for _, sequence, _ in occurrences], lm.device)
    mask = length_mask(lengths, ids.shape[1])
    inputs = embedding[ids].clone()
    move_embeddings = one_hot.to(embedding.dtype) @ embedding
    columns = [torch.tensor(places, device=lm.device).T for *_, places in occurrences]
    for row, (at, of) in enumerate(columns):
        inputs[row, at] = move_embeddings[of]
    hidden = lm.backbone(inputs_embeds=inputs, attention_mask=mask).last_hidden_state
    total = one_hot.new_zeros(())
    for row, ((sign, sequence, _), (at, of)) in enumerate(zip(occurrences, columns, strict=True)):
        end = len(sequence.ids)
        first = end - sequence.target_count
        logprobs = lm.logits(hidden[row, first - 1 : end - 1]).log_softmax(-1)
        targets = torch.nn.functional.one_hot(ids[row, first:end], one_hot.shape[1])
        targets = targets.to(one_hot.dtype)
        is_scored = at >= first
        targets[at[is_scored] - first] = one_hot[of[is_scored]]
        total = total - sign * (targets * logprobs).sum() / math.log(2)
    return total


SAMPLES_AT_ONCE = 128
UNREADABLE = "\ufffd"
"""The text of a token that is a part of a character."""


@dataclass(frozen=True)
class Solvers:
    """``calls``: judge calls of each solver on each map. ``width``: beams kept. ``batch``:
    candidates of one step of the coordinate-wise search; ``patience``: its steps without a better
    move before it begins again elsewhere. ``player``: whose samples are tried; None: scripts
    alone."""

    judge: TransformerJudge
    calls: int
    player: Player | None = None
    width: int = 8
    batch: int = 32
    patience: int = 4

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """What beams are built of, besides words in view."""
        return vocabulary(self.judge)

    def solve(self, trials: MapTrials) -> list[Solution]:
        """The solution of each solver on a map, without solvers that finished no play; the
        coordinate-wise one starts from the best moves of the others."""
        solutions = []
        for name, solver in (
            ("samples", self.sample),
            ("beam", self.beam),
            ("gradient", self.climb),
        ):
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

    # -- coordinate-wise search along the gradient ---------------------------------------------

    def climb(self, search: Search) -> None:
        """Change one token of the best moves at a time; if no change helps any more, begin again
        from the next best."""
        _, turns = _opening(search.trials)
        starts: set[Moves] = set()
        while search.remaining > 0 and (here := search.trials.best(starts)) is not None:
            starts.add(here.moves)
            search.attempts([here.moves])
            idle = 0
            while idle < len(turns) and search.remaining > 0:
                for index, turn in enumerate(turns):
                    better = self._step(search, here, index, turn, starts)
                    idle = 0 if better.score > here.score else idle + 1
                    here = better
                    starts.add(here.moves)

    def _step(
        self, search: Search, here: Attempt, index: int, turn: Turn, starts: set[Moves]
    ) -> Attempt:
        """The best attempt of the first batch that has a better one than ``here`` from which no
        search began yet; ``here`` without one."""
        changes = self._changes(search, here, index, turn)
        for _ in range(self.patience):
            attempts = search.attempts(list(islice(changes, self.batch)))
            new = [attempt for attempt in attempts if attempt.moves not in starts]
            best = max(new, key=lambda attempt: attempt.score, default=here)
            if best.score > here.score:
                return best
            if len(attempts) < self.batch:
                break
        return here

    def _changes(self, search: Search, here: Attempt, index: int, turn: Turn) -> Iterator[Moves]:
        """Moves with one token changed, added or left out, the most promising first."""
        seen_texts = {here.moves[index]}
        for ids in self._token_changes(search, here.moves, index, turn):
            text = one_line(self.judge.lm.decode(ids))
            if text not in seen_texts and self.judge.count(text) <= turn.request.max_len:
                seen_texts.add(text)
                yield (*here.moves[:index], text, *here.moves[index + 1 :])

    def _token_changes(
        self, search: Search, moves: Moves, index: int, turn: Turn
    ) -> Iterator[tuple[int, ...]]:
        ids, gradient = self.judge.tokens(moves[index]), None
        if ids and search.remaining > GRADIENT_CALLS:
            scores = search.trials.signed_scores(moves)
            gradient = token_gradient(self.judge, scores, moves[index])
        if gradient is None:
            for piece in self._pieces(search.trials, turn):
                yield (*ids, *self.judge.tokens(piece))
                yield from ((*ids[:at], *self.judge.tokens(piece)) for at in range(len(ids)))
            return
        search.calls += GRADIENT_CALLS
        for at in range(len(ids)):
            yield (*ids[:at], *ids[at + 1 :])
            yield (*ids[:at], *ids[at : at + 2][::-1], *ids[at + 2 :])
        promise = (gradient - gradient.gather(1, gradient.new_tensor([ids]).long().T)).numpy()
        for flat in np.argsort(-promise, axis=None, kind="stable"):
            at, token = divmod(int(flat), promise.shape[1])
            yield (*ids[:at], token, *ids[at + 1 :])
            if len(ids) < turn.request.max_len:
                yield (*ids[: at + 1], token, *ids[at + 1 :])
                if at == 0:
                    yield (token, *ids)


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
