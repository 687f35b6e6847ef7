"""Messages between host and guest: four bytes of length, then JSON; never anything executable."""

from __future__ import annotations

import json
import os
from typing import Any

LENGTH = 4
MOST = 1 << 20
"""Bytes of one message."""
MOST_TEXT, MOST_PLAYER = 20_000, 200
"""Characters of a board or an error, and of a player's name."""


def encode(message: object) -> bytes:
    """The frame of a message. Raises ValueError if it is no JSON or too long."""
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    if len(body) > MOST:
        raise ValueError(f"a message of {len(body)} bytes, expected at most {MOST}")
    return len(body).to_bytes(LENGTH, "big") + body


def read(descriptor: int) -> Any:
    """The next message; None at the end of the stream. For the guest, which trusts its host."""
    head = _exactly(descriptor, LENGTH)
    return json.loads(_exactly(descriptor, int.from_bytes(head, "big"))) if head else None


def write(descriptor: int, message: object) -> None:
    """Send a message whole."""
    frame = memoryview(encode(message))
    while frame:
        frame = frame[os.write(descriptor, frame) :]


def _exactly(descriptor: int, size: int) -> bytes:
    """So many bytes; none where the stream ends."""
    content = b""
    while len(content) < size:
        part = os.read(descriptor, size - len(content))
        if not part:
            return b""
        content += part
    return content
