"""An expanded benchmark configuration of the authors' engine (``xent run --config``) as a measure:
its games with the texts of its maps. Code that it holds besides is not run."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from archive.run import ArchivedStories
from evo.jobs.evaluation import Task
from evo.measure.folder import (
    ExportedMeasure,
    Json,
    MeasureGame,
    first_problem,
    playable_game,
    usable_judge,
)
from xgl.errors import ConfigError
from xgl.files import read_bytes
from xgl.language import syntax as syn
from xgl.language.canonical import Metadata

SUFFIX = ".json"
METADATA = Metadata(max_failures=10, story_tokens=1 << 10)
"""That engine forgives ten failures in a row of an ensure line."""


class _Metadata(Json):
    judge_model: str


class _Player(Json):
    name: Literal[*syn.PLAYERS]  # type: ignore[valid-type]


class _Game(Json):
    name: str
    code: str


class _Config(Json):
    config_type: Literal["expanded_xent_config"]
    metadata: _Metadata
    players: list[_Player] = Field(min_length=1)
    games: list[_Game] = Field(min_length=1)
    maps: list[_Game]


def read_benchmark(path: Path, judge: str | None = None) -> ExportedMeasure:
    """The measure of a file, with its own judge or the one that the user names. The map seeds are
    1, 3, 5, …: the places of a game's maps.

    Raises :class:`ConfigError` for a file that is none, a game that cannot be played here, a map
    that is no map of its game, and a judge that only the file names.
    """
    try:
        content = read_bytes(path)
        config = _Config.model_validate_json(content)
    except OSError as error:
        raise ConfigError(f"measure.folder: {path} cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise ConfigError(
            f"measure.folder: {path}: {first_problem(error)}; expected an expanded configuration "
            "of the authors' engine, whose maps hold their texts"
        ) from None
    members, stories = [], {}
    for each in config.games:
        where = f"measure.folder: {path}: {each.name}"
        whole = playable_game(each.code, METADATA, where)
        texts = [_texts(each.code, one.code, where) for one in config.maps if one.name == each.name]
        if each.name in stories or len(texts) < 2:
            raise ConfigError(f"{where}: found {len(texts)} maps, expected two or more")
        task = Task(whole, config.players[0].name, origin=where)
        members.append(MeasureGame(each.name, whole.game_id, task, None, ""))
        seeds = tuple(range(1, 2 * len(texts), 2))
        stories[each.name] = ArchivedStories(dict(zip(seeds, texts, strict=True))), seeds
    name = config.metadata.judge_model
    return ExportedMeasure(
        tuple(members),
        {key: seeds for key, (_, seeds) in stories.items()},
        {key: source for key, (source, _) in stories.items()},
        judge or usable_judge(path, content, name),
        name,
        hashlib.sha256(content).hexdigest(),
        {key: {} for key in stories},
    )


def _texts(code: str, filled: str, where: str) -> Sequence[str]:
    """The texts that stand in a map's code in the places of the game's stories."""
    texts: list[str] = []
    try:
        plain, other = ast.parse(code), ast.parse(filled)
        is_map = _fill(plain, other, texts)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        is_map = False
    if not is_map:
        found = json.dumps(filled[:60])
        raise ConfigError(f"{where}: {found} is no map of it, expected its code, texts as stories")
    return texts


def _fill(plain: Any, filled: Any, texts: list[str]) -> bool:
    """Whether two trees are equal but for texts in the places of stories, which are appended."""
    if (
        isinstance(plain, ast.Call)
        and isinstance(plain.func, ast.Name)
        and plain.func.id == "story"
    ):
        is_text = isinstance(filled, ast.Constant) and isinstance(filled.value, str)
        texts += [filled.value] if is_text else []
        return is_text
    if type(plain) is not type(filled):
        return False
    if isinstance(plain, ast.AST):
        return all(_fill(getattr(plain, n), getattr(filled, n, None), texts) for n in plain._fields)
    if isinstance(plain, list):
        pairs = zip(plain, filled, strict=False)
        return len(plain) == len(filled) and all(_fill(*pair, texts) for pair in pairs)
    return bool(plain == filled)
