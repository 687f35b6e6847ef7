"""Canonical text and identity of a game (paper §2.5: register names carry no meaning).

Registers of types s t x y are one pool, renamed in order of first use, p and l two more; spacing,
quoting and the unnamed main player are normalised, comments dropped. Players are always shown
this text, so equal games look equal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from xgl.errors import MetadataError, excerpt
from xgl.language import syntax as syn
from xgl.language.characters import well_formed
from xgl.language.syntax import Program
from xgl.language.unparse import to_text
from xgl.language.visitors import mentions, rename
from xgl.reading import read_json

_POOL_SUFFIXES = ("", "1", "2", "3", "0")
POOL = tuple(kind + suffix for suffix in _POOL_SUFFIXES for kind in "stxy")
PUBLIC_POOL = tuple("p" + suffix for suffix in _POOL_SUFFIXES)
LIST_POOL = tuple("l" + suffix for suffix in _POOL_SUFFIXES)


@dataclass(frozen=True, slots=True)
class Metadata:
    """Settings that change play, in addition to the program (paper §2.2.1, §2.4.4); part of
    ``game_id``."""

    story_tokens: int = 24
    """Length of ``story()`` in judge tokens."""
    max_len: int = 10
    """Move limit, in judge tokens, of an elicit that sets none."""
    max_failures: int = 10
    """Failed ensures that a player may have; one more is a forfeit."""
    max_characters: int = 4096
    """Most characters of a register; a play that needs more ends as oversize."""
    token_bits: bool = True
    """Whether a player is shown the bits of each token that a reward pays, or only their sum."""
    constants: dict[str, str] = field(default_factory=dict)
    """Values of the registers a, b, c."""


_WINDOW = 1 << 17
MOST = {
    "story_tokens": _WINDOW,
    "max_len": _WINDOW,
    "max_failures": 1000,
    "max_characters": _WINDOW,
}
"""Bounds of the numbers, for the memory and time that a stranger's game may take."""


@dataclass(frozen=True, slots=True)
class Game:
    """A canonical program with its metadata: the unit that is played, learned and stored."""

    program: Program
    metadata: Metadata
    game_id: str
    code: str

    @property
    def dialect(self) -> str:
        return self.program.dialect


def game(program: Program, metadata: Metadata | None = None) -> Game:
    """The game of a program: canonical form, text and id.

    Raises :class:`~xgl.errors.MetadataError` for metadata that no game can have.
    """
    metadata = _check_metadata(metadata or Metadata())
    canonical = canonicalise(program)
    code = to_text(canonical)
    facts = metadata_json(metadata)
    digest = hashlib.sha256(f"{canonical.dialect}\n{facts}\n{code}".encode()).hexdigest()
    return Game(canonical, metadata, digest[:16], code)


def metadata_json(metadata: Metadata) -> str:
    """The metadata as JSON for the id and for archives: without ``token_bits`` if it is true, so
    that such a game has the id that it had before this field existed."""
    facts = asdict(metadata)
    if metadata.token_bits:
        del facts["token_bits"]
    return json.dumps(facts, sort_keys=True)


def read_metadata(facts: object) -> Metadata:
    """Metadata from JSON, as text or read already. Raises :class:`~xgl.errors.MetadataError` for
    metadata that no game can have."""
    try:
        values: Any = read_json(facts) if isinstance(facts, str) else facts
        return _check_metadata(Metadata(**values))
    except MetadataError:
        raise
    except (ValueError, TypeError, AttributeError) as error:
        raise MetadataError(f"the metadata are no settings of a game ({error})") from None


def _check_metadata(metadata: Metadata) -> Metadata:
    for name, most in MOST.items():
        value = getattr(metadata, name)
        if type(value) is not int or not 0 <= value <= most:
            raise MetadataError(
                f"{name} is {excerpt(repr(value))}, expected a whole number from 0 to {most:,}"
            )
    if type(metadata.token_bits) is not bool:
        raise MetadataError(f"token_bits is {metadata.token_bits!r}, expected true or false")
    for name, text in metadata.constants.items():
        if name not in syn.REGISTERS or name[0] not in syn.CONSTANT_TYPES:
            raise MetadataError(f"no constant {excerpt(str(name))!r}, expected one of a b c")
        if not isinstance(text, str):
            raise MetadataError(f"the constant {name} is no text: {type(text).__name__}")
    texts = {name: well_formed(text) for name, text in metadata.constants.items()}
    return replace(metadata, constants=texts) if texts != metadata.constants else metadata


def canonicalise(program: Program) -> Program:
    """Rename registers within their pools in order of first use."""
    names: dict[str, str] = {}
    pools = {"private": iter(POOL), "p": iter(PUBLIC_POOL), "l": iter(LIST_POOL)}
    for instruction in program.instructions:
        for name in mentions(instruction):
            if name not in names:
                names[name] = _new_name(name, pools)
    instructions = tuple(rename(instruction, names) for instruction in program.instructions)
    return replace(program, instructions=instructions)


def _new_name(name: str, pools: dict[str, Iterator[str]]) -> str:
    if name[0] in syn.CONSTANT_TYPES:
        return name
    return next(pools[name[0] if name[0] in pools else "private"])
