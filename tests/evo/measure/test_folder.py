"""measure.json may be a stranger's: whatever it holds, it is a measure or one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from support.exported import write_measure

from evo.measure.folder import ExportedMeasure, read
from xgl.errors import ConfigError

LEVELS = {"b": 1.0, "theta": 0.5, "m": 4, "rounds": 4, "maps": 3, "k_m": 3, "floor": -5.0}
ODD = (
    None, True, False, -1, 0, 2, 10**30, 1.5, -0.0, "", "x", "../../etc/passwd", "/etc/passwd",
    "a\0b", "\ud800", "\x1b[2J", [], {}, [[]], {"a": 1}, ["x"], [None], {"max_characters": 10**15},
)  # fmt: skip


def manifest(folder: Path) -> dict[str, Any]:
    """A measure with everything that one may hold."""
    levels = LEVELS | {"policy": "base"}
    write_measure(folder, thresholds={"first": levels, "second": None})
    facts: dict[str, Any] = json.loads((folder / "measure.json").read_text())
    for place in facts["members"][0]["maps"]:
        place["best_known"] = {"score": 1.0, "found_by": "base", "moves": ["a"]}
    return facts


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key and index within a value, as a path."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*place, key)
        if isinstance(item, dict | list):
            yield from places(item, (*place, key))


def change(facts: dict[str, Any], place: tuple[Any, ...], value: Any) -> None:
    *groups, last = place
    target: Any = facts
    for key in groups:
        target = target[key]
    target[last] = deepcopy(value)  # a later change may be within it


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("measures") / "measure"


@pytest.fixture(scope="module")
def facts(folder: Path) -> dict[str, Any]:
    return manifest(folder)


def readable(folder: Path, text: str) -> bool:
    """Whether it is a measure; if not, it was refused in one sentence."""
    (folder / "measure.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    sentence = None
    try:
        assert isinstance(read(folder), ExportedMeasure)
    except ConfigError as error:
        sentence = str(error)
    assert sentence is None or ("\n" not in sentence and len(sentence) < 2000)
    return sentence is None


def test_a_whole_measure_is_read(folder: Path, facts: dict[str, Any]) -> None:
    assert readable(folder, json.dumps(facts))
    measure = read(folder)
    assert measure.members[0].best_known[1].moves == ("a",)
    assert measure.members[0].task.floor == -5.0
    first = read(folder, "smollm2").members[0]  # for which its bits say nothing
    assert (first.levels, first.best_known, first.task.floor) == (None, {}, -math.inf)


@given(st.data())
def test_odd_values_are_one_sentence(
    folder: Path, facts: dict[str, Any], data: st.DataObject
) -> None:
    spoilt = json.loads(json.dumps(facts))
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.sampled_from(sorted(places(spoilt), key=str)))
        change(spoilt, place, data.draw(st.sampled_from(ODD)))
    readable(folder, json.dumps(spoilt))


def test_names_and_maps_are_different_ones(folder: Path, facts: dict[str, Any]) -> None:
    first = facts["members"][0]
    twice = [first | {"maps": [first["maps"][0]] * 2}]
    for members, expected in ((twice, "expected two or more different"), ([first] * 2, "one name")):
        (folder / "measure.json").write_text(json.dumps(facts | {"members": members}))
        with pytest.raises(ConfigError, match=expected):
            read(folder)


def test_nothing_outside_the_folder_is_read(folder: Path, facts: dict[str, Any]) -> None:
    (folder.parent / "outside.xent").write_text("secret")
    (folder / "link.xent").symlink_to("../outside.xent")
    for name in ("../outside.xent", "link.xent", "/etc/passwd", "..", "/dev/zero"):
        members = [facts["members"][0] | {"file": name}]
        (folder / "measure.json").write_text(json.dumps(facts | {"members": members}))
        with pytest.raises(ConfigError, match="expected a path inside"):
            read(folder)
        judge = {"model": "a", "folder": name}
        (folder / "measure.json").write_text(json.dumps(facts | {"judge": judge}))
        with pytest.raises(ConfigError, match="expected a path inside"):
            read(folder)
