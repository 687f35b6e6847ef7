"""Metadata of one game (paper §2.4.4): TOML in the header of its file, or in a small file beside.

    #: story_tokens = 40
    #: constants.a = "a king"
    #: prompts.b = "the name of a city"

Layers override one another: defaults, a run's settings, the file ``game.toml`` beside
``game.xgl``, the header.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from xgl.errors import MetadataError, excerpt
from xgl.language.canonical import HEAD, Metadata, read_metadata
from xgl.reading import read_bytes

SUFFIX = ".toml"
_MOST_BYTES = 1 << 20
_NAMES = tuple(field.name for field in fields(Metadata))
_BY_REGISTER = ("constants", "prompts")


def file_metadata(text: str, path: Path | None, usual: Metadata, origin: str) -> Metadata:
    """The metadata of a game's file: ``usual``, overridden by the file beside ``path`` and by the
    header of ``text``.

    Raises :class:`MetadataError`, one sentence that begins with ``origin`` or the file beside it,
    with the line where TOML ends.
    """
    metadata = usual
    beside = None if path is None else path.with_suffix(SUFFIX)
    if beside is not None and beside.is_file():
        try:
            layer = read_bytes(beside, _MOST_BYTES).decode()
        except (OSError, UnicodeDecodeError) as error:
            raise MetadataError(f"{beside}: cannot be read ({error})") from None
        metadata = _overridden(metadata, layer, str(beside))
    return _overridden(metadata, header(text), origin)


def header(text: str) -> str:
    """The TOML of a game's header, each line in its place in the file."""
    lines = [line.strip() for line in text.split("\n")]
    return "\n".join(line.removeprefix(HEAD) if line.startswith(HEAD) else "" for line in lines)


def _overridden(metadata: Metadata, toml: str, origin: str) -> Metadata:
    if not toml.strip():
        return metadata
    try:
        facts = tomllib.loads(toml)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.fullmatch(r"(?s)(.*) \(at (?:line (\d+), column \d+|.*)\)", str(error))
        place = f"line {found[2]}: " if found and found[2] else ""
        reason = found[1] if found else str(error)
        raise MetadataError(
            f'{origin}: {place}{reason}, expected name = value, such as npc = "weak"'
        ) from None
    try:
        return _merged(metadata, facts)
    except MetadataError as error:
        raise MetadataError(f"{origin}: {error}") from None


def _merged(metadata: Metadata, facts: Mapping[str, Any]) -> Metadata:
    for name in facts:
        if name not in _NAMES:
            near = get_close_matches(name, _NAMES, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            expected = ", ".join(_NAMES)
            raise MetadataError(f"no metadata {excerpt(name, 40)!r}, expected {expected}{hint}")
    new = read_metadata(dict(facts))
    own = {name: getattr(new, name) for name in facts}
    named = {name for each in _BY_REGISTER for name in own.get(each, ())}
    for each in _BY_REGISTER:  # a text takes the place of a prompt, and a prompt that of a text
        kept = {n: text for n, text in getattr(metadata, each).items() if n not in named}
        own[each] = kept | own.get(each, {})
    return replace(metadata, **own)
