"""Where a model goes: on one device, or with its blocks on several."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

WEIGHTS_SHARE = 0.6
"""Share of a GPU's memory that weights may take: passes, caches and gradients take the rest."""
BLOCK = re.compile(r"\.(\d+)\.")
"""The number of a block in the path of a layer or tensor."""
_DEVICES = re.compile(r"auto|cpu|cuda(:\d+(\+\d+)*)?")


def check_device(text: str) -> str:
    """Raises ValueError unless ``text`` names devices as settings do."""
    if not _DEVICES.fullmatch(text):
        raise ValueError(f"found {text!r}, expected auto, cpu, cuda:N, or cuda:N+M for several")
    return text


def devices_of(text: str) -> list[str]:
    """The devices that a setting names, in its order.

    >>> devices_of("cuda:1+2+0")
    ['cuda:1', 'cuda:2', 'cuda:0']
    """
    kind, _, numbers = text.partition(":")
    return [f"{kind}:{number}" for number in numbers.split("+")] if numbers else [text]


def check_share(gpus: float, **devices: str) -> None:
    """Raises ValueError unless a worker of so many GPUs has all that ``devices`` (by
    section) name, and uses all that it has."""
    named = {key: {*devices_of(text)} - {"auto", "cpu"} for key, text in devices.items()}
    last = f" or numbers up to {max(1, round(gpus)) - 1}" if gpus else ""
    for key, own in named.items():
        if any(int(each.partition(":")[2] or 0) >= gpus for each in own):
            raise ValueError(
                f"{key}.device: found {devices[key]}, and a worker has {gpus:g} GPUs, expected "
                f"auto{last}"
            )
    if gpus > 1 and len(set.union(*named.values())) < gpus:
        raise ValueError(
            f"cluster.gpus_per_worker: found {gpus:g} GPUs with the judge's, of which judge.device "
            "and player.device do not use all; expected them to, as cuda:0 and cuda:1+0"
        )


def placement(model: Any, devices: Sequence[str], rooms: Sequence[float]) -> dict[str, str]:
    """The device of each part of a model, as ``from_pretrained`` takes it: on as few of
    ``devices``, the first ones, as have room (bytes) for its weights. Of several each has its part
    of the blocks; all that is not in a block is on the first. Raises ValueError without room."""
    blocks, others, rest = Counter[str](), dict[str, str](), 0
    for name, tensor in chain(model.named_parameters(), model.named_buffers()):
        if block := BLOCK.search(name):
            blocks[name[: block.end(1)]] += tensor.nbytes
        else:
            others[name.rpartition(".")[0]] = devices[0]
            rest += tensor.nbytes
    for name, _ in model.named_parameters(remove_duplicate=False):  # a tied head needs a place too
        if not BLOCK.search(name):
            others[name.rpartition(".")[0]] = devices[0]
    size, sums = rest + blocks.total(), list(accumulate(rooms))
    count = next((n for n, room in enumerate(sums, 1) if size <= room), None)
    if count is None:
        raise ValueError(
            f"its weights take {size / 2**30:.1f} GiB, and {', '.join(devices)} have room for "
            f"{sums[-1] / 2**30:.1f} ({WEIGHTS_SHARE:.0%} of their memory), expected more GPUs or "
            "a smaller model"
        )
    if count == 1:
        return {"": devices[0]}
    ends, used = [room * size / sums[count - 1] for room in sums[: count - 1]], rest
    for path, part in blocks.items():
        others[path] = devices[bisect_right(ends, used + part / 2)]
        used += part
    return others
