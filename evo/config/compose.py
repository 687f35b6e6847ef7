"""Checked settings from a command line or from an archive.

Hydra's groups come from the schema; ``conf/`` holds variants of them and the experiments.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from typing import Any, TypeVar, cast, get_type_hints

from hydra import compose, initialize_config_module
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evo.config import hardware
from evo.config.quoting import how_to_quote, with_home
from evo.config.registry import MODEL_RUNS, NAMES
from evo.config.schema import MetaSamplerConfig, RunConfig
from meta_sampler.settings import ACCESS, SETTINGS, Caps
from xgl.errors import ConfigError, UnknownKeyError

Run = TypeVar("Run")
OPTIONS = {"cluster": "local", "meta_sampler": MetaSamplerConfig().name}
"""Option names of groups' defaults, where not ``default``."""
VARIANTS = {"model": "embedded"}
"""Groups of a :class:`RunConfig` that are files of ``conf/`` only."""
MAY_BE_MISSING = (
    "cluster.",
    "budget.",
    "tracking.",
    "judge.second.",
    "curriculum.",
    "measure.chat.",
    "measure.ceiling.",
    "measure.control.",
    "ggbench.chat.",
    *(f"meta_sampler.settings.{key}" for key in ACCESS),
)
"""Settings that an archived configuration may lack, being older than they are: results do not
depend on them, so it gets the defaults. Those of an experiment's own group may be missing in runs
of other experiments only."""
_OLDER = (
    "the archived settings, since an older version began this run, and results depend on it; "
    "expected a new run: this one can be read, and goes on in its own version only"
)
RESUMABLE = (
    "cluster.",
    "budget.",
    "tracking.",
    "growth.generations",
    "growth.max_accepted",
    "judge.second",
    *(f"meta_sampler.settings.{key}" for key in ACCESS),
)
"""Settings that a resumed run on language models may change: results do not depend on them."""


def load(overrides: Sequence[str]) -> RunConfig:
    """The settings of a run on language models, from its command line and the GPUs found here.

    Raises :class:`ConfigError`.
    """
    found = hardware.settings_for(hardware.find(), overrides)
    return compose_as(RunConfig, MODEL_RUNS, (*found, *overrides), VARIANTS)


def resume(archived_settings: dict[str, Any], overrides: Sequence[str]) -> RunConfig:
    """The archived settings of a run on language models, changed where they may change.

    Raises :class:`ConfigError` for a setting that must stay.
    """
    check_resumable(
        overrides,
        RESUMABLE,
        "cluster.*, budget.*, tracking.*, growth.generations, growth.max_accepted, judge.second "
        "and how a remote meta-sampler is reached",
    )
    from_archive(RunConfig, archived_settings)  # an override must not hide that a key is missing
    sampler = "meta_sampler=" + archived_settings["meta_sampler"]["name"]
    fresh = asdict(load(["+experiment=" + archived_settings["experiment"], sampler, *overrides]))
    return from_archive(RunConfig, with_overrides(archived_settings, fresh, overrides))


def compose_as(
    kind: type[Run],
    experiments: Sequence[str],
    overrides: Sequence[str],
    variants: Mapping[str, str] | None = None,
) -> Run:
    """The defaults of a run's class with command-line overrides, for one of ``experiments``.

    ``variants`` are further groups with their choices. Keys that begin with _ are there for others
    to refer to. Raises :class:`ConfigError`.
    """
    words = [with_home(word) for word in overrides]
    _register(cast(Hashable, kind), tuple((variants or {}).items()))
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module(config_module="conf", version_base="1.3"):
            raw = OmegaConf.to_container(compose("run", words), resolve=True)
    except OverrideParseException as error:
        raise ConfigError(how_to_quote(str(error.override))) from None
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_one_sentence(str(error), kind)) from None
    except ValueError as error:  # Hydra's own, for a group that is given no name
        raise ConfigError(f"{' '.join(overrides)}: {error}") from None
    assert isinstance(raw, dict)
    if raw.get("experiment") not in experiments:
        names = " or ".join(f"+experiment={name}" for name in NAMES)
        raise ConfigError(f"experiment: found {raw.get('experiment')!r}, expected {names}")
    values = {str(key): value for key, value in raw.items() if not str(key).startswith("_")}
    return _complete(kind, values, ())


def from_archive(kind: type[Run], archived_settings: Mapping[str, Any]) -> Run:
    """The settings that a run was archived with. Raises :class:`ConfigError` naming a key that is
    wrong, or that is missing and may not be."""
    own_group = f"{archived_settings.get('experiment')}."
    optional = tuple(group for group in MAY_BE_MISSING if group != own_group)
    try:
        return _complete(kind, archived_settings, optional)
    except UnknownKeyError as error:
        raise ConfigError(f"{error.key}: unknown key in {_OLDER}") from None


def _complete(kind: type[Run], values: Mapping[str, Any], optional: tuple[str, ...]) -> Run:
    config = kind(**values)
    for key in _missing(config, values):
        if not f"{key}.".startswith(optional):
            raise ConfigError(f"{key}: missing{f' from {_OLDER}' if optional else ''}")
    return config


