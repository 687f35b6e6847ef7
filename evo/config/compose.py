"""Checked settings from a command line or from an archive.

Hydra's groups come from the schema; ``conf/`` holds variants of them and the experiments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar, cast, get_type_hints

import yaml
from hydra import compose, initialize_config_module
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evo.config.schema import AnyRun, MetaSamplerConfig
from meta_sampler.settings import SETTINGS, Caps
from xgl.errors import ConfigError, UnknownKeyError, excerpt
from xgl.settings import Role, roles_of, science

Run = TypeVar("Run", bound=AnyRun)
_OLDER = (
    "the archived settings, since an older version began this run, and results depend on it; "
    "expected a new run: this one can be read, and goes on in its own version only"
)


def load(kind: type[Run], overrides: Sequence[str]) -> Run:
    """The settings of a new run of this kind: the defaults of its class with those of its command
    line. Keys that begin with _ are there for others to refer to. Raises :class:`ConfigError`."""
    overrides = [*kind.found_here(overrides), *kind.words(overrides)]
    for key, value in map(split_override, overrides):
        if key == "meta_sampler.name":
            better = f"meta_sampler={value}, which chooses its settings too"
            raise ConfigError(f"{key}: found {value!r}, expected {better}")
    _register(cast(Hashable, kind))
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module(config_module="conf", version_base="1.3"):
            raw = OmegaConf.to_container(compose("run", [*map(with_home, overrides)]), resolve=True)
    except OverrideParseException as error:
        raise _unreadable(error) from None
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise ConfigError(_one_sentence(error, kind)) from None
    assert isinstance(raw, dict)
    values = {str(key): value for key, value in raw.items() if not str(key).startswith("_")}
    return kind(**values)


def resume(kind: type[Run], archived: Mapping[str, Any], overrides: Sequence[str]) -> Run:
    """The archived settings of a run, changed where they may change. Raises :class:`ConfigError`
    for a setting that must stay."""
    check_resumable(kind, overrides)
    config = from_archive(kind, archived)  # an override must not hide that a key is missing
    settings: dict[str, Any] = json.loads(json.dumps(asdict(config)))
    try:
        parsed = OverridesParser.create().parse_overrides([*map(with_home, kind.words(overrides))])
    except OverrideParseException as error:
        raise _unreadable(error) from None
    for each in parsed:
        if each.is_sweep_override():
            raise ConfigError(f"{each.input_line}: expected one value: a command is one run")
        *groups, key = each.key_or_group.split(".")
        target = settings
        for group in groups:
            if not isinstance(target.get(group), dict):
                target[group] = {}
            target = target[group]
        target[key] = each.value()
    resumed = kind(**settings)
    resumed.check_resumed(config)
    return resumed


def _unreadable(error: OverrideParseException) -> ConfigError:
    """One sentence for a word that Hydra's grammar cannot read, with what to type instead."""
    key, _, value = (word := str(error.override)).partition("=")
    better = quote(f"{key}={quoted(value)}")
    if value.startswith(("[", "{")):
        better = "each text in it in double quotes, and the whole in single ones"
    return ConfigError(f"{excerpt(word)}: cannot be read without quotes, expected {better}")


def from_archive(kind: type[Run], archived: Mapping[str, Any]) -> Run:
    """The settings that a run was archived with. Raises :class:`ConfigError` naming a key that is
    wrong, or one that results depend on and that is missing."""
    try:
        config = kind(**{k: v for k, v in archived.items() if k not in kind.facts})
    except UnknownKeyError as error:
        raise ConfigError(f"{error.key}: unknown key in {_OLDER}") from None
    for key in _missing(science(config), archived):
        raise ConfigError(f"{key}: missing from {_OLDER}")
    return config


