"""A measure: games to play, of an export (docs/how-to/measure.md is the contract), or of the
library and of files, without a growth (paper §5.5)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from archive import Purpose
from archive.run import ArchivedStories
from archive.statistics.measure import BestKnown
from archive.statistics.rounds import ScoreLevels
from evo.config.measure import MeasureRunConfig
from evo.growth.initial_scope import read_task, short_name
from evo.jobs.evaluation import Task, evaluation_seeds
from xgl import XGLError, analyse, game, parse
from xgl.errors import ConfigError, excerpt
from xgl.files import is_inside, may_use, read_bytes
from xgl.judge.story_files import check_prompts
from xgl.language.canonical import Game, Metadata, read_metadata
from xgl.language.syntax import PLAYERS
from xgl.models.references import CORPUS
from xgl.runtime.requests import Seeds

MANIFEST = "measure.json"
MAPS = 20
"""Maps of a named game by default: N of Fig. 4.1."""


@dataclass(frozen=True)
class MeasureGame:
    """One game of the measure: ``name`` as exported, ``origin`` its id in the scope that it was
    exported from, ``levels`` of its base player if the export holds them, set by the policy
    ``base``."""

    name: str
    origin: str
    task: Task
    levels: ScoreLevels | None
    base: str


@dataclass(frozen=True)
class ExportedMeasure:
    """A whole measure. ``stories`` by game, none where the model host's own are used. ``judge`` is
    a model reference, ``judge_name`` that of the run, which the weights in the folder are a copy
    of; ``digest`` names the content."""

    members: tuple[MeasureGame, ...]
    maps: Mapping[str, tuple[int, ...]]
    stories: Mapping[str, ArchivedStories]
    judge: str
    judge_name: str
    digest: str
    best_known: Mapping[str, Mapping[int, BestKnown]]
    """The best known scores in the folder, by member and map seed."""

    def only(self, names: Sequence[str]) -> ExportedMeasure:
        """The measure with the games of these names; with all for none. Raises
        :class:`ConfigError`."""
        known = [each.name for each in self.members]
        if unknown := [name for name in names if name not in known]:
            raise ConfigError(
                f"measure.games: found {unknown[0]!r}, expected games of the folder: "
                f"{', '.join(known)}"
            )
        members = tuple(each for each in self.members if not names or each.name in names)
        return replace(self, members=members)

    def seeds(self, member: MeasureGame, count: int | None) -> tuple[Seeds, ...]:
        """One play seed for each map of the member."""
        maps = self.maps[member.name][:count]
        return tuple(Seeds(map_seed, index) for index, map_seed in enumerate(maps))


def named_measure(config: MeasureRunConfig) -> ExportedMeasure:
    """The games of ``measure.games`` with ``measure.maps`` maps each, whose texts are the held-out
    stories of the package. No game has levels: the base player sets them.

    Raises :class:`ConfigError` for a game that cannot be read, is there twice, or needs texts
    by prompts.
    """
    members: dict[str, MeasureGame] = {}
    for entry in config.measure.games:
        name, task = short_name(entry), read_task("measure.games", entry, Metadata())
        check_prompts(task.game, CORPUS, task.origin, "stories")
        if name in members or task.id in [each.task.id for each in members.values()]:
            raise ConfigError(f"measure.games: found {entry!r} twice, by name or by program")
        members[name] = MeasureGame(name, task.game_id, task, None, "")
    seeds = evaluation_seeds(Purpose.MEASURE, config.seed, config.measure.maps or MAPS)
    maps = tuple(each.map_seed for each in seeds)
    judge, content = config.measure.judge, [[*each.task.id] for each in members.values()]
    digest = hashlib.sha256(json.dumps([content, maps]).encode()).hexdigest()
    return ExportedMeasure(
        tuple(members.values()),
        dict.fromkeys(members, maps),
        {},
        judge or "embedded",
        "embedded",
        digest,
        {name: {} for name in members},
    )


# -- an exported measure ---------------------------------------------------------------------------


class Json(BaseModel):
    """A part of measure.json: other keys are left out, values have exactly these types."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Story(Json):
    site: int
    text: str


class _Map(Json):
    map_seed: Annotated[int, Field(ge=0, lt=1 << 63)]
    stories: list[_Story]
    best_known: BestKnown | None = None


class _Levels(Json):
    b: float
    theta: float
    m: int
    rounds: int
    maps: int
    k_m: int
    floor: float
    policy: str

    @model_validator(mode="after")
    def _levels_are_possible(self) -> Self:
        assert self.levels
        return self

    @property
    def levels(self) -> ScoreLevels:
        return ScoreLevels(self.b, self.theta, self.m, self.rounds, self.maps, self.k_m)


