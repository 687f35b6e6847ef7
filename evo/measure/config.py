"""Configuration of ``+experiment=measure``; defaults live in ``conf/`` only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evo.config.checks import ConfigError, above, at_least, between, one_of, run_identity
from evo.config.run_config import compose_as
from evo.config.schema import DTYPES

NAME = "measure"


@dataclass(frozen=True)
class ChatConfig:
    """Of all chat players; what each means stands in :mod:`xgl.chat.settings`."""

    key_variable: str | None
    prices: dict[str, Any]
    """Model to [prompt, answer], dollars per million tokens."""
    concurrency: int
    timeout: float
    retries: int
    temperature: float
    answer_tokens: int
    send_seed: bool

    def __post_init__(self) -> None:
        for model, pair in self.prices.items():
            fits = isinstance(pair, list) and len(pair) == 2
            if not fits or not all(isinstance(each, int | float) and each >= 0 for each in pair):
                raise ConfigError(
                    f"measure.chat.prices.{model}: found {pair!r}, expected two numbers from 0 on, "
                    "[prompt, answer] in dollars per million tokens"
                )


@dataclass(frozen=True)
class MeasureConfig:
    folder: str | None
    """What ``python -m archive export RUN FOLDER --format xent`` wrote."""
    rounds: int
    """K: rounds on each map."""
    maps: int | None
    """Maps of each game, the folder's first; null: all."""
    m: int
    """Levels between the base's first round and its last (Def. 42)."""
    base: str | None
    """The base player M, a local reference; null: the levels that the folder holds or, for a game
    without them, the judge's model as player."""
    judge: str | None
    """A local reference instead of the folder's judge."""
    dtype: str
    """Of local models."""
    device: str
    """cpu, cuda, or auto: a GPU where there is one."""
    confidence: float
    """Of the intervals."""
    chat: ChatConfig

    def __post_init__(self) -> None:
        if not self.folder:
            raise ConfigError(
                "measure.folder: found none, expected a folder written by python -m archive export "
                "RUN FOLDER --format xent"
            )
        at_least("measure.rounds", self.rounds, 2)
        if self.maps is not None:
            at_least("measure.maps", self.maps, 2)
        at_least("measure.m", self.m, 1)
        one_of("measure.dtype", self.dtype, DTYPES)
        one_of("measure.device", self.device, ("auto", "cpu", "cuda"))
        between("measure.confidence", self.confidence, 0.5, 1)


@dataclass(frozen=True)
class BudgetConfig:
    tokens: int | None
    """Player tokens, read and sampled, of the whole run."""
    dollars: float | None
    """Of the whole run, by ``measure.chat.prices``."""

    def __post_init__(self) -> None:
        if self.tokens is not None:
            at_least("budget.tokens", self.tokens, 1)
        if self.dollars is not None:
            above("budget.dollars", self.dollars, 0)


@dataclass(frozen=True)
class ArchiveRoot:
    root: str
    """Folder that holds the run folders."""


@dataclass(frozen=True)
class MeasureRunConfig:
    """Everything that a measuring run depends on."""

    name: str | None
    """Run folder below archive.root; null: measure- and the exported folder's name."""
    seed: int
    experiment: str
    players: list[str]
    """Who is measured, see :func:`evo.measure.players.parse_player`."""
    measure: MeasureConfig
    budget: BudgetConfig
    estimate: bool
    """Only say what would be asked for, and stop."""
    archive: ArchiveRoot

    def __post_init__(self) -> None:
        run_identity(self.seed, self.run_name)
        if not self.players:
            raise ConfigError("players: found none, expected at least one")
        if twice := [name for name in self.players if self.players.count(name) > 1]:
            raise ConfigError(f"players: {twice[0]!r} stands there twice")

    @property
    def exported(self) -> Path:
        assert self.measure.folder is not None
        return Path(self.measure.folder)

    @property
    def run_name(self) -> str:
        return self.name or f"{NAME}-{self.exported.resolve().name}"

    @property
    def folder(self) -> Path:
        return Path(self.archive.root) / self.run_name

    def science_hash(self) -> str:
        """Of what results depend on; who is measured, prices and budgets are no part of it."""
        facts = {"seed": self.seed, **asdict(self.measure)}
        del facts["chat"], facts["folder"], facts["device"]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def load(arguments: Sequence[str]) -> MeasureRunConfig:
    """Compose ``conf/config_measure.yaml`` with command-line overrides; raises ConfigError.

    ``measure=FOLDER`` and ``player=NAME`` are short for ``measure.folder=`` and ``players=[NAME]``.
    """
    return compose_as(MeasureRunConfig, "config_measure", [NAME], [_long(a) for a in arguments])


def _long(argument: str) -> str:
    key, _, value = argument.partition("=")
    quoted = "'" + value.replace("'", "\\'") + "'"
    match key:
        case "measure" | "measure.folder" if not value.startswith(("'", '"')):
            return f"measure.folder={quoted}"
        case "player":
            return f"players=[{quoted}]"
        case "measure.chat.prices":  # its keys are models, which no default can name
            return f"++{argument}"
    return argument