def _missing(facts: Mapping[str, Any], values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """The keys of ``facts`` that other values leave to their defaults, dotted."""
    for name, value in facts.items():
        if name not in values:
            yield f"{path}{name}"
        elif isinstance(value, Mapping):
            yield from _missing(value, values[name], f"{path}{name}.")


def as_yaml(config: Any) -> str:
    """A configuration as YAML, every default written out."""
    values = json.loads(json.dumps(asdict(config), default=str))
    return str(yaml.safe_dump(values, allow_unicode=True, sort_keys=False))


# -- overrides -----------------------------------------------------------------------------------


def split_override(override: str) -> tuple[str, str]:
    key, _, value = override.partition("=")
    return key.lstrip("+"), value


def value_word(key: str, value: Any) -> str:
    """A value in Hydra's syntax. Raises :class:`ConfigError` for a kind that no setting has."""
    if hasattr(value, "item") and not getattr(value, "shape", ()):
        value = value.item()  # a number of NumPy's
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str() | Path():
            return quoted(str(value))
        case list() | tuple():
            return f"[{','.join(value_word(key, each) for each in value)}]"
        case Mapping():
            names = (re.sub(r"([\\()\[\]{}:=, \t])", r"\\\1", str(name)) for name in value)
            words = (value_word(key, each) for each in value.values())
            return f"{{{','.join(map(':'.join, zip(names, words, strict=True)))}}}"
    raise ConfigError(
        f"{key}: found a value of type {type(value).__name__}, expected text, a number, a truth "
        "value, None, a list or a mapping of these"
    )


def quoted(text: str) -> str:
    """The text in quotes, with backslashes doubled where a quote follows them."""
    body = re.sub(r'(\\*)("|\Z)', lambda part: 2 * part[1] + ('\\"' if part[2] else ""), text)
    return f'"{body}"'


def with_home(word: str) -> str:
    """An override with its value in quotes if that is a path below the home folder, or no name
    where that of a group's choice is expected, for Hydra to say which there are."""
    typed, _, value = word.partition("=")
    groups = "meta_sampler", *(each.name for each in files("conf").iterdir())
    is_name = re.match(r"(?!(null|true|false|nan|inf)\Z)[a-z\"'$]", value, re.IGNORECASE)
    unquoted = value.startswith("~") or (typed.lstrip("+") in groups and not is_name)
    return f"{typed}={quoted(value)}" if unquoted else word


def check_resumable(kind: Any, overrides: Sequence[str]) -> None:
    """Raises :class:`ConfigError` for an override that a resumed run of this kind may not have."""
    roles = setting_roles(kind)
    resumable = [key for key, role in roles.items() if role is Role.RESUMABLE]
    for override in kind.words(overrides):
        key, _ = split_override(override)
        if not f"{key}.".startswith(tuple(f"{each}." for each in resumable)):
            leaves = roles.keys() - {each.rpartition(".")[0] for each in roles}
            if key not in roles and not key.startswith(tuple(f"{each}." for each in leaves)):
                raise ConfigError(_nearest_key(key, kind))
            raise ConfigError(
                f"{override}: a resumed run keeps its settings, but for those that results do not "
                "depend on (marked ↻ by python -m evo.config)"
            )


# -- Hydra ---------------------------------------------------------------------------------------


@lru_cache(maxsize=1)  # Hydra keeps what was registered last
def _register(kind: Any) -> None:
    """Make the defaults of a run's class Hydra's: a group of each class of settings in it that has
    several choices, the others as they are, since a group costs Hydra milliseconds."""
    store, hints = ConfigStore.instance(), get_type_hints(kind)
    defaults: list[Any] = ["_self_"]
    values: dict[str, Any] = {}
    for each in fields(kind):
        if not is_dataclass(hints[each.name]):
            values[each.name] = None if each.default is MISSING else each.default
            continue
        own: dict[str, Any] = asdict(each.default)  # type: ignore[arg-type]
        usual, nodes = "default", {"default": own}
        if isinstance(each.default, MetaSamplerConfig):
            usual = each.default.name
            nodes = {n: {"name": n, "settings": asdict(kind())} for n, kind in SETTINGS.items()}
        elif not files("conf").joinpath(each.name).is_dir():
            values[each.name] = own
            continue
        defaults.append({each.name: usual})
        for option, node in nodes.items():
            store.store(group=each.name, name=option, node=node)
    if "player" in hints:  # conf/model holds players with their judges
        defaults.append({"model": "embedded"})
    store.store(name="run", node={"defaults": defaults, **values})


def _one_sentence(error: Exception, kind: type) -> str:
    """Hydra's message as one sentence that names the key and what would be right."""
    message, (_, _, cause) = str(error), str(error.__cause__).partition("full_key: ")
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    quote = message.partition("'")[2].partition("'")[0]
    if message.startswith("Could not override"):
        return _nearest_key(next(iter(cause.split()), quote), kind)
    if message.startswith("Could not append to config"):
        return f"+{quote}: expected {quote}=… without the sign"
    if message.startswith("Multiple values for "):
        group = message.removeprefix("Multiple values for ").partition(".")[0]
        return f"+{group}: expected {group}=… without the sign"
    if message.startswith("Interpolation key "):
        where = message.rpartition("full_key: ")[2].split()[0]
        return f"{where}: no setting is called {quote}; a variable is written ${quote}"
    if message.startswith(("Ambiguous value for argument", "Sweep parameters ")):
        key, _, value = quote.partition("=")
        return f"{key}: found {value!r}, expected one value: a command is one run"
    if " interpolation" in message and "full_key: " in message:
        where = message.rpartition("full_key: ")[2].split()[0]
        return f"{where}: found ${{…}} without a value ({lines[0]}), expected one that is set"
    if "Could not find '" in message:
        group, _, name = message.partition("Could not find '")[2].partition("'")[0].partition("/")
        options = ", ".join(line for line in lines if " " not in line and line != name)
        other = f"; for another model judge.model={name} player.model={name}"
        hint = other if group == "model" else ""
        return f"{group}: found {name!r}, expected one of: {options}{hint}"
    return " ".join(lines[:2])


def _nearest_key(key: str, kind: type) -> str:
    keys = list(setting_roles(kind))
    if key in keys and key.startswith("meta_sampler.settings."):
        name = key.rpartition(".")[2]
        others = (n for n, kind in SETTINGS.items() if name in kind.__dataclass_fields__)
        return f"{key}: unknown key of this sampler, expected meta_sampler={' or '.join(others)}"
    if key in keys:  # such as experiment=…, which chooses from a group that is not there yet
        return f"{key}: expected +{key}=…"
    close = get_close_matches(key, keys, 1)
    hint = f"did you mean {close[0]}?" if close else "all keys: python -m evo.config"
    return f"{key}: unknown key, {hint}"


def setting_roles(kind: Any, path: str = "", group: Role = Role.SCIENCE) -> dict[str, Role]:
    """The role of every key below a class of settings, groups included, dotted; ``group``: the
    role of the class's own place."""
    roles: dict[str, Role] = {}
    hints = get_type_hints(kind)
    for name, role in roles_of(kind, group).items():
        roles[f"{path}{name}"], hint = role, hints[name]
        below = SETTINGS.values() if hint is Caps else [hint] if is_dataclass(hint) else []
        for each in below:
            roles |= setting_roles(each, f"{path}{name}.", role)
    return roles
