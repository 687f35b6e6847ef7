"""A measure: games to play, of an export (docs/how-to/measure.md is the contract), of the library
and of files, without a growth (paper §5.5), or of a benchmark of the authors' engine."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal, Self

from pydantic import AliasPath, BaseModel, ConfigDict, Field, ValidationError, model_validator

from archive import Purpose
from archive.run import ArchivedStories
from archive.statistics.measure import BestKnown
from archive.statistics.rounds import ScoreLevels
from evo.config.measure import MeasureConfig, MeasureRunConfig
from evo.growth.initial_scope import read_task, short_name
from evo.jobs.evaluation import Task, evaluation_seeds
from meta_sampler.settings import Player
from xgl import XGLError, analyse, game, parse
from xgl.errors import ConfigError, excerpt
from xgl.files import is_inside, may_use, not_yours, read_bytes
from xgl.judge.stories import check_prompts
from xgl.language.canonical import Game, Metadata, check_names, read_metadata
from xgl.models.references import CORPUS
from xgl.runtime.requests import Seeds

MANIFEST, BENCHMARK = "measure.json", ".json"
"""A file of an exported folder, and the suffix of a benchmark of the authors' engine."""
EXPECTED = "a folder written by python -m archive export RUN FOLDER --format xent"
MAPS = 20
"""Maps of a named game by default: N of Fig. 4.1."""
ENGINE = Metadata(max_failures=10, story_tokens=1 << 10)
"""In the authors' engine an ensure line forgives ten failures in a row."""


@dataclass(frozen=True)
class MeasureGame:
    """One game of the measure: ``name`` as exported, ``origin`` its id in the scope that it was
    exported from; ``maps``: map seeds; ``stories``: their texts, None for those of the model host;
    ``levels``: of its base player if the export holds them, set by the policy ``base``;
    ``best_known``: the best scores in the folder, by map seed."""

    name: str
    origin: str
    task: Task
    maps: tuple[int, ...]
    stories: ArchivedStories | None = None
    levels: ScoreLevels | None = None
    base: str = ""
    best_known: Mapping[int, BestKnown] = field(default_factory=dict)

    def seeds(self, count: int | None) -> tuple[Seeds, ...]:
        """One play seed for each of the first maps."""
        return tuple(Seeds(seed, index) for index, seed in enumerate(self.maps[:count]))


def levels_hold(member: MeasureGame, base: str) -> bool:
    """Whether a game has levels, set by ``base`` if others move too, as which the base plays."""
    movers = analyse(member.task.game.program).players
    return member.levels is not None and (len(movers) < 2 or member.base == base)


@dataclass(frozen=True)
class ExportedMeasure:
    """A whole measure. ``judge`` is a model reference, ``judge_name`` that of the run, which the
    weights in the folder are a copy of; ``digest`` names the content."""

    members: tuple[MeasureGame, ...]
    judge: str
    judge_name: str
    digest: str


def measure_of(config: MeasureRunConfig, resumed: bool) -> ExportedMeasure:
    """The measure of a folder or of a benchmark configuration, or of named games. Raises
    :class:`ConfigError` for a game that needs a model that is not under the judge."""
    if config.measure.folder:
        reader = read_benchmark if config.export_folder.suffix == BENCHMARK else read
        export = reader(config.export_folder, config.measure.judge)
        if not resumed:  # earlier runs may have settings without effect
            _check_folder(config.measure, export.members)
    else:
        export = named_measure(config)
    for each in export.members:
        task, setting = each.task, "measure.others={{{}: MODEL}}"
        check_names(task.game, config.measure.others, task.origin, setting)
    return export


def _check_folder(settings: MeasureConfig, members: Sequence[MeasureGame]) -> None:
    """Raises :class:`ConfigError` for what a folder's own maps and levels would leave without
    effect."""
    for each in members:
        if (settings.maps or 0) > len(each.maps):
            found = f"found {settings.maps}, expected at most the {len(each.maps)} of {each.name}"
            raise ConfigError(f"measure.maps: {found}")
        if settings.m and each.levels and settings.m != each.levels.m and not settings.base:
            found = f"found {settings.m}, expected {each.levels.m} as in the folder, or a base"
            raise ConfigError(f"measure.m: {found}")


