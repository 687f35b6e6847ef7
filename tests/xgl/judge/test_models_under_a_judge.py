"""Several models under one judge: each scores what names it, in one batch, with its own cache."""

from __future__ import annotations

import pytest
from support.doubles import NumberedStories
from support.weak_model import weak_model

from xgl import Metadata, parse, play
from xgl.errors import JudgeError
from xgl.judge.loading import load_judge
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.dialects import DIALECTS
from xgl.runtime.requests import Rewarded, ScoreRequest, TokenScores, TruthRequest

SCORING = DIALECTS["xent"].scoring


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> TransformerJudge:
    """The embedded model, and one with fewer of its blocks under it."""
    folder = weak_model(tmp_path_factory.mktemp("models") / "weak")
    return load_judge("embedded", others={"weak": str(folder)})


GAME = 'assign(s=story())\nelicit(t, 8)\nreward(xed(s | t, "@weak"))\nreward(xed(s | t))'


def bits(pair: TransformerJudge, code: str, metadata: Metadata | None = None) -> list[float]:
    done = play(parse(code), "red hens run", pair, 3, stories=NumberedStories(), metadata=metadata)
    return [event.bits for event in done.events if isinstance(event, Rewarded)]


def test_a_xed_and_its_instruction_go_to_the_named_model(pair: TransformerJudge) -> None:
    weak, main = bits(pair, GAME)
    alone = GAME.replace(', "@weak"', "")
    assert bits(pair.others["weak"], alone) == [weak, weak]
    assert bits(pair, alone) == [main, main]
    assert bits(pair, alone, Metadata(judge="weak")) == [weak, weak]
    both = GAME.replace("reward(xed(s | t))", 'reward(xed(s | t, "@main"))')
    assert bits(pair, both, Metadata(judge="weak")) == [weak, main]
    assert weak != main
    instructed = GAME.replace('"@weak"', '"@weak Once upon a time."')
    same = GAME.replace('"@weak"', '"Once upon a time."')
    assert bits(pair, instructed)[0] == bits(pair.others["weak"], same)[0]
    with pytest.raises(JudgeError, match="no model 'other' under the judge, found weak"):
        bits(pair, GAME.replace("@weak", "@other"))


def test_a_statement_is_decided_by_the_model_that_it_names_and_rules_by_none(
    pair: TransformerJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = 'elicit(t, 8)\nensure("@weak The text is about hens." + t)\nreward(xent(t))'
    judged: list[TruthRequest] = []
    truths = pair.truths
    monkeypatch.setattr(pair, "truths", lambda asked: judged.extend(asked) or truths(asked))
    play(parse(code), "red hens run", pair, 3)
    assert {request.model for request in judged} == {"weak"}
    assert judged[0].named == "The text is about hens. the text"
    rule = code.replace("The text is about hens.", "no common words between").replace(
        "+ t)", '+ t + "&" + t)'
    )
    judged.clear()
    assert play(parse(rule), "hens", pair, 3).outcome == "forfeit"
    assert not judged


def test_no_move_can_name_who_judges_it(pair: TransformerJudge) -> None:
    code = "elicit(t, 8)\nreward(xent(t | t, t))"
    done = play(parse(code), "@weak hens", pair, 3)
    [scored] = [event.bits for event in done.events if isinstance(event, Rewarded)]
    request = ScoreRequest("@weak hens", ("@weak hens", "@weak hens"), DIALECTS["paper"].scoring)
    [answer] = pair.score([request])
    assert isinstance(answer, TokenScores)
    assert scored == answer.total
