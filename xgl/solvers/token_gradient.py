"""The gradient of a score by the tokens of a move, as greedy coordinate gradient takes it (Zou et
al. 2023, arXiv:2307.15043): of the judge's bits by one-hot vectors of its vocabulary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel, length_mask, padded
from xgl.lm.prefix_sharing import Ids, ScoredSequence
from xgl.solvers.trials import SignedScore


@dataclass(frozen=True)
class _Read:
    """A sequence that the judge reads, its sign, and where the move's tokens stand in it: pairs of
    a place in the sequence and one in the move."""

    sequence: ScoredSequence
    sign: int
    places: tuple[tuple[int, int], ...]


def token_gradient(
    judge: TransformerJudge, scores: Sequence[SignedScore], move: str
) -> Tensor | None:
    """(P, V) float32, on the CPU: how many bits the signed sum of ``scores`` gains, to first order,
    for more of token v at place p of the move, whose P tokens are the judge's own.

    None where the move is read nowhere: it is empty, was cut to pieces, or became part of other
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
    """The signed sum () of those of ``scores`` in which the move is read, in bits, where
    ``one_hot`` (P, V) stands for its tokens; differentiable. None where it is read nowhere."""
    ids = judge.tokens(move)
    reads = [read for each in scores if (read := _read(judge, each, move, ids)) is not None]
    return _signed_bits(judge.lm, reads, one_hot) if reads and ids else None


def _read(judge: TransformerJudge, score: SignedScore, move: str, ids: Ids) -> _Read | None:
    sequence = judge.sequence(score.request)
    if sequence is None or len(sequence.ids) > judge.lm.window:
        return None
    forms = [ids, judge.tokens(f" {move}")]  # in the paper's dialect a space stands before it
    places = [place for form in forms if len(form) == len(ids) for place in _found(sequence, form)]
    return _Read(sequence, score.sign, tuple(dict.fromkeys(places))) if places else None


def _found(sequence: ScoredSequence, ids: Ids) -> Iterator[tuple[int, int]]:
    """Places of the move's tokens: of all of them or, where those at its ends became part of other
    tokens, of the others."""
    for first, last in ((0, 0), (1, 0), (0, 1), (1, 1)):
        run = ids[first : len(ids) - last]
        starts = range(len(sequence.ids) - len(run) + 1) if run else ()
        places = [start for start in starts if sequence.ids[start : start + len(run)] == run]
        if places:
            for start in places:
                yield from ((start + k, first + k) for k in range(len(run)))
            return


def _signed_bits(lm: LanguageModel, reads: Sequence[_Read], one_hot: Tensor) -> Tensor:
    """The signed sum of bits, differentiable by ``one_hot`` (P, V), which stands for the move's
    tokens both where they are read and where they are scored."""
    embedding = lm.model.get_input_embeddings().weight
    ids, lengths = padded([each.sequence.ids for each in reads], lm.device)
    mask = length_mask(lengths, ids.shape[1])
    inputs = embedding[ids].clone()
    moved = one_hot.to(embedding.dtype) @ embedding
    for row, read in enumerate(reads):
        at, of = _columns(read, lm.device)
        inputs[row, at] = moved[of]
    hidden = lm.backbone(inputs_embeds=inputs, attention_mask=mask).last_hidden_state
    total = one_hot.new_zeros(())
    for row, read in enumerate(reads):
        first = len(read.sequence.ids) - read.sequence.scored
        logprobs = lm.logits(hidden[row, first - 1 : len(read.sequence.ids) - 1]).log_softmax(-1)
        targets = torch.nn.functional.one_hot(
            ids[row, first : len(read.sequence.ids)], one_hot.shape[1]
        ).to(one_hot.dtype)
        at, of = _columns(read, lm.device)
        scored = at >= first
        targets[at[scored] - first] = one_hot[of[scored]]
        total = total - read.sign * (targets * logprobs).sum() / math.log(2)
    return total


def _columns(read: _Read, device: torch.device) -> tuple[Tensor, Tensor]:
    at, of = zip(*read.places, strict=True)
    return torch.tensor(at, device=device), torch.tensor(of, device=device)
