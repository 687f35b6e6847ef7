"""Memory of forward passes: bytes of a pass, rows that fit, and retries when memory runs out.

Sizes are estimates from a model's shape; where one is too low, the batch is retried in halves.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from xgl.lm.prefix_sharing import PrefixTree

if TYPE_CHECKING:
    from xgl.lm.language_model import LanguageModel

Item = TypeVar("Item")
Result = TypeVar("Result")

FAST_TOKENS = {"cpu": 1024}
"""Padded tokens of a forward pass by kind of device; on a CPU larger ones leave its cache."""
MASK_BYTES = 5
"""Bytes of the attention mask for a pair of tokens: a bool, and the float made from it."""

LEARN_BYTES = 20
"""Bytes per vocabulary entry of a token in training: logits, log-probabilities, gradients."""
DRAW_BYTES = 56
"""Bytes per vocabulary entry while a token is sampled: logits, order, float64 sums."""

SMALL = 20_000_000
"""Parameters of a model below which threads cost more than they save."""


@contextmanager
def few_threads(lm: LanguageModel) -> Iterator[None]:
    """Context in which a small model on a CPU computes on one thread."""
    before = torch.get_num_threads()
    if lm.device.type == "cpu" and sum(p.numel() for p in lm.model.parameters()) < SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def rows_to_sample(lm: LanguageModel, tokens: int, limit: int) -> int:
    """Number of rows of ``tokens`` tokens, prompt and continuation, that fit into ``limit`` bytes.
    A row needs its cache, a forward pass over its prompt, and then logits to sample from."""
    drawing = DRAW_BYTES * int(lm.model.config.vocab_size)
    row = tokens * cache_bytes(lm) * 5 // 4 + max(reading_bytes(lm, tokens), drawing)
    return max(1, limit // row)


def micro_batches(
    lm: LanguageModel, rows: Sequence[tuple[tuple[int, ...], int]], limit: int
) -> list[slice]:
    """Slices of ``rows`` (prompt, tokens of its continuation) whose gradients by captured passes
    take at most ``limit`` bytes, or that hold one row; a prompt that a slice holds several times is
    read once.

    The backward pass keeps the activations of every block for each token, and a row's keys for all
    its heads; rows and tokens are padded to sizes (``xgl.lm.captured``).
    """
    config: Any = lm.model.config
    block_bytes = 2 * int(config.num_hidden_layers) * token_bytes(lm)
    heads = int(config.num_attention_heads)
    groups = heads // (getattr(config, "num_key_value_heads", None) or heads)
    seen_bytes = (1 + groups) * cache_bytes(lm)

    def bytes_of(part: Sequence[tuple[tuple[int, ...], int]]) -> int:
        # Padded to the longest, so a row counts with the longest prompt and continuation.
        prompts, new_tokens = {prompt for prompt, _ in part}, max(tokens for _, tokens in part)
        prompt_tokens = max(map(len, prompts))
        row_bytes = new_tokens * block_bytes + (prompt_tokens + new_tokens) * seen_bytes
        return len(prompts) * prompt_tokens * block_bytes + len(part) * row_bytes

    return _parts(rows, bytes_of, limit)


def tree_parts(
    lm: LanguageModel, trees: Iterable[PrefixTree], limit: int, holds_logits: bool = False
) -> list[list[PrefixTree]]:
    """``trees`` in parts whose gradients take at most ``limit`` bytes, or that hold one tree: the
    activations of every block and an attention mask for each token, padded to the part's widest
    tree, and with ``holds_logits`` some copies of the logits of each scored token."""
    block_bytes = int(lm.model.config.num_hidden_layers) * token_bytes(lm)
    logit_bytes = LEARN_BYTES * int(lm.model.config.vocab_size) * holds_logits

    def bytes_of(part: Sequence[PrefixTree]) -> int:
        width = max(len(tree.tokens) for tree in part)
        scored = sum(len(ids) for tree in part for ids in tree.targets)
        return len(part) * width * (block_bytes + MASK_BYTES * width) + scored * logit_bytes

    trees = list(trees)
    return [trees[part] for part in _parts(trees, bytes_of, limit)]


def _parts(
    items: Sequence[Item], bytes_of: Callable[[Sequence[Item]], int], limit: int
) -> list[slice]:
    """Slices of ``items``, as long as ``limit`` allows, or of one item."""
    parts, start = list[slice](), 0
    for end in range(2, len(items) + 1):
        if end - start > 1 and bytes_of(items[start:end]) > limit:
            parts.append(slice(start, end - 1))
            start = end - 1
    return [*parts, slice(start, len(items))]


def reading_bytes(lm: LanguageModel, tokens: int) -> int:
    """Bytes of a pass over a row of so many tokens."""
    return tokens * (token_bytes(lm) + MASK_BYTES * tokens)


def token_bytes(lm: LanguageModel) -> int:
    """Bytes of a padded token in a pass: residual stream and the widest layer of a block."""
    config = lm.model.config
    hidden = int(config.hidden_size)
    widest = 3 * int(getattr(config, "intermediate_size", None) or 4 * hidden)
    return int(lm.model.dtype.itemsize) * (8 * hidden + widest)


def cache_bytes(lm: LanguageModel) -> int:
    """Bytes of a token's keys and values in all layers."""
    config: Any = lm.model.config
    heads = int(getattr(config, "num_attention_heads", None) or 1)
    key_heads = int(getattr(config, "num_key_value_heads", None) or heads)
    width = int(getattr(config, "head_dim", None) or config.hidden_size // heads)
    return 2 * int(config.num_hidden_layers) * key_heads * width * int(lm.model.dtype.itemsize)


_MESSAGES = ("not enough memory", "out of memory", "can't allocate", "alloc_failed")

_LOG = logging.getLogger(__name__)


def retry_in_halves(
    run: Callable[[Sequence[Item]], Sequence[Result]], batch: Sequence[Item], what: str
) -> list[Result]:
    """``run(batch)``; if memory runs out, each half by itself, and so on down to one item.

    ``what`` names the items in the log. Raises what ``run`` raised where a single item does not
    fit, and every error that is not about memory.
    """
    try:
        return list(run(batch))
    except (RuntimeError, MemoryError) as error:
        if len(batch) == 1 or not out_of_memory(error):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    release_memory()
    middle = len(batch) // 2
    _LOG.warning("out of memory at %d %s, going on with %d: %s", len(batch), what, middle, reason)
    return retry_in_halves(run, batch[:middle], what) + retry_in_halves(run, batch[middle:], what)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that a device or the machine has no memory left."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    message = str(error).lower()
    return any(words in message for words in _MESSAGES)


def release_memory() -> None:
    """Free the memory of a failed pass; call it outside its ``except``, which keeps it alive."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
