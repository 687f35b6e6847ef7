"""Settings of a stranger's run that reach out are used only if the user trusts it."""

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
from evo.config.__main__ import tables
from evo.config.compose import load
from evo.config.measure import MeasureRunConfig
from evo.config.schema import RunConfig
from evo.config.words import REACHING, TRUSTED, check_trusted
from xgl.errors import ConfigError

Capsys = pytest.CaptureFixture[str]

STAY = """
archive.root curriculum.held_out curriculum.run ggbench.chat.limit_parameter
ggbench.chat.reasoning_effort ggbench.games ggbench.opponent.ladder growth.initial_scope
judge.device measure.chat.limit_parameter measure.chat.reasoning_effort measure.folder
measure.games meta_sampler.settings.device meta_sampler.settings.limit_parameter
meta_sampler.settings.players meta_sampler.settings.reasoning_effort name player.device
transfer.acceptance_plays transfer.selection_plays
"""
"""Settings of text that name nothing but files of games, runs and measures, or parameters."""
OTHER_EXPERIMENTS = ("toy.", "ratings_paper.")
"""Run on their own, without models."""


def text_settings() -> set[str]:
    row = re.compile(
        r"^\| `([a-z_.0-9]+)`(?: ↻)? \|.*\| (?:text|list)[^|]*\| [^|]*\|$", re.MULTILINE
    )
    rows = row.findall(tables())
    return {key for key in rows if not key.startswith(OTHER_EXPERIMENTS)}


def test_every_setting_of_text_reaches_out_or_was_looked_at() -> None:
    stay = set(STAY.split())
    assert text_settings() <= {*REACHING, *stay}
    assert set(REACHING) & stay == set()
    mappings = {"judge.others", "measure.others"}
    assert set(REACHING) - mappings <= text_settings()


VALUES: dict[str, Any] = {
    **dict.fromkeys(REACHING, "evil/model"),
    "judge.stories": "chat:m@http://evil.example/v1",
    "judge.others": {"weak": "evil/model"},
    "measure.others": {"weak": "evil/model"},
    "players": ["embedded", "chat:m@http://evil.example/v1"],
    "ggbench.author": "chat:gpt-4o",
    "ggbench.filter_model": "chat:gpt-4o",
    "ggbench.players": ["random", "chat:gpt-4o"],
}


def settings_with(key: str, value: Any) -> dict[str, Any]:
    *groups, last = key.split(".")
    settings: dict[str, Any] = {last: value}
    for group in reversed(groups):
        settings = {group: settings}
    return settings


@pytest.mark.parametrize("key", REACHING)
def test_a_setting_that_reaches_out_is_named_and_waits_for_trust(key: str) -> None:
    settings = settings_with(key, VALUES[key])
    with pytest.raises(ConfigError, match="runs/x was not begun by you") as error:
        check_trusted(settings, ["budget.tokens=9", "name=y"], "runs/x")
    assert f"({key}={VALUES[key]}); to use them, add trusted=true" in str(error.value)
    check_trusted(settings, [TRUSTED], "runs/x")


@pytest.mark.parametrize(
    "settings",
    [
        {"judge": {"model": "embedded", "second": None, "stories": "judge"}},
        {"players": ["embedded@0.5", "smollm2"], "measure": {"base": "embedded", "chat": {}}},
        {"ggbench": {"players": ["random", "greedy", "mcts@25"], "author": None}},
        {"meta_sampler": {"name": "chat", "settings": {"cache": "auto", "key_variable": None}}},
        {"cluster": None, "judge": [], "players": None},
    ],
)
def test_what_stays_on_this_machine_needs_no_trust(settings: dict[str, Any]) -> None:
    check_trusted(settings, [], "runs/x")


# -- What Hydra's grammar cannot read, and what it does, through the real command line -------------


GROWTH = ["+experiment=scope_growth"]
MEASURE = ["+experiment=measure", "measure=OUT"]
PRICES = "measure.chat.prices"


def composed(arguments: list[str], capsys: Capsys) -> tuple[int, Any, str]:
    """Exit code, configuration and error of a command line that is only composed."""
    capsys.readouterr()
    code = evo.run.main([*arguments, "--cfg", "job"])
    out, err = capsys.readouterr()
    return code, yaml.safe_load(out), err


@pytest.mark.parametrize(
    "word", ["name=日本語", "name=run (old)", "name=it's", 'name=5"', "name=f(x)", "name=a=b"]
)
def test_the_answer_is_what_to_type(word: str, capsys: Capsys) -> None:
    code, _, error = composed([*GROWTH, word], capsys)
    assert code == 2
    assert error.startswith(f"error: {word}: cannot be read without quotes, expected ")
    better = shlex.split(error.partition(", expected ")[2])
    code, config, error = composed([*GROWTH, *better], capsys)
    assert code == 0, error
    assert config["name"] == word.partition("=")[2]


GENERAL = r"cannot be read without quotes, expected each text"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("name=[a", GENERAL),
        ("growth.initial_scope=[a,(]", GENERAL),
        ("name={a:", GENERAL),
        ("archive.root=${HOME}/runs", r"root: no setting is called HOME; .* is written \$HOME"),
        ("name=a,b", "name: found 'a,b', expected one value"),
        ("name=2024", r"name: found 2024, expected a text, such as \"2024\""),
    ],
)
def test_what_is_no_list_or_is_read_as_something_else_is_told(
    word: str, message: str, capsys: Capsys
) -> None:
    code, _, error = composed([*GROWTH, word], capsys)
    assert (code, bool(re.search(message, error))) == (2, True), error
    assert error.count("\n") == 1


@pytest.mark.parametrize("value", ["~/runs", "~/my runs", "~/日本 (1)/#2", "~", "~/it's"])
def test_a_path_below_home_needs_no_quotes(value: str) -> None:
    assert load(RunConfig, [*GROWTH, f"archive.root={value}"]).archive.root == value


CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0$", exclude_categories=["Cs"])


@settings(max_examples=15, deadline=None)
@given(st.text(CHARACTERS, min_size=1))
def test_any_text_comes_through_from_python(text: str) -> None:
    words = overrides({"archive.root": text, "growth.initial_scope": [text, "b"]})
    config = load(RunConfig, [*GROWTH, *words])
    assert (config.archive.root, config.growth.initial_scope) == (text, (text, "b"))


def test_mappings_whose_keys_are_no_settings_come_through_from_python() -> None:
    prices = {"gpt-3.5-turbo": (1.0, 2.0), "qwen2.5:7b": (0.0, 0.0), "a, {b} = c\\d": (1.0, 1.0)}
    words = overrides({"measure": {"folder": "OUT", "chat": {"prices": prices}}})
    assert load(MeasureRunConfig, ["+experiment=measure", *words]).measure.chat.prices == prices
    with pytest.raises(ConfigError, match="found a value of type set"):
        next(overrides({"name": {"a:b": {3}}}))


def test_the_page_shows_what_can_be_typed(capsys: Capsys) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "configuration.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| `('.+')` \|$", page.partition("**Quotes.**")[2], re.MULTILINE)
    assert len(rows) == 4
    for row in rows:
        base = MEASURE if PRICES in row else GROWTH
        assert composed([*base, *shlex.split(row)], capsys)[0] == 0, row
