"""The gradient of the judge's bits with respect to the tokens of a move as one-hot vectors, as in
greedy coordinate gradient (Zou et al. 2023, arXiv:2307.15043)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel, length_mask, pad
from xgl.lm.prefix_sharing import Ids, ScoredSequence
from xgl.solvers.trials import SignedScore


@dataclass(frozen=True)
class _Occurrence:
    """A sequence that the judge reads, its sign, and the positions of the move's tokens in it:
    pairs (index in the sequence, index in the move)."""

    sequence: ScoredSequence
    sign: int
    places: tuple[tuple[int, int], ...]


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
    occurrences = list(filter(None, (_occurrence(judge, score, move, ids) for score in scores)))
    return _signed_bits(judge.lm, occurrences, one_hot) if occurrences and ids else None


def _occurrence(
    judge: TransformerJudge, score: SignedScore, move: str, ids: Ids
) -> _Occurrence | None:
    sequence = judge.sequence(score.request)
    if sequence is None or len(sequence.ids) > judge.lm.window:
        return None
    forms = [ids, judge.tokens(f" {move}")]  # in the paper's dialect a space stands before it
    places = [
        place for form in forms if len(form) == len(ids) for place in _token_places(sequence, form)
    ]
    return _Occurrence(sequence, score.sign, tuple(dict.fromkeys(places))) if places else None


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


def _signed_bits(lm: LanguageModel, occurrences: Sequence[_Occurrence], one_hot: Tensor) -> Tensor:
    """The signed sum of bits, differentiable with respect to ``one_hot`` (P, V), which replaces the
    move's tokens both as inputs and as targets."""
    embedding = lm.model.get_input_embeddings().weight
    ids, lengths = pad([occurrence.sequence.ids for occurrence in occurrences], lm.device)
    mask = length_mask(lengths, ids.shape[1])
    inputs = embedding[ids].clone()
    move_embeddings = one_hot.to(embedding.dtype) @ embedding
    for row, occurrence in enumerate(occurrences):
        at, of = _columns(occurrence, lm.device)
        inputs[row, at] = move_embeddings[of]
    hidden = lm.backbone(inputs_embeds=inputs, attention_mask=mask).last_hidden_state
    total = one_hot.new_zeros(())
    for row, occurrence in enumerate(occurrences):
        end = len(occurrence.sequence.ids)
        first = end - occurrence.sequence.target_count
        logprobs = lm.logits(hidden[row, first - 1 : end - 1]).log_softmax(-1)
        targets = torch.nn.functional.one_hot(ids[row, first:end], one_hot.shape[1])
        targets = targets.to(one_hot.dtype)
        at, of = _columns(occurrence, lm.device)
        is_scored = at >= first
        targets[at[is_scored] - first] = one_hot[of[is_scored]]
        total = total - occurrence.sign * (targets * logprobs).sum() / math.log(2)
    return total


def _columns(occurrence: _Occurrence, device: torch.device) -> tuple[Tensor, Tensor]:
    at, of = zip(*occurrence.places, strict=True)
    return torch.tensor(at, device=device), torch.tensor(of, device=device)
