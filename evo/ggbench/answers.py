"""Checks of a guest's answers: form, type, range and shape, before they are used.

Each check takes the answer and the name of a value in it, and raises :class:`GameFaultError`.
"""

from __future__ import annotations

import base64
import binascii
import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evo.ggbench.guest.frames import MOST_TEXT
from xgl.errors import excerpt

MOST_VALUES = 40_000
"""Most values of a list."""
MOST_REASON = 200
"""Most characters of a game's own text in a message."""
Answer = Mapping[str, Any]


class GameFaultError(Exception):
    """A game broke the rules of the box, or its interface; the message says how."""


def form_fault(name: str) -> GameFaultError:
    """The fault of an answer whose value has the wrong form."""
    return GameFaultError(f"an answer whose {name} has the wrong form")


def one_line(text: object) -> str:
    """A game's text as one short line."""
    if not isinstance(text, str):
        return "a fault of the wrong form"
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:2000]).split())
    return excerpt(line, MOST_REASON) or "a fault without a message"


def shown(value: object) -> str:
    """A value of the wrong form, without its depth and length."""
    return one_line(excerpt(reprlib.repr(value), 60))


def whole(answer: Answer, name: str, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``."""
    value = answer.get(name)
    if type(value) is not int or not low <= value <= high:
        expected = f"a whole number from {low} to {high}"
        raise GameFaultError(f"{name}: found {shown(value)}, expected {expected}")
    return value


def wholes(answer: Answer, name: str, low: int, high: int) -> tuple[int, ...]:
    """A list of them."""
    values = answer.get(name)
    if not isinstance(values, list) or len(values) > MOST_VALUES:
        raise form_fault(name)
    return tuple(whole({name: value}, name, low, high) for value in values)


def flag(answer: Answer, name: str) -> bool:
    """True or false."""
    value = answer.get(name)
    if not isinstance(value, bool):
        raise form_fault(name)
    return value


def result_of(answer: Answer) -> int | None:
    """The result of a game: 1, 0, −1, or None while it goes on."""
    return None if answer.get("result") is None else whole(answer, "result", -1, 1)


def text_of(answer: Answer, name: str, most: int = MOST_TEXT) -> str:
    """A text that can be stored, of at most ``most`` characters."""
    value = answer.get(name)
    if not isinstance(value, str):
        raise GameFaultError("render returns no text" if name == "text" else f"{name} is no text")
    if len(value) > most:
        raise GameFaultError(f"{name}: found {len(value)} characters, expected at most {most}")
    return value.encode(errors="replace").decode()


def bytes_of(answer: Answer, name: str) -> bytes:
    """Bytes of a value in base 64."""
    try:
        return base64.b64decode(answer.get(name) or "", validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise form_fault(name) from None


def floats(answer: Answer, name: str, size: int) -> NDArray[np.float32]:
    """``size`` finite numbers (size,), from float32 in base 64."""
    content = bytes_of(answer, name)
    if len(content) != 4 * size:
        raise form_fault(name)
    values = np.frombuffer(content, np.float32)
    if not np.isfinite(values).all():
        raise GameFaultError("an observation holds a number that is not finite")
    return values


def are_plain_numbers(values: object, size: int, low: float) -> bool:
    """Whether it is a list of so many numbers from ``low`` to 1."""
    return (
        isinstance(values, list)
        and len(values) == size
        and all(type(each) in (int, float, bool) and low <= each <= 1 for each in values)
    )


def as_base64(values: NDArray[Any]) -> str:
    """The numbers as base 64, for a request."""
    return base64.b64encode(np.ascontiguousarray(values, np.float32).tobytes()).decode()
