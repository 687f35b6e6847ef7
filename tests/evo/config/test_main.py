"""``python -m evo.config``: the tables of all settings are those of the declarations."""

from __future__ import annotations

import re

from evo.config.__main__ import tables
from evo.config.compose import setting_names
from evo.config.registry import ALL_SETTINGS, find

ROW = re.compile(r"^\| `([\w.]+)`[^|]*\|.*\| ([^|]+) \|$", re.MULTILINE)


def test_every_setting_has_a_row_with_its_meaning() -> None:
    text = tables()
    meanings = dict(ROW.findall(text))
    as_others = tuple(f"{group}." for group in re.findall(r"^\*\*`([\w.]+)`\*\* As `", text, re.M))
    for place in ALL_SETTINGS:
        settings = [*setting_names(find(place))]
        groups = {key.rpartition(".")[0] for key in settings}
        unknown = {*settings} - groups - meanings.keys()
        assert not [key for key in unknown if not key.startswith(as_others)]
    assert not [key for key, meaning in meanings.items() if not meaning.endswith(".")]


def test_a_row_says_default_bounds_and_meaning() -> None:
    row = "| `growth.alpha1` | `0.3` | number, more than 0 | A candidate must give its parent"
    assert row in tables()
