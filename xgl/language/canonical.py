"""Canonical text and identity of a game (paper §2.5: register names carry no meaning).

Registers of types s t x y are one pool, renamed in order of first use, p and l two more; spacing,
quoting and the unnamed main player are normalised, comments dropped. Players are always shown
this text, so equal games look equal.

A game's metadata (paper §2.4.4) are TOML in the header of its file, over a run's settings and the
defaults.

    #: story_tokens = 40
    #: constants.a = "a king"
    #: prompts.b = "the name of a city"

Names of models under one judge (paper §2.2.2: an umbrella model that hosts several, with an
activation prefix that says which one is to be used) follow one rule: an in-line text that
begins with ``@`` and a name, as a pre-instruction (``xent(s | t, "@weak")``) or at the
beginning of a statement (``ensure("@weak It rains." + s)``), names the model that answers; what
follows the name is the text. Texts of registers name none, so no move can choose who judges it.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, Strict

from xgl.errors import ConfigError, check_kind
from xgl.escaping import is_visible, well_formed
from xgl.files import read_json
from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS
from xgl.language.syntax import Program
from xgl.language.unparse import to_text
from xgl.language.visitors import find, joined_parts, mentions, rename
from xgl.settings import Flag, settings, value_text

_POOL_SUFFIXES = ("", "1", "2", "3", "0")
POOL = tuple(kind + suffix for suffix in _POOL_SUFFIXES for kind in "stxy")
PUBLIC_POOL = tuple("p" + suffix for suffix in _POOL_SUFFIXES)
LIST_POOL = tuple("l" + suffix for suffix in _POOL_SUFFIXES)

NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
"""The name of a model under the judge."""
# The bounds of the numbers are for the memory and time that a stranger's game may take.
MOST_SIZE = 1 << 17
Size = Annotated[int, Strict(), Field(ge=0, le=MOST_SIZE)]
Failures = Annotated[int, Strict(), Field(ge=0, le=1000)]
StoryCount = Annotated[int, Strict(), Field(ge=0, le=1 << 40)]


def _check_name(name: str) -> str:
    if name and not NAME.fullmatch(name):
        raise ValueError(f"found {value_text(name)}, expected a name under the judge such as weak")
    return name


def _check_constants(texts: dict[str, str]) -> dict[str, str]:
    for name in texts:
        if name not in syn.REGISTERS or name[0] not in syn.CONSTANT_TYPES:
            raise ValueError(f"found {value_text(name)}, expected one of a b c")
    return texts


def _encodable(text: Any) -> Any:
    return well_formed(text) if isinstance(text, str) else text


Name = Annotated[str, AfterValidator(_check_name)]
Texts = Annotated[
    dict[str, Annotated[str, BeforeValidator(_encodable)]], AfterValidator(_check_constants)
]
"""Texts by the names of constants."""


@settings
class Metadata:
    """Settings that change play, in addition to the program (paper §2.2.1, §2.4.4); part of
    ``game_id``. Raises :class:`~xgl.errors.ConfigError` for those that no game can have."""

    story_tokens: Size = 24
    """Length of ``story()`` in judge tokens."""
    story_count: StoryCount = 0
    """Different maps for training, and as many for evaluation; 0: no limit."""
    max_len: Size = 10
    """Move limit, in judge tokens, of an elicit that sets none."""
    max_failures: Failures = 10
    """Failed ensures that a player may have; one more is a forfeit."""
    max_characters: Size = 4096
    """Most characters of a register; a play that needs more ends as oversize."""
    token_bits: Flag = True
    """Whether a player is shown the bits of each token that a reward pays, or only their sum."""
    constants: Texts = Field(default_factory=dict)
    """Values of the registers a, b, c."""
    prompts: Texts = Field(default_factory=dict)
    """Prompts by which registers a, b, c are filled on each map, as by ``story("prompt")``."""
    judge: Name = ""
    """Name of the model under the judge that scores where the program names none; empty: the judge
    itself."""
    npc: Name = ""
    """Name of the model that plays all other roles: one under the judge, or ``judge``; empty: the
    players' own setting."""

    def __post_init__(self) -> None:
        if both := sorted(self.constants.keys() & self.prompts.keys()):
            raise ValueError(f"{both[0]}: found a text and a prompt, expected one of them")


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

    @property
    def shown(self) -> str:
        """The code as players are shown it (paper §2.2.1): below the metadata that play depends on
        and that are not usual. Constants are shown as registers."""
        return "\n".join([*metadata_lines(self), self.code])


