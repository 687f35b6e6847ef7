"""Out of memory: the batch is halved, and the log says so."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

Item = TypeVar("Item")
Found = TypeVar("Found")

_SAID = ("not enough memory", "out of memory", "can't allocate", "alloc_failed")

_LOG = logging.getLogger(__name__)


def halving(
    run: Callable[[Sequence[Item]], Sequence[Found]], batch: Sequence[Item], what: str
) -> list[Found]:
    """``run(batch)``; where memory runs out, of each half by itself, and so on down to one.

    ``what`` names the items in the log. Raises what ``run`` raised where a single item does not
    fit, and whatever is not about memory.
    """
    try:
        return list(run(batch))
    except (RuntimeError, MemoryError) as error:
        if len(batch) == 1 or not out_of_memory(error):
            raise
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
    free()
    middle = len(batch) // 2
    _LOG.warning("out of memory at %d %s, going on with %d: %s", len(batch), what, middle, told)
    return [*halving(run, batch[:middle], what), *halving(run, batch[middle:], what)]


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that a device or the machine has no memory left."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    said = str(error).lower()
    return any(words in said for words in _SAID)


def free() -> None:
    """Give back what a failed pass held; call it outside its ``except``, which keeps it alive."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
