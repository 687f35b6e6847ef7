"""A causal language model, for the judge and the local policy.

Right padding, positions counted from each row's own start, logits only where they are needed.
Common prefixes of prompts are encoded once; their key-value caches are then copied to the rows.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from threading import Lock
from typing import Any

import torch
from cachetools import LRUCache, cached
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from xgl.lm.memory import out_of_memory
from xgl.lm.prefix_sharing import Ids, common_prefixes

log = logging.getLogger("evo")
UNBOUNDED = 1 << 20
ENCODING = {"add_special_tokens": False, "split_special_tokens": True}
"""How a tokenizer encodes a text: a move that spells out EOS must not end anything."""
ENCODED_BYTES = 64 << 20
"""Bytes of the cache of encoded texts of a judge or a player."""
LOCAL_ATTENTION = ("sliding_window", "window_size", "attention_chunk_size")
"""Names in model configurations of the width of local attention, in positions of the cache."""


@dataclass(frozen=True)
class LanguageModel:
    """A loaded model with its tokenizer; adapters may have been put into ``model``."""

    model: Any
    tokenizer: Any
    device: torch.device
    variant: Hashable = field(default="", kw_only=True)
    """What is added to the weights, where something is; a captured pass is of one variant."""
    captured: dict[str, Any] = field(default_factory=dict, compare=False, repr=False, kw_only=True)
    """What is known of these weights: whether rows can share caches, and the passes that were
    captured over them (``xgl.lm.captured``), of all variants."""

    @property
    def names(self) -> tuple[str, ...]:
        """The policies, of which each row names its own; only "" for a single one."""
        return ("",)

    @property
    def is_spread(self) -> bool:
        """Whether the model's blocks are on several devices; ``device`` has all else."""
        return len({*getattr(self.model, "hf_device_map", {}).values()}) > 1

    @property
    def window(self) -> int:
        """Longest sequence in tokens; a recurrent model has no bound of its own."""
        names = "max_position_embeddings", "max_seq_len"  # the latter in MPT
        known = (getattr(self.model.config, name, None) for name in names)
        return int(next(filter(None, known), UNBOUNDED))

    @property
    def local_attention(self) -> int:
        """Width of the narrowest local attention, in positions; unbounded if no layer is local."""
        widths = [getattr(self.model.config, name, None) for name in LOCAL_ATTENTION]
        return min([UNBOUNDED, *(int(width) for width in widths if width)])

    @cached_property
    def cache_name(self) -> str:
        """Name of the key-value cache, as the backbone's argument and in its output."""
        return cache_name(self.model.base_model)

    @property
    def bos(self) -> int:
        """Id of the token that begins every prompt."""
        return int(self.tokenizer.bos_token_id)

    def encode(self, text: str) -> Ids:
        """Token ids of a text. No special token is added, and one spelt out in it is a text."""
        return tuple(self.tokenizer.encode(text, **ENCODING))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, without special tokens."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))

    def backbone(self, policies: Sequence[str] = (), **inputs: Any) -> Any:
        """The model without its head: hidden states and cache. ``policies`` names one for each row,
        which counts where several share the weights (``evo.jobs.lora``)."""
        return self.model.base_model(**inputs)

    @property
    def head(self) -> Any:
        """The module from hidden states to logits."""
        return self.model.get_output_embeddings()

    def logits(self, hidden: Tensor) -> Tensor:
        """Next-token logits, float32, of hidden states (…, H)."""
        return torch.as_tensor(self.head(hidden)).float()


def cache_name(model: Any) -> str:
    """``cache`` for models of transformers since 5.24, ``past_key_values`` for those before."""
    arguments = inspect.signature(type(model).forward).parameters
    return "cache" if "cache" in arguments else "past_key_values"


def takes_positions(lm: LanguageModel) -> bool:
    """Whether the model is told the positions of tokens; else it counts them, in columns or by the
    mask."""
    return "position_ids" in inspect.signature(type(lm.model.base_model).forward).parameters


def cached_encoder(lm: LanguageModel) -> Callable[[str], Ids]:
    """``lm.encode`` with a cache of the most recently used texts."""
    # An entry takes about, for each token, a pointer, a number and a few letters of the text.
    store = LRUCache[Any, Ids](ENCODED_BYTES, lambda ids: 400 + 48 * len(ids))
    return cached(store, lock=Lock())(lm.encode)  # moves are cut beside the thread that scores