def named_measure(config: MeasureRunConfig) -> ExportedMeasure:
    """The games of ``measure.games`` with ``measure.maps`` maps each, whose texts are the held-out
    stories of the package. No game has levels: the base player sets them. Raises
    :class:`ConfigError` for a game that cannot be read, is there twice, or needs prompts."""
    members: list[MeasureGame] = []
    seeds = evaluation_seeds(Purpose.MEASURE, config.seed, config.measure.maps or MAPS)
    maps = tuple(each.map_seed for each in seeds)
    for entry in config.measure.games:
        name, task = short_name(entry), read_task("measure.games", entry, Metadata())
        check_prompts(task.game, CORPUS, task.origin, "stories")
        if any(name == each.name or task.id == each.task.id for each in members):
            raise ConfigError(f"measure.games: found {entry!r} twice, by name or by program")
        members.append(MeasureGame(name, task.game_id, task, maps))
    content = json.dumps([[[*each.task.id] for each in members], maps])
    digest = hashlib.sha256(content.encode()).hexdigest()
    return ExportedMeasure(tuple(members), config.measure.judge or "embedded", "embedded", digest)


def playable_game(code: str, metadata: Metadata, origin: str) -> Game:
    """A game in the xent dialect. Raises :class:`ConfigError` for one that cannot be played."""
    try:
        whole = game(parse(code, "xent"), metadata)
    except XGLError as error:
        raise ConfigError(f"{origin}: {error}") from None
    if faults := analyse(whole.program, whole.metadata).faults:
        raise ConfigError(f"{origin}: {faults[0]}")
    return whole


def usable_judge(path: Path, content: bytes, model: str) -> str:
    """The judge that a file names. Raises :class:`ConfigError` if only a stranger names it."""
    if not may_use(model, content):
        found = not_yours(path, f"the judge {model}", f"add measure.judge={quote(model)}")
        raise ConfigError(f"measure.folder: {found}")
    return model


# -- an exported measure ---------------------------------------------------------------------------


class _Json(BaseModel):
    """A part of a file: other keys are left out, values have exactly these types."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Story(_Json):
    site: int
    text: str


class _Map(_Json):
    map_seed: Annotated[int, Field(ge=0, lt=1 << 63)]
    stories: list[_Story]
    best_known: BestKnown | None = None


class _Levels(_Json):
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


class _Member(_Json):
    name: str
    file: str
    code_sha256: str
    game_id: str
    role: Player
    metadata: dict[str, Any]
    thresholds: _Levels | None = None
    floor: float | None = None
    maps: Annotated[list[_Map], Field(min_length=2)]


class _Manifest(_Json):
    format: Literal["xent-measure"]
    version: Literal[1]
    judge: str = Field(validation_alias=AliasPath("judge", "model"))
    judge_folder: str | None = Field(validation_alias=AliasPath("judge", "folder"))
    members: Annotated[list[_Member], Field(min_length=1)]


def read(folder: Path, judge: str | None = None) -> ExportedMeasure:
    """The measure in a folder, with its own judge or the one that the user names. Raises
    :class:`ConfigError` naming what is missing, damaged or not playable, and for a judge that only
    the folder names if another machine wrote it."""
    content = _bytes(folder, MANIFEST)
    try:
        manifest = _Manifest.model_validate_json(content)
    except ValidationError as error:
        found = f"measure.folder: {folder / MANIFEST} is damaged ({_first_problem(error)})"
        raise ConfigError(f"{found}, expected {EXPECTED}") from None
    if len({each.name for each in manifest.members}) < len(manifest.members):
        raise ConfigError(f"measure.folder: {folder / MANIFEST} has two games of one name")
    is_own = judge in (None, manifest.judge)
    if judge is None and manifest.judge_folder is not None:  # its weights are there
        judge = str(_inside(folder, manifest.judge_folder))
    return ExportedMeasure(
        tuple(_member(folder, each, is_own) for each in manifest.members),
        judge or usable_judge(folder / MANIFEST, content, manifest.judge),
        manifest.judge,
        hashlib.sha256(content).hexdigest(),
    )


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"])) or "the whole"
    return f"{place}: {first['msg']}, found {excerpt(repr(first['input']))}"


def _inside(folder: Path, name: str) -> Path:
    """A path of the folder: the folder may be a stranger's. Raises :class:`ConfigError`."""
    if "\0" in name or not is_inside(folder / name, folder):
        raise ConfigError(f"measure.folder: {folder} names {name!r}, expected a path inside")
    return folder / name


def _bytes(folder: Path, name: str) -> bytes:
    try:
        return read_bytes(_inside(folder, name))
    except OSError as error:
        found = f"measure.folder: {folder / name} cannot be read ({error.strerror})"
        listed = f", or a list of games: measure=[{folder}]" if not folder.exists() else ""
        raise ConfigError(f"{found}, expected {EXPECTED}{listed}") from None