def _missing(config: Any, values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """The settings that plain values leave to their defaults, dotted."""
    for each in fields(config):
        if each.name not in values:
            yield f"{path}{each.name}"
        elif is_dataclass(value := getattr(config, each.name)):
            yield from _missing(value, values[each.name], f"{path}{each.name}.")


def as_yaml(config: Any) -> str:
    """A configuration as YAML, every default written out."""
    return OmegaConf.to_yaml(OmegaConf.create(_plain(asdict(config))))


def _plain(value: Any) -> Any:
    """Mappings, lists and scalars alone, in which no text refers to another setting."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


# -- overrides -----------------------------------------------------------------------------------


def split_override(override: str) -> tuple[str, str]:
    """Key and value of an override."""
    key, _, value = override.partition("=")
    return key.lstrip("+"), value


def with_overrides(
    archived_settings: dict[str, Any], fresh: Mapping[str, Any], overrides: Sequence[str]
) -> dict[str, Any]:
    """The archived settings with the ``fresh`` values of the keys that ``overrides`` name."""
    settings: dict[str, Any] = json.loads(json.dumps(archived_settings))
    for override in overrides:
        *groups, key = split_override(override)[0].split(".")
        target, source = settings, fresh
        for group in groups:
            target, source = target.setdefault(group, {}), source[group]
        target[key] = source[key]
    return settings


def check_resumable(
    overrides: Sequence[str], resumable: Sequence[str] = (), names: str = ""
) -> None:
    """Raises :class:`ConfigError` for an override that a resumed run may not have.

    ``resumable``: keys, and groups that end with a point; ``names`` are these for a person.
    """
    for override in overrides:
        key, _ = split_override(override)
        groups = tuple(each for each in resumable if each.endswith("."))
        if key not in resumable and not f"{key}.".startswith(groups):
            exception = f", only {names} may change" if names else ""
            raise ConfigError(f"{override}: a resumed run keeps its settings{exception}")


# -- Hydra ---------------------------------------------------------------------------------------


@lru_cache(maxsize=1)  # Hydra keeps what was registered last
def _register(kind: Any, variants: tuple[tuple[str, str], ...]) -> None:
    """Make the defaults of a run's class Hydra's: a group of each class of settings in it that has
    several choices, the others as they are, since a group costs Hydra milliseconds."""
    store, hints = ConfigStore.instance(), get_type_hints(kind)
    defaults: list[Any] = ["_self_"]
    values: dict[str, Any] = {}
    for each in fields(kind):
        if not is_dataclass(hints[each.name]):
            values[each.name] = None if each.default is MISSING else each.default
            continue
        if not has_choices(each.name):
            values[each.name] = asdict(each.default)  # type: ignore[arg-type]
            continue
        defaults.append({each.name: OPTIONS.get(each.name, "default")})
        for option, node in _options(each.name, each.default):
            store.store(group=each.name, name=option, node=node)
    defaults += [{group: option} for group, option in variants]
    store.store(name="run", node={"defaults": defaults, **values})


def has_choices(group: str) -> bool:
    """Whether a group of settings has variants, or a name for its defaults."""
    return group in OPTIONS or files("conf").joinpath(group).is_dir()


def _options(group: str, default: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The choices of a group, with their values."""
    if isinstance(default, MetaSamplerConfig):
        for name, settings_class in SETTINGS.items():
            yield name, {"name": name, "settings": asdict(settings_class())}
    else:
        yield OPTIONS.get(group, "default"), asdict(default)


def _one_sentence(message: str, kind: type) -> str:
    """Hydra's message as one sentence that names the key and what would be right."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    quote = message.partition("'")[2].partition("'")[0]
    if message.startswith("Could not override"):
        return _nearest_key(quote, kind)
    if message.startswith("Could not append to config"):
        return f"+{quote}: expected {quote}=… without the sign"
    if message.startswith("force-add"):
        return f"{quote}: expected {quote[1:]}"
    if message.startswith("Multiple values for "):
        group = message.removeprefix("Multiple values for ").partition(".")[0]
        return f"+{group}: expected {group}=… without the sign"
    if message.startswith("Interpolation key "):
        where = message.rpartition("full_key: ")[2].split()[0]
        return f"{where}: no setting is called {quote}; a variable is written ${quote}"
    if message.startswith(("Ambiguous value for argument", "Sweep parameters ")):
        key, _, value = quote.partition("=")
        return f"{key}: found {value!r}, expected one value: a command is one run"
    if "Could not find '" in message:
        group, _, name = message.partition("Could not find '")[2].partition("'")[0].partition("/")
        options = ", ".join(line for line in lines if " " not in line and line != name)
        other = f"; for another model judge.model={name} player.model={name}"
        hint = other if group == "model" else ""
        return f"{group}: found {name!r}, expected one of: {options}{hint}"
    return " ".join(lines[:2])


def _nearest_key(key: str, kind: type) -> str:
    keys = list(setting_names(kind))
    if key in keys:  # such as experiment=…, which chooses from a group that is not there yet
        return f"{key}: expected +{key}=…"
    close = get_close_matches(key, keys, 1)
    hint = f", did you mean {close[0]}?" if close else ", see docs/configuration.md for all keys"
    return f"{key}: unknown key{hint}"


def setting_names(kind: Any, path: str = "") -> Iterator[str]:
    """Every key below a class of settings, groups included, dotted."""
    for name, hint in get_type_hints(kind).items():
        yield f"{path}{name}"
        below = SETTINGS.values() if hint is Caps else [hint] if is_dataclass(hint) else []
        for each in below:
            yield from setting_names(each, f"{path}{name}.")