def game(program: Program, metadata: Metadata | None = None) -> Game:
    """The game of a program: canonical form, text and id."""
    metadata = metadata or _USUAL
    check_kind("program", program, syn.Program, "what xgl.parse returns")
    check_kind("metadata", metadata, Metadata, "xgl.Metadata(…)")
    canonical = canonicalise(program)
    code = to_text(canonical)
    name = content_id(canonical.dialect, metadata_json(metadata), code)
    return Game(canonical, metadata, name, code)


def content_id(dialect: str, metadata: str, code: str) -> str:
    """The id of a game: the first 16 digits of the SHA-256 of its dialect, metadata and text."""
    return hashlib.sha256(f"{dialect}\n{metadata}\n{code}".encode()).hexdigest()[:16]


HEAD = "#:"
"""What a line with metadata begins with, in a game's file and as players are shown it."""
_LATER = ("token_bits", "story_count", "prompts", "judge", "npc")
"""Fields without which games have their ids from before, where they are as usual."""
_BY_REGISTER = ("constants", "prompts")
_USUAL = Metadata()


def metadata_lines(game: Game) -> list[str]:
    """The unusual metadata that a play depends on, as lines of a header that reads as them."""
    metadata, program = game.metadata, game.program
    if _unusual(metadata).keys() <= {"constants", "token_bits"}:
        return []
    stories, arguments = find(program, syn.Story), DIALECTS[program.dialect].story_arguments
    usual = any(not (arguments and each.tokens) for each in stories)
    is_used = {
        "story_tokens": bool(metadata.prompts) or usual,
        "max_len": any(not each.max_len for each in find(program, syn.Elicit)),
        "max_failures": bool(find(program, syn.Ensure)),
    }
    unused = [name for name, used in is_used.items() if not used]
    return own_metadata(metadata, {"constants", "token_bits", "max_characters", *unused})


def own_metadata(metadata: Metadata, without: Collection[str] = ()) -> list[str]:
    """The metadata that are not usual, but for the fields ``without``, as lines of a header: below
    all of them the code is the same game again."""
    facts = {name: value for name, value in _unusual(metadata).items() if name not in without}
    for field in _BY_REGISTER:  # after all others
        texts = facts.pop(field, {})
        facts |= {f"{field}.{name}": texts[name] for name in sorted(texts)}
    return [f"{HEAD} {name} = {toml_value(value)}" for name, value in facts.items()]


def _unusual(metadata: Metadata) -> dict[str, Any]:
    return {n: value for n, value in asdict(metadata).items() if value != getattr(_USUAL, n)}


