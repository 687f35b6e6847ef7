"""``python -m evo.config``: prints the tables of all settings, in Markdown. They come from the
declarations alone; the site shows them below docs/reference/configuration.md.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from textwrap import dedent
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from evo.config.compose import setting_roles
from evo.config.registry import ALL_SETTINGS, find
from evo.config.schema import MetaSamplerConfig
from meta_sampler.settings import SETTINGS
from xgl.settings import Role, bounds_of, limits, value_text

_HEAD = "| key | default | may be | meaning |\n| --- | --- | --- | --- |\n"
_KINDS = {int: "whole number", float: "number", bool: "true or false", str: "text", tuple: "list"}


def tables() -> str:
    """Every setting of every kind of run, group by group, in Markdown."""
    parts: list[str] = []
    documented_types: dict[type, str] = {}
    for place, title in ALL_SETTINGS.items():
        kind = find(place)
        parts += [f"### {title}\n", *_groups(kind, "", setting_roles(kind), documented_types)]
    return "\n".join(parts)


def _groups(
    kind: Any, path: str, roles: Mapping[str, Role], documented_types: dict[type, str]
) -> Iterator[str]:
    """The table of a class, then those of the classes in it that have none yet."""
    documented_types[kind] = path
    if rows := "".join(_rows(kind, path, roles)):
        yield f"{_title(kind, path)}{_HEAD}{rows}"
    for each in fields(kind):
        below = type(each.default)
        if below is MetaSamplerConfig:
            yield f"{_title(below, f'{each.name}.')}{_sampler_table(roles)}"
        elif is_dataclass(below) and path and below in documented_types:
            yield f"**`{path}{each.name}`** As `{documented_types[below][:-1]}`.\n"
        elif is_dataclass(below) and below not in documented_types:
            yield from _groups(below, f"{path}{each.name}.", roles, documented_types)


def _title(kind: type, path: str) -> str:
    about = " ".join(cleandoc(kind.__doc__ or "").split()).replace("``", "`")
    return f"**`{path[:-1]}`** {about}\n\n" if path else ""


def _key(key: str, roles: Mapping[str, Role]) -> str:
    """A key, marked if a resumed run may change it."""
    return f"`{key}`{' ↻' if roles[key] is Role.RESUMABLE else ''}"


def _rows(kind: Any, path: str, roles: Mapping[str, Role]) -> Iterator[str]:
    for each in fields(kind):
        if not is_dataclass(each.default):
            cells = (_default(each), allowed(kind, each.name), meanings(kind)[each.name])
            yield f"| {_key(f'{path}{each.name}', roles)} | {' | '.join(cells)} |\n"


def _sampler_table(roles: Mapping[str, Role]) -> str:
    """The settings of all samplers, their defaults side by side."""
    defaults: dict[tuple[str, str, str], dict[str, str]] = {}
    samplers: dict[str, Any] = {**SETTINGS}
    for sampler, kind in samplers.items():
        for each in fields(kind):
            row = (each.name, allowed(kind, each.name), meanings(kind)[each.name])
            defaults.setdefault(row, {})[sampler] = _default(each)
    head = f"| key | {' | '.join(SETTINGS)} | may be | meaning |\n"
    head += f"|{' --- |' * (len(SETTINGS) + 3)}\n"
    names = list(dict.fromkeys(name for name, *_ in defaults))
    rows = (
        f"| `meta_sampler.name` |{' |' * len(SETTINGS)} {', '.join(SETTINGS)} | Which of them. |\n"
    )
    for name, *words in sorted(defaults, key=lambda row: names.index(row[0])):
        own = defaults[name, words[0], words[1]]
        cells = [own.get(each, "") for each in SETTINGS] + words
        key = _key(f"meta_sampler.settings.{name}", roles)
        rows += f"| {key} | {' | '.join(cells)} |\n"
    return head + rows


def _default(field: Any) -> str:
    if field.default is MISSING:
        return ""
    value = field.default
    if factory := getattr(value, "default_factory", None):
        value = factory()
    if isinstance(value, Mapping):
        return f"`{{{', '.join(f'{key}: {value_text(each)}' for key, each in value.items())}}}`"
    return f"`{_text(value)}`"


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return value if isinstance(value, str) else value_text(value)


def allowed(kind: Any, name: str) -> str:
    """Permitted values of a setting, in words."""
    hint = get_type_hints(kind)[name]
    options = [each for each in get_args(hint) if each is not NoneType]
    nullable = NoneType in get_args(hint)
    plain = options[0] if nullable else hint
    if get_origin(plain) is Literal:
        words = ", ".join(map(str, get_args(plain)))
    else:
        words = _KINDS.get(get_origin(plain) or plain, "settings")
    bounds = limits(bounds_of(kind, name)) if plain in (int, float) else ""
    return ", ".join(filter(None, (words, bounds, "or null" if nullable else "")))


@cache
def meanings(kind: Any) -> dict[str, str]:
    """The text beneath each field, those of base classes included."""
    texts: dict[str, str] = {}
    bases: list[Any] = [base for base in reversed(kind.__mro__) if is_dataclass(base)]
    for each in bases:
        body = ast.parse(dedent(getsource(each))).body[0].body  # type: ignore[attr-defined]
        for line, after in pairwise(body):
            if isinstance(line, ast.AnnAssign) and isinstance(after, ast.Expr):
                text = ast.literal_eval(after.value)
                texts[ast.unparse(line.target)] = " ".join(text.split()).replace("``", "`")
    return texts


if __name__ == "__main__":
    print(tables())
