"""What an expression stands for, from the registers alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from xgl.errors import OversizeError
from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.runtime.values import MissingError, Text, Values


class UnknownTextError(Exception):
    """An expression whose value the registers alone do not tell, as that of a random draw."""


def value_of(node: object, registers: Mapping[str, str], game: Game) -> Any:
    """A string, list, set of words, number or truth value, as Python's own.

    ``registers`` hold texts; the lists among them JSON. Raises :class:`UnknownTextError`.
    """
    values = Values(DIALECTS[game.dialect], game.metadata)
    for name, text in registers.items():
        items = tuple(map(Text, json.loads(text))) if name in syn.LIST_REGISTERS else None
        values.store(name, Text(text) if items is None else items)
    try:
        return values.plain(node)
    except (MissingError, OversizeError):
        raise UnknownTextError from None
