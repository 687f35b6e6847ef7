"""Values as Hydra's words, and how to quote those that its grammar cannot read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from xgl.errors import ConfigError, excerpt


def value_word(key: str, value: Any) -> str:
    """A value in Hydra's syntax. Raises :class:`ConfigError` for a kind that no setting has."""
    if hasattr(value, "item") and not getattr(value, "shape", ()):
        value = value.item()  # a number of NumPy's
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str() | Path():
            return quoted(str(value))
        case list() | tuple():
            return f"[{','.join(value_word(key, each) for each in value)}]"
        case Mapping():
            names = (re.sub(r"([\\()\[\]{}:=, \t])", r"\\\1", str(name)) for name in value)
            words = (value_word(key, each) for each in value.values())
            return f"{{{','.join(map(':'.join, zip(names, words, strict=True)))}}}"
    raise ConfigError(
        f"{key}: found a value of type {type(value).__name__}, expected text, a number, a truth "
        "value, None, a list or a mapping of these"
    )


def quoted(text: str) -> str:
    """The text in quotes, with backslashes doubled where a quote follows them."""
    body = re.sub(r'(\\*)("|\Z)', lambda part: 2 * part[1] + ('\\"' if part[2] else ""), text)
    return f'"{body}"'


def with_home(word: str) -> str:
    """An override with its value in quotes if that is a path below the home folder."""
    key, _, value = word.partition("=")
    return f"{key}={quoted(value)}" if value.startswith("~") else word


def how_to_quote(word: str) -> str:
    """One sentence on an override that cannot be read: how a shell's user quotes its value."""
    key, _, value = word.partition("=")
    meant: Any = value
    if value.startswith(("[", "{")):
        with suppress(yaml.YAMLError):
            meant = yaml.safe_load(value)
    with suppress(HydraException, ConfigError):
        better = f"{key}={value_word(key, meant)}"
        if OverridesParser.create().parse_override(better).value() == meant:
            return f"{excerpt(word)}: cannot be read without quotes, expected {quote(better)}"
    return (
        f"{excerpt(word)}: cannot be read, expected key=value, with each text in double quotes and "
        "the whole in single ones"
    )
