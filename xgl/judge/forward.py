"""Forward passes over prefix trees: bits of the scored tokens of their sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import Cache

from xgl.lm.captured import CapturedPass, Places, Unkept, can_capture, captured, size_class
from xgl.lm.language_model import (
    UNBOUNDED,
    LanguageModel,
    keeps_caches,
    pad,
    takes_positions,
    target_logprobs,
)
from xgl.lm.memory import out_of_memory
from xgl.lm.prefix_sharing import MIN_SHARED, Ids, PrefixTree, ScoredSequence, prefix_trees

BITS_PER_NAT = 1.0 / math.log(2.0)

Bits = tuple[float, ...]


@torch.inference_mode()
def tree_bits(
    lm: LanguageModel, batch: Sequence[PrefixTree], tile_bytes: int | None = None
) -> list[list[Bits]]:
    """Bits of each scored token of each sequence of each tree, from one forward pass."""
    logprobs = None
    # Chains need no mask, so the pass has one of few shapes and can be captured as a CUDA graph.
    tokens = [tree.tokens for tree in batch]
    if all(tree.is_chain for tree in batch) and can_capture(lm, tokens):
        scored = _scored(batch)
        logprobs = captured(lm, lambda: _chain_logprobs(lm, tokens, scored, tile_bytes))
    if logprobs is None:
        logprobs = target_logprobs(lm.head, *tree_states(lm, batch), tile_bytes)
    bits = iter((-BITS_PER_NAT * logprobs).tolist())
    return [[tuple(islice(bits, len(ids))) for ids in tree.targets] for tree in batch]


def tree_states(lm: LanguageModel, batch: Sequence[PrefixTree]) -> tuple[Tensor, Tensor]:
    """Hidden states (P, H) before the scored tokens of each sequence of each tree, and these tokens
    (P,), from one forward pass; differentiable."""
    ids, _ = pad([tree.tokens for tree in batch], lm.device)
    inputs = _attention_inputs(lm, batch)
    hidden = lm.backbone(input_ids=ids, use_cache=False, **inputs).last_hidden_state
    rows, columns, targets = (torch.from_numpy(each).to(lm.device) for each in _scored(batch))
    return hidden[rows, columns], targets


def _scored(batch: Sequence[PrefixTree]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each scored token the tree, the node that predicts it, and its id."""
    counts = [sum(map(len, tree.positions)) for tree in batch]
    rows = np.repeat(np.arange(len(batch)), counts)
    columns = np.array([node for tree in batch for nodes in tree.positions for node in nodes])
    return rows, columns, np.array([id_ for tree in batch for ids in tree.targets for id_ in ids])


def _chain_logprobs(
    lm: LanguageModel,
    tokens: Sequence[Ids],
    scored: tuple[np.ndarray, np.ndarray, np.ndarray],
    tile_bytes: int | None,
) -> Tensor:
    """Log-probabilities of the scored tokens of chains, by a captured pass."""
    rows, width = size_class(len(tokens), 8), size_class(max(map(len, tokens)), 32)
    shape = rows, width, size_class(len(scored[0]), 128), tile_bytes
    key = "bits", lm.variant, shape
    place: _ChainPlace = Places.of(lm).get(key, lambda pool: _ChainPlace(lm, shape, pool))
    return place(tokens, *scored)