class _Member(Json):
    name: str
    file: str
    code_sha256: str
    game_id: str
    role: Literal[*PLAYERS]  # type: ignore[valid-type]
    metadata: dict[str, Any]
    thresholds: _Levels | None = None
    maps: list[_Map]


class _Judge(Json):
    model: str
    folder: str | None


class _Manifest(Json):
    format: Literal["xent-measure"]
    version: Literal[1]
    judge: _Judge
    members: Annotated[list[_Member], Field(min_length=1)]


def read(folder: Path, judge: str | None = None) -> ExportedMeasure:
    """The measure in a folder, with its own judge or the one that the user names.

    Raises :class:`ConfigError` naming what is missing, damaged or not playable, and for a judge
    that only the folder names if another machine wrote it.
    """
    content = _bytes(folder, MANIFEST)
    try:
        manifest = _Manifest.model_validate_json(content)
    except ValidationError as error:
        raise ConfigError(
            f"measure.folder: {folder / MANIFEST} is damaged ({first_problem(error)}), expected "
            "what python -m archive export --format xent writes"
        ) from None
    members = {each.name: each for each in manifest.members}
    if len(members) < len(manifest.members):
        raise ConfigError(f"measure.folder: {folder / MANIFEST} has two games of one name")
    named = manifest.judge
    if judge is None and named.folder is not None:  # its weights are there
        judge = str(_inside(folder, named.folder))
    return ExportedMeasure(
        tuple(_member(folder, each) for each in manifest.members),
        {name: _seeds(each) for name, each in members.items()},
        {name: _stories(each) for name, each in members.items()},
        judge or usable_judge(folder / MANIFEST, content, named.model),
        manifest.judge.model,
        hashlib.sha256(content).hexdigest(),
        {
            name: {m.map_seed: m.best_known for m in each.maps if m.best_known}
            for name, each in members.items()
        },
    )


def first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"])) or "the whole"
    return f"{place}: {first['msg']}, found {excerpt(repr(first['input']))}"


def _inside(folder: Path, name: str) -> Path:
    """A path of the folder: the folder may be a stranger's. Raises :class:`ConfigError`."""
    if "\0" in name or not is_inside(folder / name, folder):
        raise ConfigError(f"measure.folder: {folder} names {name!r}, expected a path inside")
    return folder / name


def usable_judge(path: Path, content: bytes, model: str) -> str:
    """The judge that a file names. Raises :class:`ConfigError` for one that only a stranger
    names."""
    if not may_use(model, content):
        raise ConfigError(
            f"measure.folder: {path} was not written by you on this machine and names "
            f"the judge {model}; to use it, add measure.judge={quote(model)}"
        )
    return model


def _bytes(folder: Path, name: str) -> bytes:
    try:
        return read_bytes(_inside(folder, name))
    except OSError as error:
        raise ConfigError(
            f"measure.folder: {folder / name} cannot be read ({error.strerror}), expected a folder "
            "written by python -m archive export RUN FOLDER --format xent"
        ) from None


def _member(folder: Path, member: _Member) -> MeasureGame:
    path, text = folder / member.file, _bytes(folder, member.file)
    if hashlib.sha256(text).hexdigest() != member.code_sha256:
        raise ConfigError(f"measure.folder: {path} has changed since its export")
    origin = f"measure.folder: {path}"
    try:
        code, metadata = text.decode(), read_metadata(member.metadata)
    except (XGLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{origin}: {error}") from None
    task = Task(playable_game(code, metadata, origin), member.role, origin=origin)
    if (base := member.thresholds) is None:
        return MeasureGame(member.name, member.game_id, task, None, "")
    task = replace(task, floor=base.floor)
    return MeasureGame(member.name, member.game_id, task, base.levels, base.policy)


def playable_game(code: str, metadata: Metadata, origin: str) -> Game:
    """A game in the xent dialect. Raises :class:`ConfigError` for one that cannot be played."""
    try:
        whole = game(parse(code, "xent"), metadata)
    except XGLError as error:
        raise ConfigError(f"{origin}: {error}") from None
    if faults := analyse(whole.program, whole.metadata).faults:
        raise ConfigError(f"{origin}: {faults[0]}")
    return whole


def _seeds(member: _Member) -> tuple[int, ...]:
    seeds = tuple(each.map_seed for each in member.maps)
    if len(set(seeds)) != len(seeds) or len(seeds) < 2:
        raise ConfigError(
            f"measure.folder: game {member.name} has maps {list(seeds)}, expected two or more "
            "different ones"
        )
    return seeds


def _stories(member: _Member) -> ArchivedStories:
    return ArchivedStories({m.map_seed: {s.site: s.text for s in m.stories} for m in member.maps})
