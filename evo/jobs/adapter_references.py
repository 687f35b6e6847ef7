"""Adapters on their way to workers: each is put into Ray's object store once."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import Any

import ray

KEPT_BYTES = 100 * 1024**2
"""Of adapters that are kept in the object store for the next job, at most."""


class Parcels:
    """References to adapters in the object store, those asked for last.

    The adapters of the scope play every candidate: each travels to a node once, not with every
    job. Workers read no disk but their own.
    """

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self.kept_bytes, self.bytes = kept_bytes, 0
        self.references: OrderedDict[bytes, tuple[Any, int]] = OrderedDict()

    def of(self, adapter: bytes | None) -> Any:
        """A reference to an adapter; None, the base player, needs none."""
        if adapter is None:
            return None
        digest = sha256(adapter).digest()
        if digest not in self.references:
            self.references[digest] = ray.put(adapter), len(adapter)
            self.bytes += len(adapter)
        self.references.move_to_end(digest)
        while self.bytes > self.kept_bytes and len(self.references) > 1:
            _, (_, size) = self.references.popitem(last=False)
            self.bytes -= size
        return self.references[digest][0]
