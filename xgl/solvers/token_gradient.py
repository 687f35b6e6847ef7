"""The gradient of the judge's bits with respect to the tokens of a move as one-hot vectors, as in
greedy coordinate gradient (Zou et al. 2023, arXiv:2307.15043)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel, length_mask, pad
from xgl.lm.prefix_sharing import Ids, ScoredSequence
from xgl.runtime.requests import ScoreRequest
from xgl.solvers.trials import SignedScore

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
