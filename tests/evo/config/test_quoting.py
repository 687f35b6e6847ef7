"""What Hydra's grammar cannot read, and what it does, through the real command line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import evo.run
from evo.api import overrides
from evo.config.compose import load
from evo.config.measure import MeasureRunConfig
from evo.config.schema import RunConfig
from xgl.errors import ConfigError

GROWTH = ["+experiment=scope_growth"]
MEASURE = ["+experiment=measure", "measure=OUT"]
PRICES = "measure.chat.prices"


def composed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, Any, str]:
    """Exit code, configuration and error of a command line that is only composed."""
    capsys.readouterr()
    code = evo.run.main([*arguments, "--cfg", "job"])
    out, err = capsys.readouterr()
    return code, yaml.safe_load(out), err


@pytest.mark.parametrize(
    "word", ["name=日本語", "name=run (old)", "name=it's", 'name=5"', "name=f(x)", "name=a=b"]
)
def test_the_answer_is_what_to_type(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = composed([*GROWTH, word], capsys)
    assert code == 2
    assert error.startswith(f"error: {word}: cannot be read without quotes, expected ")
    better = shlex.split(error.partition(", expected ")[2])
    code, config, error = composed([*GROWTH, *better], capsys)
    assert code == 0, error
    assert config["name"] == word.partition("=")[2]


@pytest.mark.parametrize("word", ["name=[a", "growth.initial_scope=[a,(]", "name={a:"])
def test_what_is_no_list_is_answered_in_general(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = composed([*GROWTH, word], capsys)
    assert code == 2
    assert error.startswith(f"error: {word}: cannot be read without quotes, expected each text")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "archive.root=${HOME}/runs",
            r"root: no setting is called HOME; .* is written \$HOME",
        ),
        ("name=a,b", "name: found 'a,b', expected one value"),
        ("name=2024", r"name: found 2024, expected a text, such as \"2024\""),
    ],
)
def test_what_is_read_as_something_else_is_told(
    word: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = composed([*GROWTH, word], capsys)
    assert (code, bool(re.search(message, error))) == (2, True), error


@pytest.mark.parametrize("value", ["~/runs", "~/my runs", "~/日本 (1)/#2", "~", "~/it's"])
def test_a_path_below_home_needs_no_quotes(value: str) -> None:
    assert load(RunConfig, [*GROWTH, f"archive.root={value}"]).archive.root == value


CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0$", exclude_categories=["Cs"])


@settings(max_examples=30, deadline=None)
@given(st.text(CHARACTERS, min_size=1))
def test_any_text_comes_through_from_python(text: str) -> None:
    [root] = overrides({"archive.root": text})
    assert load(RunConfig, [*GROWTH, root]).archive.root == text


def test_mappings_whose_keys_are_no_settings_come_through_from_python() -> None:
    prices = {"gpt-3.5-turbo": (1.0, 2.0), "qwen2.5:7b": (0.0, 0.0), "a, {b} = c\\d": (1.0, 1.0)}
    words = overrides({"measure": {"folder": "OUT", "chat": {"prices": prices}}})
    assert load(MeasureRunConfig, ["+experiment=measure", *words]).measure.chat.prices == prices
    with pytest.raises(ConfigError, match="found a value of type set"):
        next(overrides({"name": {"a:b": {3}}}))


def test_the_page_shows_what_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "configuration.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| `('.+')` \|$", page.partition("**Quotes.**")[2], re.MULTILINE)
    assert len(rows) == 4
    for row in rows:
        base = MEASURE if PRICES in row else GROWTH
        assert composed([*base, *shlex.split(row)], capsys)[0] == 0, row
