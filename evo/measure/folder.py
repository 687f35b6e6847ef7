"""An exported measure as games to play: docs/measure.md is the contract."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from archive.statistics.measures.ceilings import BestKnown
from archive.statistics.measures.repeated_play import ScoreLevels
from evo.jobs.evaluation import Task
from xgl import Metadata, XGLError, analyse, game, parse
from xgl.errors import ConfigError, StoryError
from xgl.runtime.requests import Seeds, StoryRequest

MANIFEST = "measure.json"


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
class ExportedStories:
    """The maps of all games: texts by game id, map seed and site."""

    texts: Mapping[tuple[int, int], str]

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """Raises :class:`~xgl.errors.StoryError` for a text that the folder does not hold."""
        try:
            return [self.texts[map_seed, request.site] for map_seed, request in requests]
        except KeyError as missing:
            raise StoryError(f"the measure holds no text for map and site {missing}") from None


@dataclass(frozen=True)
class ExportedMeasure:
    """A whole measure. ``judge`` is a model reference, ``judge_name`` that of the run, which the
    weights in the folder are a copy of; ``digest`` names the content."""

    members: tuple[MeasureGame, ...]
    maps: Mapping[str, tuple[int, ...]]
    stories: Mapping[str, ExportedStories]
    judge: str
    judge_name: str
    digest: str
    best_known: Mapping[str, Mapping[int, BestKnown]]
    """The best known scores in the folder, by member and map seed."""

    def seeds(self, member: MeasureGame, count: int | None) -> tuple[Seeds, ...]:
        """One play seed for each map of the member."""
        maps = self.maps[member.name][:count]
        return tuple(Seeds(map_seed, index) for index, map_seed in enumerate(maps))


def read(folder: Path) -> ExportedMeasure:
    """Raises :class:`ConfigError` naming what is missing, damaged or not playable."""
    content = _bytes(folder, MANIFEST)
    try:
        manifest = json.loads(content)
        if (manifest["format"], manifest["version"]) != ("xent-measure", 1):
            raise ConfigError(
                f"measure.folder: {folder / MANIFEST} is {manifest['format']!r} version "
                f"{manifest['version']}, expected 'xent-measure' version 1"
            )
        members = [_member(folder, each) for each in manifest["members"]]
        maps = {m.name: _seeds(e) for m, e in zip(members, manifest["members"], strict=True)}
        stories = {m.name: _stories(e) for m, e in zip(members, manifest["members"], strict=True)}
        best_known = {
            m.name: _best_known(e) for m, e in zip(members, manifest["members"], strict=True)
        }
        judge_folder = manifest["judge"]["folder"]
        name = str(manifest["judge"]["model"])
        judge = str(folder / judge_folder) if judge_folder else name
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"measure.folder: {folder / MANIFEST} is damaged ({type(error).__name__}: {error}), "
            "expected what python -m archive export --format xent writes"
        ) from None
    if not members:
        raise ConfigError(f"measure.folder: {folder} holds no game, expected at least one")
    return ExportedMeasure(
        tuple(members), maps, stories, judge, name, hashlib.sha256(content).hexdigest(), best_known
    )


def _bytes(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"measure.folder: {folder / name} cannot be read ({error.strerror}), expected a folder "
            "written by python -m archive export RUN FOLDER --format xent"
        ) from None


def _member(folder: Path, entry: dict[str, Any]) -> MeasureGame:
    text = _bytes(folder, entry["file"])
    if hashlib.sha256(text).hexdigest() != entry["code_sha256"]:
        raise ConfigError(f"measure.folder: {folder / entry['file']} has changed since its export")
    try:
        program = parse(text.decode(), "xent", entry["file"])
        exported_game = game(program, Metadata(**entry["metadata"]))
    except XGLError as error:
        raise ConfigError(f"measure.folder: {error}") from None
    if faults := analyse(program, exported_game.metadata).faults:
        raise ConfigError(f"measure.folder: {folder / entry['file']}: {faults[0]}")
    origin = f"measure.folder: {folder / entry['file']}"
    levels, task = entry.get("thresholds"), Task(exported_game, entry["role"], origin=origin)
    if levels is None:
        return MeasureGame(entry["name"], entry["game_id"], task, None, "")
    return MeasureGame(
        entry["name"],
        entry["game_id"],
        _with_floor(task, levels),
        _levels(levels),
        levels["policy"],
    )


def _levels(levels: dict[str, Any]) -> ScoreLevels:
    rounds = levels["rounds"]
    k_m = levels.get("k_m", rounds)  # the base reaches its level at its last round, or before
    return ScoreLevels(levels["b"], levels["theta"], levels["m"], rounds, levels["maps"], k_m)


def _with_floor(task: Task, levels: dict[str, Any]) -> Task:
    """The task with the floor that the export states or, if it states none, a floor as far below
    the base's first round as its last lies above, less a bit for each move token."""
    tokens = analyse(task.game.program, task.game.metadata, task.role).move_tokens
    below = levels["b"] - levels["m"] * levels["theta"] - tokens
    return replace(task, floor=float(levels.get("floor", below)))


def _seeds(entry: dict[str, Any]) -> tuple[int, ...]:
    seeds = tuple(int(each["map_seed"]) for each in entry["maps"])
    if len(set(seeds)) != len(seeds) or len(seeds) < 2:
        raise ConfigError(
            f"measure.folder: game {entry['name']} has maps {list(seeds)}, expected two or more "
            "different ones"
        )
    return seeds


def _stories(entry: dict[str, Any]) -> ExportedStories:
    stories: Sequence[tuple[int, dict[str, Any]]] = [
        (each["map_seed"], story) for each in entry["maps"] for story in each["stories"]
    ]
    return ExportedStories({(seed, story["site"]): story["text"] for seed, story in stories})


def _best_known(entry: dict[str, Any]) -> dict[int, BestKnown]:
    entries = {each["map_seed"]: each.get("best_known") for each in entry["maps"]}
    return {
        seed: BestKnown(float(best["score"]), str(best["found_by"]), tuple(best["moves"]))
        for seed, best in entries.items()
        if best is not None
    }
