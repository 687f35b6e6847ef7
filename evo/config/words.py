"""Words of a command line: settings in Hydra's syntax, and what may be trusted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xgl.errors import ConfigError
from xgl.files import BUILT_IN
from xgl.models.references import CORPUS, JUDGE


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
    """An override with its value in quotes if that is a path below the home folder."""
    key, _, value = word.partition("=")
    return f"{key}={quoted(value)}" if value.startswith("~") else word


# -- settings that let a run reach out: models, addresses and accounts -----------------------------
# A run that this user began has them from the user. In the archive of a stranger they are the
# stranger's, and are used only if the command that resumes it is trusted.

TRUSTED = "trusted=true"
_BY_GROUP = {
    "judge": ("model", "second", "others", "stories", "tokenizer", "key_variable"),
    "player": ("model", "npc"),
    "measure": ("base", "judge", "others", "chat.key_variable"),
    "ggbench": ("author", "filter_model", "players", "chat.key_variable"),
    "meta_sampler.settings": ("model", "local", "base_url", "key_variable", "cache"),
    "cluster": ("address",),
}
REACHING = ("players", *(f"{group}.{each}" for group, names in _BY_GROUP.items() for each in names))
_HARMLESS = (None, "auto", "base", *BUILT_IN, "random", "greedy", "mcts")
"""Values, before an @, that stay on this machine and load nothing of a stranger's choice."""


def check_trusted(archived: Mapping[str, Any], overrides: Sequence[str], folder: str) -> None:
    """Raises :class:`ConfigError` if a run of another user or machine reaches out and is not
    ``TRUSTED``, with the settings by which it does."""
    reaching = []
    for key in REACHING:
        value: Any = archived
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        several = value if isinstance(value, list | tuple) else [value]
        several = [*value.values()] if isinstance(value, Mapping) else several
        harmless = (*map(str, _HARMLESS), *((CORPUS, JUDGE) if key == "judge.stories" else ()))
        if any(str(each).partition("@")[0] not in harmless for each in several):
            reaching.append(f"{key}={value}")
    if reaching and TRUSTED not in overrides:
        raise ConfigError(
            f"resume: {folder} was not begun by you on this machine and names models, addresses or "
            f"accounts ({', '.join(reaching)}); to use them, add {TRUSTED}"
        )
