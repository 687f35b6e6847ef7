"""Settings that let a run reach out: which models it loads, which addresses and accounts it uses.

A run that this user began has them from the user. In the archive of a stranger they are the
stranger's, and are used only if the command that resumes it names them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from shlex import quote
from typing import Any

from evo.config.compose import split_override
from xgl.errors import ConfigError
from xgl.models.references import CORPUS, JUDGE
from xgl.own_files import BUILT_IN

REACHING = (
    "judge.model",
    "judge.second",
    "judge.others",
    "judge.stories",
    "judge.tokenizer",
    "judge.key_variable",
    "player.model",
    "player.npc",
    "players",
    "measure.base",
    "measure.judge",
    "measure.chat.key_variable",
    "ggbench.author",
    "ggbench.filter_model",
    "ggbench.players",
    "ggbench.chat.key_variable",
    "meta_sampler.settings.model",
    "meta_sampler.settings.local",
    "meta_sampler.settings.base_url",
    "meta_sampler.settings.key_variable",
    "meta_sampler.settings.cache",
    "cluster.address",
    "tracking.to",
)
_HARMLESS = (None, "auto", "base", *BUILT_IN, "random", "greedy", "mcts")
"""Values, before an @, that stay on this machine and load nothing of a stranger's choice."""


def without_repeated(archived: Mapping[str, Any], overrides: Sequence[str]) -> list[str]:
    """The overrides but those that only name what the archive holds."""
    repeated = {(key, _text(value)) for key, value in _reaching(archived)}
    plain = ((each, *split_override(each)) for each in overrides)
    return [each for each, key, value in plain if (key, _unquoted(value)) not in repeated]


def check_named(archived: Mapping[str, Any], overrides: Sequence[str], folder: str) -> None:
    """Raises :class:`ConfigError` if a run of another user or machine reaches out by settings that
    ``overrides`` do not name, with what to add."""
    keys = [split_override(each)[0] for each in overrides]
    keys = ["players" if key == "player" else key for key in keys]  # its short form
    missing = [
        quote(f"{key}={_text(value)}")
        for key, value in _reaching(archived)
        if not any(f"{key}.".startswith(f"{named}.") for named in keys)
    ]
    if missing:
        raise ConfigError(
            f"resume: {folder} was not begun by you on this machine and names models, addresses or "
            f"accounts; to use them, add {' '.join(missing)}"
        )


def with_models(settings: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """The settings with ``change`` applied to each reference to a model, but to those of measured
    players, whose names are what results go by."""
    changed: dict[str, Any] = json.loads(json.dumps(settings))
    for key, value in _reaching(settings):
        *groups, name = key.split(".")
        if isinstance(value, str):
            reduce(_child, groups, changed)[name] = change(value)
    return changed


def _reaching(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Key and value of each setting that reaches out."""
    for key in REACHING:
        value = reduce(_child, key.split("."), settings)
        if key == "judge.stories" and value in (CORPUS, JUDGE):
            continue
        several = value if isinstance(value, list | tuple) else [value]
        several = several if not isinstance(value, Mapping) else [*value.values()]
        if any(str(each).partition("@")[0] not in map(str, _HARMLESS) for each in several):
            yield key, value


def _child(settings: Any, key: str) -> Any:
    return settings.get(key) if isinstance(settings, Mapping) else None


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return _unquoted(f"{{{','.join(f'{name}:{each}' for name, each in value.items())}}}")
    several = isinstance(value, list | tuple)
    return _unquoted(f"[{','.join(map(str, value))}]" if several else str(value))


def _unquoted(text: str) -> str:
    return text.replace('"', "").replace("'", "")
