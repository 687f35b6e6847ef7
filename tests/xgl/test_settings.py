"""Classes of settings: each field is declared once, and a mistake is one sentence."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from xgl.errors import ConfigError
from xgl.settings import Count, Flag, Fraction, settings, shared_values


@settings
class Limits:
    lines: Count = 6
    share: Fraction = 0.5

    def __post_init__(self) -> None:
        if self.lines == 13:
            raise ValueError("lines: found 13, expected another number")


@settings
class Wide(Limits):
    lines: Count = 12
    loops: Flag = True


@settings
class Machine:
    kind: Literal["small", "large"]
    limits: Limits = Limits()
    names: tuple[str, ...] = ("a",)
    most: Count | None = None


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "kind: missing"),
        ({"kind": "big"}, "kind: found 'big', expected small or large"),
        ({"kind": "small", "limits": 3}, "limits: found 3, expected a group of settings"),
        ({"kind": "small", "limits": {"line": 3}}, "limits.line: unknown key, did you mean limits"),
        ({"kind": "small", "limits": {"lines": 13}}, "limits.lines: found 13, expected another"),
        ({"kind": "big", "zebra": 1}, "zebra: unknown key, expected one of kind, limits, names"),
        ({"kind": "small", "names": "ab"}, "names: found 'ab', expected a list such as [ab]"),
        ({"kind": "small", "names": ["a", 1]}, "names: found 1, expected a text"),
        ({"kind": "small", "most": 0}, "most: found 0, expected at least 1"),
        ({"kind": "small", "most": 1 << 63}, "most: found 9223372036854775808, expected less than"),
        ({"kind": "small", "most": False}, "most: found false, expected a whole number"),
        (
            {"kind": "small", "limits": {"share": 1.0}},
            "limits.share: found 1.0, expected more than 0 and less than 1",
        ),
    ],
    ids=str,
)
def test_a_mistake_names_the_key_the_value_and_what_would_be_right(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError) as error:
        Machine(**values)
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)


def test_settings_of_a_class_are_handed_on_to_another() -> None:
    assert Limits(**shared_values(Wide(share=0.25), Limits)) == Limits(lines=12, share=0.25)
