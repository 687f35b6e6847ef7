"""Configuration: Hydra YAML into small frozen dataclasses, validated before anything runs.

Each field's meaning stands beneath it; defaults live in ``conf/`` only.
"""

from __future__ import annotations

import hashlib
import json
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evo.config.checks import ConfigError, run_identity
from evo.config.schema import (
    ArchiveConfig,
    BudgetConfig,
    ClusterConfig,
    FinetuneConfig,
    GameConfig,
    GrowthConfig,
    JudgeConfig,
    MetaSamplerConfig,
    PlayerConfig,
    TransferConfig,
)
from evo.search.playability import PlayabilityConfig

Section = TypeVar("Section")


@dataclass(frozen=True)
class RunConfig:
    """Everything a run depends on. ``cluster`` says where, ``budget`` how far, all else what."""

    name: str
    """Run folder below archive.root."""
    seed: int
    """Every other seed is derived from it."""
    experiment: str
    """What to do: scope_growth or transfer_triplet."""
    judge: JudgeConfig
    player: PlayerConfig
    game: GameConfig
    finetune: FinetuneConfig
    transfer: TransferConfig
    playability: PlayabilityConfig
    growth: GrowthConfig
    meta_sampler: MetaSamplerConfig
    archive: ArchiveConfig
    cluster: ClusterConfig
    budget: BudgetConfig

    def __post_init__(self) -> None:
        run_identity(self.seed, self.name)

    @property
    def folder(self) -> Path:
        return Path(self.archive.root) / self.name

    def science(self) -> dict[str, Any]:
        """The settings that results depend on; where they end is no part of it."""
        free = ("cluster", "budget", "name", "archive")
        kept = {k: v for k, v in asdict(self).items() if k not in free}
        del kept["growth"]["generations"]
        return kept

    def science_hash(self) -> str:
        text = json.dumps(self.science(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


SEARCHES = ("scope_growth", "transfer_triplet")
"""Experiments that a :class:`RunConfig` describes."""
EXPERIMENTS = (*SEARCHES, "toy_growth", "measure")


def load(overrides: Sequence[str]) -> RunConfig:
    """Compose ``conf/config.yaml`` with command-line overrides and validate the result.

    Raises :class:`ConfigError`.
    """
    return compose_as(RunConfig, "config", SEARCHES, overrides)


def compose_as(
    section: type[Section], primary: str, experiments: Sequence[str], overrides: Sequence[str]
) -> Section:
    """Compose ``conf/PRIMARY.yaml``, which must come out as one of ``experiments``, into a section.

    Keys that begin with _ are there for others to refer to. Raises :class:`ConfigError`.
    """
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module(config_module="conf", version_base="1.3"):
            raw = OmegaConf.to_container(compose(primary, list(overrides)), resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_first_sentence(str(error), section)) from None
    except ValueError as error:  # Hydra's own, for a group that is given no name
        raise ConfigError(f"{' '.join(overrides)}: {error}") from None
    assert isinstance(raw, dict)
    if raw.get("experiment") not in experiments:
        names = " or ".join(f"+experiment={name}" for name in EXPERIMENTS)
        raise ConfigError(f"experiment: found {raw.get('experiment')!r}, expected {names}")
    found = {str(key): value for key, value in raw.items()}
    return from_mapping(section, {k: v for k, v in found.items() if not k.startswith("_")})


def from_mapping(section: type[Section], found: Mapping[str, Any], path: str = "") -> Section:
    """Build a section from plain values; raises :class:`ConfigError` naming the key."""
    hints = get_type_hints(section)
    names = [field.name for field in fields(section)]  # type: ignore[arg-type]
    for key in found:
        if key not in names:
            close = next(iter(get_close_matches(key, names, 1)), "")
            hint = f", did you mean {path}{close}?" if close else f", expected one of {names}"
            raise ConfigError(f"{path}{key}: unknown key{hint}")
    values = {}
    for name in names:
        if name not in found:
            raise ConfigError(f"{path}{name}: missing")
        values[name] = _value(hints[name], found[name], f"{path}{name}")
    return section(**values)


def _value(kind: Any, found: Any, path: str) -> Any:
    if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__"):
        if not isinstance(found, dict):
            raise ConfigError(f"{path}: found {found!r}, expected a group of settings")
        return from_mapping(kind, found, f"{path}.")
    if get_origin(kind) in (Union, types.UnionType):
        if found is None:
            return None
        kind = next(option for option in get_args(kind) if option is not type(None))
    if get_origin(kind) is list:
        if not isinstance(found, list):
            raise ConfigError(f"{path}: found {found!r}, expected a list such as [a,b]")
        return [_value(get_args(kind)[0], each, path) for each in found]
    plain = get_origin(kind) or kind
    if plain is float and isinstance(found, int) and not isinstance(found, bool):
        return float(found)
    if not isinstance(found, plain) or (plain is not bool and isinstance(found, bool)):
        raise ConfigError(f"{path}: found {found!r}, expected {_KINDS.get(plain, plain.__name__)}")
    return found


_KINDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    dict: "settings such as {key: value}",
}


def _first_sentence(message: str, section: type) -> str:
    """Hydra's message as one sentence that names the key and what would be right."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    quoted = message.partition("'")[2].partition("'")[0]
    if message.startswith("Could not override"):
        return _nearest_key(quoted, section)
    if "Could not find '" in message:
        group, _, found = message.partition("Could not find '")[2].partition("'")[0].rpartition("/")
        known = ", ".join(line for line in lines if " " not in line and line != found)
        return f"{group}: found {found!r}, expected one of: {known}"
    return " ".join(lines[:2])


def _nearest_key(key: str, section: type) -> str:
    known = list(_keys(section))
    if key in known:  # such as experiment=…, which chooses from a group that is not there yet
        return f"{key}: expected +{key}=…"
    close = get_close_matches(key, known, 1)
    hint = f", did you mean {close[0]}?" if close else ", see docs/configuration.md for all keys"
    return f"{key}: unknown key{hint}"


def _keys(section: type, path: str = "") -> Iterator[str]:
    """Every key below a section, groups included, dotted."""
    for name, hint in get_type_hints(section).items():
        yield f"{path}{name}"
        if hasattr(hint, "__dataclass_fields__"):
            yield from _keys(hint, f"{path}{name}.")