def pad(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Right-padded ids (N, L) and their lengths (N,), int64; pads are token 0 and masked."""
    lengths = torch.tensor([len(row) for row in rows])
    ids = pad_sequence([torch.tensor(row, dtype=torch.long) for row in rows], batch_first=True)
    return ids.to(device), lengths.to(device)


def length_mask(lengths: Tensor, width: int) -> Tensor:
    """(N, width) int64: 1 where a row has a token."""
    return (torch.arange(width, device=lengths.device) < lengths[:, None]).long()


@dataclass(frozen=True)
class DecoderState:
    """N rows after a forward pass: cache, its mask (N, W), lengths (N,), last hidden state (N, H),
    and the policy of each row."""

    cache: Any
    mask: Tensor
    lengths: Tensor
    last: Tensor
    policies: tuple[str, ...]


PolicyPrompt = tuple[str, Ids]
"""The name of a policy ("" for a single one) and a prompt."""


class Texts:
    """In the place of a cache: what each row has read, to be read again with what follows."""

    def __init__(self, rows: Sequence[Ids]) -> None:
        self.rows = list(rows)

    def batch_select_indices(self, index: Tensor) -> None:
        """Keep these rows, as the caches of transformers do."""
        self.rows = [self.rows[row] for row in index.tolist()]


def keeps_caches(lm: LanguageModel) -> bool:
    """Whether the model's caches can be copied to other rows and continued there after padding.

    Tested once on a few tokens: states of recurrent layers cannot, and where positions are counted
    in columns, padding counts. Such a model reads each text whole, again for every token.
    """
    if "keeps caches" not in lm.captured:
        with torch.no_grad():
            lm.captured["keeps caches"] = _continues_as_whole(lm)
        if not lm.captured["keeps caches"]:
            name = type(lm.model).__name__
            log.info("%s has no caches that rows could share: every token reads all again", name)
    return bool(lm.captured["keeps caches"])


def _continues_as_whole(lm: LanguageModel) -> bool:
    """Whether two rows of different lengths that continue one prefix end as each does alone."""
    start, ends, following = (1, 2), ((3,), (4, 5, 6)), ((7,), (8,))
    plain = LanguageModel(lm.model, lm.tokenizer, lm.device)
    try:
        state = select_rows(_read(plain, [("", start)]), [0, 0])
        for ids in (ends, following):
            state = extend(plain, state, *pad(ids, lm.device))
    except Exception as error:  # models without such caches fail in many ways
        if out_of_memory(error):  # which says nothing of the model
            raise
        return False
    texts = [("", start + end + last) for end, last in zip(ends, following, strict=True)]
    alone = torch.cat([_read(plain, [text], Texts([()])).last for text in texts]).float()
    apart = float((state.last.float() - alone).abs().max() / alone.abs().max())
    # Columns that are counted wrongly change no more in bfloat16 than rounding may elsewhere.
    rounding = 0.1 if takes_positions(lm) else 0.02
    return apart < (1e-3 if lm.model.dtype == torch.float32 else rounding)


def _read(
    lm: LanguageModel, texts: Sequence[PolicyPrompt], cache: Texts | None = None
) -> DecoderState:
    """The state after whole texts; ``cache`` None: the model's own, which it makes."""
    ids, lengths = pad([ids for _, ids in texts], lm.device)
    policies = tuple(name for name, _ in texts)
    before = DecoderState(cache, ids[:, :0], torch.zeros_like(lengths), lengths, policies)
    return extend(lm, before, ids, lengths)


def distinct_prompts(
    prompts: Sequence[Ids], policies: Sequence[str] | None
) -> tuple[list[PolicyPrompt], list[int]]:
    """Different prompts, those of one policy together, and the index of each row's. ``policies``
    (N,), None for a single one: nothing is shared between two of them."""
    rows = list(zip(policies or [""] * len(prompts), prompts, strict=True))
    distinct = sorted(dict.fromkeys(rows), key=lambda row: row[0])
    index_of = {row: index for index, row in enumerate(distinct)}
    return distinct, [index_of[row] for row in rows]


def split_prompts(
    distinct: Sequence[PolicyPrompt],
) -> tuple[list[PolicyPrompt], list[int], list[Ids]]:
    """Common prefixes of different prompts, those of one policy together; of each prompt the index
    of its prefix, and the rest."""
    prefixes, owner, suffixes = list[PolicyPrompt](), list[int](), list[Ids]()
    for policy, group in groupby(distinct, key=lambda each: each[0]):
        prompts = [prompt for _, prompt in group]
        shared, owners = common_prefixes(prompts)
        owner += [len(prefixes) + index for index in owners]
        prefixes += [(policy, prefix) for prefix in shared]
        rows = zip(prompts, owners, strict=True)
        suffixes += [prompt[len(shared[index]) :] for prompt, index in rows]
    return prefixes, owner, suffixes


def encode_distinct(lm: LanguageModel, distinct: Sequence[PolicyPrompt]) -> DecoderState:
    """The state after different prompts, those of one policy together."""
    if not keeps_caches(lm):
        return _read(lm, distinct, Texts([()] * len(distinct)))
    prefixes, owner, suffixes = split_prompts(distinct)
    state = select_rows(_read(lm, prefixes), owner)
    if not any(suffixes):
        return state
    # Rows with nothing left read padding, so that the batch stays one, and are what they were.
    after = extend(lm, state, *pad(suffixes, lm.device))
    some = torch.tensor([[bool(suffix)] for suffix in suffixes], device=lm.device)
    return replace(after, last=torch.where(some, after.last, state.last))


def select_rows(state: DecoderState, rows: Sequence[int]) -> DecoderState:
    """The state of ``rows``, which may repeat; changes the cache in place."""
    if list(rows) == list(range(len(state.lengths))):
        return state
    index = torch.tensor(list(rows), device=state.lengths.device)
    layers = getattr(state.cache, "layers", ())
    # Of a model on several devices, keys are indexed from the CPU, as on any device they may be.
    apart = any(getattr(layer, "keys", index).device != index.device for layer in layers)
    state.cache.batch_select_indices(index.cpu() if apart else index)
    policies = tuple(state.policies[row] for row in rows)
    return DecoderState(
        state.cache, state.mask[index], state.lengths[index], state.last[index], policies
    )


def extend(
    lm: LanguageModel, state: DecoderState, ids: Tensor, lengths: Tensor | None = None
) -> DecoderState:
    """The state after the next tokens ``ids`` (N, T).

    ``lengths`` (N,) says how many of a row's tokens count; None: all. After a row of none the last
    hidden state is of padding. Grows the cache.
    """
    rows = torch.arange(len(ids), device=lm.device)
    if lengths is None:
        lengths = torch.full_like(rows, ids.shape[1])
    after = state.lengths + lengths
    if isinstance(state.cache, Texts):
        new = zip(state.cache.rows, ids.tolist(), lengths.tolist(), strict=True)
        texts = [(*read, *tokens[:length]) for read, tokens, length in new]
        whole, _ = pad(texts, lm.device)
        mask = length_mask(after, whole.shape[1])
        out = lm.backbone(state.policies, input_ids=whole, attention_mask=mask, use_cache=False)
        last = out.last_hidden_state[rows, after - 1]
        return DecoderState(Texts(texts), mask, after, last, state.policies)
    mask = torch.cat([state.mask, length_mask(lengths, ids.shape[1])], dim=1)
    positions = state.lengths[:, None] + torch.arange(ids.shape[1], device=lm.device)
    out = lm.backbone(
        state.policies,
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions.clamp(max=lm.window - 1),
        use_cache=True,
        **{lm.cache_name: state.cache},
    )
    last = out.last_hidden_state[rows, lengths - 1]
    return DecoderState(out[lm.cache_name], mask, after, last, state.policies)


def exceeds_local_attention(lm: LanguageModel, prompts: Sequence[Ids], steps: int) -> bool:
    """Whether local attention would count padding as text, so that rows must be read one by one."""
    return 2 * max(map(len, prompts)) + steps > lm.local_attention


# -- log-probabilities of given tokens -------------------------------------------------------------
# Logits for a whole vocabulary are never held: the head is applied in tiles of positions ×
# vocabulary, and a tile's logits shrink to one log-sum-exp a position before the next one is made.

TILE_BYTES = {"cpu": 4 << 20}
"""Bytes of one tile's float32 logits, by kind of device: on a CPU what stays in its cache."""
DEFAULT_TILE_BYTES = 256 << 20
TILE_WIDTH = {"cpu": 2048}
"""Vocabulary entries of one tile; elsewhere as many as its bytes allow 1,024 positions."""


def target_logprobs(
    head: nn.Linear, hidden: Tensor, targets: Tensor, tile_bytes: int | None = None
) -> Tensor:
    """Natural log-probabilities (P,), float32, of ``targets`` (P,) after ``hidden`` (P, H).
    ``tile_bytes`` bound a tile where that is less than the device's own bound."""
    kind = hidden.device.type
    tile = TILE_BYTES.get(kind, DEFAULT_TILE_BYTES) // 4
    tile = min(tile, tile_bytes // 4) if tile_bytes else tile
    width = max(1, min(TILE_WIDTH.get(kind, tile // 1024), tile, head.out_features))
    count, parts = max(1, tile // width), []
    for states, ids in zip(hidden.split(count), targets.split(count), strict=True):
        logits = (states.float() * head.weight[ids].float()).sum(-1)  # of the targets, in float32
        if head.bias is not None:
            logits = logits + head.bias[ids].float()
        parts.append(logits - _normaliser(head, states, width))
    # The target's logit and the normaliser are rounded apart: a sure token could come out above 0.
    return torch.cat(parts).clamp(max=0.0)


def _normaliser(head: nn.Linear, hidden: Tensor, width: int) -> Tensor:
    """The log-sum-exp (P,) of all logits, one tile of the vocabulary after another."""
    biases = [None] * head.out_features if head.bias is None else head.bias.split(width)
    sums = [
        _log_sum_exp(nn.functional.linear(hidden, weight, bias))
        for weight, bias in zip(head.weight.split(width), biases, strict=False)
    ]
    return torch.stack(sums, -1).logsumexp(-1) if len(sums) > 1 else sums[0]


def _log_sum_exp(logits: Tensor) -> Tensor:
    """log-sum-exp over the last axis, float32; from log_softmax, whose kernel is twice as fast."""
    largest = logits.log_softmax(-1, dtype=torch.float32).amax(-1)
    return logits.amax(-1).float() - largest
