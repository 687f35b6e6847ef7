"""Where the texts of maps come from, by the name that a user gives: the package's corpus, a file of
texts, or a model that writes them. Needs no model library."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from xgl.chat.calls import ask_once
from xgl.chat.settings import ChatSettings
from xgl.errors import ConfigError, StoryError, excerpt
from xgl.files import MOST_BYTES, read_bytes, read_json, user_path
from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import find
from xgl.models import corpus
from xgl.models.references import (
    CORPUS,
    JUDGE,
    ChatName,
    LocalName,
    check_stories,
    is_corpus,
    is_text_file,
    parse,
)
from xgl.models.resolve import resolve

WRITERS = "expected judge, a model of this machine or chat:MODEL@URL, which write what is asked for"
MOST_FILE_BYTES = 16 * MOST_BYTES
_FIELDS = ("text", "story")
_A_TEXT = f"expected a text, or an object with one as {' or '.join(map(repr, _FIELDS))}"


def check_source(reference: str, setting: str, key_variable: str | None = None) -> None:
    """Raises :class:`ConfigError`, which begins with ``setting``, for a file that cannot be used as
    a corpus, ModelNotFoundError for a model that is not there, and PlayerError for an endpoint that
    does not answer a short request."""
    try:
        check_stories(reference)
        if is_text_file(reference):
            read_texts(reference)
    except (StoryError, ValueError) as error:
        raise ConfigError(f"{setting}: {error}") from None
    if is_corpus(reference) or reference == JUDGE:
        return
    if isinstance(name := parse(reference), LocalName):
        resolve(name.reference)
    if isinstance(name, ChatName):
        ask_once([ChatSettings(model=name.model, base_url=name.url, key_variable=key_variable)])


def check_prompts(game: Game, reference: str, origin: str, setting: str) -> None:
    """Raises :class:`ConfigError`, which begins with ``origin``, for a game that asks for texts by
    prompts, in its program or its metadata, if the source that ``setting`` names follows none."""
    if not is_corpus(reference) or not (places := prompted_places(game)):
        return
    raise ConfigError(
        f"{origin}: {places[0]} asks for a text by a prompt, which a corpus cannot follow "
        f"({setting}={reference}), {WRITERS}"
    )


def prompted_places(game: Game) -> list[str]:
    """Where a game asks for texts by prompts."""
    program, texts = game.program, game.metadata.prompts
    places = [f"prompts.{name} = {excerpt(text, 60)!r}" for name, text in sorted(texts.items())]
    if not DIALECTS[program.dialect].story_arguments:
        return places  # there they are no part of the game
    return places + [
        f"line {program.source_line(position)}: story({excerpt(story.prompt, 60)!r})"
        for position, line in enumerate(program.instructions)
        for story in find(line, syn.Story)
        if story.prompt
    ]


def corpus_texts(reference: str) -> list[str]:
    """The texts of the package's held-out stories, or of a file. Raises :class:`StoryError`."""
    if reference == CORPUS:
        return [story.text for story in corpus.stories("held_out")]
    return read_texts(reference)


def texts_digest(reference: str) -> str:
    """SHA-256 (hex) of the texts of a file; empty for another source. Raises StoryError."""
    if not is_text_file(reference):
        return ""
    return hashlib.sha256("\n".join(read_texts(reference)).encode()).hexdigest()


def read_texts(file: str) -> list[str]:
    """The different texts of a file, in its order: plain text (UTF-8), one text a line, or several
    lines each with blank lines between them; or JSON lines.

    Raises :class:`StoryError`, one sentence with the line, for a file that is none of these.
    """
    path = user_path(file)
    try:
        text = read_bytes(path, MOST_FILE_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + error.object[: error.start].count(b"\n")
        reason = f"line {line}: no UTF-8 text ({error.reason}), expected UTF-8"
        raise StoryError(f"{path}: {reason}") from None
    except OSError as error:
        raise StoryError(f"{path}: cannot be read ({error.strerror or error})") from None
    rows = _json_lines(text, path) if path.suffix == ".jsonl" else _plain_texts(text)
    texts = list(dict.fromkeys(" ".join(row.split()) for row in rows))
    try:
        corpus.divided(texts)
    except ValueError as error:
        raise StoryError(f"{path}: {error}") from None
    return texts


def _plain_texts(text: str) -> list[str]:
    # With a blank line anywhere inside, texts are paragraphs; otherwise each line is one.
    body = "\n".join(map(str.strip, text.split("\n"))).strip("\n")
    return [part for part in body.split("\n\n" if "\n\n" in body else "\n") if part.strip()]


def _json_lines(text: str, path: Path) -> Iterator[str]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = read_json(line)
        except ValueError as error:
            raise StoryError(f"{path}: line {number}: no JSON ({error}), {_A_TEXT}") from None
        if isinstance(value, dict):
            value = next((value[name] for name in _FIELDS if name in value), value)
        if not isinstance(value, str) or not value.strip():
            found = excerpt(repr(value), 60)
            raise StoryError(f"{path}: line {number}: found {found}, {_A_TEXT}")
        yield value