def _member(folder: Path, member: _Member, is_own: bool) -> MeasureGame:
    """A game; what the folder knows in bits only under its own judge."""
    path, text = folder / member.file, _bytes(folder, member.file)
    origin, seeds = f"measure.folder: {path}", tuple(each.map_seed for each in member.maps)
    if hashlib.sha256(text).hexdigest() != member.code_sha256:
        raise ConfigError(f"{origin} has changed since its export")
    if len(set(seeds)) < max(2, len(seeds)):
        found = f"measure.folder: game {member.name} has maps {list(seeds)}"
        raise ConfigError(f"{found}, expected two or more different ones")
    try:
        code, metadata = text.decode(), read_metadata(member.metadata)
    except (XGLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{origin}: {error}") from None
    task = Task(playable_game(code, metadata, origin), member.role, origin=origin)
    if is_own and member.floor is not None:
        task = replace(task, floor=member.floor)
    texts = {each.map_seed: {s.site: s.text for s in each.stories} for each in member.maps}
    best = {m.map_seed: m.best_known for m in member.maps if m.best_known and is_own}
    whole = MeasureGame(member.name, member.game_id, task, seeds, ArchivedStories(texts))
    if is_own and (base := member.thresholds):
        task = replace(task, floor=base.floor)
        whole = replace(whole, task=task, levels=base.levels, base=base.policy)
    return replace(whole, best_known=best)


# -- an expanded benchmark configuration of the authors' engine ------------------------------------
# (``xent run --config``): its games with the texts of its maps. Code that it holds besides is not
# run.


class _BenchmarkGame(_Json):
    name: str
    code: str


class _Benchmark(_Json):
    config_type: Literal["expanded_xent_config"]
    judge: str = Field(validation_alias=AliasPath("metadata", "judge_model"))
    player: Player = Field(validation_alias=AliasPath("players", 0, "name"))
    games: list[_BenchmarkGame] = Field(min_length=1)
    maps: list[_BenchmarkGame]


def read_benchmark(path: Path, judge: str | None = None) -> ExportedMeasure:
    """The measure of a file, with its own judge or the one that the user names. The map seeds are
    1, 3, 5, …: the places of a game's maps. Raises :class:`ConfigError` for a file that is none, a
    game that cannot be played here, a map that is no map of its game, and a stranger's judge."""
    try:
        content = read_bytes(path)
        config = _Benchmark.model_validate_json(content)
    except OSError as error:
        raise ConfigError(f"measure.folder: {path} cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise ConfigError(
            f"measure.folder: {path}: {_first_problem(error)}; expected an expanded configuration "
            "of the authors' engine, whose maps hold their texts"
        ) from None
    members: list[MeasureGame] = []
    for each in config.games:
        where = f"measure.folder: {path}: {each.name}"
        task = Task(playable_game(each.code, ENGINE, where), config.player, origin=where)
        texts = [_texts(each.code, one.code, where) for one in config.maps if one.name == each.name]
        if each.name in [member.name for member in members]:
            raise ConfigError(f"{where}: found twice, expected games of different names")
        if len(texts) < 2:
            raise ConfigError(f"{where}: found {len(texts)} maps, expected two or more")
        seeds = tuple(range(1, 2 * len(texts), 2))
        stories = ArchivedStories(dict(zip(seeds, texts, strict=True)))
        members.append(MeasureGame(each.name, task.game_id, task, seeds, stories))
    name, digest = config.judge, hashlib.sha256(content).hexdigest()
    return ExportedMeasure(tuple(members), judge or usable_judge(path, content, name), name, digest)


def _texts(code: str, filled: str, where: str) -> Sequence[str]:
    """The texts that stand in a map's code in the places of the game's stories."""
    texts: list[str] = []
    try:
        is_map = _fill(ast.parse(code), ast.parse(filled), texts)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        is_map = False
    if not is_map:
        found = json.dumps(filled[:60])
        raise ConfigError(f"{where}: {found} is no map of it, expected its code, texts as stories")
    return texts


def _fill(plain: Any, filled: Any, texts: list[str]) -> bool:
    """Whether two trees are equal but for texts in the places of stories, which are appended."""
    match plain, filled:
        case ast.Call(ast.Name("story")), ast.Constant(str(text)):
            texts.append(text)
            return True
        case ast.Call(ast.Name("story")), _:
            return False
        case ast.AST(), ast.AST() if type(plain) is type(filled):
            pairs = [(getattr(plain, n), getattr(filled, n, None)) for n in plain._fields]
            return all(_fill(*pair, texts) for pair in pairs)
        case list(), list() if len(plain) == len(filled):
            return all(_fill(*pair, texts) for pair in zip(plain, filled, strict=True))
    return type(plain) is type(filled) and bool(plain == filled)