def toml_value(value: str | int | bool) -> str:
    """A value as TOML writes it, on one line."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(c if is_visible(c) else f"\\U{ord(c):08x}" for c in text)


def metadata_json(metadata: Metadata) -> str:
    """The metadata as JSON for the id and for archives: without the fields that are as usual and
    that games of earlier releases did not have, so that such games have their ids."""
    unusual = _unusual(metadata)
    facts = {n: v for n, v in asdict(metadata).items() if n not in _LATER or n in unusual}
    return json.dumps(facts, sort_keys=True)


def read_metadata(facts: object) -> Metadata:
    """Metadata from JSON, as text or read already. Raises :class:`~xgl.errors.ConfigError` for
    metadata that no game can have."""
    try:
        values: Any = read_json(facts) if isinstance(facts, str) else facts
        return Metadata(**values)
    except ConfigError:
        raise
    except (ValueError, TypeError) as error:
        raise ConfigError(f"the metadata are no settings of a game ({error})") from None


def canonicalise(program: Program) -> Program:
    """Rename registers within their pools in order of first use."""
    names: dict[str, str] = {}
    pools = {"private": iter(POOL), "p": iter(PUBLIC_POOL), "l": iter(LIST_POOL)}
    for instruction in program.instructions:
        for name in mentions(instruction):
            if name not in names and name[0] not in syn.CONSTANT_TYPES:
                names[name] = next(pools[name[0] if name[0] in pools else "private"])
    instructions = tuple(rename(instruction, names) for instruction in program.instructions)
    return replace(program, instructions=instructions)


def file_metadata(text: str, usual: Metadata, origin: str) -> Metadata:
    """The metadata of a game's file: ``usual``, overridden by the header of ``text``.

    Raises :class:`ConfigError`, one sentence that begins with ``origin``, with the line where TOML
    ends.
    """
    check_kind("metadata", usual, Metadata, "xgl.Metadata(…)")
    try:
        facts = tomllib.loads(header(text))
        new = read_metadata(facts)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        expected = 'expected name = value, such as npc = "weak"'
        raise ConfigError(f"{origin}: {error}, {expected}") from None
    except ConfigError as error:
        raise ConfigError(f"{origin}: {error}") from None
    own = {name: getattr(new, name) for name in facts}
    named = {name for each in _BY_REGISTER for name in own.get(each, ())}
    for each in _BY_REGISTER:  # a text takes the place of a prompt, and a prompt that of a text
        kept = {n: text for n, text in getattr(usual, each).items() if n not in named}
        own[each] = kept | own.get(each, {})
    return replace(usual, **own)


def header(text: str) -> str:
    """The TOML of a game's header, each line in its place in the file."""
    lines = [line.strip() for line in text.split("\n")]
    return "\n".join(line.removeprefix(HEAD) if line.startswith(HEAD) else "" for line in lines)


MAIN = "main"
"""The name of the judge itself."""
BASE = "base"
"""As the name of NPCs: the base player."""
RESERVED = (MAIN, "judge", BASE)
"""Names that no model under the judge may have."""
_NAMED = re.compile(rf"@({NAME.pattern})(?:\s+|$)", re.ASCII)


def split_name(text: syn.StringExpr | None) -> tuple[str, syn.StringExpr | None]:
    """The name at the beginning of a text, empty if it names none, and the rest of it.

    >>> split_name(syn.Literal("@weak Be brief."))
    ('weak', Literal(value='Be brief.'))
    """
    first, *others = joined_parts(text)
    match = _NAMED.match(first.value) if isinstance(first, syn.Literal) else None
    if match is None:
        return "", text
    rest = first.value[match.end() :]
    parts = [syn.Literal(rest), *others] if rest else others
    return match[1], reduce(syn.Cat, parts) if parts else None


def names_of(node: object) -> list[str]:
    """The models that a program or a line names, in order, each once."""
    texts: list[syn.StringExpr | None] = [each.outer for each in find(node, syn.Xent)]
    texts += [each.statement for each in find(node, syn.Truth)]
    return list(dict.fromkeys(name for text in texts if (name := split_name(text)[0])))


def model_names(game: Game) -> list[str]:
    """The models under the judge that a game needs, by its program or its metadata."""
    own = [game.metadata.judge, game.metadata.npc]
    names = dict.fromkeys([*own, *names_of(game.program)])
    return [name for name in names if name not in ("", *RESERVED)]


def check_names(game: Game, known: Collection[str], origin: str, setting: str) -> None:
    """Raises :class:`ConfigError`, one sentence that begins with ``origin``, if a game needs a
    model that is not among the names ``known``; ``setting``: what would name it, with {}."""
    for name in model_names(game):
        if name not in known:
            found = ", ".join(known) or "none"
            raise ConfigError(
                f"{origin}: needs the model {name!r} under the judge, found {found}, expected "
                f"{setting.format(name)}"
            )
