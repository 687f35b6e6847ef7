"""``python -m evo.config``: prints the tables of all settings, in Markdown. They come from the
declarations alone; the site shows them below docs/reference/configuration.md.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from pkgutil import resolve_name
from textwrap import dedent
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from evo.config import ALL_SETTINGS
from evo.config.compose import setting_roles
from meta_sampler.settings import SETTINGS, Caps
from xgl.errors import ConfigError, excerpt
from xgl.settings import Role, bounds_of, limits, value_text
from xgl.streams import exit_code, prepare_streams

HEAD = "| key | default | may be | meaning |\n| --- | --- | --- | --- |\n"
KINDS = {int: "whole number", float: "number", bool: "true or false", str: "text", tuple: "list"}


def tables() -> str:
    """Every setting of every kind of run, group by group, in Markdown."""
    parts = list[str]()
    for place, title in ALL_SETTINGS.items():
        kind = resolve_name(place)
        parts += [f"### {title}\n", *_groups(kind, "", setting_roles(kind))]
    return "\n".join(parts)


def _groups(kind: Any, path: str, roles: Mapping[str, Role]) -> Iterator[str]:
    """The table of a class, then those of the classes in it."""
    about = " ".join(cleandoc(kind.__doc__ or "").split())
    head = f"**`{path[:-1]}`** {_plain(about)}\n\n" if path else ""
    groups = [each for each in fields(kind) if is_dataclass(each.default)]
    rows = [_row(kind, each, path, roles) for each in fields(kind) if each not in groups]
    if rows:
        yield f"{head}{HEAD}{''.join(rows)}"
    for each in groups:
        is_sampler = isinstance(each.default, Caps)
        for below in SETTINGS.values() if is_sampler else [type(each.default)]:
            yield from _groups(below, f"{path}{each.name}.", roles)


def _row(kind: Any, field: Any, path: str, roles: Mapping[str, Role]) -> str:
    """A setting; its key is marked if a resumed run may change it."""
    key = f"{path}{field.name}"
    mark = " ↻" if roles[key] is Role.RESUMABLE else ""
    cells = _default(field), allowed(kind, field.name), meanings(kind)[field.name]
    return f"| `{key}`{mark} | {' | '.join(cells)} |\n"


def _plain(text: str) -> str:
    return text.replace("``", "`")


def _default(field: Any) -> str:
    value = field.default
    if value is MISSING:
        return ""
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
        words = KINDS.get(get_origin(plain) or plain, "settings")
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
                texts[ast.unparse(line.target)] = _plain(" ".join(text.split()))
    return texts


def main() -> int:
    """Print them; a command line has no words."""
    if sys.argv[1:]:
        raise ConfigError(f"found {excerpt(sys.argv[1])}, expected python -m evo.config alone")
    print(tables())
    return 0


if __name__ == "__main__":
    prepare_streams()
    sys.exit(exit_code(main))
