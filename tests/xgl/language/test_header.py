"""Metadata of one game: header lines, the file beside it, layers, and what a mistake is told."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from xgl import Metadata, game, parse, read_game
from xgl.analysis.plain_english import in_words
from xgl.errors import ConfigError
from xgl.language import canonical
from xgl.lowering import LoweringError, lower

CODE = "assign(s=story())\nelicit(t)\nensure(xent(t) < 99)\nreward(xed(s | t + a))\n"
RUN = Metadata(story_tokens=24, max_len=8, token_bits=False, constants={"a": "a run", "b": "a run"})


def of_header(header: str, usual: Metadata = RUN) -> Metadata:
    return canonical.file_metadata(f"{header}\n{CODE}", usual, "mine.xgl")


def test_layers_override_one_another(tmp_path: Path) -> None:
    path = tmp_path / "mine.xgl"
    path.write_text(f'# Mine.\n#: max_len = 5\n#: constants.a = "a header"\n{CODE}')
    assert canonical.file_metadata(path.read_text(), RUN, "mine") == replace(
        RUN, max_len=5, constants={"a": "a header", "b": "a run"}
    )
    read = read_game(path, metadata=RUN)
    assert read.code == game(parse(CODE)).code
    assert read.game_id != game(parse(CODE), RUN).game_id
    assert read_game("single_text") == game(read_game("single_text").program)
    assert read_game(path.rename(tmp_path / "MINE.XENT")).dialect == "xent"


def test_a_text_takes_the_place_of_a_prompt_and_a_prompt_that_of_a_text() -> None:
    new = of_header('#: prompts.a = "the name of a city"')
    assert (new.constants, new.prompts) == ({"b": "a run"}, {"a": "the name of a city"})
    assert of_header('#: constants.a = "Rome"', new).prompts == {}


METADATA = st.builds(
    Metadata,
    story_tokens=st.integers(1, 99),
    max_len=st.integers(1, 99),
    max_failures=st.integers(0, 99),
    max_characters=st.integers(100, 5000),
    token_bits=st.booleans(),
    story_count=st.integers(0, 9),
    constants=st.dictionaries(st.sampled_from("ab"), st.text(max_size=9)),
    prompts=st.dictionaries(st.just("c"), st.text(st.characters(codec="utf-8"), max_size=9)),
    judge=st.sampled_from(["", "weak"]),
    npc=st.sampled_from(["", "weak"]),
)


@settings(max_examples=40)
@given(METADATA)
def test_code_below_its_own_metadata_is_the_same_game(metadata: Metadata) -> None:
    try:
        metadata = canonical.read_metadata(canonical.metadata_json(metadata))
    except ConfigError:  # no game has them
        return
    head = "\n".join(canonical.own_metadata(metadata))
    assert of_header(head, Metadata()) == metadata


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_metadata_or_refused(facts: Any) -> None:
    for form in (facts, json.dumps(facts)):
        with suppress(ConfigError):
            assert isinstance(canonical.read_metadata(form), Metadata)


@pytest.mark.parametrize(
    "name", ["story_tokens", "story_count", "max_len", "max_failures", "max_characters"]
)
def test_no_number_of_the_metadata_is_unbounded(name: str) -> None:
    for value in (10**15, 10**99, -1, 1.5, "9", True, None, []):
        with pytest.raises(ConfigError, match=f"^{name}: found"):
            canonical.read_metadata(json.dumps({name: value}))
    with pytest.raises(ConfigError, match="expected"):
        Metadata(**{name: -5})  # type: ignore[arg-type]


BAD = {
    "#: stroy_tokens = 4": r"stroy_tokens: unknown key, did you mean story_tokens\?",
    "# Mine.\n#: max_len 4": r".* \(at line 2, column \d+\), expected name = value",
    "#: max_len = 4\n#: max_len = 5": r"Cannot overwrite a value \(at line 2, ",
    "#: constants.a = 4": "constants.a: found 4, expected a text",
    "#: constants.s = 'x'": "constants: found 's', expected one of a b c",
    "#: judge = 'http://there/v1'": "judge: found .*, expected a name under the judge such as weak",
    "#: constants.a = 'x'\n#: prompts.a = 'y'": "a: found a text and a prompt",
    "#: story_count = -1": "story_count: found -1, expected at least 0",
}


@pytest.mark.parametrize("header", BAD)
def test_a_mistake_is_one_sentence_with_the_file_and_where_it_can_the_line(header: str) -> None:
    with pytest.raises(ConfigError, match=rf"^mine\.xgl: {BAD[header]}") as caught:
        of_header(header)
    assert "\n" not in str(caught.value)


@settings(max_examples=40)
@given(METADATA)
def test_what_players_are_shown_reads_as_the_metadata(metadata: Metadata) -> None:
    """All but constants, which are shown as registers, and what no view depends on."""
    try:
        whole = game(parse(CODE), replace(metadata, constants={}, token_bits=True))
    except ConfigError:
        return
    read = canonical.file_metadata(whole.shown, Metadata(), "shown")
    assert replace(read, max_characters=metadata.max_characters) == whole.metadata
    assert game(parse(whole.shown), whole.metadata) == whole
    assert canonical.read_metadata(canonical.metadata_json(whole.metadata)) == whole.metadata


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"@weak"', ["weak"]),
        ('"@weak It says" + s + "."', ["weak"]),
        *((text, []) for text in ('"@ weak"', '"weak@home"', '"@weak-er"', 's + "@weak"')),
    ],
)
def test_an_in_line_text_names_a_model_by_its_beginning(text: str, names: list[str]) -> None:
    assert canonical.names_of(parse(f"reward(xent(t | y, {text}))")) == names


CONTRAST = (
    "assign(s=story())\nelicit(t, 8)\n"
    'ensure("@sure This says nothing: " + t, xent(t) < xent(t | s, "@weak"))\n'
    'reward(xent(t | s, "@weak") - xent(t | s, "@main"))'
)


def test_a_game_needs_the_models_that_it_names() -> None:
    whole = game(parse(CONTRAST), Metadata(judge="strong", npc="judge"))
    assert canonical.names_of(whole.program) == ["weak", "main", "sure"]
    assert canonical.model_names(whole) == ["strong", "weak", "sure"]
    canonical.check_names(whole, ["weak", "strong", "sure"], "mine", "judge.others={{{}: MODEL}}")
    with pytest.raises(ConfigError) as caught:
        canonical.check_names(whole, ["strong"], "mine", "judge.others={{{}: MODEL}}")
    assert str(caught.value) == (
        "mine: needs the model 'weak' under the judge, found strong, expected "
        "judge.others={weak: MODEL}"
    )
    assert "the surprise of t after s for the model weak" in in_words(whole)[-1]


def test_the_authors_engine_has_one_judge_and_is_told_why() -> None:
    with pytest.raises(LoweringError, match="one judge, and no model 'weak' under it"):
        lower(game(parse(CONTRAST)), "black", allow_inexact=True)
    one = parse("assign(s=story())\nelicit(t, 8)\nreward(xed(s | t))", "xent")
    with pytest.raises(LoweringError, match="one judge, and no model 'strong' under it"):
        lower(game(one, Metadata(judge="strong")), "black")
    with pytest.raises(LoweringError, match="written for each map by prompts"):
        lower(game(one, Metadata(prompts={"a": "a city"})), "black")
    assert lower(game(one, Metadata(npc="weak", story_count=9)), "black").metadata.npc == ""
