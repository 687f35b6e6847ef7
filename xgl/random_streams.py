"""Random streams named by keys: the same numbers on every machine, in any order of use."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.random import Generator


def stream(*key: int | str) -> Generator:
    """A counter-based generator of its own for each key."""
    from numpy.random import Generator, Philox  # parsing a program needs no numpy

    return Generator(Philox(key=seed(*key, bits=128)))


def seed(*key: int | str, bits: int = 62) -> int:
    """A non-negative integer below 2^bits named by a key."""
    digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
    return int.from_bytes(digest[:16], "little") % (1 << bits)
