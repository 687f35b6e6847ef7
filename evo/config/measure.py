"""Settings of ``+experiment=measure``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict

from evo.config.compose import check_resumable, compose_as, from_archive, with_overrides
from evo.config.quoting import quoted
from evo.config.schema import ArchiveRoot, Confidence, PaidBudget, RunName, Seed
from xgl.chat.settings import Answers, Requests
from xgl.paths import user_path
from xgl.settings import Count, Dtype, Flag, NonNegative, settings

NAME = "measure"
RESUMABLE = ("players", "player", "budget.", "measure.chat.", "measure.ceiling.", "estimate")
"""Settings that a resumed run may change."""

Price = tuple[NonNegative, NonNegative]
Several = Annotated[int, Strict(), Field(ge=2)]
NonNegativeCount = Annotated[int, Strict(), Field(ge=0)]


@settings
class ChatConfig(Requests, Answers):
    """Settings of all chat players."""

    prices: dict[str, Price] = Field(default_factory=dict)
    """Dollars per million tokens of prompt and of answer, by model: {gpt-4o-mini: [0.15, 0.6]}."""


@settings
class CeilingConfig:
    """Search for the best possible scores: solvers that use the judge."""

    calls: NonNegativeCount = 0
    """Judge calls of each of three solvers on each map; a call is one play of one candidate. 0: no
    search, and the best known scores are those of the folder and of what was played."""
    width: Count = 8
    """Beams that the beam search keeps."""
    batch: Count = 32
    """Candidates of one step of the search along the gradient."""
    patience: Count = 4
    """Steps of that search without a better move before it begins again elsewhere."""


@settings
class MeasureConfig:
    """The measure, and how it is played."""

    folder: str | None = None
    """Folder of an exported measure: python -m archive export RUN FOLDER --format xent."""
    rounds: Several = 16
    """K: rounds on each map."""
    maps: Several | None = None
    """Maps of each game, the first ones of the folder; null: all."""
    control: Flag = True
    """Whether every round except the first is also played with another map's rounds in view: a gain
    above this control was learned from the map. false: half the plays, and no control."""
    m: Count = 4
    """Levels between the base's first round and its last (Def. 42)."""
    base: str | None = None
    """The base player M that normalises scores, a local reference; null: the levels in the folder
    or, for a game without levels, the judge's model as player."""
    judge: str | None = None
    """Local reference of a judge that replaces the folder's; null: the folder's."""
    dtype: Dtype = "auto"
    """Number type of local models: float32, bfloat16, or auto: bfloat16 on a GPU, else float32."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """cpu, cuda, or auto: a GPU where there is one."""
    confidence: Confidence = 0.95
    """Confidence of the intervals."""
    rating_resamples: NonNegativeCount = 200
    """Bootstrap samples of the maps for the bounds of equilibrium ratings; 0: no bounds."""
    ceiling: CeilingConfig = CeilingConfig()
    chat: ChatConfig = ChatConfig()


def _check_players(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise ValueError("found none, expected at least one")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{twice[0]!r} is listed twice")
    return names


@settings
class MeasureRunConfig:
    """Everything that a measuring run depends on."""

    experiment: Literal["measure"]
    """Name of the experiment."""
    name: RunName | None = None
    """Run folder below archive.root; null: measure-FOLDER, after the exported folder."""
    seed: Seed = 0
    """Play seeds are derived from it; the maps are the folder's."""
    players: Annotated[tuple[str, ...], AfterValidator(_check_players)] = ("embedded",)
    """Models that are measured; player=NAME for a single one."""
    estimate: Flag = False
    """Only print the estimated moves, tokens and dollars, and stop."""
    measure: MeasureConfig = MeasureConfig()
    budget: PaidBudget = PaidBudget()
    archive: ArchiveRoot = ArchiveRoot()

    def __post_init__(self) -> None:
        if not self.measure.folder:
            raise ValueError(
                "measure.folder: found none, expected a folder written by python -m archive export "
                "RUN FOLDER --format xent"
            )

    @property
    def export_folder(self) -> Path:
        """The exported measure's folder."""
        assert self.measure.folder is not None
        return user_path(self.measure.folder)

    @property
    def run_name(self) -> str:
        """The run folder's name."""
        return self.name or f"{NAME}-{self.export_folder.resolve().name}"

    @property
    def folder(self) -> Path:
        """The run folder."""
        return user_path(self.archive.root) / self.run_name

    def science_hash(self) -> str:
        """Hash of what results depend on: not of players, prices and budgets."""
        facts = {"seed": self.seed, **asdict(self.measure)}
        for name in ("chat", "ceiling", "folder", "device", "rating_resamples"):
            del facts[name]
        if facts["control"]:  # as all had it before there was a choice
            del facts["control"]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def load(arguments: Sequence[str]) -> MeasureRunConfig:
    """The settings of a measuring run, from its command line; raises :class:`ConfigError`.

    ``measure=FOLDER`` and ``player=NAME`` are short for ``measure.folder=`` and ``players=[NAME]``.
    """
    return compose_as(MeasureRunConfig, [NAME], [_long(a) for a in arguments])


def resume(archived_settings: dict[str, Any], overrides: Sequence[str]) -> MeasureRunConfig:
    """The archived settings, changed where they may change; raises :class:`ConfigError`."""
    check_resumable(
        overrides,
        RESUMABLE,
        "players, budget.*, estimate, measure.ceiling.* and measure.chat.*",
    )
    archived_settings.pop("digest", None)  # of the measure, which is no setting
    if not overrides:
        return from_archive(MeasureRunConfig, archived_settings)
    folder = f"measure={archived_settings['measure']['folder']}"
    fresh = asdict(load([f"+experiment={NAME}", folder, *overrides]))
    keys = [each.replace("player=", "players=", 1) for each in overrides]
    return from_archive(MeasureRunConfig, with_overrides(archived_settings, fresh, keys))


def _long(argument: str) -> str:
    key, _, value = argument.partition("=")
    quote = quoted(value)
    match key:
        case "measure" | "measure.folder" if not value.startswith(("'", '"')):
            return f"measure.folder={quote}"
        case "player":
            return f"players=[{quote}]"
        case "measure.chat.prices":  # its keys are models, which no default can name
            return f"++{argument}"
    return argument
