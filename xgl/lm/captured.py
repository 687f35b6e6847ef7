"""Passes over tensors that stay in place, and sampling by such passes.

Decoding a token launches some thousand kernels, for which a GPU waits: below ten billion parameters
they take longer to launch than to run. Here a batch has one of a few shapes, its keys, values and
samples have places in memory, and every pass is captured as a CUDA graph at its second call, which
launches all its kernels at once. Nothing is read by the host but every few steps.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from itertools import count
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from xgl.lm.language_model import UNBOUNDED, LanguageModel, distinct_prompts, keeps_caches, pad
from xgl.lm.memory import out_of_memory
from xgl.lm.prefix_sharing import Ids

_LOG = logging.getLogger(__name__)

DEVICES: tuple[str, ...] = ("cuda",)
"""Kinds of devices on which sampling and training have shapes of a few sizes."""
READ_TOKENS = 16384
"""Padded tokens of texts from which on a pass over them takes longer to run than to launch."""
CHECK_STEPS = 8
"""Steps between two reads of whether all rows have ended."""
KEPT_SHARE, MOST_KEPT = 1 / 8, 64
"""Share of a GPU's memory for keys and values of shapes that may come again; number of shapes."""

Result = TypeVar("Result")


def size_class(count: int, least: int) -> int:
    """The first of ``least`` · (1, 2, 3, 4, 6, 8, 12, …) that is not below ``count``."""
    size = least
    while size < count:
        size *= 2
    return size * 3 // 4 if size * 3 >= count * 4 and size >= 4 * least else size


class CapturedPass:
    """A function of tensors in place: run at the first call, captured on a GPU at the second.

    The function is an argument of each call: a pass that held its place would keep the place's
    memory until the next garbage collection.
    """

    def __init__(self, pool: Any) -> None:
        self.pool, self.calls = pool, 0
        self.graph: Any = None

    def __call__(self, run: Callable[[], object]) -> None:
        self.calls += 1
        if self.pool is None:
            run()
        elif self.calls == 1:
            stream = self.pool[1]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                run()
            torch.cuda.current_stream().wait_stream(stream)
        else:
            if self.graph is None:
                self.graph = _captured_graph(run, self.pool)
            self.graph.replay()


def _captured_graph(run: Callable[[], object], pool: Any) -> Any:
    graph, (memory, stream) = torch.cuda.CUDAGraph(), pool
    before = torch.cuda.current_stream()
    try:
        # without a stream of its device, a second model's passes would run on that of the first
        with torch.cuda.graph(graph, memory, stream, capture_error_mode="thread_local"):
            run()
    finally:  # where a capture fails, torch leaves its stream in force
        torch.cuda.set_stream(before)
    return graph


class Places:
    """The places of a model's shapes, the least recently used dropped first; they share the memory
    of their intermediate results, and the stream that captures them."""

    def __init__(self, device: torch.device) -> None:
        self.pool: Any = None
        self.max_bytes = 1 << 40
        self.places: dict[Hashable, Any] = {}
        if device.type == "cuda" and torch.cuda.is_available():
            self.pool = torch.cuda.graph_pool_handle(), torch.cuda.Stream(device)
            # a pool whose last graph has left takes no other: this one stays
            self.first = _captured_graph(lambda: torch.zeros(1, device=device), self.pool)
            total = torch.cuda.get_device_properties(device).total_memory
            share = torch.cuda.get_per_process_memory_fraction(device)
            self.max_bytes = int(total * share * KEPT_SHARE)

    def get(self, key: Hashable, make: Callable[[Any], Any]) -> Any:
        """The place of a shape; ``make`` makes one with the pool of memory."""
        # Popped and put back, a place moves to the end of the dict: its order is that of last use.
        place = self.places.pop(key, None)
        while self.places and (
            len(self.places) >= MOST_KEPT
            or sum(each.bytes for each in self.places.values()) > self.max_bytes
        ):
            self.places.pop(next(iter(self.places)))
        self.places[key] = place or make(self.pool)
        return self.places[key]

    @classmethod
    def of(cls, lm: LanguageModel) -> Places:
        """The places of all passes over the model's weights."""
        if "places" not in lm.captured:
            lm.captured["places"] = cls(lm.device)
        places: Places = lm.captured["places"]
        return places


class Unkept(DynamicLayer):
    """Hands keys and values on and keeps none. With a cache, even such a one, a model does not look
    for texts packed into a row: the host would read the answer, and a captured pass, which cannot
    ask, would have a mask that the same pass before its capture has not."""

    def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        return keys, values


class _Slots(DynamicLayer):
    """Keys and values (N, heads, W, width) of a layer; new ones are written at ``column`` (1,)."""

    def __init__(self, keys: Tensor, values: Tensor, column: Tensor) -> None:
        super().__init__()
        self.keys, self.values, self.column = keys, values, column
        self.is_initialized = True

    def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        self.keys.index_copy_(2, self.column, keys)
        self.values.index_copy_(2, self.column, values)
        return self.keys, self.values

    def get_seq_length(self, *_: Any) -> int:
        return int(self.keys.shape[2]) - 1