class _ChainPlace:
    """A captured pass over at most N chains of L tokens with P scored tokens, ``shape`` being
    (N, L, P, bytes of a tile of logits)."""

    bytes = 0

    def __init__(
        self, lm: LanguageModel, shape: tuple[int, int, int, int | None], pool: Any
    ) -> None:
        self.lm, self.tile_bytes = lm, shape[3]
        self.ids = torch.zeros(shape[:2], dtype=torch.long, device=lm.device)
        self.scored = torch.zeros(3, shape[2], dtype=torch.long, device=lm.device)
        self.logprobs = torch.zeros(shape[2], device=lm.device)
        self.read = CapturedPass(pool)

    def __call__(self, tokens: Sequence[Ids], *scored: np.ndarray) -> Tensor:
        """Log-probabilities of the scored tokens, given by their rows, columns and ids."""
        ids, _ = pad(tokens, torch.device("cpu"))
        self.ids[: ids.shape[0], : ids.shape[1]].copy_(ids)
        self.scored[:, : len(scored[0])].copy_(torch.from_numpy(np.stack(scored)))
        self.read(self._read)
        return self.logprobs[: len(scored[0])]

    def _read(self) -> None:
        cache = {self.lm.cache_name: Cache(layer_class_to_replicate=Unkept)}
        out = self.lm.backbone(input_ids=self.ids, use_cache=False, **cache)
        rows, columns, targets = self.scored
        states = out.last_hidden_state[rows, columns]
        self.logprobs.copy_(target_logprobs(self.lm.head, states, targets, self.tile_bytes))


def _attention_inputs(lm: LanguageModel, batch: Sequence[PrefixTree]) -> dict[str, Any]:
    """Masks and positions of a forward pass, only if some tree branches: no token attends to the
    padding after it."""
    if all(tree.is_chain for tree in batch):
        return {}
    width = max(len(tree.tokens) for tree in batch)
    visible = np.zeros((len(batch), 1, width, width), bool)
    visible[...] = np.eye(width, dtype=bool)  # padding must attend to something: itself
    depths = np.zeros((len(batch), width), np.int64)
    for index, tree in enumerate(batch):
        own, size = visible[index, 0], len(tree.tokens)
        for node, parent in enumerate(tree.parents):  # its ancestors too
            if parent >= 0:
                own[node] |= own[parent]
        depths[index, :size] = own[:size].sum(1) - 1
    mask = torch.from_numpy(visible).to(lm.device)
    if lm.model.config._attn_implementation != "sdpa":  # which takes bools; others add to scores
        zeros = torch.zeros(mask.shape, dtype=lm.model.dtype, device=mask.device)
        mask = zeros.masked_fill(~mask, torch.finfo(lm.model.dtype).min)
    return {"attention_mask": mask, "position_ids": torch.from_numpy(depths).to(lm.device)}


PROBE_TOKENS = 320
"""Tokens of the tree that is tried: more than the usual widths of local attention."""


def supports_prefix_sharing(lm: LanguageModel) -> bool:
    """Whether this model gives a sequence the same bits in a tree and by itself.

    A model with recurrent layers or local attention, or one that counts positions itself, reads a
    tree wrongly; others are tested on random tokens. Raises the error of a forward pass that runs
    out of memory.
    """
    if lm.local_attention < UNBOUNDED or not takes_positions(lm) or not keeps_caches(lm):
        return False
    width = min(PROBE_TOKENS, lm.window - 1)
    if width < 2 * MIN_SHARED:
        return False
    sequences = _probe_sequences(width, int(lm.model.config.vocab_size))
    try:
        [tree] = prefix_trees(sequences, max_tokens=width)
        [together] = tree_bits(lm, [tree])
        ends = [sequences[tree.members[at]] for at in (0, -1)]
        alone = [tree_bits(lm, prefix_trees([each], max_tokens=0))[0][0] for each in ends]
    except Exception as error:
        if out_of_memory(error):
            raise
        return False
    # Float32 agrees to rounding; in bfloat16 two orders of summation differ by parts of a bit, but
    # a model that reads trees wrongly by several.
    exact = 1e-3 if lm.model.dtype == torch.float32 else 1.0
    return np.allclose(alone, [together[0], together[-1]], atol=exact)


def _probe_sequences(width: int, vocabulary: int) -> list[ScoredSequence]:
    """Sequences that fill one tree of ``width`` tokens after a common prefix."""
    size = 2 * MIN_SHARED
    tokens = np.random.default_rng(0).integers(vocabulary, size=width + 1).tolist()
    return [
        ScoredSequence((*tokens[:size], *tokens[cut : min(cut + size, width)], tokens[-1]), 2)
        for cut in range(size, width, size)
    ]
