"""Settings: frozen dataclasses in which each field declares its type, bounds, default and meaning.

The bounds belong to the type, the meaning follows the field, and what depends on it is its role::

    @settings
    class Caps:
        max_lines: Count = 6
        \"\"\"Most instructions of a child.\"\"\"
        cache: Annotated[str, Role.RESUMABLE] = "auto"
        \"\"\"Folder of paid answers.\"\"\"

Values are checked however an instance is made: from Python, from plain mappings, by
``dataclasses.replace``. Conditions between fields go into ``__post_init__``, as a ValueError
"key: found …, expected …".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, is_dataclass
from difflib import get_close_matches
from enum import Enum
from functools import wraps
from typing import Annotated, Any, Literal, dataclass_transform, get_args, get_type_hints

from pydantic import AfterValidator, ConfigDict, Field, Strict, StrictBool, ValidationError
from pydantic.dataclasses import dataclass

from xgl.errors import ConfigError, UnknownKeyError, excerpt


def _check_size(value: int) -> int:
    if value >= 1 << 63:
        raise ValueError(f"found {value_text(value)}, expected less than 2^63")
    return value


Natural = Annotated[int, Strict(), Field(ge=0), AfterValidator(_check_size)]
Count = Annotated[int, Strict(), Field(ge=1), AfterValidator(_check_size)]
NonNegative = Annotated[float, Strict(), Field(ge=0)]
Positive = Annotated[float, Strict(), Field(gt=0)]
Share = Annotated[float, Strict(), Field(ge=0, le=1)]
PositiveShare = Annotated[float, Strict(), Field(gt=0, le=1)]
Fraction = Annotated[float, Strict(), Field(gt=0, lt=1)]
Flag = StrictBool
Text = Annotated[str, Field(min_length=1)]
Dtype = Literal["auto", "float32", "bfloat16"]


class Role(Enum):
    """What depends on a setting. A setting has the role of its annotation, or else that of the
    group that it stands in."""

    SCIENCE = "results depend on it"
    RESUMABLE = "a resumed run may change it"
    FOLDER = "where a run lies"


_BOUNDS = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}
_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False, validate_default=True)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(Field,))
def settings(plain: Any) -> Any:
    """Make a class of settings, which raises :class:`ConfigError` for invalid values."""
    checked: Any = dataclass(frozen=True, kw_only=True, config=_CONFIG)(plain)
    initialise = checked.__init__

    @wraps(initialise)
    def init(self: Any, *values: Any, **keywords: Any) -> None:
        try:
            initialise(self, *values, **keywords)
        except ValidationError as error:
            raise _config_error(error, type(self)) from None

    checked.__init__ = init
    return checked


def roles_of(kind: type, group: Role = Role.SCIENCE) -> dict[str, Role]:
    """The roles of the fields of a class of settings that stands in a group of this role."""
    hints = get_type_hints(kind, include_extras=True)
    notes = {field.name: getattr(hints[field.name], "__metadata__", ()) for field in fields(kind)}
    return {
        name: next((note for note in own if isinstance(note, Role)), group)
        for name, own in notes.items()
    }


def science(values: Any) -> dict[str, Any]:
    """The settings that results depend on, as plain values by name."""
    facts: dict[str, Any] = {}
    plain = asdict(values)
    for name, role in roles_of(type(values)).items():
        if role is Role.SCIENCE:
            value = getattr(values, name)
            facts[name] = science(value) if is_dataclass(value) else plain[name]
    return facts


def shared_values(source: Any, kind: type) -> dict[str, Any]:
    """The values of an instance for those fields that another class of settings has."""
    return {field.name: getattr(source, field.name) for field in fields(kind)}


def value_text(value: object) -> str:
    """A value as a user writes it, cut where it is long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return excerpt(repr([*value] if isinstance(value, tuple) else value))


def limits(bounds: dict[str, Any]) -> str:
    """Bounds in words, such as "more than 0 and at most 1"; empty if there are none."""
    return " and ".join(f"{_BOUNDS[k]} {bounds[k]}" for k in _BOUNDS if k in bounds)


def bounds_of(kind: type, name: str) -> dict[str, Any]:
    """The bounds that a field declares: some of gt, ge, lt and le."""
    field = kind.__pydantic_fields__[name]  # type: ignore[attr-defined]
    declarations = [*field.metadata, *_annotations(field.annotation)]
    return {k: getattr(item, k) for item in declarations for k in _BOUNDS if hasattr(item, k)}


def _annotations(kind: Any) -> Iterator[Any]:
    """The annotations of a type and of its parts, such as the members of a union."""
    for item in getattr(kind, "__metadata__", ()):
        yield from getattr(item, "metadata", [item])
    for part in get_args(kind):
        yield from _annotations(part)


_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "bool_type": "true or false",
    "too_short": "a list with at least one value",
    "too_long": "fewer values",
    "missing": "more values",
    "dict_type": "settings such as {key: value}",
    "mapping_type": "settings such as {key: value}",
    "dataclass_type": "a group of settings",
}


def _config_error(error: ValidationError, kind: type) -> ConfigError:
    """The first mistake, an unknown key before all others."""
    unknown = "unexpected_keyword_argument"
    first = min(error.errors(include_url=False), key=lambda mistake: mistake["type"] != unknown)
    path = [str(part) for part in first["loc"] if not isinstance(part, int)]
    owner = _class_at(kind, path[:-1])
    if first["type"] == unknown and owner:
        known_keys, key = [field.name for field in fields(owner)], ".".join(path)
        hint = f"expected one of {', '.join(known_keys)}"
        for close in get_close_matches(path[-1], known_keys, 1):
            hint = f"did you mean {'.'.join([*path[:-1], close])}?"
        return UnknownKeyError(f"{key}: unknown key, {hint}", key)
    return ConfigError(_sentence(first, kind, path))


def _sentence(first: Any, kind: type, path: Sequence[str]) -> str:
    """What is wrong with the value at ``path``."""
    key, reason = ".".join(path), first.get("ctx", {}).get("error")
    owner = _class_at(kind, path[:-1])
    if first["type"].startswith("missing") and not isinstance(first["loc"][-1], int):
        return f"{key}: missing"
    if reason and _class_at(kind, path):
        return f"{key}.{reason}" if path else str(reason)
    if reason:
        return f"{key}: {reason}"
    bounds = bounds_of(owner, path[-1]) if owner and path else {}
    return f"{key}: found {value_text(first['input'])}, expected {_expected(first, bounds)}"


def _class_at(kind: Any, path: Sequence[str]) -> Any:
    """The class of settings that a path of keys leads to; None if it leads to a value."""
    for name in path:
        field = getattr(kind, "__pydantic_fields__", {}).get(name)
        kind = field and field.annotation
    return kind if is_dataclass(kind) else None


def _expected(mistake: Any, bounds: dict[str, Any]) -> str:
    context = mistake.get("ctx", {})
    if mistake["type"] == "literal_error":
        return str(context["expected"]).replace("'", "")
    if mistake["type"] == "string_type" and isinstance(mistake["input"], bool | int | float):
        return f'a text, such as "{value_text(mistake["input"])}" in quotes'
    if mistake["type"] == "tuple_type":
        value = mistake["input"]
        return f"a list such as [{value if value and isinstance(value, str) else 'a,b'}]"
    if context.keys() & _BOUNDS.keys():
        return limits(bounds or context)
    return _EXPECTED.get(mistake["type"], str(mistake["msg"]))
