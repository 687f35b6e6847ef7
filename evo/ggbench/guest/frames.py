"""Messages between host and guest: four bytes of length, then JSON; never anything executable."""

from __future__ import annotations

import json
import os

MOST = 1 << 20
"""Bytes of an answer; what the host sends, such as a policy, may be longer."""
MOST_TEXT, MOST_PLAYER = 20_000, 200
"""Characters of a board or an error, and of a player's name."""


def encode(message: object, most: int | None = None) -> bytes:
    """The frame of a message. Raises ValueError if it is no JSON, or longer than ``most`` bytes."""
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    return _bounded(len(body), most).to_bytes(4, "big") + body


def read(descriptor: int, most: int | None = None) -> bytes:
    """The next message; empty at the end of the stream. Raises ValueError if it is too long."""
    return _exactly(descriptor, _bounded(int.from_bytes(_exactly(descriptor, 4), "big"), most))


def write(descriptor: int, message: object) -> None:
    """Send a message whole."""
    frame = memoryview(encode(message))
    while frame:
        frame = frame[os.write(descriptor, frame) :]


def _bounded(size: int, most: int | None) -> int:
    if most is not None and size > most:
        raise ValueError(f"an answer of {size} bytes, expected at most {most}")
    return size


def _exactly(descriptor: int, size: int) -> bytes:
    """So many bytes; none where the stream ends."""
    content = bytearray()
    while len(content) < size:
        part = os.read(descriptor, size - len(content))
        if not part:
            return b""
        content += part
    return bytes(content)