class SamplingPlace:
    """A batch of moves for each policy of ``lm``: ``shape`` is the number of rows of each, and the
    most tokens of their prompts and of the moves; ``decoding`` a :class:`xgl.lm.sampling.Decoding`.
    """

    def __init__(
        self,
        lm: LanguageModel,
        shape: tuple[int, int, int],
        decoding: Any,
        stops: Tensor,
        pool: Any,
    ) -> None:
        self.lm, self.decoding, self.stops, self.pool = lm, decoding, stops.clone(), pool
        self.rows, self.width, self.steps = shape
        count, device = self.rows * len(lm.names), lm.device
        self.mask = torch.zeros(
            count, 1, 1, self.width + self.steps, dtype=lm.model.dtype, device=device
        )
        self.tokens, self.positions = torch.zeros(2, count, 1, dtype=torch.long, device=device)
        self.column, self.step = torch.zeros(2, 1, dtype=torch.long, device=device)
        self.draws = torch.zeros(count, self.steps, dtype=torch.float64, device=device)
        self.limits, self.sizes = torch.zeros(2, count, dtype=torch.long, device=device)
        self.ended = torch.zeros(count, dtype=torch.bool, device=device)
        self.ids = torch.zeros(count, self.steps, dtype=torch.long, device=device)
        self.logprobs = torch.zeros(count, self.steps, device=device)
        self.slots: list[_Slots] = []
        self.reads: dict[int, tuple[CapturedPass, list[Tensor]]] = {}
        self.decoding_pass = CapturedPass(pool)

    @property
    def bytes(self) -> int:
        """Bytes of the keys and values."""
        return sum(int(s.keys.nbytes + s.values.nbytes) for s in self.slots)

    def start(
        self, prompts: Sequence[tuple[str, Ids]], rows: Sequence[tuple[str, int, int, np.ndarray]]
    ) -> list[int]:
        """Read different prompts and draw the first token of ``rows``: policy, index of the prompt,
        limit in tokens, numbers. Returns the place of each row."""
        policies = len(self.lm.names)
        names = [name for name, _ in prompts]
        size = size_class(max(Counter(names).values()), 1)
        at = _places(names, self.lm.names, size)
        places = _places([name for name, *_ in rows], self.lm.names, self.rows)
        texts: list[Ids] = [prompts[0][1]] * (size * policies)
        for place, (_, prompt_ids) in zip(at, prompts, strict=True):
            texts[place] = prompt_ids
        # Places without a row own the first prompt of their policy, with limit 0: they have ended.
        owner = np.repeat(np.arange(policies) * size, self.rows)
        limits, draws = np.zeros(len(owner)), np.zeros((len(owner), self.steps))
        for place, (_, prompt, limit, numbers) in zip(places, rows, strict=True):
            owner[place], limits[place] = at[prompt], limit
            draws[place, : len(numbers)] = numbers
        if size not in self.reads:
            shapes = (len(texts), self.width), (len(texts),), (len(owner),)
            new = [torch.zeros(s, dtype=torch.long, device=self.lm.device) for s in shapes]
            self.reads[size] = CapturedPass(self.pool), new
        read, inputs = self.reads[size]
        ids, lengths = pad(texts, torch.device("cpu"))
        inputs[0][:, : ids.shape[1]].copy_(ids)
        tensors = *inputs[1:], self.limits, self.draws
        values = lengths, *map(torch.from_numpy, (owner, limits, draws))
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)
        read(lambda: self._read(*inputs))
        return places

    def decode(self) -> None:
        """Read the tokens that were drawn last, and draw the next ones."""
        self.decoding_pass(self._decode)

    def _read(self, ids: Tensor, lengths: Tensor, owner: Tensor) -> None:
        """Encode prompts (P, L) of ``lengths`` (P,), copy keys and values to the rows (N,) that
        they own, and draw the first token of each row."""
        count = len(ids)
        out = self.lm.backbone(self._policies(count), input_ids=ids, use_cache=True)
        layers = out[self.lm.cache_name].layers
        if not self.slots:
            if not all(type(layer) is DynamicLayer for layer in layers):
                raise TypeError("its cache is no keys and values of all positions")
            shape = len(owner), layers[0].keys.shape[1], self.width + self.steps
            for layer in layers:
                both = layer.keys, layer.values
                keys, values = (each.new_zeros(*shape, each.shape[3]) for each in both)
                self.slots.append(_Slots(keys, values, self.column))
        for slot, layer in zip(self.slots, layers, strict=True):
            slot.keys[:, :, : self.width].copy_(layer.keys.index_select(0, owner))
            slot.values[:, :, : self.width].copy_(layer.values.index_select(0, owner))
        row_lengths = lengths.index_select(0, owner)
        columns = torch.arange(self.mask.shape[3], device=self.lm.device)
        unseen = columns >= row_lengths[:, None]
        self.mask.copy_((unseen * torch.finfo(self.mask.dtype).min)[:, None, None])
        self.positions.copy_(row_lengths[:, None])
        self.column.fill_(self.width)
        self.step.zero_()
        self.sizes.zero_()
        self.ended.copy_(self.limits == 0)
        last = out.last_hidden_state[torch.arange(count, device=self.lm.device), lengths - 1]
        self._draw(last.index_select(0, owner))

    def _decode(self) -> None:
        self.mask.index_fill_(3, self.column, 0.0)
        cache = DynamicCache()
        cache.layers = list(self.slots)
        out = self.lm.backbone(
            self._policies(len(self.tokens)),
            input_ids=self.tokens,
            attention_mask=self.mask,
            position_ids=self.positions.clamp(max=self.lm.window - 1),
            use_cache=True,
            **{self.lm.cache_name: cache},
        )
        self.positions += 1
        self.column += 1
        self._draw(out.last_hidden_state[:, -1])

    def _draw(self, hidden: Tensor) -> None:
        """The next token of each row, by the state (N, H) before it."""
        logprobs = self.decoding.logprobs(self.lm.logits(hidden))
        tokens = self.decoding.choose(logprobs, self.draws.index_select(1, self.step)[:, 0])
        self.ids.index_copy_(1, self.step, tokens[:, None])
        self.logprobs.index_copy_(1, self.step, logprobs.gather(1, tokens[:, None]))
        self.tokens.copy_(tokens[:, None])
        self.sizes += ~self.ended
        self.step += 1
        self.ended |= self.stops[tokens] | (self.step >= self.limits)

    def _policies(self, rows: int) -> list[str]:
        return [name for name in self.lm.names for _ in range(rows // len(self.lm.names))]


def _places(policies: Sequence[str], names: Sequence[str], each: int) -> list[int]:
    """The place of each item, where a policy has ``each`` places, one policy after another."""
    free = {name: count(index * each) for index, name in enumerate(names)}
    return [next(free[policy]) for policy in policies]


def can_capture(lm: LanguageModel, texts: Sequence[Ids]) -> bool:
    """Whether these texts are read by captured passes: on a GPU, where launching takes longer than
    computing, and by models of plain attention."""
    return (
        lm.device.type in DEVICES
        and not lm.is_spread
        and lm.local_attention >= UNBOUNDED
        and keeps_caches(lm)
        and not lm.captured.get("refused")
        and len(texts) * max(map(len, texts)) <= READ_TOKENS
    )


def captured(lm: LanguageModel, work: Callable[[], Result]) -> Result | None:
    """What ``work`` gives by passes in place; None if the model does not allow them, from now on.
    Raises the error of a pass that runs out of memory."""
    is_cuda = lm.device.type == "cuda" and torch.cuda.is_available()
    try:
        with torch.cuda.device(lm.device) if is_cuda else nullcontext():  # may not be the first
            return work()
    except (RuntimeError, TypeError, AttributeError, ValueError) as error:
        lm.captured.pop("places", None)  # with the memory that they share
        if out_of_memory(error):
            raise
        lm.captured["refused"] = True
        reason = str(error).partition("\n")[0]
        _LOG.warning("passes of %s are not captured: %s", type(lm.model).__name__, reason)
        return None


Rows = list[tuple[list[int], list[float]]]
"""Tokens and log-probabilities of each row."""


def sampled_rows(
    lm: LanguageModel,
    prompts: Sequence[Ids],
    limits: Sequence[int],
    uniforms: np.ndarray,
    stops: Tensor,
    decoding: Any,
    policies: Sequence[str] | None,
    stop_when: Callable[[int, Sequence[int]], bool] | None,
) -> Rows:
    """Each row, as :func:`~xgl.lm.sampling.sample` draws it; cut where ``stop_when``, which only
    the host knows, ends it."""

    def end(row: int, ids: Sequence[int]) -> int | None:
        """Number of tokens after which ``stop_when`` ends a row; None: it does not."""
        counts = range(1, len(ids) + 1)
        return next((n for n in counts if stop_when and stop_when(row, ids[:n])), None)

    distinct, owner = distinct_prompts(prompts, policies)
    names = policies or [""] * len(prompts)
    steps = max(limits)
    shape = (
        size_class(max(Counter(names).values()), 8),
        size_class(max(map(len, prompts)), 32),
        size_class(steps, 8),
    )
    key = lm.variant, shape, decoding
    place = Places.of(lm).get(key, lambda pool: SamplingPlace(lm, shape, decoding, stops, pool))
    place.lm = lm
    place.stops.copy_(stops)
    at = place.start(distinct, list(zip(names, owner, limits, uniforms[:, :steps], strict=True)))
    for step in range(1, steps):
        if step % CHECK_STEPS == 0 and (
            bool(place.ended.all())
            or (stop_when and all(end(*e) for e in enumerate(place.ids[at, :step].tolist())))
        ):
            break
        place.decode()
    ids, nats, sizes = (each[at].tolist() for each in (place.ids, place.logprobs, place.sizes))
    ends = [end(row, ids[row][:size]) or size for row, size in enumerate(sizes)]
    return [(ids[row][:n], nats[row][:n]) for row, n in enumerate(ends)]
