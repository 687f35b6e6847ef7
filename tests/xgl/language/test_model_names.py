"""One rule for how a text names a model under the judge."""

from __future__ import annotations

import pytest

from xgl import Metadata, game, parse
from xgl.analysis.plain_english import in_words
from xgl.errors import ConfigError
from xgl.language import syntax as syn
from xgl.language.model_names import check_names, model_names, names_of, split_name
from xgl.language.unparse import expression_text
from xgl.lowering import LoweringError, lower


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ('"@weak"', "weak", None),
        ('"@weak Be brief."', "weak", '"Be brief."'),
        ('"@weak" + a', "weak", "a"),
        ('"@weak It says" + s + "."', "weak", '"It says" + s + "."'),
        ('"@ weak"', "", '"@ weak"'),
        ('"weak@home"', "", '"weak@home"'),
        ('"@weak-er"', "", '"@weak-er"'),
        ("a", "", "a"),
        ('s + "@weak"', "", 's + "@weak"'),
    ],
)
def test_an_in_line_text_names_a_model_by_its_beginning(
    text: str, name: str, rest: str | None
) -> None:
    outer = parse(f"reward(xent(t | y, {text}))").instructions[0].amount.terms[0][1].outer  # type: ignore[union-attr]
    found, remaining = split_name(outer)
    assert found == name
    assert (remaining and expression_text(remaining)) == rest
    assert isinstance(remaining, syn.Literal | syn.Cat | syn.Register | None)


CONTRAST = (
    "assign(s=story())\nelicit(t, 8)\n"
    'ensure("@sure This says nothing: " + t, xent(t) < xent(t | s, "@weak"))\n'
    'reward(xent(t | s, "@weak") - xent(t | s, "@main"))'
)


def test_a_game_needs_the_models_that_it_names() -> None:
    whole = game(parse(CONTRAST), Metadata(judge="strong", npc="judge"))
    assert names_of(whole.program) == ["weak", "main", "sure"]
    assert model_names(whole) == ["strong", "weak", "sure"]
    check_names(whole, ["weak", "strong", "sure"], "mine", "judge.others={{{}: MODEL}}")
    with pytest.raises(ConfigError) as caught:
        check_names(whole, ["strong"], "mine", "judge.others={{{}: MODEL}}")
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
