"""Games of the library and of files as a measure, without a growth (paper §5.5)."""

from __future__ import annotations

import hashlib
import json

from archive import Purpose
from evo.config.measure import MeasureRunConfig
from evo.growth.initial_scope import read_task, short_name
from evo.jobs.evaluation import evaluation_seeds
from evo.measure.folder import ExportedMeasure, MeasureGame
from xgl.errors import ConfigError
from xgl.judge.story_files import check_prompts
from xgl.language.canonical import Metadata
from xgl.models.references import CORPUS

MAPS = 20
"""Maps of a game by default: N of Fig. 4.1."""


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
    judge = config.measure.judge or "embedded"
    content = [[*each.task.id] for each in members.values()]
    digest = hashlib.sha256(json.dumps([content, maps]).encode()).hexdigest()
    return ExportedMeasure(
        members=tuple(members.values()),
        maps=dict.fromkeys(members, maps),
        stories={},
        judge=judge,
        judge_name="embedded",
        digest=digest,
        best_known={name: {} for name in members},
    )
